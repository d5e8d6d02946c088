import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from size_tables import sizes, videos

from videoloader.errors import ArgumentError
from videoloader.sampling import BatchOrder, Packing, RandomClip
from videoloader.sampling.batches.packs import pack_first_fit

PATCH = (2, 16, 16)


def first_fit_decreasing(items, capacity):
    """Packs as lists of places, by a loop."""
    packs, room = [], []
    for place in sorted(range(len(items)), key=lambda place: (-items[place], place)):
        for number, left in enumerate(room):
            if items[place] <= left:
                packs[number].append(place)
                room[number] -= items[place]
                break
        else:
            packs.append([place])
            room.append(capacity - items[place])
    return packs


@given(st.lists(st.integers(1, 50), max_size=200), st.integers(50, 120), st.integers(1, 60))
def test_packs_are_those_of_first_fit_decreasing_in_each_window(items, capacity, window):
    packs = pack_first_fit(np.array(items, dtype=np.int64), capacity, window)
    found = {}
    for place, pack in enumerate(packs.tolist()):
        found.setdefault(pack, []).append(place)
    expected = []
    for begin in range(0, len(items), window):
        part = first_fit_decreasing(items[begin : begin + window], capacity)
        expected += [sorted(begin + place for place in pack) for pack in part]
    assert [found[pack] for pack in sorted(found)] == expected


def test_many_windows_are_packed_as_one_by_one():
    items = np.random.default_rng(0).integers(1, 90, 5000)
    packs = pack_first_fit(items, 100, window=8)  # more windows than are packed side by side
    for begin in range(0, 5000, 8):
        alone = pack_first_fit(items[begin : begin + 8], 100, 8)
        assert (packs[begin : begin + 8] - begin == alone).all()


@given(
    videos,
    st.integers(300, 2000),
    st.integers(1, 40),
    st.sampled_from([None, 96 * 96, 200 * 200]),
    st.integers(1, 64),
    st.booleans(),
)
def test_an_epoch_has_every_sample_once_in_packs_within_the_limit(
    videos, limit, count, max_pixels, window, shuffle
):
    packing = Packing(limit, PATCH, max_pixels=max_pixels, window=window, on_unfit="skip")
    try:
        plan = packing.plan(videos, RandomClip(count, fps=8), seed=3, shuffle=shuffle)
    except ArgumentError:
        return  # none fits
    for epoch in (0, 1):
        batches = plan.batches(epoch)
        seen, used = [], 0
        for number in range(len(batches)):
            batch = batches[number]
            assert len(batch)
            tokens = [np.prod(np.array(plan.shape(sample)) // PATCH) for sample in batch]
            assert sum(tokens) <= limit
            used += sum(tokens)
            seen += batch.tolist()
        assert sorted(seen + plan.unfit.tolist()) == list(range(len(videos)))
        assert plan.fill_rate(epoch) == pytest.approx(used / (limit * len(batches)))


@example(sizes([(91, 91, 2, 10)]), 100, 64 * 64)  # 91 * (64 / 91) is less than 64
@given(videos, st.integers(100, 3000), st.sampled_from([None, 64 * 64, 150 * 150]))
def test_clips_are_as_large_and_long_as_the_rules_allow(videos, limit, max_pixels):
    packing = Packing(limit, PATCH, max_pixels=max_pixels, on_unfit="skip")
    shapes = packing.clip_shapes(videos, RandomClip(24))
    for number, (frames, height, width) in enumerate(shapes.tolist()):
        tall, wide = int(videos.heights[number]), int(videos.widths[number])
        scale = 1.0 if max_pixels is None else min(1.0, (max_pixels / (tall * wide)) ** 0.5)
        rows, columns = int(tall * scale + 1e-6) // 16, int(wide * scale + 1e-6) // 16
        length = min(24, int(videos.num_frames[number])) // 2
        if rows * columns:
            length = min(length, limit // (rows * columns))
        expected = (2 * length, 16 * rows, 16 * columns) if length * rows * columns else (0, 0, 0)
        assert (frames, height, width) == expected


@given(videos, st.integers(1, 5), st.integers(1, 5), st.integers(0, 30))
def test_another_number_of_ranks_goes_on_with_the_rest_of_the_packs(videos, ranks, others, steps):
    packing = Packing(2000, (1, 16, 16), max_pixels=128 * 128)
    plan = packing.plan(videos, RandomClip(8), seed=9)
    seen = []
    for rank in range(ranks):
        order = BatchOrder(plan, 9, rank, ranks)
        for step in range(min(steps, order.num_steps())):
            seen += order.batch(0, step).tolist()
    start = order.position(steps)
    for rank in range(others):
        order = BatchOrder(plan, 9, rank, others)
        for step in range(order.num_steps(start)):
            seen += order.batch(0, step, start).tolist()
    assert sorted(seen) == list(range(len(videos)))


def test_larger_windows_fill_packs_better():
    rng = np.random.default_rng(1)
    rows = [
        (int(h), int(w), int(n), 24)
        for h, w, n in zip(
            *rng.integers(64, 256, (2, 3000)), rng.integers(2, 60, 3000), strict=True
        )
    ]
    rates = [
        Packing(8192, PATCH, window=window).plan(sizes(rows), RandomClip(32)).fill_rate()
        for window in (8, 64, 1024)
    ]
    assert rates == sorted(rates)
    assert rates[-1] > 0.97


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"patchify": None}, "either patchify or patch"),
        ({"patch": PATCH}, "either patchify or patch"),
        ({"patchify": None, "patch": PATCH, "pad": True}, "pad fills"),
        ({"patchify": (2, 16)}, "whole numbers"),
        ({"window": 0}, "window"),
        ({"max_pixels": -1}, "max_pixels"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        Packing(**{"max_tokens": 100, "patchify": PATCH, **options})


def test_videos_that_are_no_token_are_told():
    rows = [(64, 64, 1, 24), (64, 64, 8, 24), (512, 512, 8, 24)]
    message = (
        r"2 of 3 videos are in no batch: 1 with too few frames .*, 1 with more than 100 tokens; .* "
        "number 0: 64x64"
    )
    with pytest.raises(ArgumentError, match=message):
        Packing(100, PATCH).plan(sizes(rows), RandomClip(8))
    plan = Packing(100, PATCH, on_unfit="skip").plan(sizes(rows), RandomClip(8))
    assert plan.unfit.tolist() == [0, 2]
    assert (
        plan.summary() == "1 clips of 1 of 3 videos in 1 batches of 1.0, 64.0 % of 100 tokens used"
    )
