"""Chroma of 8 bits at the picture's own size, beside `np.interp` between the places of samples."""

import av
import numpy as np
import pytest

from videoloader.codecs.color import Color
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.indexing.packets import Orientation

STEPS = {"yuv420p": (2, 2), "yuv422p": (1, 2), "yuv440p": (2, 1), "yuv444p": (1, 1)}
SIZES = [(46, 70), (45, 69), (7, 130), (2, 2), (1, 1), (3, 1), (1, 5)]
# Of 255: OpenCV applies the matrix in whole numbers; of rounded chroma, blue takes 1.772 times.
MATRIX = 0.6
BOUND = 0.5 * 1.772 + MATRIX


def noise(pixel_format, size):
    """A picture whose chroma jumps from sample to sample and stays within RGB, and its planes."""
    rng = np.random.default_rng(sum(size))
    frame = av.VideoFrame(size[1], size[0], pixel_format)
    planes = []
    for number, plane in enumerate(frame.planes):
        # Luma in the middle, so that no colour is clamped, which would hide errors.
        low, high = (90, 160) if number == 0 else (98, 158)
        values = rng.integers(low, high, (plane.height, plane.width), np.uint8)
        memory = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        memory[: plane.height, : plane.width] = values
        planes.append(values.astype(float))
    return frame, planes


def upsampled(plane, step, first, count, axis):
    """Along an axis: linear between samples that lie at `first`, `first` + `step`, ..."""
    if step == 1:
        return plane
    at = first + step * np.arange(plane.shape[axis])
    return np.apply_along_axis(lambda line: np.interp(np.arange(count), at, line), axis, plane)


def by_position(planes, steps, size, x):
    """RGB of BT.601 in full range; the first sample lies at column `x`, between its rows."""
    chroma = []
    for plane in planes[1:]:
        tall = upsampled(plane, steps[0], 0.5, size[0], 0)
        chroma.append(upsampled(tall, steps[1], x, size[1], 1) - 128)
    luma, (blue, red) = planes[0], chroma
    green = luma - (0.114 * 1.772 * blue + 0.299 * 1.402 * red) / 0.587
    return np.stack([luma + 1.402 * red, green, luma + 1.772 * blue], -1)


def converted(frame, view, chroma, siting, turn=None, layout="FHWC"):
    output = OutputFormat(chroma=chroma, layout=layout)
    clip = np.zeros(output.clip_shape(1, view.slot), np.uint8)
    color = Color(matrix="smpte170m", range="pc")
    converter = RgbConverter(color, turn or Orientation(), siting=siting, output=output)
    converter.write(Surface(frame), output.slots(clip)[0], view)
    return output.slots(clip)[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pixel_format", STEPS)
@pytest.mark.parametrize(("siting", "x"), [("left", 0.0), ("center", 0.5)])
def test_linear_interpolates_between_the_samples_next_to_a_pixel(pixel_format, size, siting, x):
    frame, planes = noise(pixel_format, size)
    rgb = converted(frame, View(size), "linear", siting)
    wanted = by_position(planes, STEPS[pixel_format], size, x)
    assert np.abs(rgb - wanted).max() <= BOUND


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p"])
def test_nearest_repeats_a_sample_and_is_the_default(pixel_format):
    frame, planes = noise(pixel_format, (46, 70))
    rgb = converted(frame, View((46, 70)), "nearest", "left")
    for axis, step in enumerate(STEPS[pixel_format]):
        planes[1:] = [plane.repeat(step, axis) for plane in planes[1:]]
    assert np.abs(rgb - by_position(planes, (1, 1), (46, 70), 0)).max() <= MATRIX
    smooth = by_position(noise(pixel_format, (46, 70))[1], STEPS[pixel_format], (46, 70), 0)
    assert np.abs(rgb - smooth).max() > 20
    assert OutputFormat() == OutputFormat(chroma="nearest")


@pytest.mark.parametrize("siting", ["left", "center"])
@pytest.mark.parametrize("pixel_format", STEPS)
def test_a_crop_has_the_very_pixels_of_the_whole_picture(pixel_format, siting):
    size = (45, 69)
    frame, _ = noise(pixel_format, size)
    whole = converted(frame, View(size), "linear", siting)
    for top, left, height, width in (
        *((0, 0, 45, 69), (0, 0, 1, 1), (44, 68, 1, 1), (43, 67, 2, 2), (1, 1, 1, 1)),
        *((7, 10, 30, 21), (8, 11, 31, 20), (1, 0, 44, 68), (2, 3, 2, 3)),
    ):
        crop = (top, left, height, width)
        part = converted(frame, View((height, width), crop), "linear", siting)
        assert np.array_equal(part, whole[top : top + height, left : left + width]), crop


@pytest.mark.parametrize("layout", ["FHWC", "FCHW"])
def test_turned_and_mirrored_pictures_are_those_pixels_turned(layout):
    size = (46, 70)
    frame, _ = noise("yuv420p", size)
    whole = converted(frame, View(size), "linear", "left")
    flipped = converted(frame, View(size, flip=True), "linear", "left", layout=layout)
    assert np.array_equal(flipped, whole[:, ::-1])
    turn = Orientation(transpose=True, flip_x=True)
    turned = converted(frame, View((70, 46)), "linear", "left", turn, layout)
    assert np.array_equal(turned, whole.transpose(1, 0, 2)[:, ::-1])


def test_pictures_of_several_bands_are_interpolated_across_them(monkeypatch):
    frame, planes = noise("yuv420p", (200, 64))
    monkeypatch.setattr("videoloader.decoding.cpu.rgb._BAND", 1)
    rgb = converted(frame, View((200, 64)), "linear", "left")
    assert np.abs(rgb - by_position(planes, (2, 2), (200, 64), 0.0)).max() <= BOUND
