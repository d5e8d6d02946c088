"""Slots on the CPU, against gradients whose colour at any place is known in float64."""

from dataclasses import dataclass

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surface_oracle import sdr, to_rgb

from videoloader.codecs.color import Color
from videoloader.decoding.cpu import rgb
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import UnsupportedError
from videoloader.indexing.packets import Orientation

WEIGHTS = {"bt709": (0.2126, 0.0722), "smpte170m": (0.299, 0.114), "bt2020nc": (0.2627, 0.0593)}
FORMATS = {
    "yuv420p": (2, 2, 8),
    "yuv422p": (1, 2, 8),
    "yuv440p": (2, 1, 8),
    "yuv444p": (1, 1, 8),
    "yuv420p10le": (2, 2, 10),
    "yuv422p12le": (1, 2, 12),
    "yuv444p10le": (1, 1, 10),
}


@dataclass(frozen=True)
class Gradient:
    """A picture in which Y, Cb and Cr, on the scale of 8 bits, are linear in column and row."""

    height: int
    width: int
    pixel_format: str = "yuv420p"
    matrix: str = "bt709"
    is_full: bool = False
    siting: str = "left"

    def samples(self, x, y):
        x, y = np.broadcast_arrays(x, y)
        across, down = x / 200, y / 200
        return 70 + 40 * across + 30 * down, 110 + 30 * across - 8 * down, 120 + 25 * down

    def frame(self):
        down, across, depth = FORMATS[self.pixel_format]
        frame = av.VideoFrame(self.width, self.height, self.pixel_format)
        for number, plane in enumerate(frame.planes):
            y, x = np.mgrid[: plane.height, : plane.width].astype(float)
            if number and across == 2:
                x = 2 * x + (0.5 if self.siting == "center" else 0)
            if number and down == 2:
                y = 2 * y + 0.5
            values = np.round(self.samples(x, y)[number] * (1 << (depth - 8)))
            octets = values.astype("u1" if depth == 8 else "<u2").view("u1")
            memory = np.frombuffer(memoryview(plane), "u1").reshape(-1, plane.line_size)
            memory[: plane.height, : octets.shape[1]] = octets
        return frame

    def color(self):
        return Color(matrix=self.matrix, range="pc" if self.is_full else "tv")

    def rgb(self, frame, x, y, scales, interpolation):
        """From 0 to 255, at coordinates of columns and rows in luma."""
        down, across, depth = FORMATS[self.pixel_format]
        planes = []
        for number, plane in enumerate(Surface(frame).planes):
            rows, columns, (high, wide) = y, x, scales
            if number and across == 2:
                columns, wide = (x - (0.5 if self.siting == "center" else 0)) / 2, wide / 2
            if number and down == 2:
                rows, high = (y - 0.5) / 2, high / 2
            if interpolation != "triangular":
                high = wide = 1
            across_weights = weights(columns, plane.shape[1], wide)
            values = weights(rows, plane.shape[0], high) @ plane.astype(float) @ across_weights.T
            planes.append(values / (1 << (depth - 8)))
        luma, blue, red = planes
        if self.is_full:
            top = ((1 << depth) - 1) / (1 << (depth - 8))
            luma, blue, red = luma / top, (blue - 128) / top, (red - 128) / top
        else:
            luma, blue, red = (luma - 16) / 219, (blue - 128) / 224, (red - 128) / 224
        kr, kb = WEIGHTS[self.matrix]
        r, b = luma + 2 * (1 - kr) * red, luma + 2 * (1 - kb) * blue
        return 255 * np.clip(np.stack([r, (luma - kr * r - kb * b) / (1 - kr - kb), b], -1), 0, 1)


def weights(places, length, scale):
    """(place, sample): a triangle about each place, as wide as the step where that is over 1."""
    taps = np.arange(-60, length + 60)
    found = np.maximum(1 - np.abs(places[:, None] - taps) / max(scale, 1), 0)
    inside = np.zeros((len(places), length))
    for column, tap in enumerate(taps.clip(0, length - 1)):
        inside[:, tap] += found[:, column]
    return inside / inside.sum(1, keepdims=True)


def places(begin, length, count, interpolation):
    """Coordinates that `count` pixels over `length` of the source stand for."""
    middle = (np.arange(count) + 0.5) * length / count
    place = np.floor(middle) if interpolation == "nearest" else middle - 0.5
    return begin + place.clip(0, length - 1)


def expected(picture, orientation, view, interpolation):
    """The slot, by walking from its pixels back to the coded picture."""
    rows, columns = picture.height, picture.width
    if orientation.transpose:
        rows, columns = columns, rows
    top, left, height, width = view.crop or (0, 0, rows, columns)
    first_row, first_column, *shown = view.window or (0, 0, *view.size)
    y = places(top, height, view.size[0], interpolation)[first_row:][: shown[0]]
    x = places(left, width, view.size[1], interpolation)[first_column:][: shown[1]]
    scales = height / view.size[0], width / view.size[1]
    if view.flip:
        x = x[::-1]
    if orientation.flip_y:
        y = rows - 1 - y
    if orientation.flip_x:
        x = columns - 1 - x
    frame = picture.frame()
    if orientation.transpose:
        return picture.rgb(frame, y, x, scales[::-1], interpolation).transpose(1, 0, 2)
    return picture.rgb(frame, x, y, scales, interpolation)


def values_of(slots, output):
    """Elements of a slot on the scale from 0 to 255, normalising undone."""
    values = slots.astype(np.float64)
    if output.dtype == "bfloat16":
        values = (slots.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if output.dtype == "uint16":
        values = values / 257
    std = np.array(output.std or 1.0)
    return values * std + np.array(output.mean or 0.0)


@st.composite
def cases(draw):
    picture = Gradient(
        draw(st.integers(16, 90)),
        draw(st.integers(16, 90)),
        draw(st.sampled_from(sorted(FORMATS))),
        draw(st.sampled_from(sorted(WEIGHTS))),
        draw(st.booleans()),
        draw(st.sampled_from(["left", "center"])),
    )
    turn = Orientation(draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))
    rows, columns = picture.height, picture.width
    if turn.transpose:
        rows, columns = columns, rows
    crop = None
    if draw(st.booleans()):
        height, width = draw(st.integers(9, rows)), draw(st.integers(9, columns))
        top, left = draw(st.integers(0, rows - height)), draw(st.integers(0, columns - width))
        crop = (top, left, height, width)
        rows, columns = height, width
    size = (rows, columns)
    if draw(st.booleans()):
        size = (draw(st.integers(8, 100)), draw(st.integers(8, 100)))
    dtype = draw(st.sampled_from(["uint8", "uint16", "float16", "bfloat16", "float32"]))
    normal = {}
    if dtype not in ("uint8", "uint16") and draw(st.booleans()):
        normal = {"mean": (123.0, 116.0, 103.0), "std": (58.0, 57.0, 60.0)}
    output = OutputFormat(
        dtype=dtype,
        layout=draw(st.sampled_from(["FHWC", "FCHW", "CFHW"])),
        interpolation=draw(st.sampled_from(["nearest", "bilinear", "triangular"])),
        **normal,
    )
    window = None
    if draw(st.booleans()):
        height, width = draw(st.integers(1, size[0])), draw(st.integers(1, size[1]))
        window = (draw(st.integers(0, size[0] - height)), draw(st.integers(0, size[1] - width)))
        window = (*window, height, width)
    return picture, turn, View(size, crop, draw(st.booleans()), window), output


@settings(deadline=None, max_examples=150)
@given(cases())
def test_every_form_and_view_is_within_two_of_the_formula(case):
    picture, turn, view, output = case
    clip = np.zeros(output.clip_shape(2, view.slot), output.numpy_dtype)
    slots = output.slots(clip)
    converter = RgbConverter(picture.color(), turn, siting=picture.siting, output=output)
    converter.write(Surface(picture.frame()), slots[1], view)
    assert not slots[0].any()
    error = np.abs(
        values_of(slots[1], output) - expected(picture, turn, view, output.interpolation)
    )
    assert error.max() <= 2
    assert error.mean() <= 0.7


@pytest.mark.parametrize("size", [(41, 37), (64, 48), (7, 1)])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv440p", "yuv444p"])
def test_pictures_of_several_bands_have_each_pixel_of_the_formula(pixel_format, size, monkeypatch):
    monkeypatch.setattr(rgb, "_BAND", 1)  # 8 rows of chroma in each
    down, across, _ = FORMATS[pixel_format]
    frame = Gradient(*size, pixel_format).frame()
    draw = np.random.default_rng(size)
    for plane in frame.planes:
        plane.update(draw.integers(16, 236, plane.buffer_size, np.uint8).tobytes())
    luma, *chroma = (plane.astype(float) for plane in Surface(frame).planes)
    blue, red = (
        plane.repeat(down, 0).repeat(across, 1)[: size[0], : size[1]] - 128 for plane in chroma
    )
    kr, kb = WEIGHTS["bt709"]
    y, r, b = (luma - 16) / 219, 2 * (1 - kr) * red / 224, 2 * (1 - kb) * blue / 224
    exact = np.stack([y + r, y - (kr * r + kb * b) / (1 - kr - kb), y + b], -1)
    slot = np.zeros((*size, 3), np.uint8)
    RgbConverter(Color(matrix="bt709", range="tv"), Orientation()).write(Surface(frame), slot)
    assert np.abs(slot - 255 * exact.clip(0, 1)).max() < 0.8  # rounded once; factors of 10 bits


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_ten_bits_keep_their_last_two(dtype):
    depth = Gradient(32, 256, "yuv444p10le").frame()
    memory = np.frombuffer(memoryview(depth.planes[0]), "<u2").reshape(32, -1)
    memory[:, :256] = 500 + np.arange(256) // 64
    for plane in depth.planes[1:]:
        np.frombuffer(memoryview(plane), "<u2")[:] = 512
    output = OutputFormat(dtype=dtype)
    slot = np.zeros((32, 256, 3), dtype)
    RgbConverter(Color(range="tv"), Orientation(), output=output).write(Surface(depth), slot)
    values = values_of(slot[0, ::64], output)
    exact = 255 * (np.arange(500, 504) - 64) / 876
    assert np.abs(values - exact[:, None]).max() < 0.02


@pytest.mark.parametrize("offset", [1, 3])
def test_chroma_stays_with_its_luma_where_a_crop_begins_between_its_samples(offset):
    """A step of chroma far steeper than a gradient: its place shows to a fraction of a pixel."""
    frame = Gradient(32, 64).frame()
    blue = np.frombuffer(memoryview(frame.planes[1]), "u1").reshape(-1, frame.planes[1].line_size)
    blue[:, :16], blue[:, 16:] = 90, 170
    whole, part = np.zeros((32, 64, 3), np.uint8), np.zeros((20, 40, 3), np.uint8)
    converter = RgbConverter(Color(), Orientation())
    converter.write(Surface(frame), whole)
    converter.write(Surface(frame), part, View((20, 40), (offset, offset, 20, 40)))
    assert (part == whole[offset:, offset:][:20, :40]).all()


@pytest.mark.parametrize("how", ["triangular", "bilinear", "nearest"])
@pytest.mark.parametrize("siting", ["left", "center"])
@pytest.mark.parametrize(
    ("pixel_format", "options"),
    [
        ("yuv420p", {"dtype": "float32"}),
        ("yuv420p", {"tone_map": "hable"}),
        ("yuv422p", {"dtype": "uint16"}),
        ("yuv420p10le", {}),
        ("yuv444p10le", {"tone_map": "reinhard"}),
    ],
)
def test_a_crop_without_resizing_is_that_part_of_the_picture(pixel_format, options, siting, how):
    frame = av.VideoFrame(50, 38, pixel_format)
    rng = np.random.default_rng(0)
    for plane in frame.planes:
        most = 1023 if pixel_format.endswith("10le") else 255
        samples = rng.integers(0, most, plane.buffer_size // (1 + (most > 255)))
        plane.update(samples.astype("<u2" if most > 255 else "u1").tobytes())
    output = OutputFormat(interpolation=how, **options)
    color = Color(matrix="bt2020nc", transfer="smpte2084", range="tv")
    converter = RgbConverter(color, Orientation(), siting=siting, output=output)
    whole = np.zeros((38, 50, 3), output.element)
    converter.write(Surface(frame), whole)
    for top, left, height, width in [(0, 0, 8, 8), (3, 5, 7, 9), (30, 42, 8, 8), (10, 8, 11, 20)]:
        part = np.zeros((height, width, 3), output.element)
        crop = (top, left, height, width)
        converter.write(Surface(frame), part, View((height, width), crop))
        expected = whole[top : top + height, left : left + width]
        assert np.abs(part.astype(float) - expected).max() <= 0.01, crop  # floats: of 16 bits


class Steep(Gradient):
    def samples(self, x, y):
        x, y = np.broadcast_arrays(x, y)
        return np.full(x.shape, 110.0), 100 + 0.6 * x, 108 + 0.6 * y


@pytest.mark.parametrize("siting", ["left", "center"])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv420p10le", "yuv422p"])
@pytest.mark.parametrize("corner", [(0, 0), (1, 0), (0, 1), (3, 5)])
@pytest.mark.parametrize("size", [(20, 20), (40, 40), (29, 33)])
def test_chroma_lies_where_it_should_to_less_than_a_pixel(siting, pixel_format, corner, size):
    picture = Steep(64, 64, pixel_format, siting=siting)
    output = OutputFormat(dtype="uint16")
    view = View(size, (*corner, 40, 40))
    slot = np.zeros((*size, 3), np.uint16)
    converter = RgbConverter(picture.color(), Orientation(), siting=siting, output=output)
    converter.write(Surface(picture.frame()), slot, view)
    error = np.abs(slot / 257 - expected(picture, Orientation(), view, "triangular"))
    assert error[3:-3, 3:-3].max() < 0.3  # a shift by half a pixel of luma makes 0.6


def test_black_and_white_are_exactly_that():
    frame = av.VideoFrame(64, 32, "yuv420p")
    for plane, value in zip(frame.planes, (16, 128, 128), strict=True):
        np.frombuffer(memoryview(plane), "u1")[:] = value
    slot = np.ones((32, 64, 3), np.uint8)
    RgbConverter(Color(), Orientation()).write(Surface(frame), slot)
    assert not slot.any()
    np.frombuffer(memoryview(frame.planes[0]), "u1")[:] = 235
    RgbConverter(Color(), Orientation()).write(Surface(frame), slot)
    assert (slot == 255).all()


def test_one_converter_takes_pictures_of_8_and_10_bits_in_turns():
    """Its memory is used again for samples of another size, and other pictures do not show."""
    pictures = [Gradient(32, 48, name) for name in ("yuv420p", "yuv420p10le", "yuv422p")]
    sized = View((16, 24))
    shared = RgbConverter(pictures[0].color(), Orientation())
    for picture in [*pictures, *reversed(pictures)]:
        for view, shape in ((None, (32, 48, 3)), (sized, (16, 24, 3))):
            slot, alone = np.zeros((2, *shape), np.uint8)
            shared.write(Surface(picture.frame()), slot, view)
            fresh = RgbConverter(picture.color(), Orientation())
            fresh.write(Surface(picture.frame()), alone, view)
            assert (slot == alone).all()


@pytest.mark.parametrize("pixel_format", ["rgb24", "bgra", "gbrp", "gray", "yuyv422", "rgb48le"])
@pytest.mark.parametrize("size", [(48, 64), (24, 32)])
def test_formats_without_planes_of_chroma(pixel_format, size):
    y, x = np.mgrid[:48, :64]
    picture = np.stack([60 + x, 90 + y, 200 - x], -1).astype(np.uint8)
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    frame = frame.reformat(format=pixel_format, dst_color_range=1 if "yuy" in pixel_format else 2)
    slot = np.zeros((*size, 3), np.uint8)
    RgbConverter(Color(matrix="smpte170m"), Orientation()).write(Surface(frame), slot)
    step = 48 // size[0]
    wanted = picture.astype(float).reshape(size[0], step, size[1], step, 3).mean((1, 3))
    if pixel_format == "gray":
        luma = wanted @ [0.299, 0.587, 0.114]
        wanted = np.repeat(luma[..., None], 3, -1)
        spread = int(frame.color_range)
        if spread != 2:
            wanted = np.clip((wanted - 16) * 255 / 219, 0, 255)
    assert np.abs(slot - wanted)[2:-2, 2:-2].max() <= 4  # two conversions by swscale among them


@pytest.mark.parametrize("tone_map", ["reinhard", "hable"])
@pytest.mark.parametrize("transfer", ["smpte2084", "arib-std-b67"])
@pytest.mark.parametrize("pixel_format", ["yuv444p10le", "gbrp12le", "yuv444p"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_tone_maps_follow_their_formulas(dtype, pixel_format, transfer, tone_map):
    """Beside the formulas in float64, over all levels of all channels, black and white too."""
    kind = "gbrp" if pixel_format.startswith("gbr") else "yuv"
    depth = 8 if pixel_format == "yuv444p" else int(pixel_format[-4:-2])
    frame = av.VideoFrame(160, 64, pixel_format)
    rng = np.random.default_rng(5)
    samples = rng.integers(0, 1 << depth, (3, 64, 160))
    samples[:, :8] = np.linspace(0, (1 << depth) - 1, 160).astype(int)  # grey, from end to end
    if kind == "yuv":
        samples[1:, :8] = 1 << (depth - 1)
    for plane, values in zip(frame.planes, samples, strict=True):
        octets = values.astype("u1" if depth == 8 else "<u2").view("u1")
        memory = np.frombuffer(memoryview(plane), "u1").reshape(-1, plane.line_size)
        memory[:, : octets.shape[1]] = octets
    matrix = "gbr" if kind == "gbrp" else "bt2020nc"
    color = Color(matrix=matrix, range="pc" if kind == "gbrp" else "tv", transfer=transfer)
    output = OutputFormat(dtype, tone_map=tone_map)
    slot = np.zeros((64, 160, 3), dtype)
    RgbConverter(color, Orientation(), output=output).write(Surface(frame), slot)
    signal = to_rgb(samples.astype(float), matrix, kind == "gbrp", depth) / 255
    wanted = 255 * sdr(signal, transfer, tone_map)
    found = slot / (257 if dtype == "uint16" else 1)
    assert np.abs(found - wanted).max() <= (1 if dtype == "uint8" else 0.5)


def test_what_is_no_hdr_is_not_mapped():
    frame = Gradient(64, 96).frame()
    slots = np.zeros((2, 64, 96, 3), np.uint8)
    for slot, tone_map in zip(slots, ("none", "hable"), strict=True):
        output = OutputFormat(tone_map=tone_map)
        RgbConverter(Color(transfer="bt709"), Orientation(), output=output).write(
            Surface(frame), slot
        )
    assert (slots[0] == slots[1]).all()


def test_tone_mapping_of_what_swscale_gives_is_refused_by_name():
    output = OutputFormat(tone_map="hable", matrix="swscale")
    with pytest.raises(UnsupportedError, match="tone_map='hable'"):
        RgbConverter(Color(transfer="smpte2084"), Orientation(), output=output)
