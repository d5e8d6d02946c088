"""Order statistics of neighbourhoods: dilation, erosion, median.

Plain torch is the reference; on the CPU OpenCV filters most pictures, on a GPU a kernel a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import INT, INTS, TEXT, Argument, PerSample, each_value
from videoloader.dali.operators.axes import padded
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.filters.neighborhoods_on_gpu import median_on_gpu
from videoloader.dali.operators.filters.separable_on_gpu import Mask, extremes_on_gpu
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.tensors.conversion import from_ordered, to_ordered
from videoloader.errors import ArgumentError
from videoloader.machinery.system.forking import cached_property

Pair = tuple[int, int]

_BORDERS = {
    "constant": "constant",
    "replicate": "edge",
    "reflect": "reflect_1001",
    "reflect_1001": "reflect_1001",
    "reflect101": "reflect_101",
    "reflect_101": "reflect_101",
    "wrap": "wrap",
}
_BY_OPENCV = (torch.uint8, torch.uint16, torch.int16, torch.float32)


def _surrounded(
    pictures: torch.Tensor, before: Pair, after: Pair, border: str, fill: float
) -> torch.Tensor:
    """Pictures (N, H, W, C) with a border: (rows, columns) before and after."""
    for axis, first, last in zip((1, 2), before, after, strict=True):
        pictures = padded(pictures, axis, first, last, border, fill)
    return pictures


def _pair(name: str, values: Sequence[int], least: int) -> Pair:
    pair = tuple(values) * (2 if len(values) == 1 else 1)
    if len(pair) != 2 or min(pair) < least:
        raise ArgumentError(f"{name} is (width, height), at least {least} each, got {values}")
    return pair[0], pair[1]


def _extreme(
    pictures: torch.Tensor, mask: _Rectangle, border: str, *, largest: bool
) -> torch.Tensor:
    """The largest or smallest value under a mask, separably."""
    (width, height), (x, y) = mask
    dtype, rows, columns = pictures.dtype, *pictures.shape[1:3]
    pick = torch.maximum if largest else torch.minimum
    pictures = to_ordered(pictures)
    fill = _limits(pictures.dtype)[0 if largest else 1]
    wide = _surrounded(pictures, (y, x), (height - 1 - y, width - 1 - x), border, fill)
    across = wide.narrow(2, 0, columns)
    for place in range(1, width):
        across = pick(across, wide.narrow(2, place, columns))
    result = across.narrow(1, 0, rows)
    for place in range(1, height):
        result = pick(result, across.narrow(1, place, rows))
    return from_ordered(result, dtype)


def _extreme_by_opencv(
    pictures: torch.Tensor, mask: _Rectangle, iterations: int, *, largest: bool
) -> torch.Tensor:
    import cv2

    change = cv2.dilate if largest else cv2.erode
    rectangle = np.ones(mask.size[::-1], np.uint8)
    made = [
        change(np.ascontiguousarray(each), rectangle, anchor=mask.anchor, iterations=iterations)
        for each in pictures.numpy()
    ]
    return torch.from_numpy(np.stack(made)).reshape(pictures.shape)


def _limits(dtype: torch.dtype) -> tuple[float, float]:
    if dtype.is_floating_point:
        return -torch.inf, torch.inf
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max


def _frames(sample: torch.Tensor) -> torch.Tensor:
    return sample.reshape(-1, *sample.shape[-3:])


_ARGUMENTS = (
    Argument(
        "mask_size",
        INTS,
        (3, 3),
        "(width, height) of the rectangle",
        per_sample=True,
        per_frame=True,
        least=1,
    ),
    Argument(
        "anchor",
        INTS,
        (-1, -1),
        "(x, y) of its point that lies on the pixel; -1: the middle",
        per_sample=True,
        per_frame=True,
        least=-1,
    ),
    Argument("iterations", INT, 1, "how often", least=1),
    Argument(
        "border_mode",
        TEXT,
        "constant",
        "what stands outside; `constant` is nothing",
        choices=tuple(_BORDERS),
    ),
)


class _Rectangle(NamedTuple):
    """A mask: (width, height), and the point (x, y) of it that lies on the pixel."""

    size: Pair
    anchor: Pair

    @classmethod
    def of(cls, mask_size: Sequence[int], anchor: Sequence[int]) -> _Rectangle:
        """The anchor from the arguments; -1 is the middle."""
        size, given = _pair("mask_size", mask_size, 1), _pair("anchor", anchor, -1)
        if any(own >= side for own, side in zip(given, size, strict=True)):
            raise ArgumentError(f"anchor {given} is not in a mask of {size[0]} x {size[1]}")
        x, y = (side // 2 if own == -1 else own for own, side in zip(given, size, strict=True))
        return cls(size, (x, y))

    @property
    def is_centered(self) -> bool:
        """Whether the point is the middle."""
        return all(side == 2 * at + 1 for at, side in zip(self.anchor, self.size, strict=True))


@dataclass(frozen=True, eq=False)
class _Extremes:
    """Plan of `dilate` and `erode`.

    Attributes:
        rectangles: of each sample, or of each of its frames where they have their own.
        border: one of `pad_frames`, or `constant`.
        iterations: how often.
    """

    rectangles: list[list[_Rectangle]]
    border: str
    iterations: int

    @cached_property
    def masks(self) -> list[list[Mask]] | None:
        """One mask of the kernel for all iterations; None if no mask equals them all."""
        each = {id(one): one for own in self.rectangles for one in own}
        is_mirrored = self.iterations > 1 and self.border.startswith("reflect")
        if is_mirrored and not all(one.is_centered for one in each.values()):
            return None  # what is mirrored is moved the other way
        made = {}
        for key, (size, (x, y)) in each.items():
            width, height = (self.iterations * (side - 1) + 1 for side in size)
            made[key] = Mask(width, height, self.iterations * x, self.iterations * y)
        return [[made[id(one)] for one in own] for own in self.rectangles]


def _infer_extremes(
    context: Context,
    frames: Spec,
    *,
    mask_size: PerSample,
    anchor: PerSample,
    iterations: int,
    border_mode: str,
) -> Planned:
    rectangles = each_value(mask_size, anchor, make=_Rectangle.of) if len(frames) else []
    return Planned((frames,), _Extremes(rectangles, _BORDERS[border_mode], iterations))


def _extreme_on_gpu(context: Context, frames: Batch, plan: _Extremes, *, largest: bool) -> Any:
    if plan.masks is None:
        return NotImplemented
    return extremes_on_gpu(context, frames, plan.masks, plan.border, largest=largest)


def _declare(name: str, doc: str, *, largest: bool) -> None:
    def run(context: Context, frames: Batch, plan: _Extremes) -> Batch:
        out = context.empty()
        for sample, place, rectangles in zip(frames, out, plan.rectangles, strict=True):
            if not sample.numel():
                continue
            pictures = _frames(sample)
            parts = [pictures] if len(rectangles) == 1 else pictures[:, None]
            made = []
            for part, mask in zip(parts, rectangles, strict=True):
                is_plain = plan.border == "constant" and part.dtype in _BY_OPENCV
                if part.device.type == "cpu" and is_plain:
                    made.append(_extreme_by_opencv(part, mask, plan.iterations, largest=largest))
                    continue
                for _ in range(plan.iterations):
                    part = _extreme(part, mask, plan.border, largest=largest)
                made.append(part)
            place.copy_(torch.cat(made).reshape(place.shape))
        return out

    run.__doc__ = doc
    declare(
        name,
        inputs=(Input("frames", FRAMES),),
        arguments=_ARGUMENTS,
        infer=_infer_extremes,
        kernels={"cuda": partial(_extreme_on_gpu, largest=largest)},
    )(run)


_declare("dilate", "Replace each value by the largest one in a rectangle around it.", largest=True)
_declare("erode", "Replace each value by the smallest one in a rectangle around it.", largest=False)


def _median(pictures: torch.Tensor, width: int, height: int) -> torch.Tensor:
    if pictures.device.type == "cpu" and width == height and _is_of_opencv(pictures, width):
        import cv2

        made: list[NDArray[Any]] = [
            cv2.medianBlur(np.ascontiguousarray(each), width) for each in pictures.numpy()
        ]
        return torch.from_numpy(np.stack(made)).reshape(pictures.shape)
    rows, columns = pictures.shape[1:3]
    before = height // 2, width // 2
    wide = _surrounded(to_ordered(pictures), before, before, "edge", 0)
    parts = [
        wide.narrow(1, y, rows).narrow(2, x, columns) for y in range(height) for x in range(width)
    ]
    return from_ordered(torch.stack(parts).median(dim=0).values, pictures.dtype)


def _is_of_opencv(pictures: torch.Tensor, size: int) -> bool:
    if pictures.shape[-1] not in (1, 3, 4) or size == 1:
        return False
    return pictures.dtype == torch.uint8 or (pictures.dtype == torch.float32 and size <= 5)


def _infer_median(context: Context, frames: Spec, *, window_size: PerSample) -> Planned:
    windows = [_pair("window_size", size, 1) for size in window_size]
    for width, height in windows:
        if width % 2 == 0 or height % 2 == 0:
            raise ArgumentError(f"window_size is odd, got {(width, height)}")
    return Planned((frames,), windows)


@declare(
    "median_blur",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        Argument("window_size", INTS, (3, 3), "(width, height), odd", per_sample=True, least=1),
    ),
    infer=_infer_median,
    kernels={"cuda": median_on_gpu},
)
def median_blur(context: Context, frames: Batch, plan: Sequence[Pair]) -> Batch:
    """Replace each value by the median of a window around it; the outermost values are repeated."""
    out = context.empty()
    for sample, place, (width, height) in zip(frames, out, plan, strict=True):
        if sample.numel():
            place.copy_(_median(_frames(sample), width, height).reshape(place.shape))
    return out
