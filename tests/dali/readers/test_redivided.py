"""Readers go on with other shards than before: no sample of an epoch is lost or repeated."""

import itertools
import json
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder


def orders(size, shards, batch_size, *, stick=False, pad=False, group=1, state=None, at=0):
    """The order of each shard, going on from a state."""
    made = []
    for shard in range(shards):
        epochs = Epochs(size, batch_size, shards, shard, stick, pad)
        if state is not None:
            epochs = epochs.resumed(state, at)
        made.append(ReaderOrder(epochs, SampleOrder(size, group=group), seed=7, window=4 * group))
    return made


def walk(legs, size, **options):
    """Numbers by epoch, of all shards, through legs of (shards, batch size, batches)."""
    seen = defaultdict(Counter)
    state, at = None, 0
    for shards, batch_size, batches in legs:
        made = orders(size, shards, batch_size, state=state, at=at, **options)
        for order in made:
            for batch in range(at, at + batches):
                epochs = order.epochs
                first = (batch - epochs.first) * batch_size
                for place, (known, number) in zip(
                    range(first, first + batch_size), order.batch(batch), strict=True
                ):
                    epoch, position = epochs.find(place)
                    assert epoch == known.epoch
                    if position < len(epochs.shard(epoch)):  # else padding
                        seen[epoch][number] += 1
        at += batches
        states = [order.epochs.division for order in made]
        assert all(each == states[0] for each in states)
        state = states[0]
    return seen, made, at


legs = st.lists(
    st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(0, 9)), min_size=2, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(st.integers(7, 40), legs, st.booleans(), st.booleans(), st.sampled_from([1, 3]))
def test_every_sample_comes_once_an_epoch(size, legs, stick, pad, group):
    shards, batch_size, _ = legs[-1]
    # A last leg that is long enough to end an epoch that was begun.
    legs = [*legs, (shards, batch_size, 2 * size // (shards * batch_size) + 3)]
    seen, made, at = walk(legs, size, stick=stick, pad=pad, group=group)
    ended = min(order.epochs.find((at - order.epochs.first) * legs[-1][1]).epoch for order in made)
    assert ended > 0
    for epoch in range(ended):
        assert seen[epoch] == Counter(range(size)), epoch


def test_the_same_shards_go_on_with_the_same_batches():
    for stick, pad in itertools.product([False, True], repeat=2):
        whole = orders(11, 3, 2, stick=stick, pad=pad)
        state = whole[0].epochs.division
        for order, before in zip(
            orders(11, 3, 2, stick=stick, pad=pad, state=state, at=5), whole, strict=True
        ):
            assert [order.batch(at) for at in range(5, 30)] == [
                before.batch(at) for at in range(5, 30)
            ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for number in range(23):
        (folder / f"{number:02}").write_bytes(bytes([number]))
    return [str(folder / f"{number:02}") for number in range(23)]


@pipeline_def(num_threads=1, enable_checkpointing=True)
def numbered(files, shards, shuffle=True):
    _, number = fn.readers.file(
        files=files, labels=list(range(len(files))), name="Reader", random_shuffle=shuffle, **shards
    )
    return number, fn.random.uniform()


def iterators(files, ranks, batch_size=2, policy=LastBatchPolicy.PARTIAL, **options):
    """One iterator for each rank."""
    seed, shuffle = options.pop("seed", 5), options.pop("shuffle", True)
    options = {"pad_last_batch": policy is not LastBatchPolicy.FILL, **options}
    return [
        GenericIterator(
            numbered(
                files,
                {"num_shards": ranks, "shard_id": rank, **options},
                shuffle,
                batch_size=batch_size,
                seed=seed,
            ),
            ["number", "noise"],
            reader_name="Reader",
            last_batch_policy=policy,
        )
        for rank in range(ranks)
    ]


def pairs(batch):
    return list(zip(batch["number"].flatten().tolist(), batch["noise"].tolist(), strict=True))


def step(made):
    return [pair for each in made for (batch,) in [next(each)] for pair in pairs(batch)]


def rest(made):
    """What the ranks give up to the end of the epoch; all take as many batches."""
    lists = [[pairs(batch) for (batch,) in each] for each in made]
    assert len({len(batches) for batches in lists}) == 1
    return [pair for batches in lists for batch in batches for pair in batch]


@pytest.mark.parametrize(("before", "after", "size"), [(2, 3, 2), (3, 2, 2), (3, 1, 6), (1, 4, 3)])
@pytest.mark.parametrize("stick", [False, True])
def test_ranks_that_are_more_or_fewer_go_on_with_the_epoch(files, before, after, size, stick):
    (alone,) = iterators(files, 1)
    epochs = [sorted(rest([alone])) for _ in range(3)]
    alone.close()
    assert [number for number, _ in epochs[1]] == list(range(23))
    first = iterators(files, before, stick_to_shard=stick)
    rest(first)
    for each in first:
        iter(each)
    done = step(first) + step(first)
    state = json.loads(json.dumps(first[0].state_dict()))
    assert all(each.state_dict() == state for each in first)
    second = iterators(files, after, size, stick_to_shard=stick)
    for each in second:
        each.load_state_dict(state)
    third_from = step(second)
    state = json.loads(json.dumps(second[0].state_dict()))
    # Once more, back to the first division.
    third = iterators(files, before, stick_to_shard=stick)
    for each in third:
        each.load_state_dict(state)
    assert sorted(done + third_from + rest(third)) == epochs[1]
    assert sorted(rest(third)) == epochs[2]
    for each in (*first, *second, *third):
        each.close()


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
def test_at_the_end_of_an_epoch_the_next_one_begins(files, policy):
    first = iterators(files, 2, policy=policy)
    before = [number for number, _ in rest(first)]
    second = iterators(files, 3, policy=policy)
    for each in second:
        each.load_state_dict(first[0].state_dict())
    numbers = [number for number, _ in rest(second)]
    if policy is LastBatchPolicy.PARTIAL:
        assert sorted(numbers) == list(range(23))
    if policy is LastBatchPolicy.DROP:
        assert len(numbers) == len(set(numbers)) == 23 // 3 // 2 * 2 * 3
    if policy is LastBatchPolicy.FILL:  # batches may hold samples of the next epoch
        assert set(Counter(before + numbers).values()) <= {2, 3}
        assert len(set(numbers)) > 23 - 2 * 2
    for each in (*first, *second):
        each.close()


def test_pipelines_take_a_checkpoint_of_other_shards_by_themselves(files):
    first = [
        numbered(files, {"num_shards": 2, "shard_id": rank}, batch_size=3, seed=1)
        for rank in range(2)
    ]
    seen = [pipe.run()[0].as_array().ravel().tolist() for pipe in first for _ in range(2)]
    state = first[0].checkpoint()
    second = [
        numbered(
            files,
            {"num_shards": 3, "shard_id": rank},
            batch_size=3,
            seed=1,
            checkpoint=state,
        )
        for rank in range(3)
    ]
    numbers = [number for each in seen for number in each]
    for pipe in second:
        (shard,) = [pipe.reader_epochs("Reader").shard(0)]
        numbers += [
            number for _ in range(2) for number in pipe.run()[0].as_array().ravel().tolist()
        ][: len(shard)]
    assert sorted(numbers) == list(range(23))
    for pipe in (*first, *second):
        pipe.close()


def test_what_cannot_go_on_says_why(files):
    (first,) = iterators(files, 1, policy=LastBatchPolicy.DROP, pad_last_batch=False)
    next(first)
    others = iterators(files, 2, policy=LastBatchPolicy.DROP, pad_last_batch=False)
    with pytest.raises(ArgumentError, match="pad_last_batch=True"):
        others[0].load_state_dict(first.state_dict())
    drawn = iterators(files, 2, seed=None)
    step(drawn)
    fresh = iterators(files, 3, seed=None)
    with pytest.raises(ArgumentError, match="the same seed"):
        fresh[0].load_state_dict(drawn[0].state_dict())
    in_order = iterators(files, 2, seed=None, shuffle=False)
    seen = step(in_order)
    after = iterators(files, 3, seed=None, shuffle=False)
    for each in after:
        each.load_state_dict(in_order[0].state_dict())
    assert sorted(number for number, _ in seen + rest(after)) == list(range(23))
    padded = iterators(files, 2, stick_to_shard=True)
    step(padded)
    with pytest.raises(ArgumentError, match="stick_to_shard=True"):
        fresh[0].load_state_dict(padded[0].state_dict())
    for each in (first, *others, *drawn, *fresh, *in_order, *after, *padded):
        each.close()
