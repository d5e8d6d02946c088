"""Conversion to RGB on the CPU, against the formula of H.273 in float64."""

import av
import numpy as np
import pytest
from surface_oracle import sdr

import videoloader as vl
from videoloader.codecs.color import Color
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.pictures.color import matrix_and_range
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError
from videoloader.indexing.packets import Orientation

# Kr and Kb of the matrices (ITU-T H.273, table 4).
WEIGHTS = {"bt709": (0.2126, 0.0722), "smpte170m": (0.299, 0.114), "bt2020nc": (0.2627, 0.0593)}


def smooth_planes(height, width, chroma, depth):
    """Luma and chroma gradients, within limited range, at the size of each plane."""
    down, across = chroma
    y, x = np.mgrid[:height, :width]
    cy, cx = np.mgrid[: -(-height // down), : -(-width // across)]
    scale = 1 << (depth - 8)
    luma = 60 + 110 * x / width + 20 * y / height
    blue = 100 + 50 * (cx * across) / width
    red = 110 + 40 * (cy * down) / height
    kind = np.uint8 if depth == 8 else np.dtype("<u2")
    return [np.round(plane * scale).astype(kind) for plane in (luma, blue, red)]


def frame_of(planes, pixel_format):
    height, width = planes[0].shape
    frame = av.VideoFrame(width, height, pixel_format)
    for plane, values in zip(frame.planes, planes, strict=True):
        octets = np.ascontiguousarray(values).view(np.uint8)
        memory = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, plane.line_size)
        memory[: octets.shape[0], : octets.shape[1]] = octets
    return frame


def formula(planes, matrix, full, depth):
    """RGB in float64, chroma repeated to the size of luma."""
    luma, *chroma = (plane.astype(np.float64) for plane in planes)
    rows, columns = luma.shape
    blue, red = (
        np.repeat(np.repeat(c, -(-rows // c.shape[0]), 0), -(-columns // c.shape[1]), 1)
        for c in chroma
    )
    blue, red = blue[:rows, :columns], red[:rows, :columns]
    unit = 1 << (depth - 8)
    if full:
        top = (1 << depth) - 1
        y, b, r = luma / top, (blue - 128 * unit) / top, (red - 128 * unit) / top
    else:
        y = (luma - 16 * unit) / (219 * unit)
        b, r = (blue - 128 * unit) / (224 * unit), (red - 128 * unit) / (224 * unit)
    kr, kb = WEIGHTS[matrix]
    kg = 1 - kr - kb
    rgb = (y + 2 * (1 - kr) * r, y - 2 * (kb * (1 - kb) * b + kr * (1 - kr) * r) / kg)
    return 255 * np.clip(np.stack([*rgb, y + 2 * (1 - kb) * b], axis=-1), 0, 1)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", sorted(WEIGHTS))
@pytest.mark.parametrize(
    ("pixel_format", "chroma", "depth"),
    [
        ("yuv420p", (2, 2), 8),
        ("yuv422p", (1, 2), 8),
        ("yuv444p", (1, 1), 8),
        ("yuv420p10le", (2, 2), 10),
    ],
)
def test_smooth_content_is_within_two_of_the_formula(pixel_format, chroma, depth, matrix, full):
    planes = smooth_planes(120, 160, chroma, depth)
    frame = frame_of(planes, pixel_format)
    slot = np.zeros((120, 160, 3), dtype=np.uint8)
    color = Color(matrix=matrix, range="pc" if full else "tv")
    RgbConverter(color, Orientation()).write(Surface(frame), slot)
    error = np.abs(slot - formula(planes, matrix, full, depth))
    assert error.max() <= 2
    assert error.mean() <= 0.6


def test_what_the_stream_does_not_say_follows_from_its_size():
    small, large = (av.VideoFrame(64, height, "yuv420p") for height in (576, 720))
    assert matrix_and_range(small, Color()) == ("smpte170m", "tv")
    assert matrix_and_range(large, Color()) == ("bt709", "tv")
    assert matrix_and_range(large, Color(matrix="bt2020nc", range="pc")) == ("bt2020nc", "pc")
    full = av.VideoFrame(64, 64, "yuvj420p")
    assert matrix_and_range(full, Color(range="tv")) == ("smpte170m", "pc")


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("flip_x", [False, True])
@pytest.mark.parametrize("flip_y", [False, True])
def test_orientation_moves_pixels_as_a_display_matrix_does(transpose, flip_x, flip_y):
    picture = np.random.default_rng(0).integers(0, 255, (4, 6, 3), dtype=np.uint8)
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    turn = Orientation(transpose, flip_x, flip_y)
    height, width = (6, 4) if transpose else (4, 6)
    slot = np.zeros((height, width, 3), dtype=np.uint8)
    RgbConverter(Color(), turn).write(Surface(frame), slot)
    # The matrix ((a, b), (c, d)) takes pixel (x, y) to (a x + c y, b x + d y), up to a shift.
    a, d = (0, 0) if transpose else (-1 if flip_x else 1, -1 if flip_y else 1)
    c, b = (-1 if flip_x else 1, -1 if flip_y else 1) if transpose else (0, 0)
    assert Orientation.from_matrix(a, b, c, d) == turn
    for y in range(4):
        for x in range(6):
            across, down = a * x + c * y, b * x + d * y
            column = across + (width - 1 if flip_x else 0)
            row = down + (height - 1 if flip_y else 0)
            assert (slot[row, column] == picture[y, x]).all()


@pytest.mark.parametrize("workers", [0, 1])
def test_an_hdr_file_is_mapped_on_the_cpu(tmp_path, workers):
    """What is mapped is the signal that `tone_map="none"` gives, in 16 bits."""
    options = {"x265-params": "transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc:pools=1"}
    form = {"codec": "libx265", "pixel_format": "yuv420p10le", "options": options}
    path = encode_video(tmp_path / "hdr.mp4", size=(96, 64), frames=8, **form)
    wanted = [vl.ClipRequest(path, [0, 5], size=(48, 64))]
    with vl.BatchDecoder(workers=workers) as decoder:
        signal = decoder.decode(wanted, dtype="uint16").frames.numpy()
        for curve in ("reinhard", "hable"):
            mapped = decoder.decode(wanted, tone_map=curve, dtype="float32").frames.numpy()
            expected = 255 * sdr(signal / 65535, "smpte2084", curve)
            assert np.abs(mapped - expected).max() < 0.5
            assert np.abs(mapped - signal / 257).max() > 10
    with pytest.raises(ArgumentError, match=r'tone_map=.*takes output="rgb"'):
        vl.Loader([path], vl.UniformClip(2), batch_size=1, output="gray", tone_map="hable")
