"""`fn.paste`: frames on a larger canvas."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from videoloader.dali.operators.arguments import FLOAT, FLOATS, INT, REQUIRED, Argument, PerSample
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.geometry.crop_windows import Window, cut
from videoloader.dali.operators.geometry.paste_on_gpu import Region, paste_on_gpu
from videoloader.dali.operators.inputs import FRAMES, UNNAMED_IMAGES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _place(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, 0.5, doc, per_sample=True, least=0, most=1)


def _canvas(
    sides: tuple[int, int], ratio: float, least: float, paste_y: float, paste_x: float
) -> Window:
    if ratio < 1:
        raise ArgumentError(f"fn.paste: ratio must be at least 1, got {ratio}")
    if least < 0:
        raise ArgumentError(f"fn.paste: min_canvas_size must be at least 0, got {least}")
    size = tuple(max(_product(side, ratio), int(least)) for side in sides)
    each = zip((paste_y, paste_x), size, sides, strict=True)
    return Window(tuple(-_product(n - side, place) for place, n, side in each), size)


def _canvases(frames: Spec, given: dict[str, PerSample]) -> list[Window]:
    names = ("ratio", "min_canvas_size", "paste_y", "paste_x")
    each = zip(frames.shapes, *(given[name] for name in names), strict=True)
    return [_canvas((shape[-3], shape[-2]), *own) for shape, *own in each]


def _product(length: int, part: float) -> int:
    """The product in float32, truncated, as DALI has it."""
    return int(np.float32(length) * np.float32(part))


class _Pasting(NamedTuple):
    """Plan of `paste`."""

    canvases: list[Window]
    fill_value: tuple[float, ...]


def _infer(
    context: Context,
    frames: Spec,
    *,
    fill_value: tuple[float, ...],
    n_channels: int,
    **given: PerSample,
) -> Planned:
    canvases = _canvases(frames, given)
    sizes = [(window.size[0], window.size[1]) for window in canvases]
    return Planned((frames.with_frames(sizes),), _Pasting(canvases, fill_value))


def _paste_on_gpu(context: Context, frames: Batch, plan: _Pasting) -> Any:
    regions = []
    for at, (shape, window) in enumerate(zip(frames.spec.shapes, plan.canvases, strict=True)):
        (top, left), (height, width) = window.start, shape[-3:-1]
        regions.append([[Region(0, at, 0, (0, 0), (height, width), (-top, -left))]])
    return paste_on_gpu(context, [frames], regions, plan.fill_value)


@declare(
    "paste",
    inputs=(Input("frames", FRAMES, unnamed=UNNAMED_IMAGES),),
    arguments=(
        Argument("ratio", FLOAT, REQUIRED, "canvas to frame, at least 1", per_sample=True),
        Argument("fill_value", FLOATS, REQUIRED, "of the canvas, for all channels or each"),
        _place("paste_x", "place of the frame: 0 is leftmost, 1 rightmost"),
        _place("paste_y", "place of the frame: 0 is topmost, 1 lowest"),
        Argument(
            "min_canvas_size", FLOAT, 0.0, "least side of the canvas, at least 0", per_sample=True
        ),
        Argument("n_channels", INT, 3, "taken; the frames know their channels", least=1),
    ),
    infer=_infer,
    kernels={"cuda": _paste_on_gpu},
)
def paste(context: Context, frames: Batch, plan: _Pasting) -> Batch:
    """Put frames on a canvas of one color, every frame of a clip at the same place."""
    out = context.empty()
    for at, window in enumerate(plan.canvases):
        out[at].copy_(cut(frames[at], (window,), plan.fill_value))
    return out
