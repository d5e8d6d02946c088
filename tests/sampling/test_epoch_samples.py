"""How many samples of each video the batches of an epoch have."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from size_tables import sizes, videos

from videoloader.errors import ArgumentError
from videoloader.sampling import BatchOrder, Buckets, EpochSamples, Packing, RandomClip

CLIP = RandomClip(8)
PLANS = [
    Buckets([(4, 64, 64), (8, 96, 64), (8, 64, 128)], batch_size=3, on_unfit="skip"),
    Packing(200, patchify=(2, 16, 16), on_unfit="skip", window=16),
]


def drawn(plan, epoch, videos):
    """(video, number of the clip) of the samples of an epoch, batch by batch."""
    return [
        [(number % len(videos), number // len(videos)) for number in plan.batches(epoch)[at]]
        for at in range(len(plan.batches(epoch)))
    ]


def plan_of(batches, videos, **options):
    try:
        return batches.plan(videos, CLIP, **options)
    except ArgumentError as error:
        assert "are in no batch" in str(error)
        return None


@pytest.mark.parametrize("batches", PLANS, ids=["buckets", "packs"])
@given(videos=videos, clips=st.integers(1, 4), shuffle=st.booleans())
def test_every_video_that_fits_has_as_many_clips_as_asked_for(batches, videos, clips, shuffle):
    samples = EpochSamples(clips)
    plan = plan_of(batches, videos, shuffle=shuffle, samples=samples)
    if plan is None:
        return
    fitting = set(range(len(videos))) - set(plan.unfit.tolist())
    of_epoch = drawn(plan, 1, videos)
    each = Counter(sample for batch in of_epoch for sample in batch)
    assert each == {(video, clip): 1 for video in fitting for clip in range(clips)}
    assert BatchOrder(plan).size == plan.num_samples == len(fitting) * clips
    for batch in of_epoch:
        if isinstance(batches, Buckets):
            assert len({plan.shape(video) for video, _ in batch}) == 1
        else:
            assert sum(np.prod(plan.shape(video)) // 512 for video, _ in batch) <= 200


@pytest.mark.parametrize("batches", PLANS, ids=["buckets", "packs"])
@given(videos=videos, clips=st.integers(1, 4), seed=st.integers(0, 9), data=st.data())
def test_videos_that_fit_are_drawn_by_weight_and_no_others(batches, videos, clips, seed, data):
    numbers = st.integers(0, 5)
    weights = data.draw(st.lists(numbers, min_size=len(videos), max_size=len(videos)))
    everything = plan_of(batches, videos)
    if everything is None:
        return
    fits = np.ones(len(videos), dtype=bool)
    fits[everything.unfit] = False
    samples = EpochSamples(clips, np.array(weights, dtype=float))
    if not np.array(weights)[fits].any():
        with pytest.raises(ArgumentError, match="nothing to draw"):
            batches.plan(videos, CLIP, samples=samples)
        return
    plan = batches.plan(videos, CLIP, seed=seed, shuffle=False, samples=samples)
    found = [sample for batch in drawn(plan, 2, videos) for sample in batch]
    assert len(set(found)) == len(found) == fits.sum() * clips
    shares = np.where(fits, weights, 0) / np.sum(np.array(weights)[fits]) * len(found)
    counts = Counter(video for video, _ in found)
    for video, share in enumerate(shares):
        assert np.floor(share - 1e-3) <= counts[video] <= np.ceil(share + 1e-3)
        assert {clip for of, clip in found if of == video} == set(range(counts[video]))


@pytest.mark.parametrize("batches", PLANS, ids=["buckets", "packs"])
def test_classes_are_balanced_among_the_videos_that_fit(batches):
    # Of class 0 one of six videos fits, of class 1 all six do.
    table = sizes([(96, 128, 30, 24)] + [(20, 10, 30, 24)] * 5 + [(96, 128, 30, 24)] * 6)
    samples = EpochSamples(10, labels=[0] * 6 + [1] * 6)
    plan = batches.plan(table, CLIP, samples=samples)
    counts = Counter(video for batch in drawn(plan, 0, table) for video, _ in batch)
    assert counts[0] == 35
    assert all(counts[video] in (5, 6) for video in range(6, 12))
    assert sum(counts.values()) == 70


@pytest.mark.parametrize(
    "samples",
    [
        EpochSamples(),
        EpochSamples(3),
        EpochSamples(2, np.array([3.0, 0, 1, 2, 9])),
        EpochSamples(2, labels=[0, 0, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_order_is_that_of_epochs_without_a_plan(samples, shuffle):
    order = samples.order(np.ones(5, dtype=bool), 3, shuffle=shuffle)
    plain = BatchOrder(order, 3, batch_size=2)
    for epoch in range(3):
        steps = range(plain.num_steps())
        expected = np.concatenate([plain.batch(epoch, step) for step in steps])
        assert order.numbers(epoch).tolist() == expected.tolist()
        assert len(expected) == 5 * samples.clips_per_video


def test_numbers_beyond_32_bits_are_kept():
    samples = EpochSamples(1 << 20)
    order = samples.order(np.arange(5000) == 4999, 0, shuffle=False)
    numbers = order.numbers(0)
    assert numbers.dtype == np.int64
    assert numbers[-1] == (1 << 20) * 5000 - 1
    small = EpochSamples(2).order(np.ones(3, dtype=bool), 0, shuffle=True).numbers(0)
    assert small.dtype == np.int32


def test_the_digest_tells_samples_apart():
    table = sizes([(96, 128, 30, 24)] * 4)
    several = [
        EpochSamples(),
        EpochSamples(2),
        EpochSamples(1, np.array([1.0, 1, 1, 2])),
        EpochSamples(1, np.array([1.0, 1, 2, 1])),
        EpochSamples(1, labels=[0, 1, 1, 1]),
    ]
    for batches in PLANS:
        assert len({batches.plan(table, CLIP, samples=each).digest for each in several}) == 5
