import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from size_tables import sizes, videos

from videoloader.errors import ArgumentError
from videoloader.sampling import (
    BatchOrder,
    Buckets,
    DenseClips,
    RandomClip,
    SegmentClip,
    UniformClip,
    aspect_buckets,
    sample_frames,
)
from videoloader.sampling.batches.video_sizes import frames_offered

SIDES = (64, 96, 128, 192, 256)


shapes = st.lists(
    st.tuples(st.sampled_from([1, 4, 8]), st.sampled_from(SIDES), st.sampled_from(SIDES)),
    min_size=1,
    max_size=8,
    unique=True,
)
remainders = st.sampled_from(["keep", "drop", "repeat"])


def by_hand(video, offered, buckets):
    """The bucket of one video, by the words of the documentation."""
    height, width = video
    candidates = {}
    for number, (frames, rows, columns) in enumerate(buckets.shapes):
        if offered < frames or (not buckets.upscale and (height < rows or width < columns)):
            continue
        scale = max(rows / height, columns / width)
        kept = rows * columns / (height * scale * width * scale)
        if kept >= 1 - buckets.max_crop:
            candidates[number] = kept
    if not candidates:
        return -1
    best = max(candidates.values())
    near = [number for number, kept in candidates.items() if kept >= best - buckets.tolerance]
    return max(near, key=lambda number: (math.prod(buckets.shapes[number]), candidates[number]))


@given(videos, shapes, st.booleans(), st.sampled_from([1.0, 0.37]))
def test_each_video_goes_to_the_bucket_that_the_documentation_says(
    videos, shapes, upscale, max_crop
):
    buckets = Buckets(shapes, batch_size=2, upscale=upscale, max_crop=max_crop, tolerance=0.103)
    sampler = RandomClip(1, fps=8)
    found = buckets.assign(videos, sampler).tolist()
    offered = frames_offered(sampler, videos).tolist()
    places = zip(videos.heights.tolist(), videos.widths.tolist(), strict=True)
    for place, frames, bucket in zip(places, offered, found, strict=True):
        expected = by_hand(place, frames, buckets)
        if bucket != expected:  # only where rounding decides between equals
            assert buckets.shapes[bucket] == buckets.shapes[expected]


@given(videos, shapes, remainders, st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_an_epoch_has_every_sample_once_in_batches_of_one_shape(
    videos, shapes, remainder, batch_size, epoch, shuffle
):
    buckets = Buckets(shapes, batch_size=batch_size, on_unfit="skip", remainder=remainder)
    assigned = buckets.assign(videos, RandomClip(1))
    if (assigned < 0).all():
        return
    plan = buckets.plan(videos, RandomClip(1), seed=5, shuffle=shuffle)
    assert plan.unfit.tolist() == np.flatnonzero(assigned < 0).tolist()
    batches = plan.batches(epoch)
    seen = []
    short = []
    for number in range(len(batches)):
        batch = batches[number]
        assert 1 <= len(batch) <= batch_size
        assert len({int(assigned[sample]) for sample in batch}) == 1
        assert {plan.shape(sample) for sample in batch} == {buckets.shapes[assigned[batch[0]]]}
        short += [int(assigned[batch[0]])] * (len(batch) < batch_size)
        seen += batch.tolist()
    fitting = np.flatnonzero(assigned >= 0).tolist()
    if remainder == "keep":
        assert sorted(seen) == fitting
        assert len(short) == len(set(short))
    elif remainder == "drop":
        assert not short
        assert len(seen) == len(set(seen))
        counts = np.bincount(assigned[assigned >= 0])
        assert len(seen) == sum(count // batch_size * batch_size for count in counts)
    else:
        assert not short
        assert sorted(set(seen)) == fitting


@given(videos, st.integers(1, 7), st.integers(1, 7), st.integers(0, 40), st.integers(0, 2))
def test_ranks_have_all_batches_and_others_go_on_with_the_rest(videos, ranks, others, steps, epoch):
    plan = Buckets([(1, 64, 64)], batch_size=3, upscale=True).plan(videos, RandomClip(1))
    orders = [BatchOrder(plan, rank=rank, num_ranks=ranks) for rank in range(ranks)]
    seen = []
    for order in orders:
        for step in range(min(steps, order.num_steps(0, epoch))):
            seen += order.batch(epoch, step).tolist()
    (start,) = {order.position(steps, 0, epoch) for order in orders}
    for rank in range(others):
        order = BatchOrder(plan, rank=rank, num_ranks=others)
        for step in range(order.num_steps(start, epoch)):
            seen += order.batch(epoch, step, start).tolist()
    assert sorted(seen) == list(range(len(videos)))


@given(videos, st.integers(1, 6), st.sampled_from(["drop", "repeat"]))
def test_ranks_run_in_step(videos, ranks, remainder):
    plan = Buckets([(1, 64, 64)], batch_size=2, upscale=True).plan(videos, RandomClip(1))
    orders = [BatchOrder(plan, 0, rank, ranks, remainder) for rank in range(ranks)]
    (steps,) = {order.num_steps() for order in orders}
    total = len(plan.batches(0))
    assert steps == (total // ranks if remainder == "drop" else -(-total // ranks))
    seen = [tuple(order.batch(0, step).tolist()) for step in range(steps) for order in orders]
    whole = [tuple(plan.batches(0)[number].tolist()) for number in range(total)]
    assert seen == [whole[number % total] for number in range(steps * ranks)]


@given(videos, shapes, st.integers(0, 1000))
def test_a_batch_never_has_more_tokens_than_its_limit(videos, shapes, more):
    patch = (1, 32, 32)
    most = max(math.prod(shape) // 1024 for shape in shapes) + more
    for limits in ({"max_tokens": most, "patch": patch}, {"max_pixels": 1024 * most}):
        buckets = Buckets(shapes, **limits, upscale=True, on_unfit="skip")
        plan = buckets.plan(videos, UniformClip(1)) if fits_one(videos, shapes) else None
        short = Counter()
        for batch in range(0 if plan is None else len(plan.batches(1))):
            samples = plan.batches(1)[batch]
            tokens = sum(math.prod(plan.shape(sample)) // 1024 for sample in samples)
            assert tokens <= most
            one = math.prod(plan.shape(samples[0])) // 1024
            short[plan.shape(samples[0])] += len(samples) < most // one
        assert all(count <= 1 for count in short.values())


def fits_one(videos, shapes):
    return videos.num_frames.max() >= min(shape[0] for shape in shapes)


def test_epochs_and_seeds_differ_and_repeat():
    rows = [(64 + 32 * (n % 3), 96, 20, 24) for n in range(60)]
    buckets = Buckets([(1, 64, 96), (1, 96, 96), (1, 128, 96)], batch_size=4)

    def batches(epoch, **options):
        found = buckets.plan(sizes(rows), RandomClip(1), **options).batches(epoch)
        return [found[number].tolist() for number in range(len(found))]

    assert batches(0, seed=1) == batches(0, seed=1)
    assert batches(0, seed=1) != batches(1, seed=1) != batches(1, seed=2)
    assert {tuple(sorted(batch)) for batch in batches(0)} != {
        tuple(sorted(batch)) for batch in batches(1)
    }
    in_order = batches(0, shuffle=False)
    assert in_order == batches(5, shuffle=False) == sorted(in_order)
    assert in_order[0] == [0, 3, 6, 9]


@given(
    st.integers(1, 200),
    st.sampled_from([5.0, 24.0, 29.97, 30.0]),
    st.sampled_from([{"fps": 8}, {"fps": 30}, {"fps": 7.3, "timing": "frames"}, {"stride": 3}]),
)
def test_a_clip_of_the_offered_frames_fits_and_one_more_does_not(num_frames, fps, options):
    video = sizes([(64, 64, num_frames, fps)])
    offered = int(frames_offered(RandomClip(1, **options), video)[0])
    frames = RandomClip(offered, **options).frames(num_frames, fps=fps)
    assert frames.max() < num_frames
    assert RandomClip(offered + 1, **options).frames(num_frames, fps=fps).max() >= num_frames


def test_a_video_of_unknown_rate_fits_only_samplers_without_one():
    video = sizes([(64, 64, 50, 0.0)])
    assert frames_offered(RandomClip(1, fps=8), video) == 0
    assert frames_offered(RandomClip(1, stride=2), video) == 25


@given(
    st.integers(32 * 32, 1 << 20),
    st.sampled_from([1, 8, 16, 32]),
    st.lists(st.floats(0.25, 4), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_aspect_buckets_keep_to_the_pixels_and_come_near_the_ratios(pixels, step, ratios):
    pixels *= 4 if step == 32 else 1
    found = aspect_buckets(pixels, frames=[2, 9], multiple_of=step, ratios=ratios)
    assert len(set(found)) == len(found)
    for frames, height, width in found:
        assert frames in (2, 9)
        assert height % step == width % step == 0
        assert 0 < height * width <= pixels
    for ratio in ratios:
        ideal = math.sqrt(pixels / ratio), math.sqrt(pixels * ratio)
        assert any(
            abs(height - ideal[0]) < step and abs(width - ideal[1]) < step
            for _, height, width in found
        )


def test_videos_that_fill_no_bucket_are_told():
    rows = [(64, 64, 10, 24), (300, 300, 10, 24), (300, 300, 2, 24)]
    buckets = Buckets([(4, 128, 128)], batch_size=2)
    with pytest.raises(ArgumentError, match=r"2 of 3 videos .* number 0: 64x64 .*skip") as error:
        buckets.plan(sizes(rows), RandomClip(1))
    assert "10 frames" in str(error.value)
    skipping = Buckets([(4, 128, 128)], batch_size=2, on_unfit="skip")
    assert skipping.plan(sizes(rows), RandomClip(1)).unfit.tolist() == [0, 2]
    with pytest.raises(ArgumentError, match="1 of 1 videos"):
        skipping.plan(sizes(rows[:1]), RandomClip(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of batch_size"),
        ({"batch_size": 2, "max_tokens": 9}, "one of batch_size"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"max_tokens": 15, "patch": (1, 16, 16)}, "has 16 tokens, more than 15"),
        ({"batch_size": 2, "patch": (3, 1, 1)}, "no multiple of patch"),
        ({"batch_size": 2, "shapes": []}, "one or more buckets"),
        ({"batch_size": 2, "shapes": [(1, 8)]}, "whole numbers"),
        ({"batch_size": 2, "shapes": [(1, 8, 8), (1, 8, 8)]}, "each once"),
        ({"batch_size": 2, "remainder": "cut"}, "remainder"),
        ({"batch_size": 2, "max_crop": 2.0}, "max_crop"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        Buckets(**{"shapes": [(1, 64, 64)], **options})


@pytest.mark.parametrize("sampler", [DenseClips(2), SegmentClip(2), UniformClip(fps=3)])
def test_samplers_without_a_length_to_choose_are_refused(sampler):
    with pytest.raises(ArgumentError, match="several lengths"):
        Buckets([(1, 64, 64)], batch_size=1).plan(sizes([(64, 64, 9, 24)]), sampler)


def test_on_unfit_is_checked():
    with pytest.raises(ArgumentError, match="on_unfit"):
        Buckets([(1, 64, 64)], batch_size=1, on_unfit="drop").plan(
            sizes([(64, 64, 9, 24)]), RandomClip(1)
        )


def test_the_digest_tells_plans_apart():
    rows = [(64, 64, 9, 24), (96, 64, 9, 24)]
    bucket = Buckets([(1, 64, 64)], batch_size=1)

    def digest(buckets, videos):
        return buckets.plan(sizes(videos), RandomClip(1)).digest

    assert digest(bucket, rows) == digest(bucket, rows)
    others = Buckets([(1, 64, 64)], batch_size=2), Buckets([(1, 64, 64), (1, 96, 64)], batch_size=1)
    assert len({digest(each, rows) for each in (bucket, *others)}) == 3


def test_sampled_clips_have_the_frames_of_their_bucket():
    class Index:
        name, num_frames, average_fps = "a.mp4", 40, 20.0
        boundaries = np.arange(41) / 20

    sampler = RandomClip(16, fps=8)
    assert frames_offered(sampler, sizes([(64, 64, 40, 20.0)])) == 16
    assert sample_frames(sampler, Index).max() < 40
