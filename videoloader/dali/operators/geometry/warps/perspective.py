"""`fn.experimental.warp_perspective` and `fn.experimental.remap`: frames at places of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import (
    BOOL,
    FLOATS,
    INTERP,
    TEXT,
    Argument,
    Kind,
    PerFrame,
    PerSample,
)
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.geometry.sizes import whole_size
from videoloader.dali.operators.geometry.warps.matrices import Matrix, inverse, numbers
from videoloader.dali.operators.geometry.warps.sampling import (
    BORDERS,
    chunks,
    pixel_places,
    sample_at,
)
from videoloader.dali.operators.geometry.warps.warp import Warping
from videoloader.dali.operators.geometry.warps.warps_on_cpu import can_warp, warp_pictures
from videoloader.dali.operators.geometry.warps.warps_on_gpu import remap_on_gpu, warp_on_gpu
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate, saturate_numbers
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import InterpType
from videoloader.errors import ArgumentError

_LAYOUTS = (*FRAMES, "HW", "FHW")
_MATRIX = Kind("matrix of float, (3, 3) or its rows in one list", numbers, rank=2)
_INTERPOLATIONS = (InterpType.INTERP_NN, InterpType.INTERP_LINEAR, InterpType.INTERP_CUBIC)
_ORIGIN = Argument(
    "pixel_origin",
    TEXT,
    "corner",
    "where pixel (0, 0) has its place (0, 0): at its upper left corner, or at its center as in "
    "OpenCV",
    choices=("corner", "center"),
)


def _planes(frames: torch.Tensor, layout: str) -> torch.Tensor:
    """A view (P, H, W, C) of frames with channels last or without any."""
    frames = frames if "F" in layout else frames[None]
    return frames if "C" in layout else frames[..., None]


def _with_size(shape: tuple[int, ...], layout: str, size: tuple[int, ...]) -> tuple[int, ...]:
    end = layout.index("H")
    return (*shape[:end], *size, *shape[end + 2 :])


class _Perspective(NamedTuple):
    """Plan of `warp_perspective`.

    Attributes:
        matrices: from the output to the input, of each sample: one, or one for each frame. None if
            an input gives them.
        is_inverse: whether those of an input are from the output to the input.
        pixel_origin: of those of an input.
        interp_type, border, fill: as of `Warping`.
    """

    matrices: tuple[tuple[Matrix, ...], ...] | None
    is_inverse: bool
    pixel_origin: str
    interp_type: InterpType
    border: str
    fill: tuple[float, ...]

    def warping(self, frames: Spec, given: Sequence[Batch]) -> Warping:
        """The plan with the matrices of an input, if there is one."""
        tables = self.matrices
        if tables is None:
            tables = _matrices_of_input(
                given[0], is_inverse=self.is_inverse, pixel_origin=self.pixel_origin
            )
            _check_count(frames, tables)
        return Warping(tables, self.interp_type, self.border, self.fill)


def _infer_warp(
    context: Context,
    frames: Spec,
    *given: Spec,
    matrix: PerSample,
    inverse_map: bool,
    size: PerSample,
    border_mode: str,
    fill_value: tuple[float, ...],
    interp_type: InterpType,
    pixel_origin: str,
) -> Planned:
    shapes = [
        shape
        if not wanted
        else _with_size(
            shape, frames.layout, whole_size(wanted, 2, "experimental.warp_perspective", "round")
        )
        for shape, wanted in zip(frames.shapes, size, strict=True)
    ]
    tables = None
    if not given:
        tables = _matrices_of_argument(matrix, is_inverse=inverse_map, pixel_origin=pixel_origin)
        _check_count(frames, tables)
    fill = saturate_numbers(fill_value or (0.0,), frames.dtype)  # as a pixel can be
    plan = _Perspective(tables, inverse_map, pixel_origin, interp_type, border_mode, fill)
    return Planned((replace(frames, shapes=tuple(shapes)),), plan)


def _check_count(frames: Spec, matrices: Sequence[Sequence[Matrix]]) -> None:
    for shape, own in zip(frames.shapes, matrices, strict=True):
        count = shape[0] if "F" in frames.layout else 1
        if len(own) not in (1, count):
            raise ArgumentError(
                f"fn.experimental.warp_perspective: {len(own)} matrices for {count} frames"
            )


def _check_matrix(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    matrix = arguments.get("matrix")
    if isinstance(matrix, tuple):
        _perspective(matrix)


def _perspective(values: Any) -> Matrix:
    table = np.asarray(values, dtype=np.float64).reshape(-1)
    if table.size != 9:
        raise ArgumentError(
            f"fn.experimental.warp_perspective: matrix has 3 x 3 numbers, got {table.size}"
        )
    return table.reshape(3, 3)


def _matrices_of_input(
    given: Batch, *, is_inverse: bool, pixel_origin: str
) -> tuple[tuple[Matrix, ...], ...]:
    """The matrices of each sample: one, or one for each frame."""
    tables = [value.detach().cpu().double().numpy() for value in given]
    return tuple(
        tuple(
            _from_output(each, is_inverse=is_inverse, pixel_origin=pixel_origin)
            for each in (table if table.ndim == 3 else [table])
        )
        for table in tables
    )


def _matrices_of_argument(
    matrix: PerSample, *, is_inverse: bool, pixel_origin: str
) -> tuple[tuple[Matrix, ...], ...]:
    """The matrices of each sample; equal samples share them."""

    def matrices_of(value: Any) -> tuple[Matrix, ...]:
        if value is None:
            raise ArgumentError(
                "fn.experimental.warp_perspective needs a matrix, as an argument or an input"
            )
        return tuple(
            _from_output(each, is_inverse=is_inverse, pixel_origin=pixel_origin)
            for each in (value.values if isinstance(value, PerFrame) else (value,))
        )

    return tuple(once_for_equal(matrices_of, matrix))


def _from_output(values: Any, *, is_inverse: bool, pixel_origin: str) -> Matrix:
    """The matrix from places in the output to places in the input, from pixel corners."""
    matrix = _perspective(values)
    if not is_inverse:
        matrix = inverse(matrix, "experimental.warp_perspective")
    shift, back = _TO_CORNERS[pixel_origin]
    moved: Matrix = shift @ matrix @ back
    return moved


_SHIFTS = {"corner": 0.0, "center": 0.5}
"""From places whose origin is this to those from pixel corners."""


def _to_corners(pixel_origin: str) -> tuple[Matrix, Matrix]:
    shift = np.eye(3)
    shift[:2, 2] = _SHIFTS[pixel_origin]
    return shift, np.asarray(np.linalg.inv(shift), dtype=np.float64)


_TO_CORNERS = {origin: _to_corners(origin) for origin in _SHIFTS}
"""The same as a matrix, and back."""


def _by_opencv(context: Context, frames: Batch, *given: Batch, plan: _Perspective) -> Any:
    """By OpenCV; NotImplemented if it cannot."""
    out = context.empty()
    matrices, interp_type, border, fill = plan.warping(frames.spec, given)
    for pictures, slots, own in _pictures(frames, out, matrices):
        height, width = slots.shape[1:3]
        corners = np.array([[x, y, 1] for x in (0, width) for y in (0, height)])
        depths = np.stack([corners @ matrix[2] for matrix in own])
        has_horizon = not ((depths > 0).all(axis=1) | (depths < 0).all(axis=1)).all()
        # OpenCV makes NaN of what lies at infinity.
        if has_horizon or not can_warp(pictures, slots, interp_type, fill):
            return NotImplemented
        warp_pictures(pictures, own, slots, border, fill)
    return out


def _pictures(
    frames: Batch, out: Batch, matrices: Sequence[Sequence[Matrix]]
) -> Iterator[tuple[torch.Tensor, torch.Tensor, Sequence[Matrix]]]:
    """Pictures (P, H, W, C), slots of the same form, and the matrices of each sample."""
    for sample, result, own in zip(frames, out, matrices, strict=True):
        yield _planes(sample, frames.layout), _planes(result, frames.layout), own


def _warp_on_gpu(context: Context, frames: Batch, *given: Batch, plan: _Perspective) -> Any:
    return warp_on_gpu(context, frames, *plan.warping(frames.spec, given))


@declare(
    "experimental.warp_perspective",
    inputs=(Input("frames", _LAYOUTS, is_frames=True), Input("matrix_input", is_optional=True)),
    arguments=(
        Argument(
            "matrix",
            _MATRIX,
            None,
            "(3, 3): from points (x, y, 1) of the output to points of the input, in pixels; or "
            "the second input",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "inverse_map", BOOL, default=True, doc="False: from the input to the output instead"
        ),
        Argument("size", FLOATS, None, "(height, width) of the output", per_sample=True, least=0),
        Argument(
            "border_mode", TEXT, "constant", "what lies outside the input", choices=tuple(BORDERS)
        ),
        Argument(
            "fill_value", FLOATS, (), "what a constant border is, for all channels or each; 0"
        ),
        Argument(
            "interp_type",
            INTERP,
            InterpType.INTERP_LINEAR,
            "how a pixel is computed",
            choices=_INTERPOLATIONS,
        ),
        _ORIGIN,
    ),
    infer=_infer_warp,
    check=_check_matrix,
    kernels={"cpu": _by_opencv, "cuda": _warp_on_gpu},
)
def warp_perspective(context: Context, frames: Batch, *given: Batch, plan: _Perspective) -> Batch:
    """See frames through a perspective transform, every frame of a clip alike by default."""
    out = context.empty()
    matrices, interp_type, border, fill = plan.warping(frames.spec, given)
    for pictures, slots, own in _pictures(frames, out, matrices):
        table = torch.from_numpy(np.stack(own)).to(pictures.device, torch.float32)
        table = table.expand(len(pictures), 3, 3)
        sides = slots.shape[1:3]
        targets = pixel_places(sides, pictures.device).reshape(-1, 2)
        targets = torch.nn.functional.pad(targets, (0, 1), value=1.0)
        for at in chunks(len(pictures), sides, pictures.device):
            sources = targets @ table[at].transpose(1, 2)
            depth = sources[..., 2:]
            # A point at infinity is taken for the center of the first pixel, as in OpenCV.
            places = torch.where(depth == 0, 0.5, sources[..., :2] / depth).reshape(-1, *sides, 2)
            values = sample_at(pictures[at], places, interp_type, border, fill)
            slots[at].copy_(saturate(values, slots.dtype))
    return out


def _map_sides(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """(height, width), or (frames, height, width), of a map, which may have one channel."""
    if layout:
        is_single = layout.endswith("C") or len(layout) != len(shape)
    else:
        is_single = shape[-1] == 1 and len(shape) > 2
    return shape[:-1] if is_single else shape


def _infer_remap(context: Context, frames: Spec, map_x: Spec, map_y: Spec, **others: Any) -> Spec:
    shapes = []
    for position, shape in enumerate(frames.shapes):
        x, y = (_map_sides(each.shapes[position], each.layout) for each in (map_x, map_y))
        clip = shape[:1] if frames.layout.startswith("F") else ()
        if x != y or len(x) not in (2, 3) or (len(x) == 3 and x[:1] != clip):
            raise ArgumentError(
                "fn.experimental.remap: mapx and mapy must be of one size, (height, width) or one "
                f"for each frame, got shapes {map_x.shapes[position]} and "
                f"{map_y.shapes[position]} for a sample of {shape}"
            )
        shapes.append(_with_size(shape, frames.layout, x[-2:]))
    return replace(frames, shapes=tuple(shapes))


def _remap_on_gpu(
    context: Context,
    frames: Batch,
    map_x: Batch,
    map_y: Batch,
    *,
    interp: InterpType,
    pixel_origin: str,
) -> Any:
    return remap_on_gpu(context, frames, (map_x, map_y), _SHIFTS[pixel_origin], interp)


@declare(
    "experimental.remap",
    inputs=(Input("frames", FRAMES), Input("mapx"), Input("mapy")),
    arguments=(
        Argument(
            "interp",
            INTERP,
            InterpType.INTERP_LINEAR,
            "how a pixel is computed",
            choices=_INTERPOLATIONS,
        ),
        _ORIGIN,
    ),
    infer=_infer_remap,
    kernels={"cuda": _remap_on_gpu},
)
def remap(
    context: Context,
    frames: Batch,
    map_x: Batch,
    map_y: Batch,
    *,
    interp: InterpType,
    pixel_origin: str,
) -> Batch:
    """Take every pixel of the output from the place in the input that two maps give for it.

    out(x, y) = in(mapx(x, y), mapy(x, y)), where maps hold places in pixels. What lies outside the
    input is 0. Maps are for all frames of a clip, or for each.
    """
    out = context.empty()
    shift = _SHIFTS[pixel_origin]
    for sample, result, *maps in zip(frames, out, map_x, map_y, strict=True):
        pictures, slots = (_planes(each, frames.layout) for each in (sample, result))
        sides = slots.shape[1:3]
        own = [each.to(sample.device, torch.float32).reshape(-1, *sides) for each in maps]
        places = torch.stack(own, dim=-1) + shift
        places = places.expand(len(pictures), *sides, 2)
        for at in chunks(len(pictures), sides, sample.device):
            values = sample_at(pictures[at], places[at], interp, "constant")
            slots[at].copy_(saturate(values, result.dtype))
    return out
