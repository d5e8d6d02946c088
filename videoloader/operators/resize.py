"""Another size for frames: which one, and the pixels of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    INTERP,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.operators.batch import Batch, Context, Spec, parts
from videoloader.operators.decoded import DecodedForm
from videoloader.operators.operator import FRAMES, Input, declare
from videoloader.tensors import saturate
from videoloader.types import InterpType

__all__ = ["RESIZE_ABSENT", "RESIZE_ARGUMENTS", "check_resize", "output_size", "resize"]

MODES = ("default", "stretch", "not_larger", "not_smaller")


def _side(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, None, doc + "; 0: not given", per_sample=True, least=0)


RESIZE_ARGUMENTS = (
    _side("resize_x", "width of the output"),
    _side("resize_y", "height of the output"),
    Argument(
        "size", FLOATS, None, "(height, width) or one number for both", per_sample=True, least=0
    ),
    _side("resize_shorter", "length of the shorter side; keeps the aspect ratio"),
    _side("resize_longer", "length of the longer side; keeps the aspect ratio"),
    Argument(
        "mode",
        TEXT,
        "default",
        "a missing side: `default` keeps the aspect ratio, `stretch` keeps that side; "
        "`not_larger` and `not_smaller` keep the aspect ratio and take the sizes as bounds",
        choices=MODES,
    ),
    Argument("max_size", FLOATS, None, "bound of the output: one number or (height, width)"),
    Argument("interp_type", INTERP, InterpType.INTERP_LINEAR, "how a pixel is computed"),
    Argument("antialias", BOOL, default=True, doc="widen the filter when shrinking"),
    Argument("dtype", DTYPE, None, "element type of the output: the input's or FLOAT"),
)

RESIZE_ABSENT = {
    "mag_filter": None,
    "min_filter": None,
    "resize_z": 0.0,
    "roi_end": None,
    "roi_relative": False,
    "roi_start": None,
    "save_attrs": False,
    "subpixel_scale": False,
}

_TORCH_MODES = {
    InterpType.INTERP_NN: "nearest-exact",
    InterpType.INTERP_LINEAR: "bilinear",
    InterpType.INTERP_TRIANGULAR: "bilinear",
    InterpType.INTERP_CUBIC: "bicubic",
}


def check_resize(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    """At most one way to say the size, and a mode only where it has a meaning."""
    if arguments["interp_type"] not in _TORCH_MODES:
        raise UnsupportedError(
            f"fn.resize: {arguments['interp_type'].name} is not supported; use INTERP_CUBIC"
        )
    ways = [{"resize_x", "resize_y"}, {"size"}, {"resize_shorter"}, {"resize_longer"}]
    used = [sorted(way & set(given)) for way in ways if way & set(given)]
    if len(used) > 1:
        names = " and ".join(" with ".join(way) for way in used)
        raise ArgumentError(f"fn.resize: {names} exclude each other")
    if used and used[0][0] in ("resize_shorter", "resize_longer") and "mode" in given:
        raise ArgumentError(f"fn.resize: mode has no meaning beside {used[0][0]}")
    dtype = arguments.get("dtype")
    if dtype is not None and dtype not in (torch.float32, torch.uint8):
        raise UnsupportedError("fn.resize: dtype is the input's or FLOAT; use fn.cast after it")


def output_size(
    height: int,
    width: int,
    *,
    size: tuple[float, ...] | None = None,
    resize_x: float | None = None,
    resize_y: float | None = None,
    resize_shorter: float | None = None,
    resize_longer: float | None = None,
    mode: str = "default",
    max_size: tuple[float, ...] | None = None,
) -> tuple[int, int]:
    """Height and width of the output, each rounded half up, at least 1.

    >>> output_size(360, 640, resize_shorter=256)
    (256, 455)
    >>> output_size(600, 1200, size=(800, 800), mode="not_smaller", max_size=(1400,))
    (700, 1400)
    """
    wanted = _pair("size", size) if size is not None else (resize_y or 0.0, resize_x or 0.0)
    if resize_shorter:
        wanted, mode = (resize_shorter, resize_shorter), "not_smaller"
    elif resize_longer:
        wanted, mode = (resize_longer, resize_longer), "not_larger"
    sides = (height, width)
    bounds = [bound or math.inf for bound in _pair("max_size", max_size or (0.0,))]
    scales = [want / side for want, side in zip(wanted, sides, strict=True) if want]
    if not scales:
        return sides
    if mode in ("default", "stretch"):
        missing = scales[0] if mode == "default" else 1.0
        exact = [want or side * missing for want, side in zip(wanted, sides, strict=True)]
        exact = [min(side, bound) for side, bound in zip(exact, bounds, strict=True)]
    else:
        scale = min(scales) if mode == "not_larger" else max(scales)
        scale = min(scale, *(bound / side for bound, side in zip(bounds, sides, strict=True)))
        exact = [side * scale for side in sides]
    rows, columns = (max(1, math.floor(side + 0.5)) for side in exact)
    return rows, columns


_SIDES = ("resize_x", "resize_y", "size", "resize_shorter", "resize_longer")


def _absorb(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    if arguments["dtype"] not in (None, torch.uint8):
        return None
    sides = {name: arguments[name] for name in (*_SIDES, "mode", "max_size")}
    size = output_size(*form.size, **sides)
    match arguments["interp_type"], arguments["antialias"]:
        case InterpType.INTERP_NN, _:
            return form.resized(size, "nearest")
        case (InterpType.INTERP_LINEAR, True) | (InterpType.INTERP_TRIANGULAR, _):
            return form.resized(size, "triangular")
        case InterpType.INTERP_LINEAR, False:
            return form.resized(size, "bilinear")
    return None


def _sizes(frames: Spec, arguments: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The size of each sample of the output."""
    return [
        output_size(
            shape[-3],
            shape[-2],
            **{k: v[at] if isinstance(v, PerSample) else v for k, v in arguments.items()},
        )
        for at, shape in enumerate(frames.shapes)
    ]


def _infer(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    interp_type: InterpType,  # noqa: ARG001
    antialias: bool,  # noqa: ARG001
    dtype: torch.dtype | None,
    **size: Any,
) -> Spec:
    return frames.with_frames(_sizes(frames, size), dtype=dtype or frames.dtype)


@declare(
    "resize",
    inputs=(Input("frames", FRAMES),),
    arguments=RESIZE_ARGUMENTS,
    infer=_infer,
    check=check_resize,
    absent=RESIZE_ABSENT,
    unused=("minibatch_size", "temp_buffer_hint"),
    absorb=_absorb,
    absorbed_per_sample=_SIDES,
)
def resize(
    context: Context,
    frames: Batch,
    *,
    interp_type: InterpType,
    antialias: bool,
    dtype: torch.dtype | None,  # noqa: ARG001
    **size: Any,
) -> Batch:
    """Resize frames, every frame of a clip alike.

    Pixel centres lie at half-integers. Shrinking with `antialias` widens the filter to the scale
    (linear becomes triangular); at the border the filter is cut off and its weights are
    normalised, as Pillow does. Cubic is Catmull-Rom. A computed side is rounded, and the
    picture is scaled to just that side (DALI's `subpixel_scale=False`).
    """
    sizes = _sizes(frames.spec, size)
    inferred = context.outputs[0]
    pieces = [
        (at, _resized(frames.part(at), sizes[at.start], interp_type, antialias, inferred.dtype))
        for at in parts(frames, alike=(sizes,))
    ]
    if len(pieces) == 1 or inferred.is_ragged:
        return Batch.joined([Batch(piece) for _, piece in pieces])
    out = context.empty()
    for at, piece in pieces:
        out.part(at).copy_(piece)
    return out


def _resized(
    frames: torch.Tensor,
    size: tuple[int, int],
    interp_type: InterpType,
    antialias: bool,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Frames (..., H, W, C) in another size."""
    rows, columns = size
    if size == tuple(frames.shape[-3:-1]) or frames.numel() == 0:
        resized = frames
        if frames.numel() == 0:
            resized = frames.new_empty((*frames.shape[:-3], rows, columns, frames.shape[-1]))
        return saturate(resized, dtype)
    antialias = _antialias(interp_type, antialias, frames, rows, columns)
    planes = frames.reshape(-1, *frames.shape[-3:]).permute(0, 3, 1, 2)
    if not _is_native(planes, interp_type) or dtype != frames.dtype:
        planes = planes.float()
    extra = {} if interp_type is InterpType.INTERP_NN else {"antialias": antialias}
    resized = F.interpolate(planes, (rows, columns), mode=_TORCH_MODES[interp_type], **extra)
    resized = resized.permute(0, 2, 3, 1).reshape(*frames.shape[:-3], rows, columns, -1)
    return saturate(resized, dtype)


def _antialias(
    interp_type: InterpType, antialias: bool, frames: torch.Tensor, rows: int, columns: int
) -> bool:
    if interp_type is InterpType.INTERP_TRIANGULAR:
        return True
    if interp_type is not InterpType.INTERP_CUBIC or antialias:
        return antialias
    if rows < frames.shape[-3] or columns < frames.shape[-2]:
        raise UnsupportedError(
            "fn.resize: INTERP_CUBIC with antialias=False cannot shrink yet; use antialias=True"
        )
    return True  # when nothing shrinks the filter is as wide either way, and torch's is DALI's


def _is_native(planes: torch.Tensor, interp_type: InterpType) -> bool:
    """Whether torch resizes this type exactly as it is.

    Nearest picks any bytes; bytes on the CPU are filtered well, but for cubic, whose overshoot is
    cut off between rows and columns there.
    """
    if planes.dtype in (torch.float32, torch.float64):
        return True
    on_cpu = planes.device.type == "cpu" and interp_type is not InterpType.INTERP_CUBIC
    return planes.dtype == torch.uint8 and (on_cpu or interp_type is InterpType.INTERP_NN)


def _pair(name: str, values: tuple[float, ...]) -> tuple[float, float]:
    if len(values) not in (1, 2):
        raise ArgumentError(f"{name} must be one number or (height, width), got {values}")
    return values[0], values[-1]
