"""Sequences of seeds that runs were started with: a later version goes on with the same ones."""

import itertools
import json
import zlib

import numpy as np
import pytest
from size_tables import sizes

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.epoch_plan import EpochPlanner, LastBatchPolicy
from videoloader.sampling import BatchOrder, Buckets, EpochSamples, Packing, RandomClip
from videoloader.sampling.orders.reader_epochs import Division, Epochs
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.orders.weighted import WeightedDraws
from videoloader.training.epoch_sampler import EpochSampler

CLIP = RandomClip(8)
TABLE = sizes([(96 + 8 * (n % 3), 128 - 16 * (n % 2), 10 + n, 24) for n in range(13)])
PLANS = [
    Buckets([(4, 64, 64), (8, 96, 64), (8, 64, 128)], batch_size=2, on_unfit="skip"),
    Buckets([(8, 64, 64), (16, 96, 96)], max_pixels=200_000, remainder="repeat"),
    Packing(200, patchify=(2, 16, 16), on_unfit="skip", window=4),
]
SAMPLES = [
    EpochSamples(),
    EpochSamples(3),
    EpochSamples(2, np.arange(13.0)),
    EpochSamples(1, labels=np.arange(13) // 5),
]


def walked(order):
    """Batches of some epochs from several starts, with the positions behind them."""
    for epoch, part in itertools.product((0, 1, 5), (0, 3, 7)):
        start = order.end(epoch) * part // 7
        steps = range(order.num_steps(start, epoch))
        yield order.is_over(start, epoch), order.position(1, start, epoch)
        yield [order.batch(epoch, step, start).tolist() for step in steps]


def in_steps():
    """Batches of one size, of all ranks."""
    for samples, shuffle, seed, batch_size, ranks, remainder in itertools.product(
        SAMPLES, (False, True), (1 << 40,), (1, 5), (1, 3), ("keep", "drop", "repeat")
    ):
        for rank in range(ranks):
            every = samples.order(np.ones(13, dtype=bool), seed, shuffle=shuffle)
            order = BatchOrder(every, seed, rank, ranks, remainder, batch_size)
            yield order.state, order.size, list(walked(order))


def by_plan():
    """Buckets and packs, of all ranks."""
    for batches, samples, shuffle, ranks, remainder in itertools.product(
        PLANS, SAMPLES, (False, True), (1, 3), (None, "drop")
    ):
        plan = batches.plan(TABLE, CLIP, seed=3, shuffle=shuffle, samples=samples)
        for rank in range(ranks):
            order = BatchOrder(plan, 3, rank, ranks, remainder)
            yield order.state, order.size, order.unfit.tolist(), list(walked(order))


def by_sampler():
    """Passes of `EpochSampler`."""
    for samples, shuffle, ranks, remainder in itertools.product(
        (11, [4, 4, 9, 1, 4, 7], 2500), (False, True), (1, 4), (None, "keep", "drop")
    ):
        for rank in range(ranks):
            sampler = EpochSampler(
                samples, shuffle=shuffle, seed=2, rank=rank, num_ranks=ranks, remainder=remainder
            )
            sampler.load_state_dict({"epoch": 1, "given": 5})
            passes = [[tuple(draw) for draw in sampler] for _ in range(2)]
            yield len(sampler), passes, sampler.state_dict()


READERS = list(itertools.product((17,), (1, 3), (1, 4), (False, True), (False, True)))
COMMON = 0x5EED  # the seed that shards share
LEGS = [(), ((2, 3, 2),), ((3, 1, 3), (1, 4, 5), (2, 2, 6))]  # of readers before


def epochs_of(size, shards, batch_size, stick, pad, *, shard=0, legs=()):
    """The stream of a shard that goes on from others."""
    epochs = Epochs(size, batch_size, shards, shard, stick, pad)
    if not legs:
        return epochs
    *ended, (before, each, stop) = legs
    before += (before, each) == (shards, batch_size)  # else it would be the same division
    return epochs.resumed(Division(size, before, each, stick, pad, tuple(ended)), stop)


def ways(size):
    """Orders of the samples of an epoch, and of epochs after the first."""
    ends = np.array([2, 3, 6, size])
    draws = WeightedDraws.of(np.arange(1.0, 5), counts=np.diff(ends, prepend=0))
    listed = SampleOrder(size, COMMON, shuffle=False, stage=2)
    near = SampleOrder(size, COMMON, shuffle=False, stage=2, group=3)
    drawn = SampleOrder(size, COMMON, draws=draws, stage=2, draw_stage=2)
    yield listed, None
    yield SampleOrder(size, COMMON, stage=2), None
    yield listed, SampleOrder(size, COMMON, stage=2)
    yield SampleOrder(size, COMMON, stage=2), SampleOrder(size, 77, stage=2, files=ends)
    yield listed, SampleOrder(size, COMMON, stage=2, files=ends)
    yield drawn, None
    yield SampleOrder(size, COMMON, stage=2, group=3), None
    yield near, None


def by_readers(legs):
    """Batches of readers, of all shards, with the clips that are decoded along."""
    for division in READERS:
        for samples, later in ways(division[0]):
            for shard in range(division[1]):
                epochs = epochs_of(*division, shard=shard, legs=legs)
                order = ReaderOrder(epochs, samples, later, 6, 2, window=8)
                for number in range(epochs.first, epochs.first + 9):
                    batch = order.batch(number)
                    yield [(tuple(place), sample) for place, sample in batch]
                    yield [[tuple(mate) for mate in order.mates(place)] for place, _ in batch]


def by_iterators():
    """Epochs of iterators over readers."""
    for division, policy, legs in itertools.product(READERS, LastBatchPolicy, (LEGS[0], LEGS[2])):
        shards = tuple(range(division[1]))
        planner = EpochPlanner(epochs_of(*division, legs=legs), policy, shards=shards)
        plans = [planner.begin()]
        for _ in range(7):
            plans.append(planner.plan(plans[-1].epoch + 1, plans[-1].end))
        yield [(plan, len(plan), planner.size(plan)) for plan in plans]


@pytest.mark.parametrize(
    ("sequences", "frozen"),
    [
        (in_steps(), 926953146),
        (by_plan(), 651025858),
        (by_sampler(), 2183369890),
        (by_readers(LEGS[0]), 317198995),
        (by_readers(LEGS[1]), 4094500249),
        (by_readers(LEGS[2]), 3527069231),
        (by_iterators(), 1714005141),
    ],
    ids=["steps", "plans", "sampler", "readers", "resumed", "resumed thrice", "iterators"],
)
def test_sequences_are_those_of_runs_that_were_stored(sequences, frozen):
    assert zlib.crc32(repr(list(sequences)).encode()) == frozen


@pytest.mark.parametrize(
    ("shards", "shard", "batch_size", "expected"),
    [
        (2, 1, 4, [[20, 16, 20, 12], [15, 2, 21, 3], [17, 4, 9, 13], [1, 6, 0, 7]]),
        (3, 2, 2, [[22, 22], [11, 13], [3, 20], [0, 12], [7, 19], [14, 6], [3, 1], [12, 11]]),
    ],
)
def test_a_stored_checkpoint_goes_on_with_its_samples(
    tmp_path, shards, shard, batch_size, expected
):
    for number in range(23):
        (tmp_path / f"{number:02}").write_bytes(bytes([number]))

    @pipeline_def(num_threads=1, seed=5, batch_size=batch_size)
    def numbered():
        options = {"random_shuffle": True, "num_shards": shards, "shard_id": shard}
        return fn.readers.file(files=files, labels=[*range(23)], **options)[1]

    files = sorted(map(str, tmp_path.iterdir()))
    state = {"version": 1, "seed": 5, "batch_size": 2, "batches": 7}
    state["readers"] = [[23, 3, 2, False, False, [[2, 3, 5]]]]
    with numbered(checkpoint=json.dumps(state)) as pipe:
        assert [pipe.run()[0].as_array().ravel().tolist() for _ in expected] == expected
