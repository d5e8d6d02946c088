"""Perspective warps, maps and moved pixels, against results of DALI, OpenCV and numpy."""

import itertools
from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch
import warp_cases
from references_of import called, stored

from videoloader.dali import fn, types
from videoloader.dali.operators import OPERATORS, Batch, Context
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.tensors import TensorList

MATRIX = np.float64([[1.1, 0.1, -1.0], [0.05, 0.9, 1.0], [0.003, -0.002, 1.0]])
BORDERS = ["reflect", "reflect_101", "wrap", "replicate", "constant"]
LAYOUTS = {"HWC": (), "CHW": (-1, -3), "FHWC": (), "FCHW": (-1, -3)}
INTERP = {
    types.INTERP_NN: cv2.INTER_NEAREST,
    types.INTERP_LINEAR: cv2.INTER_LINEAR,
    types.INTERP_CUBIC: cv2.INTER_CUBIC,
}
warp_perspective, remap = fn.experimental.warp_perspective, fn.experimental.remap


def is_near(got, wanted, kind):
    """Of 255: at most 3, 1 in the mean; the nearest pixel may be another one at a tie."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    is_whole = got.dtype.kind in "iu"
    unit = np.iinfo(got.dtype).max / 255 if is_whole else max(np.abs(wanted).max(), 1) / 255
    error = np.abs(got.astype(np.float64) - wanted) / unit
    if kind == "INTERP_NN":
        return (error > 0).mean() <= 0.005
    return error.max() <= 3 and error.mean() <= (0.2 if is_whole else 0.001)


@pytest.mark.parametrize("number", range(len(warp_cases.CASES)))
def test_results_are_those_of_dali(number):
    case = warp_cases.CASES[number]
    got, wanted = called(warp_cases, *case), stored("warps")[number]
    assert is_near(got, wanted, case[2].get("interp_type"))


def pictures(frames, seed=0, sides=(40, 56), channels=3, dtype=np.uint8):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0, 255, (frames, *sides, channels)).astype(np.float32)
    smooth = [cv2.GaussianBlur(each, (0, 0), 2).reshape(each.shape) for each in noise]
    return (np.stack(smooth) * (200 if dtype == np.uint16 else 1)).astype(dtype)


def batch_of(clips, layout):
    """Clips (F, H, W, C) as samples of a layout, which is an image's if it has no F."""
    samples = [torch.from_numpy(clip if "F" in layout else clip[0]) for clip in clips]
    moved = LAYOUTS[layout]
    samples = [each.movedim(*moved).contiguous() if moved else each for each in samples]
    return TensorList(samples, layout)


def clips_of(batch, layout):
    moved = LAYOUTS[layout][::-1]
    samples = [each.movedim(*moved) if moved else each for each in batch]
    return [(each if "F" in layout else each[None]).numpy() for each in samples]


def by_opencv(clip, matrix, **others):
    size = others.pop("size", clip.shape[1:3])
    flags = others.pop("flags", cv2.INTER_LINEAR) | cv2.WARP_INVERSE_MAP
    frames = [
        cv2.warpPerspective(each, own, size[::-1], flags=flags, **others).reshape(
            *size, clip.shape[-1]
        )
        for each, own in zip(clip, np.broadcast_to(matrix, (len(clip), 3, 3)), strict=True)
    ]
    return np.stack(frames)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_ragged", [False, True])
def test_warps_are_those_of_opencv(layout, dtype, channels, is_ragged):
    sides = [(40, 56), (30, 33)] if is_ragged else [(40, 56)] * 2
    clips = [
        pictures(2, n, own, channels, dtype)[: 2 if "F" in layout else 1]
        for n, own in enumerate(sides)
    ]
    made = warp_perspective(
        batch_of(clips, layout), matrix=MATRIX.ravel().tolist(), pixel_origin="center"
    )
    assert made.layout() == layout
    for clip, got in zip(clips, clips_of(made, layout), strict=True):
        assert is_near(got, by_opencv(clip, MATRIX), None)


def test_samples_and_frames_have_matrices_and_sizes_of_their_own():
    clips = [pictures(3, 0), pictures(3, 1)]
    frames = np.stack([MATRIX, np.eye(3), np.linalg.inv(MATRIX)])
    batch = batch_of(clips, "FHWC")
    both = warp_perspective(
        batch,
        matrix=[frames.tolist(), MATRIX.tolist()],
        size=[(40, 56), (20, 70)],
        pixel_origin="center",
    )
    assert is_near(both[0].numpy(), by_opencv(clips[0], frames), None)
    assert is_near(both[1].numpy(), by_opencv(clips[1], MATRIX, size=(20, 70)), None)
    table = torch.from_numpy(frames).float()
    given = warp_perspective(batch, TensorList([table, table]), pixel_origin="center")
    assert torch.equal(given[0], both[0])


def test_a_forward_matrix_is_the_inverse_of_a_backward_one():
    batch = batch_of([pictures(1)], "HWC")
    forward = warp_perspective(batch, matrix=np.linalg.inv(MATRIX).tolist(), inverse_map=False)
    assert is_near(
        forward[0].numpy(), warp_perspective(batch, matrix=MATRIX.tolist())[0].numpy(), 0
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("kind", INTERP)
def test_the_horizon_is_the_first_pixel(dtype, kind):
    clip = pictures(1, dtype=dtype)
    matrix = [[1, 0, 0], [0, 1, 0], [0.125, 0, -2.5]]  # infinite at x = 20
    (made,) = warp_perspective(
        batch_of([clip], "HWC"), matrix=matrix, pixel_origin="center", interp_type=kind
    )
    assert np.isfinite(made.numpy()).all()
    np.testing.assert_allclose(made[:, 20].numpy() - clip[0, 0, 0], 0, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "border"),
    [
        *itertools.product(["warp_affine", "rotate"], ["replicate", "constant"]),
        *itertools.product(["experimental.warp_perspective"], BORDERS),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_the_kernel_of_the_cpu_gives_what_the_reference_gives(name, dtype, border):
    arguments = {"size": (33, 44)}
    if name == "experimental.warp_perspective":
        arguments |= {"matrix": MATRIX.tolist(), "border_mode": border, "fill_value": [9.0]}
    else:
        arguments |= {"fill_value": 9.0 if border == "constant" else None}
        arguments |= {"angle": 33.0} if name == "rotate" else {"matrix": MATRIX[:2].tolist()}
    declared = OPERATORS[name]
    clips = [pictures(2, n, (30 + n, 41), channels=n, dtype=dtype) for n in (1, 3, 4)]
    frames = Batch([torch.from_numpy(clip) for clip in clips], "FHWC")
    bound = declared.bind(arguments)
    made = [
        apply_operator(each, Context(3), [frames], bound)[0]
        for each in (declared, replace(declared, kernels={}))
    ]
    for fast, slow in zip(*made, strict=True):
        assert is_near(fast.numpy(), slow.numpy(), None)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("kind", INTERP)
@pytest.mark.parametrize("sides", [(1, 1), (1, 5), (2, 3), (9, 4)])
def test_borders_hold_far_outside_and_for_tiny_pictures(border, kind, sides):
    clip = pictures(1, 3, sides, dtype=np.float32)
    far = np.float64([[0.9137, 0, -30.313], [0, 1.1093, -25.627], [0, 0, 1]])
    (made,) = warp_perspective(
        batch_of([clip], "HWC"),
        matrix=far.tolist(),
        border_mode=border,
        interp_type=kind,
        size=(50, 60),
        pixel_origin="center",
    )
    rows, columns = np.mgrid[:50, :60]
    rows, columns = 1.1093 * rows - 25.627, 0.9137 * columns - 30.313
    names = {"reflect": "symmetric", "reflect_101": "reflect", "replicate": "edge"}
    padded = np.pad(clip[0], ((50, 50), (50, 50), (0, 0)), names.get(border, border))
    places = [(each + 50).astype(np.float32) for each in (columns, rows)]
    wanted = cv2.remap(padded, *places, INTERP[kind])  # far from its borders
    exact = kind == types.INTERP_NN
    # OpenCV rounds places to 1/32 of a pixel: half of that times the steepest edge.
    assert np.abs(made.numpy() - wanted).max() <= (0 if exact else np.ptp(clip) / 16)


def maps_for(sides, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.indices(sides).astype(np.float32)
    x, y = (rng.uniform(-6, 6, sides).astype(np.float32) for _ in range(2))
    return np.round((columns + x) * 32) / 32, np.round((rows + y) * 32) / 32  # exact in OpenCV


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", INTERP)
@pytest.mark.parametrize("origin", ["center", "corner"])
def test_maps_are_those_of_opencv(layout, kind, origin):
    clips = [pictures(2 if "F" in layout else 1, n) for n in range(2)]
    maps = [maps_for((33, 21), 0), maps_for((50, 60), 1)]
    shift = 0.5 if origin == "corner" else 0.0
    x, y = ([torch.from_numpy(own[at] + np.float32(shift)) for own in maps] for at in range(2))
    made = remap(
        batch_of(clips, layout), TensorList(x), TensorList(y), interp=kind, pixel_origin=origin
    )
    for clip, own, got in zip(clips, maps, clips_of(made, layout), strict=True):
        wanted = np.stack([cv2.remap(frame, *own, INTERP[kind]) for frame in clip])
        error = np.abs(got.astype(int) - wanted)
        if kind == types.INTERP_NN:  # halves are rounded to even by OpenCV, up here
            tie = ((own[0] % 1 == 0.5) | (own[1] % 1 == 0.5))[None, ..., None]
            assert (error * ~tie).max() == 0
        else:
            assert error.max() <= 1


def test_each_frame_may_have_a_map():
    clip = pictures(2)
    own = [maps_for((40, 56), seed) for seed in range(2)]
    x, y = (torch.from_numpy(np.stack([each[at] for each in own])) for at in range(2))
    (made,) = remap(
        batch_of([clip], "FHWC"), TensorList([x]), TensorList([y[..., None]]), pixel_origin="center"
    )
    for frame, maps, got in zip(clip, own, made, strict=True):
        assert (
            np.abs(got.numpy().astype(int) - cv2.remap(frame, *maps, cv2.INTER_LINEAR)).max() <= 1
        )


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_jitter_moves_pixels_by_at_most_half_of_its_degree(layout, dtype):
    rows, columns = np.indices((30, 40))
    clip = np.stack([rows, columns], axis=-1)[None].astype(dtype).repeat(2, axis=0) + dtype(1)
    batch = batch_of([clip if "F" in layout else clip[:1]] * 2, layout)
    made = clips_of(fn.jitter(batch, nDegree=5, seed=4), layout)
    assert (made[0] != made[1]).any()
    moves = (made[0].astype(int) - clip[0].astype(int))[:, 2:-2, 2:-2]
    assert set(np.unique(moves)) == {-2, -1, 0, 1, 2}
    assert abs(moves.mean()) < 0.15
    assert (made[0][0] == made[0][-1]).all()  # all frames alike
    outside = made[0][:, 0] == 0
    assert outside.any()
    again = clips_of(fn.jitter(batch, nDegree=5, seed=4), layout)
    assert all((one == other).all() for one, other in zip(made, again, strict=True))


@pytest.mark.parametrize("name", ["sphere", "water", "jitter"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_mask_leaves_samples_alone_and_layouts_are_alike(name, layout):
    clips = [pictures(2, n) for n in range(2)]
    clips = clips if "F" in layout else [clip[:1] for clip in clips]
    seed = {"seed": 1} if name == "jitter" else {}
    made = clips_of(getattr(fn, name)(batch_of(clips, layout), mask=[0, 1], **seed), layout)
    assert (made[0] == clips[0]).all()
    assert (made[1] != clips[1]).any()
    plain = getattr(fn, name)(batch_of([clip[:1] for clip in clips], "HWC"), **seed)
    assert (made[1][0] == plain[1].numpy()).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda batch: warp_perspective(batch), "needs a matrix"),
        (lambda batch: warp_perspective(batch, matrix=[1.0] * 8), "3 x 3"),
        (lambda batch: warp_perspective(batch, matrix=[0.0] * 9, inverse_map=False), "inverse"),
        (lambda batch: warp_perspective(batch, matrix=MATRIX.tolist(), size=[5]), "size"),
        (
            lambda batch: warp_perspective(batch, matrix=MATRIX.tolist(), fill_value=[1, 2]),
            "fill_value",
        ),
        (lambda batch: warp_perspective(batch, matrix=MATRIX.tolist(), border_mode="x"), "border"),
        (
            lambda batch: warp_perspective(
                batch, matrix=MATRIX.tolist(), interp_type=types.INTERP_LANCZOS3
            ),
            "interp_type",
        ),
        (
            lambda batch: remap(
                batch, TensorList([torch.ones(3, 4)]), TensorList([torch.ones(4, 3)])
            ),
            "mapx and mapy",
        ),
        (lambda batch: fn.water(batch, interp_type=types.INTERP_CUBIC), "interp_type"),
        (lambda batch: fn.jitter(batch, nDegree=-1), "nDegree"),
    ],
)
def test_what_cannot_be_done_is_an_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(batch_of([pictures(1)], "HWC"))
