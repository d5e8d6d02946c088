"""The conversion kernel, as C++ and on the GPU, against the formulas in float64."""

import av
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_machines import Compiled, Gpu, empty_clip
from surface_oracle import FORMATS, WEIGHTS, expected, random_surface

from videoloader.decoding.nvdec.convert import grid
from videoloader.decoding.nvdec.descriptor import SITINGS, SURFACE_DTYPE, Picture, describe
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.indexing.packets import Orientation

# Of 255, on an H200: sums of up to 100,000 products in single precision (0.011), and the powers of
# PQ, whose exponent of 79 multiplies the errors of the logarithm (0.076).
ROUNDED, TONE_MAPPED = 0.02, 0.1
COUNT, PLACE, MARGIN = 3, 1, 64  # frames of a clip; the one that is filled; elements around it


@pytest.fixture(scope="module", params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request):
    return Gpu() if request.param == "gpu" else Compiled()


SIDES = st.integers(1, 40)


@st.composite
def pictures(draw):
    name = draw(st.sampled_from(sorted(FORMATS)))
    size = FORMATS[name][0]
    width, height = draw(SIDES), draw(SIDES)
    left, top = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    columns = left + width + draw(st.integers(0, 9))
    columns += columns % 2  # a decoder gives chroma its last pair
    pitch = columns * size
    if draw(st.booleans()):
        pitch = -(-pitch // 16) * 16
    return Picture(
        name,
        pitch=pitch,
        rows=(top + height + draw(st.integers(0, 3)) + 1) // 2 * 2,
        width=width,
        height=height,
        left=left,
        top=top,
        bit_depth=8 if size == 1 else draw(st.sampled_from([10, 12, 16])),
        matrix=draw(st.sampled_from(sorted(WEIGHTS))),
        range=draw(st.sampled_from(["tv", "pc"])),
        siting=draw(st.sampled_from(sorted(SITINGS))),
        orientation=Orientation(*draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))),
    )


@st.composite
def views(draw, displayed, sides=SIDES):
    height, width = displayed
    crop = None
    if draw(st.booleans()):
        top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
        crop = (
            top,
            left,
            draw(st.integers(1, height - top)),
            draw(st.integers(1, width - left)),
        )
    size = crop[2:] if crop else displayed
    if draw(st.integers(0, 3)):
        size = (draw(sides), draw(sides))
    window = None
    if draw(st.booleans()):
        top, left = draw(st.integers(0, size[0] - 1)), draw(st.integers(0, size[1] - 1))
        window = (
            top,
            left,
            draw(st.integers(1, size[0] - top)),
            draw(st.integers(1, size[1] - left)),
        )
    return View(size, crop, draw(st.booleans()), window)


@st.composite
def outputs(draw):
    output = draw(st.sampled_from(["rgb", "gray"]))
    wide = ["uint16"] if output == "rgb" else []  # gray of uint16 is not scaled, on the CPU
    dtype = draw(st.sampled_from(["uint8", *wide, "float16", "bfloat16", "float32"]))
    normalised = dtype not in ("uint8", "uint16") and draw(st.booleans())
    channels = slice(3 if output == "rgb" else 1)
    return OutputFormat(
        dtype,
        draw(st.sampled_from(["FHWC", "FCHW", "CFHW"])),
        (123.675, 116.28, 103.53)[channels] if normalised else None,
        (58.395, 57.12, 57.375)[channels] if normalised else None,
        draw(st.sampled_from(["nearest", "bilinear", "triangular"])),
        matrix=draw(st.sampled_from(["auto", "swscale"])) if output == "gray" else "auto",
        chroma=draw(st.sampled_from(["nearest", "linear"])),
        output=output,
    )


def strides_of(output, size):
    """(frame, row, column, channel) of a clip, in elements."""
    clip = output.slots(np.zeros(output.clip_shape(COUNT, size), dtype=np.uint8))
    return clip.strides


def converted(machine, surface, picture, view, output):
    """The slot, as float64, and whether everything around it stayed as it was."""
    shape = output.clip_shape(COUNT, view.slot)
    clip = empty_clip(shape, output.numpy_dtype, MARGIN)
    there, samples = machine.put(clip), machine.put(surface)
    frame, *strides = strides_of(output, view.slot)
    table = np.array([describe(picture, view, output, strides=strides, name="clip.mp4")])
    table["luma"] = machine.address(samples)
    table["destination"] = (
        machine.address(there) + (MARGIN + PLACE * frame) * output.numpy_dtype.itemsize
    )
    machine.convert(table, output)
    return read_slot(machine.get(there), clip, shape, output)


def read_slot(after, before, shape, output):
    slots = output.slots(after[MARGIN:-MARGIN].reshape(shape))
    slot = slots[PLACE].copy()
    kept = output.slots(before[MARGIN:-MARGIN].reshape(shape))
    slots[PLACE] = kept[PLACE]
    assert after.tobytes() == before.tobytes(), "written outside the slot"
    if output.dtype == "bfloat16":
        slot = (slot.astype(np.uint32) << 16).view(np.float32)
    return slot.astype(np.float64)


def repeats_chroma(picture, view, output):
    """Where 8 bits become uint8 at their own size, as the documentation has it."""
    taken = view.crop[2:] if view.crop else picture.displayed
    is_narrow = output.dtype == "uint8" and picture.bit_depth == 8
    return output.chroma == "nearest" and is_narrow and tuple(taken) == view.size


def check(slot, rgb, output):
    """As near to `rgb` as the element type lets it be, and what float32 arithmetic adds."""
    if output.dtype == "uint16":
        assert np.abs(slot - 257 * rgb).max() <= 0.5 + 257 * ROUNDED
        return
    scale, shift = (values.astype(np.float64) for values in output.scale_and_shift)
    relative = {"uint8": 0, "float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8}[output.dtype]
    wanted = rgb * scale + shift
    bound = ROUNDED * scale + (0.5 if output.dtype == "uint8" else 0) + relative * np.abs(wanted)
    assert (np.abs(slot - wanted) <= bound).all(), np.abs(slot - wanted).max()


@settings(max_examples=250)
@given(data=st.data())
def test_any_picture_becomes_what_the_formulas_say(machine, data):
    picture = data.draw(pictures())
    view, output = data.draw(views(picture.displayed)), data.draw(outputs())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    surface, planes = random_surface(rng, picture, smooth=data.draw(st.booleans()))
    slot = converted(machine, surface, picture, view, output)
    repeats = repeats_chroma(picture, view, output)
    form = {"repeats": repeats, "output": output.output}
    check(slot, expected(planes, picture, view, output.interpolation, **form), output)


SIZES = [
    # surface (height, width), slot
    ((1080, 1920), (224, 224)),
    ((270, 482), (270, 482)),
    ((361, 641), (300, 1001)),
    ((4096, 64), (8, 8)),
    ((16, 8192), (3, 5)),
    ((8192, 2), (1, 1)),
    ((1, 1), (70, 130)),
    ((2, 3), (257, 129)),
    ((270, 480), (270, 224)),
]


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "triangular"])
@pytest.mark.parametrize(("sides", "size"), SIZES)
@pytest.mark.parametrize("name", ["nv12", "yuv444p16"])
def test_large_and_long_pictures_too(machine, name, sides, size, interpolation):
    height, width = sides
    bits = 8 * FORMATS[name][0]
    pitch = (width + width % 2) * bits // 8
    picture = Picture(name, pitch, height + height % 2, width, height, bit_depth=bits)
    surface, planes = random_surface(np.random.default_rng(1), picture)
    output, view = OutputFormat("float32", "FCHW", interpolation=interpolation), View(size)
    slot = converted(machine, surface, picture, view, output)
    check(slot, expected(planes, picture, view, interpolation), output)


def pale_surface(picture, seed=0):
    """Sharp in luma; smooth in chroma, which is shared by pixels; within the range of RGB."""
    rng = np.random.default_rng(seed)
    surface, _ = random_surface(rng, picture)
    surface[: picture.rows] = rng.integers(60, 190, surface[: picture.rows].shape)
    rows, columns = np.indices(surface[picture.rows :].shape)
    surface[picture.rows :] = 118 + 20 * rows / len(rows) + 12 * columns / columns.shape[1]
    return surface


@pytest.mark.parametrize("interpolation", ["bilinear", "triangular"])
@pytest.mark.parametrize("crop", [None, (10, 6, 40, 52)])
@pytest.mark.parametrize("size", [(9, 7), (31, 90), (3, 64)])
@pytest.mark.parametrize("name", ["nv12", "yuv444"])
def test_what_is_resized_here_is_what_the_operator_makes_of_the_full_size(
    machine, name, size, crop, interpolation
):
    """Borders too, which both continue with their last pixel."""
    pytest.importorskip("torch")
    import torch

    from videoloader.dali import fn, types

    picture = Picture(name, 64, 60, 64, 60, siting="left")
    surface = pale_surface(picture)
    output = OutputFormat(interpolation=interpolation)
    fused = converted(machine, surface, picture, View(size, crop), output)
    height, width = crop[2:] if crop else (60, 64)
    whole = converted(machine, surface, picture, View((height, width), crop), output)
    made = fn.resize(
        torch.from_numpy(whole.astype(np.uint8)),
        size=size,
        interp_type=types.INTERP_LINEAR,
        antialias=interpolation == "triangular",
        layout="HWC",
    )
    error = np.abs(fused - made.numpy())
    assert error.max() <= 3
    assert error.mean() <= 0.5


@pytest.mark.parametrize("turned", [False, True])
def test_surfaces_of_many_kinds_share_a_launch(machine, turned):
    output, rng = OutputFormat("uint8"), np.random.default_rng(2)
    view = View((40, 56), flip=True)
    turn = Orientation(transpose=turned)
    fits = (56, 40) if not turned else (40, 56)  # width and height: no resizing
    kinds = [
        Picture("nv12", 64, 36, 60, 36, orientation=turn),
        Picture("p016", 512, 100, 200, 99, bit_depth=10, orientation=turn),
        Picture("yuv444", 60, fits[1], *fits, orientation=turn),
    ] * 5
    made = [random_surface(rng, picture) for picture in kinds]
    shape = (len(kinds), *output.clip_shape(1, view.size)[1:])
    there = machine.put(np.zeros(shape, dtype=np.uint8))
    surfaces = [machine.put(surface) for surface, _ in made]
    frame, *strides = np.zeros(shape, dtype=np.uint8).strides
    table = np.zeros(shape[0], dtype=SURFACE_DTYPE)
    for number, (picture, surface) in enumerate(zip(kinds, surfaces, strict=True)):
        table[number] = describe(picture, view, output, strides=strides, name="clip.mp4")
        table[number]["luma"] = machine.address(surface)
    table["destination"] = machine.address(there) + frame * np.arange(shape[0])
    machine.convert(table, output)
    slots = machine.get(there)
    for slot, picture, (_, planes) in zip(slots, kinds, made, strict=True):
        repeats = repeats_chroma(picture, view, output)
        check(slot, expected(planes, picture, view, "triangular", repeats=repeats), output)


@pytest.mark.parametrize("tone_map", ["none", "reinhard", "hable"])
@pytest.mark.parametrize("transfer", ["smpte2084", "arib-std-b67", "bt709", None])
@pytest.mark.parametrize("size", [(48, 64), (20, 21)])
def test_tone_maps_follow_their_formulas(machine, transfer, tone_map, size):
    picture = Picture("p016", 128, 48, 64, 48, bit_depth=10, matrix="bt2020nc", transfer=transfer)
    surface, planes = random_surface(np.random.default_rng(3), picture)
    output = OutputFormat("float32", tone_map=tone_map)
    slot = converted(machine, surface, picture, View(size), output)
    rgb = expected(planes, picture, View(size), "triangular", tone_map)
    assert np.abs(slot - rgb).max() <= TONE_MAPPED


def flat(machine, output, luma, **description):
    """The one colour of a grey 10-bit picture."""
    picture = Picture("p016", 32, 4, 16, 4, bit_depth=10, **description)
    surface = np.full((6, 16), 512 << 6, dtype="<u2")
    surface[:4] = luma << 6
    slot = converted(machine, surface.view(np.uint8), picture, View((4, 16)), output)
    assert np.ptp(slot) < 1e-3
    return slot[0, 0, 0]


def test_reference_white_of_both_hdr_curves_is_the_same_grey(machine):
    """BT.2408: 203 cd/m2 is 58 % of PQ and 75 % of HLG; Reinhard's curve gives 0.5206 there."""
    output = OutputFormat("float32", tone_map="reinhard")
    wanted = 255 * 0.5206 ** (1 / 2.4)
    pq = flat(machine, output, 64 + round(0.58 * 876), transfer="smpte2084")
    hlg = flat(machine, output, 64 + round(0.75 * 876), transfer="arib-std-b67")
    assert abs(pq - wanted) < 1
    assert abs(hlg - wanted) < 1


@pytest.mark.parametrize(("luma", "grey"), [(64, 0), (940, 255), (0, 0), (1023, 255)])
def test_values_are_clamped_before_they_are_normalised(machine, luma, grey):
    for dtype in ("uint8", "uint16"):
        wanted = grey * (257 if dtype == "uint16" else 1)
        assert flat(machine, OutputFormat(dtype), luma) == wanted
    for dtype in ("float16", "bfloat16", "float32"):
        output = OutputFormat(dtype, mean=(127.0,), std=(64.0,))
        assert abs(flat(machine, output, luma) - (grey - 127) / 64) < 0.01


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@given(
    values=st.lists(
        st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False), min_size=1, max_size=40
    )
)
@example(values=[65519.0, 65520.0, -65520.0, 65504.0, 1e30])
@example(values=[2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 2.0**-14, 2.0**-14 - 2.0**-25, 1e-12])
@example(values=[1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11, 2048.5, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8])
def test_small_floats_are_rounded_to_nearest_ties_to_even(machine, dtype, values):
    """A black pixel normalised is -mean / std: any float32, through the kernel."""
    torch = pytest.importorskip("torch")
    there = machine.put(np.zeros((len(values), 3), dtype=np.uint16))
    output, picture = OutputFormat(dtype), Picture("nv12", 64, 2, 1, 1)
    surface = machine.put(np.zeros((3, 64), dtype=np.uint8))
    table = np.zeros(len(values), dtype=SURFACE_DTYPE)
    for number, value in enumerate(values):
        table[number] = describe(picture, View((1, 1)), output, strides=(3, 3, 1), name="clip.mp4")
        table[number]["shift"] = value
    table["matrix"], table["luma"] = 0, machine.address(surface)
    table["destination"] = machine.address(there) + 6 * np.arange(len(values))
    machine.convert(table, output)
    wanted = torch.tensor(values, dtype=torch.float32).to(getattr(torch, dtype))
    got = torch.from_numpy(machine.get(there)[:, 0].view(np.int16).copy()).view(wanted.dtype)
    assert torch.equal(got, wanted)


def test_a_crop_in_its_own_size_is_that_part_of_the_picture(machine):
    picture = Picture("nv12", 64, 48, 64, 48, siting="center")
    surface, _ = random_surface(np.random.default_rng(4), picture)
    output = OutputFormat("uint8")
    whole = converted(machine, surface, picture, View((48, 64)), output)
    part = converted(machine, surface, picture, View((21, 33), (5, 7, 21, 33)), output)
    assert (part == whole[5:26, 7:40]).all()


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "triangular"])
def test_threads_of_a_block_wait_for_one_another(interpolation):
    picture = Picture("nv12", 1300, 90, 1300, 90, siting="topleft")
    surface, planes = random_surface(np.random.default_rng(5), picture)
    output, view = OutputFormat("float32", interpolation=interpolation), View((9, 30))
    for _ in range(5):
        slot = converted(Compiled(threads=8), surface, picture, view, output)
        check(slot, expected(planes, picture, view, interpolation), output)


@given(data=st.data())
def test_tiles_keep_within_shared_memory(data):
    sides = st.integers(1, 8192)
    height, width = data.draw(sides), data.draw(sides)
    picture = Picture("yuv444", width, height, width, height)
    view = data.draw(views((height, width), sides))
    record = describe(picture, view, OutputFormat(), strides=(3, 3, 1), name="clip.mp4")
    resized = record["whole_rows"], record["whole_columns"]
    if resized != (record["crop_height"], record["crop_width"]):
        assert record["tile_rows"] <= 8
        assert record["tile_columns"] <= 64
    down, across = (
        -(-record[side] // record[tile])
        for side, tile in (("rows", "tile_rows"), ("columns", "tile_columns"))
    )
    assert record["tiles"] == down * across
    table = np.repeat(record[None], 300)
    blocks, surfaces = grid(table)
    assert surfaces == 300
    assert 1 <= blocks <= record["tiles"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "yuv420p"},
        {"siting": "right"},
        {"bit_depth": 10},
        {"pitch": 63},
        {"left": 1},
        {"top": 1},
        {"left": -1},
        {"width": 0},
    ],
)
def test_a_picture_outside_its_surface_is_refused(wrong):
    right = {"format": "nv12", "pitch": 64, "rows": 48, "width": 64, "height": 48}
    Picture(**right)
    with pytest.raises(ArgumentError):
        Picture(**right | wrong)


def test_a_crop_outside_the_picture_and_an_unknown_matrix_are_refused():
    picture = Picture("nv12", 64, 48, 64, 48, orientation=Orientation(transpose=True))
    options = {"strides": (3, 3, 1), "name": "clip.mp4"}
    describe(picture, View((8, 8), (0, 0, 64, 48)), OutputFormat(), **options)
    with pytest.raises(ArgumentError, match=r"clip\.mp4"):
        describe(picture, View((8, 8), (0, 0, 48, 64)), OutputFormat(), **options)
    odd = Picture("nv12", 64, 48, 64, 48, matrix="ictcp")
    with pytest.raises(UnsupportedError, match="ictcp"):
        describe(odd, View((8, 8)), OutputFormat(), **options)


@pytest.mark.parametrize("matrix", ["gbr", "ycgco"])
@pytest.mark.parametrize("range_", ["tv", "pc"])
def test_matrices_without_luma_weights(machine, matrix, range_):
    picture = Picture("yuv444", 32, 20, 31, 20, matrix=matrix, range=range_)
    surface, planes = random_surface(np.random.default_rng(6), picture)
    slot = converted(machine, surface, picture, View((20, 31)), OutputFormat("float32"))
    check(slot, expected(planes, picture, View((20, 31)), "nearest"), OutputFormat("float32"))


@pytest.mark.parametrize("matrix", ["bt709", "smpte170m", "bt2020nc"])
@pytest.mark.parametrize("range_", ["tv", "pc"])
@pytest.mark.parametrize("form", ["nv12", "p016"])
def test_swscales_arithmetic_is_that_of_pyav(machine, form, matrix, range_):
    deep = form == "p016"
    picture = Picture(
        form,
        pitch=128 if deep else 64,
        rows=48,
        width=64,
        height=48,
        bit_depth=10 if deep else 8,
        matrix=matrix,
        range=range_,
    )
    surface, planes = random_surface(np.random.default_rng(7), picture, smooth=deep)
    frame = av.VideoFrame(64, 48, "yuv420p10le" if deep else "yuv420p")
    for target, plane in zip(Surface(frame).planes, planes, strict=True):
        target[...] = plane
    frame.colorspace = {"bt709": 1, "smpte170m": 6, "bt2020nc": 9}[matrix]
    frame.color_range = {"tv": 1, "pc": 2}[range_]
    reference = frame.to_ndarray(format="rgb24")
    for dtype in ("uint8", "float32"):
        slot = converted(
            machine, surface, picture, View((48, 64)), OutputFormat(dtype, matrix="swscale")
        )
        if deep:
            assert np.abs(slot - reference.astype(float)).mean() < 1
        else:
            assert np.array_equal(slot, reference)
