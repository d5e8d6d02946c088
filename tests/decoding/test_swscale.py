"""Pictures that swscale writes into memory of ours, beside those that PyAV makes of them."""

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter

from videoloader.decoding.pictures import swscale
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import UnsupportedError

FORMATS = ["yuv420p", "yuvj420p", "yuv422p", "yuvj422p"]
MATRICES = ["bt709", "fcc", "smpte170m", "bt470bg", "smpte240m", "bt2020nc"]
MARK = 77


def noise(width, height, pixel_format="yuv420p"):
    frame = av.VideoFrame(width, height, pixel_format)
    rng = np.random.default_rng(width * 1000 + height)
    for plane in Surface(frame).planes:
        plane[...] = rng.integers(0, 256, plane.shape)
    return frame


def by_pyav(frame, matrix, range_):
    surface = swscale.to_rgb(Surface(frame), matrix, range_, VideoReformatter())
    return surface.planes[0]


def guarded(frame, gap=0, offset=0):
    """Memory for a picture with a mark before, behind and between its rows, and the picture."""
    stride = 3 * frame.width + gap
    memory = np.full(offset + stride * frame.height + 64, MARK, np.uint8)
    rows = memory[offset : offset + stride * frame.height].reshape(frame.height, stride)
    return memory, rows[:, : 3 * frame.width].reshape(frame.height, frame.width, 3)


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("range_", ["tv", "pc"])
def test_all_matrices_and_ranges_are_those_of_pyav(pixel_format, matrix, range_):
    frame = noise(70, 46, pixel_format)
    _, rgb = guarded(frame)
    assert swscale.UnscaledRgb().convert(frame, matrix, range_, rgb)
    assert np.array_equal(rgb, by_pyav(frame, matrix, range_))


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p"])
def test_any_even_size_is_written_and_nothing_beside_it(pixel_format):
    converter = swscale.UnscaledRgb()
    for width in [*range(2, 132, 2), 254, 256, 258, 854]:
        for height in (2, 6, 16):
            frame = noise(width, height, pixel_format)
            wanted = by_pyav(frame, "smpte170m", "tv")
            for gap, offset in ((0, 0), (0, 1), (5, 3), (32, 16)):
                memory, rgb = guarded(frame, gap, offset)
                assert converter.convert(frame, "smpte170m", "tv", rgb)
                assert np.array_equal(rgb, wanted), (width, height, gap, offset)
                rgb[...] = MARK
                assert (memory == MARK).all(), (width, height, gap, offset)


@pytest.mark.parametrize(
    ("width", "height", "pixel_format"),
    [(63, 48, "yuv420p"), (64, 47, "yuv420p"), (64, 48, "yuv420p10le"), (64, 48, "yuv444p")],
)
def test_pictures_of_other_kinds_are_left_to_pyav(width, height, pixel_format):
    frame = noise(width, height, pixel_format)
    memory, rgb = guarded(frame)
    assert not swscale.UnscaledRgb().convert(frame, "bt709", "tv", rgb)
    assert (memory == MARK).all()


def test_without_the_library_pictures_are_left_to_pyav(monkeypatch):
    monkeypatch.setattr(swscale, "_libswscale", lambda: None)
    frame = noise(64, 48)
    assert not swscale.UnscaledRgb().convert(frame, "bt709", "tv", guarded(frame)[1])


def test_a_matrix_that_swscale_does_not_know_is_named():
    frame = noise(64, 48)
    with pytest.raises(UnsupportedError, match="ycgco"):
        swscale.UnscaledRgb().convert(frame, "ycgco", "tv", guarded(frame)[1])


def test_one_converter_takes_pictures_of_changing_size_and_meaning():
    converter = swscale.UnscaledRgb()
    for number in range(30):
        frame = noise(32 + 2 * (number % 3), 32, FORMATS[number % 4])
        meaning = MATRICES[number % 5], ("tv", "pc")[number % 2]
        _, rgb = guarded(frame)
        assert converter.convert(frame, *meaning, rgb)
        assert np.array_equal(rgb, by_pyav(frame, *meaning))


DEEP = ["yuv420p", "yuv422p", "yuv444p", "yuv444p10le", "yuv422p16le", "gbrp10le"]


@pytest.mark.parametrize("pixel_format", DEEP)
@pytest.mark.parametrize(("width", "height"), [(64, 48), (70, 46), (34, 6)])
@pytest.mark.parametrize("range_", ["tv", "pc"])
def test_pictures_of_16_bits_are_those_of_pyav(pixel_format, width, height, range_):
    frame = noise(width, height, pixel_format)
    given = {"format": "rgb48le", "src_color_range": {"tv": 1, "pc": 2}[range_]}
    repeating = "POINT"  # no filter for chroma
    wanted = VideoReformatter().reformat(
        frame, src_colorspace="ITU709", interpolation=repeating, **given
    )
    rgb = np.full((height, width, 3), MARK, np.uint16)
    assert swscale.UnscaledRgb().convert(frame, "bt709", range_, rgb)
    assert np.array_equal(rgb, wanted.to_ndarray())
