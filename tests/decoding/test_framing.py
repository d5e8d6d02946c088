import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.decoding.framing import Framing, random_part
from videoloader.errors import ArgumentError

SIDES = st.integers(30, 400)  # a View has at most 32,768 pixels a side
SIZES = st.tuples(SIDES, SIDES)


@given(SIZES, st.integers(1, 300))
def test_the_shorter_side_becomes_what_is_asked_for(displayed, shorter):
    size = Framing(resize_shorter=shorter).view(displayed).size
    assert min(size) == shorter
    exact = max(displayed) * shorter / min(displayed)
    assert abs(max(size) - exact) <= 0.5


@given(SIZES, st.integers(1, 200))
def test_the_centre_is_kept_in_the_middle(displayed, shorter):
    view = Framing(resize_shorter=shorter, crop_size=shorter).view(displayed)
    top, left, height, width = view.window
    assert (height, width) == view.slot == (shorter, shorter)
    for begin, whole in zip((top, left), view.size, strict=True):
        assert abs(begin - (whole - shorter - begin)) <= 1


@given(SIZES, st.integers(0, 999))
def test_a_random_part_lies_inside_and_keeps_its_bounds(displayed, seed):
    framing = Framing(size=(30, 40), random_resized_crop=((0.3, 0.6), (0.8, 1.25)))
    view = framing.view(displayed, np.random.default_rng(seed))
    view.check("clip.mp4", displayed)
    assert view.size == (30, 40)
    height, width = view.crop[2:]
    if min(displayed) > 150:
        area = height * width / (displayed[0] * displayed[1])
        fallback = view.crop[:2] == ((displayed[0] - height) // 2, (displayed[1] - width) // 2)
        assert fallback or 0.28 < area < 0.63
        assert 0.78 < width / height < 1.28


def test_random_parts_are_spread_evenly():
    framing = Framing(size=8, random_resized_crop=((0.1, 1.0), (0.5, 2.0)))
    views = [framing.view((500, 500), np.random.default_rng(seed)) for seed in range(3000)]
    crops = np.array([view.crop for view in views])
    ratios = np.log(crops[:, 3] / crops[:, 2])
    assert abs(ratios.mean()) < 0.03
    centres = crops[:, :2] + crops[:, 2:] / 2
    assert np.abs(centres.mean(axis=0) - 250).max() < 5


def test_pictures_are_mirrored_as_often_as_asked_for():
    framing = Framing(random_flip=0.25)
    flips = [framing.view((9, 9), np.random.default_rng(seed)).flip for seed in range(2000)]
    assert abs(np.mean(flips) - 0.25) < 0.04
    assert not framing.view((9, 9)).flip
    assert Framing(random_flip=1.0).view((9, 9), np.random.default_rng(0)).flip


def test_a_crop_that_does_not_fit_is_an_error():
    with pytest.raises(ArgumentError, match=r"^a: crop 20x20 does not fit into pictures of 10x13"):
        Framing(resize_shorter=10, crop_size=20).view((100, 130), name="a")


@pytest.mark.parametrize("sides", [(100, 200), (37, 500), (3, 2), (1, 1)])
def test_random_parts_are_drawn_evenly(sides):
    """The draws are those of `Generator.uniform`, bit for bit."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        height, width = sides
        area = height * width * rng.uniform(0.08, 0.9)
        ratio = np.exp(rng.uniform(np.log(0.75), np.log(4 / 3)))
        columns, rows = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
        if not (1 <= rows <= height and 1 <= columns <= width):
            continue
        top, left = rng.integers(height - rows + 1), rng.integers(width - columns + 1)
        made = random_part(sides, (0.08, 0.9), (0.75, 4 / 3), np.random.default_rng(seed))
        assert made == (top, left, rows, columns)


def test_a_rectangle_is_told_which_calls_take_one():
    with pytest.raises(ArgumentError, match=r"of the centre .* is crop= of Video\.get_frames"):
        Framing(crop_size=(0, 0, 8, 8))
