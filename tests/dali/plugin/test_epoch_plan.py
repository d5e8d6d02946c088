"""Which samples of which batches make up an epoch, against walks through tagged samples."""

import itertools

import pytest
from walked_epochs import shard_of, walked

from videoloader.dali.plugin.epoch_plan import EpochPlanner, LastBatchPolicy
from videoloader.sampling.orders.reader_epochs import Epochs

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL
EPOCHS = 6

READERS = [
    (size, batch_size, num_shards, stick, pad)
    for num_shards in (1, 2, 3)
    for size in range(num_shards, 12)
    for batch_size in (1, 2, 3, 5)
    for stick in (False, True)
    for pad in (False, True)
]


def planned(reader, policy, shards):
    """The same by the planner, for pipelines that begin with these shards."""
    size, batch_size, num_shards, stick, pad = reader
    first_shard = Epochs(size, batch_size, num_shards, 0, stick, pad)
    planner = EpochPlanner(first_shard, policy, shards=tuple(shards))
    streams = [Epochs(size, batch_size, num_shards, shard, stick, pad) for shard in shards]
    epochs, epoch, first = [], 0, 0
    for _ in range(EPOCHS):
        plan = planner.plan(epoch, first)
        batches = [
            [
                [stream.shard(e)[p] for e, p in stream.batch(batch)][
                    : plan.kept(batch, batch_size, pipeline)
                ]
                for pipeline, stream in enumerate(streams)
            ]
            for batch in range(plan.start, plan.stop)
        ]
        assert len(plan) == len(batches)
        epochs.append((plan.epoch, batches))
        epoch, first = plan.epoch + 1, plan.end
    return epochs


def chain(parts):
    return list(itertools.chain.from_iterable(parts))


def by_pipeline(batches):
    """The samples that each pipeline gives."""
    return [chain(parts) for parts in zip(*batches, strict=True)]


@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_epochs_are_those_of_a_walk(policy):
    for reader in READERS:
        assert planned(reader, policy, range(reader[2])) == walked(reader, policy, EPOCHS), reader


@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_a_pipeline_alone_gives_what_it_gives_among_others(policy):
    """Processes that read a shard each take the same number of batches, whatever its size."""
    for reader in READERS:
        together = planned(reader, policy, range(reader[2]))
        for shard in range(reader[2]):
            alone = planned(reader, policy, [shard])
            assert alone == [
                (epoch, [[batch[shard]] for batch in batches]) for epoch, batches in together
            ], reader


def test_partial_epochs_have_the_sizes_of_their_shards():
    for reader in READERS:
        size, _, num_shards, stick, pad = reader
        for epoch, batches in planned(reader, PARTIAL, range(num_shards)):
            parts = by_pipeline(batches)
            shards = [
                shard_of((number + (0 if stick else epoch)) % num_shards, size, num_shards)
                for number in range(num_shards)
            ]
            assert [len(part) for part in parts] == [len(shard) for shard in shards], reader
            assert all(len(set(part)) == len(part) for part in parts), reader
            if pad:
                assert parts == shards, reader
            if stick or num_shards == 1:
                assert sorted(chain(parts)) == list(range(size)), reader


def test_dropping_gives_whole_batches_of_distinct_samples_in_every_epoch():
    for reader in READERS:
        size, batch_size, num_shards, _, _ = reader
        for _, batches in planned(reader, DROP, range(num_shards)):
            assert len(batches) == size // num_shards // batch_size, reader
            assert all(len(part) == batch_size for part in chain(batches)), reader
            for given in by_pipeline(batches):
                assert len(set(given)) == len(given), reader


def test_filled_epochs_lose_no_batch_and_go_through_every_shard():
    for reader in READERS:
        size, batch_size, num_shards, stick, pad = reader
        epochs = planned(reader, FILL, range(num_shards))
        for shard in range(num_shards):
            given = [
                sample for _, batches in epochs for batch in batches for sample in batch[shard]
            ]
            stream = Epochs(size, batch_size, num_shards, shard, stick, pad)
            number = len(given) // batch_size
            places = [place for batch in range(number) for place in stream.batch(batch)]
            assert given == [stream.shard(e)[p] for e, p in places], reader
            last = stream.find(len(given))
            assert last.epoch > epochs[-1][0], reader


def test_seven_clips_on_two_shards_are_seven_in_every_epoch():
    for batch_size in (1, 2, 3, 4):
        for pad in (False, True):
            reader = (7, batch_size, 2, True, pad)
            for _, batches in planned(reader, PARTIAL, range(2)):
                assert sorted(chain(chain(batches))) == list(range(7))


def counted(samples, batch_size, num_pipelines, padded, policy):
    """Epochs of `samples` counted one by one, as [pipeline's samples kept] for each batch."""
    epochs, ahead = [], 0
    for _ in range(EPOCHS):
        left = samples - (ahead if policy is FILL and not padded else 0)
        batches = []
        while left > 0:
            kept = []
            for _ in range(num_pipelines):
                own = 0
                for _ in range(batch_size):
                    own += left > 0
                    left -= 1
                kept.append(own if policy is PARTIAL else batch_size)
            if policy is not DROP or left >= 0:
                batches.append(kept)
        epochs.append(batches)
        ahead = -left
        while ahead >= samples:  # epochs that were wholly given ahead
            ahead -= samples
    return epochs


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("padded", [False, True])
def test_epochs_of_a_size_are_those_counted_one_by_one(policy, padded):
    for samples_, batch_size, pipelines in itertools.product(range(1, 15), (1, 2, 3, 5), (1, 2, 3)):
        stream = Epochs(samples_, batch_size * pipelines, pad_last_batch=padded)
        planner = EpochPlanner(stream, policy, pipelines)
        got, first = [], 0
        for epoch in range(EPOCHS):
            plan = planner.plan(epoch, first)
            got.append(
                [
                    [plan.kept(batch, batch_size, pipeline) for pipeline in range(pipelines)]
                    for batch in range(plan.start, plan.stop)
                ]
            )
            first = plan.end
        assert got == counted(samples_, batch_size, pipelines, padded, policy)
