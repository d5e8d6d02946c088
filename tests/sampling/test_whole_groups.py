"""Samples of a video that come in one batch: groups that ranks and batches never divide."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from size_tables import sizes

from videoloader.errors import ArgumentError
from videoloader.sampling import BatchOrder, Buckets, EpochSamples, Packing, RandomClip

SHAPES = st.tuples(st.integers(1, 25), st.integers(1, 4), st.integers(1, 3))
"""Videos, groups of each, samples of a group."""
EVERY = [
    EpochSamples(6, group=3),
    EpochSamples(4, np.array([3.0, 0, 1, 2, 9]), group=2),
    EpochSamples(3, labels=np.array([0, 0, 1, 1, 1]), group=3),
    EpochSamples(counts=np.array([7, 0, 3, 12, 1]), group=4),
]


def order_of(samples, videos, seed=0, shuffle=True, **arguments):
    fits = np.ones(videos, dtype=bool)
    return BatchOrder(samples.order(fits, seed, shuffle=shuffle), seed, **arguments)


def ranks(count, *given, **arguments):
    return [order_of(*given, rank=rank, num_ranks=count, **arguments) for rank in range(count)]


def steps(orders, epoch, start=0):
    """The batches of every rank in turn, as lists of sample numbers."""
    most = max(order.num_steps(start) for order in orders)
    return [
        order.batch(epoch, step, start).tolist()
        for step in range(most)
        for order in orders
        if step < order.num_steps(start)
    ]


def groups(batch, size):
    return [batch[first : first + size] for first in range(0, len(batch), size)]


@given(SHAPES, st.integers(1, 3), st.integers(1, 4), st.booleans(), st.integers(0, 3))
def test_every_draw_of_every_video_comes_once_and_groups_stay_whole(
    shape, of_batch, count, shuffle, epoch
):
    videos, of_video, group = shape
    samples = EpochSamples(of_video * group, group=group)
    orders = ranks(count, samples, videos, shuffle=shuffle, batch_size=of_batch * group)
    batches = steps(orders, epoch)
    every = {video + draw * videos for video in range(videos) for draw in range(of_video * group)}
    seen = list(itertools.chain(*batches))
    assert len(seen) == len(every)
    assert set(seen) == every
    for batch in batches:
        assert 0 < len(batch) <= of_batch * group
        for numbers in groups(batch, group):
            first = numbers[0] // videos
            assert first % group == 0
            assert numbers == [numbers[0] + draw * videos for draw in range(group)]


@given(
    SHAPES, st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.data()
)
def test_an_epoch_of_groups_goes_on_with_other_ranks_and_batches(
    shape, of_batch, count, of_other, others, data
):
    videos, of_video, group = shape
    samples = EpochSamples(of_video * group, group=group)
    before = ranks(count, samples, videos, seed=4, batch_size=of_batch * group)
    full = before[0].size // (of_batch * group * count)
    done = data.draw(st.integers(0, full))
    seen = [order.batch(2, step).tolist() for step in range(done) for order in before]
    after = ranks(others, samples, videos, seed=4, batch_size=of_other * group)
    rest = steps(after, 2, before[0].position(done, 0, 2))
    every = range(videos * of_video * group)
    assert sorted(itertools.chain(*seen, *rest)) == [*every]
    assert steps(before, 2)[done * count :] == steps(before, 2, before[0].position(done, 0, 2))


@given(SHAPES, st.integers(1, 3), st.integers(1, 4))
def test_ranks_that_repeat_or_drop_have_equally_many_whole_groups(shape, of_batch, count):
    videos, of_video, group = shape
    samples = EpochSamples(of_video * group, group=group)
    size = videos * of_video * group
    for remainder in ("repeat", "drop"):
        options = {"remainder": remainder, "batch_size": of_batch * group}
        orders = ranks(count, samples, videos, **options)
        lengths = {
            tuple(len(order.batch(0, step)) for step in range(order.num_steps()))
            for order in orders
        }
        assert len(lengths) == 1
        seen = Counter(itertools.chain(*steps(orders, 0)))
        if remainder == "repeat":
            assert set(seen) == set(range(size))
            assert seen.total() - size < count * group
        else:
            assert seen.total() == len(seen) == size - size % (of_batch * group * count)
        assert {len(group_) for batch in steps(orders, 0) for group_ in groups(batch, group)} <= {
            group
        }


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_clips_of_videos_of_several_lengths_come_once_beside_their_neighbours(
    counts, group, of_batch, count, shuffle
):
    samples = EpochSamples(counts=np.array(counts), group=group)
    orders = ranks(count, samples, len(counts), shuffle=shuffle, batch_size=of_batch * group)
    batches = steps(orders, 1)
    line = [
        video + clip * len(counts) for video, clips in enumerate(counts) for clip in range(clips)
    ]
    seen = list(itertools.chain(*batches))
    assert sorted(seen) == sorted(line)
    following = dict(zip(line, [*line[1:], line[0]], strict=True))
    for batch in batches:
        for numbers in groups(batch, group):
            for one, other in itertools.pairwise(numbers):
                assert following[one] == other
    if not shuffle and count == 1:
        assert seen == line


def test_no_clip_is_always_in_the_rest_that_is_dropped():
    order = order_of(
        EpochSamples(counts=np.array([5, 8]), group=4), 2, batch_size=4, remainder="drop"
    )
    taken = Counter(n for epoch in range(300) for n in np.concatenate(steps([order], epoch)))
    assert len(taken) == 13
    assert min(taken.values()) > 230  # each is left out once in 13 epochs


def test_videos_are_drawn_by_weight_group_by_group():
    samples = EpochSamples(4, np.array([1.0, 0, 3]), group=4)
    order = order_of(samples, 3, batch_size=8)
    for epoch in range(5):
        batches = steps([order], epoch)
        seen = list(itertools.chain(*batches))
        assert len(set(seen)) == len(seen) == 12
        drawn = Counter(n % 3 for batch in batches for n, *_ in groups(batch, 4))
        assert set(drawn) <= {0, 2}
        assert drawn[2] in (2, 3)
        for batch in batches:
            for numbers in groups(batch, 4):
                assert len({n % 3 for n in numbers}) == 1
                assert np.ptp(numbers) == 9  # four draws in a row


@pytest.mark.parametrize("samples", EVERY)
def test_groups_are_permuted_by_seed_and_epoch(samples):
    orders = {
        tuple(itertools.chain(*steps([order_of(samples, 5, seed)], epoch)))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(orders) == 9


@pytest.mark.parametrize("samples", EVERY)
def test_a_list_of_an_epoch_has_the_order_of_its_batches(samples):
    order = order_of(samples, 5, 3, batch_size=samples.group)
    seen = list(itertools.chain(*steps([order], 2)))
    assert order.plan.numbers(2).tolist() == seen


def test_a_batch_or_a_position_that_would_divide_a_group_is_refused():
    samples = EpochSamples(4, group=4)
    with pytest.raises(ArgumentError, match="batch_size=6 is no multiple of together=4"):
        order_of(samples, 5, batch_size=6)
    with pytest.raises(ArgumentError, match="position 6 is inside a group of together=4"):
        order_of(samples, 5, batch_size=8).num_steps(6)
    assert order_of(samples, 5, batch_size=8).num_steps(20) == 0


def test_a_state_tells_groups_apart():
    states = [order_of(EpochSamples(4, group=group), 5).state for group in (1, 2, 4)]
    assert states[0] == {"seed": 0, "size": 20}
    assert [state["together"] for state in states[1:]] == [2, 4]


TABLE = sizes([(96 + 8 * (n % 3), 128 - 16 * (n % 2), 10 + n, 24) for n in range(13)])


@pytest.mark.parametrize("remainder", ["keep", "drop", "repeat"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_bucket_holds_whole_groups(remainder, shuffle):
    buckets = Buckets([(4, 64, 64), (8, 96, 64)], batch_size=8, remainder=remainder)
    plan = buckets.plan(TABLE, RandomClip(8), shuffle=shuffle, samples=EpochSamples(6, group=3))
    batches = [plan.batches(1)[at].tolist() for at in range(len(plan.batches(1)))]
    seen = list(itertools.chain(*batches))
    if remainder == "keep":
        assert sorted(seen) == [*range(13 * 6)]
    assert max(map(len, batches)) == 6
    for batch in batches:
        assert len(batch) == 6 or remainder == "keep"
        for numbers in groups(batch, 3):
            assert numbers == [numbers[0] + draw * 13 for draw in range(3)]


def test_a_pack_holds_whole_groups():
    packing = Packing(400, patchify=(2, 16, 16), window=12)
    plan = packing.plan(TABLE, RandomClip(4), samples=EpochSamples(4, group=2))
    batches = [plan.batches(1)[at].tolist() for at in range(len(plan.batches(1)))]
    assert sorted(itertools.chain(*batches)) == [*range(13 * 4)]
    for batch in batches:
        assert plan.tokens[np.array(batch) % 13].sum() <= 400
        for numbers in groups(batch, 2):
            assert numbers[1] == numbers[0] + 13


def test_groups_that_fit_no_batch_are_refused():
    samples = EpochSamples(4, group=4)
    buckets = Buckets([(8, 64, 64)], batch_size=3)
    with pytest.raises(ArgumentError, match="holds 3 clips, fewer than together=4"):
        buckets.plan(TABLE, RandomClip(8), samples=samples)
    packing = Packing(200, patchify=(2, 16, 16))
    with pytest.raises(ArgumentError, match=r"together=4 clips .* more than max_tokens=200"):
        packing.plan(TABLE, RandomClip(8), samples=samples)
    digests = {
        Buckets([(8, 64, 64)], batch_size=4)
        .plan(TABLE, RandomClip(8), samples=EpochSamples(4, group=group))
        .digest
        for group in (1, 2, 4)
    }
    assert len(digests) == 3
