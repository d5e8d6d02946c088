"""`fn.paste`: frames on a larger canvas."""

from __future__ import annotations

from typing import Any

import numpy as np

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import FLOAT, FLOATS, INT, REQUIRED, Argument, PerSample
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.geometry.windows import Window, cut
from videoloader.operators.inputs import FRAMES, Input
from videoloader.operators.operator import declare

__all__ = ["paste"]


def _place(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, 0.5, doc, per_sample=True, least=0, most=1)


def _canvases(frames: Spec, given: dict[str, PerSample]) -> list[Window]:
    """The canvas of each sample as a window of its frames."""
    found = []
    for at, shape in enumerate(frames.shapes):
        ratio, least = given["ratio"][at], given["min_canvas_size"][at]
        if ratio < 1:
            raise ArgumentError(f"fn.paste: ratio must be at least 1, got {ratio}")
        if least < 0:
            raise ArgumentError(f"fn.paste: min_canvas_size must be at least 0, got {least}")
        size = tuple(max(_product(side, ratio), int(least)) for side in shape[-3:-1])
        places = given["paste_y"][at], given["paste_x"][at]
        each = zip(places, size, shape[-3:-1], strict=True)
        found.append(Window(tuple(-_product(n - side, place) for place, n, side in each), size))
    return found


def _product(length: int, part: float) -> int:
    """The product in float32, truncated, as DALI has it."""
    return int(np.float32(length) * np.float32(part))


def _infer(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    fill_value: tuple[float, ...],  # noqa: ARG001
    n_channels: int,  # noqa: ARG001
    **given: PerSample,
) -> Spec:
    sizes = [(window.size[0], window.size[1]) for window in _canvases(frames, given)]
    return frames.with_frames(sizes)


@declare(
    "paste",
    inputs=(Input("frames", FRAMES, is_image=True),),
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
)
def paste(
    context: Context,
    frames: Batch,
    *,
    fill_value: tuple[float, ...],
    n_channels: int,  # noqa: ARG001
    **given: Any,
) -> Batch:
    """Put frames on a canvas of one color, every frame of a clip at the same place."""
    out = context.empty()
    for at, window in enumerate(_canvases(frames.spec, given)):
        out[at].copy_(cut(frames[at], (window,), fill_value))
    return out
