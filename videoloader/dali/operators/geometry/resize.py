"""`fn.resize` and `fn.resize_crop_mirror`: another size for frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from videoloader.dali.operators.arguments import BOOL, INT, Argument
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.deprecated import NO_IMAGE_TYPE
from videoloader.dali.operators.geometry.bytes_on_cpu import Grid, grid_of, resample_bytes
from videoloader.dali.operators.geometry.crop_windows import (
    CROP_ARGUMENTS,
    CROPPED,
    WINDOW,
    check_crop,
    crop_window,
)
from videoloader.dali.operators.geometry.resampling import Axis, Taps, resample, taps_of
from videoloader.dali.operators.geometry.resize_on_gpu import Weights, resize_on_gpu
from videoloader.dali.operators.geometry.sizes import (
    RESIZE_ARGUMENTS,
    SIDES,
    check_resize,
    for_samples,
    resize_axes,
    sample_axes,
)
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.dali.types import InterpType
from videoloader.machinery.system.forking import cached_property

_HINTS = ("minibatch_size", "temp_buffer_hint")


def _absorb(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    if arguments["dtype"] not in (None, torch.uint8) or arguments["save_attrs"]:
        return None
    if arguments["mag_filter"] or arguments["min_filter"] or arguments["roi_start"]:
        return None
    if arguments["subpixel_scale"] and not _is_whole(arguments):
        return None
    given = {
        name: arguments[name] for name in (*SIDES, "mode", "max_size", "interp_type", "antialias")
    }
    rows, columns = resize_axes(form.size, **given, subpixel_scale=False)
    if any(axis.end < axis.start for axis in (rows, columns)):
        return None
    size = rows.size, columns.size
    match arguments["interp_type"], arguments["antialias"]:
        case ((InterpType.INTERP_LINEAR | InterpType.INTERP_TRIANGULAR), True):
            return form.resized(size, "triangular")
        case ((InterpType.INTERP_LINEAR | InterpType.INTERP_TRIANGULAR), False):
            return form.resized(size, "bilinear")
    return None  # INTERP_NN: of two pixels that are equally near, decoders may take the other


def _is_whole(arguments: Mapping[str, Any]) -> bool:
    """Whether no side is ever rounded, whatever the size of the video."""
    sides: Sequence[float | None] = (arguments["resize_x"], arguments["resize_y"])
    if arguments["size"] is not None:
        sides = arguments["size"]
    return arguments["mode"] in ("default", "stretch") and all(
        side is not None and side != 0 and float(side).is_integer() for side in sides
    )


class Resampling:
    """Resampling of one sample; its tables are computed when they are first needed.

    Threads may share it.

    Args:
        sides: of the dimensions that are resized.
        axes: one for each of them.
    """

    def __init__(self, sides: Sequence[int], axes: tuple[Axis, ...]) -> None:
        self.sides, self.axes = sides, axes

    @cached_property
    def taps(self) -> list[Taps]:
        """Taps for `resample`."""
        return taps_of(self.sides, self.axes)

    @cached_property
    def grid(self) -> Grid | None:
        """Parameters of `resample_bytes`."""
        return grid_of(self.sides, self.axes)

    def piece(self, frames: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Frames (..., *sides, C) resized."""
        fast = resample_bytes(frames, self.grid) if dtype == torch.uint8 else None
        return resample(frames, self.axes, self.taps, dtype) if fast is None else fast


class Resizing(NamedTuple):
    """Plan of an operator that resizes.

    Attributes:
        samples: how each is resampled; equal samples share one.
        weights: the same for the kernel.
    """

    samples: list[Resampling]
    weights: Weights

    @classmethod
    def of(cls, frames: Spec, axes: Sequence[tuple[Axis, ...]]) -> Resizing:
        """The plan for the axes of each sample, channels last."""
        sides = [shape[-1 - len(own) : -1] for shape, own in zip(frames.shapes, axes, strict=True)]
        return cls(once_for_equal(Resampling, sides, axes), Weights(axes, sides))


def _infer(
    context: Context, frames: Spec, *, dtype: torch.dtype | None, save_attrs: bool, **given: Any
) -> Planned:
    planned = _planned(frames, sample_axes(frames, given), dtype)
    if not save_attrs:
        return planned
    sides = len(planned.plan.samples[0].axes) if len(frames) else 2
    attributes = Spec.alike(len(frames), (sides,), torch.int32)
    return Planned((*planned.outputs, attributes), planned.plan)


def _planned(frames: Spec, axes: Sequence[tuple[Axis, ...]], dtype: torch.dtype | None) -> Planned:
    shapes = [
        (*shape[: -1 - len(own)], *[axis.outputs for axis in own], shape[-1])
        for shape, own in zip(frames.shapes, axes, strict=True)
    ]
    out = replace(frames, shapes=tuple(shapes), dtype=dtype or frames.dtype)
    return Planned((out,), Resizing.of(frames, axes))


def _resize_on_gpu(context: Context, frames: Batch, plan: Resizing) -> Any:
    made = resize_on_gpu(context, frames, plan.weights)
    if made is NotImplemented or len(context.outputs) == 1:
        return made
    made.queue()
    return made.out, _sides(context, frames.spec)


def _sides(context: Context, frames: Spec) -> Batch:
    """The second output of `save_attrs`: the sides of each sample."""
    count = context.outputs[1].shapes[0][0] if len(frames) else 2
    table = [shape[-1 - count : -1] for shape in frames.shapes]
    return Batch(torch.tensor(table, dtype=torch.int32))


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return 2 if arguments["save_attrs"] else 1


@declare(
    "resize",
    inputs=(Input("frames", CROPPED),),
    arguments=(
        *RESIZE_ARGUMENTS,
        Argument("save_attrs", BOOL, default=False, doc="give the sizes of the inputs as well"),
    ),
    num_outputs=_num_outputs,
    infer=_infer,
    kernels={"cuda": _resize_on_gpu},
    check=check_resize,
    unused=_HINTS,
    deprecated=(NO_IMAGE_TYPE,),
    absorb=_absorb,
    absorbed_per_sample=("resize_x", "resize_y", "size", "resize_shorter", "resize_longer"),
)
def resize(context: Context, frames: Batch, plan: Resizing) -> Batch | tuple[Batch, ...]:
    """Resize frames, every frame of a clip alike.

    Pixel centres lie at half-integers. Shrinking with `antialias` widens the filter to the scale;
    beyond a border lie copies of the pixel there. Linear and triangular are one filter; cubic is
    Catmull-Rom. A decoder resizes by itself where no side is rounded: where both are given in whole
    pixels, or with `subpixel_scale=False`. Floats are within 10^-6 of the largest value of sums in
    float64; bytes on the CPU are rounded in both directions, and within 2 of them.
    """
    output = resized(context, frames, plan.samples)
    return output if len(context.outputs) == 1 else (output, _sides(context, frames.spec))


RESIZE = OPERATORS["resize"]


def resized(context: Context, frames: Batch, samples: Sequence[Resampling]) -> Batch:
    """Each sample resized in its own way; the first output of the operator."""
    inferred = context.outputs[0]
    pieces = [
        (at, samples[at.start].piece(frames.part(at), inferred.dtype))
        for at in parts(frames, alike=(samples,))
    ]
    if len(pieces) == 1 or inferred.is_ragged:
        return Batch.joined([Batch(piece) for _, piece in pieces])
    out = context.empty()
    for at, piece in pieces:
        out.part(at).copy_(piece)
    return out


def _check_both(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    check_resize(given, arguments)
    check_crop(given, arguments)


_MIRRORED = (4, 2, 1)  # bit of `mirror` for depth, height and width


def _windowed(frames: Spec, given: Mapping[str, Any]) -> list[tuple[Axis, ...]]:
    """The axes of each sample, and the part of each in the window."""
    first = -3 - frames.layout.count("D")
    return for_samples(_window_axes, [shape[first:-1] for shape in frames.shapes], given)


def _window_axes(sides: Sequence[int], *, mirror: int, **given: Any) -> tuple[Axis, ...]:
    own = {name: given.pop(name) for name in WINDOW}
    axes = resize_axes(sides, **given)
    # What lies outside of the resized frame is the pixel at its border.
    window = crop_window([axis.size for axis in axes], **own, out_of_bounds_policy="pad")
    whole = [(0, axis.size) for axis in axes[: len(axes) - len(window.size)]]
    spans = [*whole, *zip(window.start, window.size, strict=True)]
    bits = _MIRRORED[3 - len(axes) :]
    return tuple(
        axis.within(span, mirrored=bool(mirror & bit))
        for bit, axis, span in zip(bits, axes, spans, strict=True)
    )


def _infer_window(
    context: Context, frames: Spec, *, dtype: torch.dtype | None, **given: Any
) -> Planned:
    return _planned(frames, _windowed(frames, given), dtype)


_WINDOW_ARGUMENTS = (
    *RESIZE_ARGUMENTS,
    *(replace(argument, per_frame=False) for argument in CROP_ARGUMENTS),
    Argument(
        "mirror",
        INT,
        0,
        "sides to swap, added: 1 left and right, 2 top and bottom, 4 front and back",
        per_sample=True,
        least=0,
        most=7,
    ),
)


@declare(
    "resize_crop_mirror",
    inputs=(Input("frames", CROPPED),),
    arguments=_WINDOW_ARGUMENTS,
    infer=_infer_window,
    kernels={"cuda": _resize_on_gpu},
    check=_check_both,
    unused=_HINTS,
)
def resize_crop_mirror(context: Context, frames: Batch, plan: Resizing) -> Batch:
    """Resize, crop and mirror frames in one go: only pixels inside the window are computed.

    A window that is larger than the resized frame shows copies of the pixels at its border.
    """
    return resized(context, frames, plan.samples)


@declare(
    "fast_resize_crop_mirror",
    inputs=(Input("frames", CROPPED),),
    arguments=tuple(
        replace(argument, default=False) if argument.name == "antialias" else argument
        for argument in _WINDOW_ARGUMENTS
    ),
    infer=_infer_window,
    kernels={"cuda": _resize_on_gpu},
    check=_check_both,
    unused=_HINTS,
)
def fast_resize_crop_mirror(context: Context, frames: Batch, plan: Resizing) -> Batch:
    """`resize_crop_mirror` without antialiasing by default; deprecated in DALI."""
    return resized(context, frames, plan.samples)
