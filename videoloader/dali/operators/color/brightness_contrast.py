"""Brightness and contrast: a factor and an offset for every value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import DTYPE, FLOAT, Argument, PerFrame, PerSample, column
from videoloader.dali.operators.color.color_on_gpu import ColorStage, columns, line_stage, recolor
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.general.convert import scale_and_shift
from videoloader.dali.operators.inputs import PIXELS, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.machinery.system.forking import cached_property

_TABLES = (torch.uint8, torch.int16, torch.uint16, torch.float32)
"""Element types that OpenCV looks up in a table."""

_Numbers: TypeAlias = Any
"""A number, or an array of several."""

_Lookup: TypeAlias = Callable[..., NDArray[Any]]
"""Takes bytes, and `dst`: an array of the same shape for what is made of them."""


def each_of(function: Callable[..., Any], *values: Iterable[Any]) -> list[Any]:
    """The function of the values of each sample, or of each frame where any value is per frame.

    Samples of the same values share a result.
    """
    return once_for_equal(partial(_of_one, function), *values)


def _of_one(function: Callable[..., Any], *given: Any) -> Any:
    lengths = {len(value) for value in given if isinstance(value, PerFrame)}
    if not lengths:
        return function(*given)
    frames = PerSample(given)
    rows = [frames.frames(at, max(lengths)) for at in range(len(given))]
    return PerFrame(tuple(map(function, *rows)))


def middle(dtype: torch.dtype) -> float:
    """The middle of the positive range of an element type."""
    return 0.5 if dtype.is_floating_point else float(torch.iinfo(dtype).max // 2 + 1)


def _numbers(frames: Spec, given: Mapping[str, Any]) -> tuple[PerSample, ...]:
    """Brightness, shift, contrast and its center, whichever of them an operator has."""
    numbers = []
    for argument in (*_BRIGHTNESS, *_CONTRAST):
        values = given.get(argument.name)
        if values is None or values.values[:1] == (None,):
            value = middle(frames.dtype) if argument.default is None else argument.default
            values = PerSample((value,) * len(frames))
        numbers.append(values)
    return tuple(numbers)


def _offset(
    high: float, brightness: _Numbers, shift: _Numbers, contrast: _Numbers, center: _Numbers
) -> _Numbers:
    """The offset added after scaling by brightness and contrast; `high` is the output's range."""
    return shift * high + brightness * center * (1 - contrast)


def largest(dtype: torch.dtype) -> float:
    """The end of the range of an element type: 1 for floating point."""
    return 1.0 if dtype.is_floating_point else float(torch.iinfo(dtype).max)


@dataclass(frozen=True, eq=False)
class _Line:
    """Plan of an operator that is a line.

    Attributes:
        numbers: of each sample: brightness, shift, contrast and its center.
        target: element type of the result.
    """

    numbers: tuple[PerSample, ...]
    target: torch.dtype

    @cached_property
    def factors(self) -> list[Any]:
        """The factor of each sample, or of each of its frames."""
        return each_of(operator.mul, self.numbers[0], self.numbers[2])

    @cached_property
    def offsets(self) -> list[Any]:
        """The offset of each sample, or of each of its frames."""
        return each_of(partial(_offset, largest(self.target)), *self.numbers)

    @cached_property
    def unchanged(self) -> list[bool]:
        """Whether the line leaves the values of a sample as they are."""
        return [pair == (1, 0) for pair in zip(self.factors, self.offsets, strict=True)]

    @cached_property
    def lookups(self) -> list[Any]:
        """The table of each sample, or of each of its frames: see `_lookup`."""
        return each_of(partial(_lookup, self.target), self.factors, self.offsets)

    @cached_property
    def stage(self) -> ColorStage:
        """The line for the kernel."""
        values, counts = columns(self.numbers)
        offsets = _offset(largest(self.target), *values)
        return line_stage(values[0] * values[2], offsets, counts, self.target)


def _infer(
    context: Context, frames: Spec, *, dtype: torch.dtype | None, **numbers: PerSample
) -> Planned:
    out = frames if dtype in (None, frames.dtype) else replace(frames, dtype=dtype)
    return Planned((out,), _Line(_numbers(frames, numbers), out.dtype))


def _run(context: Context, frames: Batch, plan: _Line) -> Batch:
    unchanged, target = plan.unchanged, plan.target
    if all(unchanged):
        return frames.each(lambda value: saturate(value, target))
    out = context.empty()
    for at in parts(frames, out, alike=(unchanged,)):
        values, place = frames.part(at), out.part(at)
        if unchanged[at.start]:
            place.copy_(saturate(values, target))
            continue
        factor, offset = (
            column(each[at], values.ndim, str(values.device))
            for each in (plan.factors, plan.offsets)
        )
        scale_and_shift(values, factor, offset, place)
    return out


def _by_table(context: Context, frames: Batch, plan: _Line) -> Any:
    """uint8 by a table of 256 values, which the reference makes."""
    if frames.spec.dtype != torch.uint8 or plan.target not in _TABLES or all(plan.unchanged):
        return NotImplemented
    out = context.empty()
    for sample, place, lookup in zip(frames, out, plan.lookups, strict=True):
        if isinstance(lookup, PerFrame):
            for frame, result, own in zip(sample, place, lookup.values, strict=True):
                _look_up(frame, result, own)
        else:
            _look_up(sample, place, lookup)
    return out


def _by_kernel(context: Context, frames: Batch, plan: _Line) -> Any:
    return NotImplemented if plan.stage.is_identity else recolor(context, frames, plan.stage)


def _look_up(values: torch.Tensor, out: torch.Tensor, lookup: _Lookup) -> None:
    if not values.numel():
        return
    rows = np.ascontiguousarray(values.numpy()).reshape(len(values), -1)
    if out.is_contiguous():
        lookup(rows, dst=out.numpy().reshape(rows.shape))
    else:
        out.copy_(torch.from_numpy(lookup(rows)).reshape(out.shape))


def _lookup(dtype: torch.dtype, factor: float, offset: float) -> _Lookup:
    """A function that replaces bytes by the values of the reference.

    OpenCV computes a line in less time than it looks bytes up in a table, and without threads of
    its own. The line is used where it gives the values of the table for all bytes, by vector
    instructions and by those for the few bytes behind the last vector.
    """
    import cv2

    # OpenCV rounds halves to even, the reference up: they are moved off the half.
    shift = offset + _OFF_HALVES

    def scaled(values: NDArray[Any], dst: NDArray[Any] | None = None) -> NDArray[Any]:
        return cv2.convertScaleAbs(values, dst=dst, alpha=factor, beta=shift)

    def added(values: NDArray[Any], dst: NDArray[Any] | None = None) -> NDArray[Any]:
        return cv2.addWeighted(values, factor, values, 0.0, shift, dst=dst)

    table = torch.empty(256, dtype=dtype)
    scale_and_shift(torch.arange(256, dtype=torch.uint8), factor, offset, table)
    wanted = table.numpy()
    # The first is faster, but takes the magnitude of what is negative.
    for line in (scaled, added) if dtype == torch.uint8 else ():
        if all(np.array_equal(line(ramp).ravel(), wanted) for ramp in (_IN_VECTORS, _ONE_BY_ONE)):
            return line
    return partial(cv2.LUT, lut=wanted)


_OFF_HALVES = 2.0**-14
"""More than the rounding error of 255 in float32."""

_IN_VECTORS = np.arange(256, dtype=np.uint8).reshape(1, -1)
_ONE_BY_ONE = np.repeat(_IN_VECTORS, 2).reshape(256, 2)[:, :1]
"""All bytes, in rows of 256 and of 1."""


def _number(name: str, default: float | None, doc: str) -> Argument:
    return Argument(name, FLOAT, default, doc, per_sample=True, per_frame=True)


_BRIGHTNESS = (
    _number("brightness", 1.0, "factor of the brightness"),
    _number("brightness_shift", 0.0, "added, in parts of the output range"),
)
_CONTRAST = (
    _number("contrast", 1.0, "factor of the contrast; 0 is uniform"),
    _number(
        "contrast_center",
        None,
        "value that contrast leaves alone; by default the middle of the input's range",
    ),
)
_DTYPE = Argument("dtype", DTYPE, None, "element type of the output; the input's by default")


def _declare(name: str, doc: str, arguments: Sequence[Argument]) -> None:
    def run(context: Context, frames: Batch, plan: _Line) -> Batch:
        return _run(context, frames, plan)

    run.__doc__ = doc
    declare(
        name,
        inputs=(Input("frames", PIXELS),),
        arguments=(*arguments, _DTYPE),
        infer=_infer,
        kernels={"cpu": _by_table, "cuda": _by_kernel},
        is_color_stage=True,
        is_elementwise=True,
    )(run)


_declare(
    "brightness",
    """Change the brightness, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * in, where range is 1 for floating point outputs
    and the largest value of an integer type. Integer outputs are rounded and clamped.
    """,
    _BRIGHTNESS,
)
_declare(
    "contrast",
    """Change the contrast, by default of every frame of a clip alike.

    out = center + contrast * (in - center). The middle of the input's range is 0.5, or 128 for
    uint8. Integer outputs are rounded and clamped.
    """,
    _CONTRAST,
)
_declare(
    "brightness_contrast",
    """Change brightness and contrast, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.
    """,
    (*_BRIGHTNESS, *_CONTRAST),
)
