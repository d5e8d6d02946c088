"""`fn.slice`: a part of every sample, which may reach beyond its borders."""

from __future__ import annotations

import builtins
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import (
    BOOL,
    DTYPE,
    FLOATS,
    INTS,
    TEXT,
    Argument,
    Kind,
    PerSample,
)
from videoloader.dali.operators.axes import axis_numbers, for_each
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.deprecated import NO_IMAGE_TYPE, OUTPUT_DTYPE
from videoloader.dali.operators.geometry.crop_windows_on_gpu import moves_from, windows_on_gpu
from videoloader.dali.operators.inputs import UNNAMED_VOLUMES
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors import truncate
from videoloader.dali.tensors.batch import Batch, Shape, Spec, parts
from videoloader.errors import ArgumentError, ArgumentIndexError
from videoloader.sampling import pad_frames

_POLICIES = {
    "error": "error",
    "constant": "constant",
    "pad": "constant",
    "edge": "edge",
    "clamp": "edge",
    "reflect": "reflect_1001",
    "reflect_1001": "reflect_1001",
    "reflect_101": "reflect_101",
    "wrap": "wrap",
    "trim_to_shape": "trim_to_shape",
}
_ENDS = ("end", "rel_end", "shape", "rel_shape")
_NAMED = ("start", "rel_start", *_ENDS)


class Bounds(NamedTuple):
    """The positions `start` to `stop` of a dimension; they may lie outside of it."""

    start: int
    stop: int


def _round(value: float) -> int:
    """The nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _numbers(value: Any) -> tuple[int | float, ...]:
    """Integers or floating point numbers as they are: they mean different things."""
    array = np.asarray(value.cpu() if isinstance(value, torch.Tensor) else value)
    if array.dtype.kind not in "iuf" or max(array.shape, default=1) < array.size:
        raise TypeError
    if array.dtype.kind == "f":  # DALI's precision decides how halves are rounded
        array = array.astype(np.float32)
    return tuple(array.reshape(-1).tolist())


_NUMBERS = Kind("numbers", _numbers, rank=1)


def _policy(value: Any) -> str:
    return _POLICIES.get(value, str(value))


def check_slice(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    """A slice is given once: by position or by name, with one beginning and one end."""
    if "axes" in given and "axis_names" in given:
        raise ArgumentError("fn.slice: axes and axis_names exclude each other")
    named = [name for name in _NAMED if name in given]
    by_position = {"anchor", "shape_input"} & set(given)
    if len(by_position) == 1:
        raise ArgumentError("fn.slice: anchor and shape go together, one was given")
    if bool(named) == bool(by_position):
        raise ArgumentError(
            "fn.slice needs either anchor and shape by position, or some of "
            f"{', '.join(_NAMED)}; got {'both' if named else 'neither'}"
        )
    for group in (("start", "rel_start"), _ENDS):
        several = [name for name in group if name in given]
        if len(several) > 1:
            raise ArgumentError(f"fn.slice: {' and '.join(several)} exclude each other")


def _axes(layout: str, ndim: int, axes: Sequence[int] | None, names: str | None) -> tuple[int, ...]:
    """The dimensions that the coordinates are for, in their order."""
    layout = layout or UNNAMED_VOLUMES.get(ndim, "")
    if names is None and axes is None and layout:
        names = "WH"
    axes = (1, 0) if axes is None else axes or range(ndim)
    found = axis_numbers(ndim, layout, axes, names)
    assert found is not None
    return found


def slice_bounds(extent: int, given: Mapping[str, Any]) -> Bounds:
    """Where a slice begins and ends in a dimension.

    Args:
        extent: of the dimension.
        given: the arguments of `fn.slice` that are given, with the number for this dimension.
    """
    start, stop = map(_round, _exact_bounds(extent, given))
    if stop < start:
        raise ArgumentError(f"the slice ends before it begins: {start} to {stop}")
    return Bounds(start, stop)


def _exact_bounds(extent: int, given: Mapping[str, Any]) -> tuple[float, float]:
    """Where a slice begins and ends in a dimension, before they are rounded."""
    if "anchor" in given:
        anchor, size = given["anchor"], given["shape_input"]
        if isinstance(anchor, float) and given["normalized_anchor"]:
            anchor *= extent
        if isinstance(size, float) and given["normalized_shape"]:
            size *= extent
        return anchor, anchor + size
    # DALI multiplies these in single precision: 0.35 of 10 is 3.5. Only a start and a shape are
    # added and multiplied in double precision.
    single = np.float32
    start = given.get("start", 0)
    if "rel_start" in given:
        start = float(single(given["rel_start"]) * single(extent))
    if "end" in given:
        return start, given["end"]
    if "rel_end" in given:
        return start, float(single(given["rel_end"]) * single(extent))
    if "shape" in given:
        return start, start + given["shape"]
    if "rel_shape" not in given:
        return start, extent
    if "rel_start" in given:
        return start, (given["rel_start"] + given["rel_shape"]) * extent
    return start, start + float(single(given["rel_shape"]) * single(extent))


def _windows(shape: Shape, layout: str, arguments: Mapping[str, Any]) -> tuple[Bounds, ...]:
    """The part of one sample, by dimension."""
    policy, values = arguments["out_of_bounds_policy"], arguments["values"]
    axes = _axes(layout, len(shape), arguments["axes"], arguments["axis_names"])
    spread = {name: for_each(name, value, len(axes)) for name, value in values.items()}
    windows = [Bounds(0, extent) for extent in shape]
    for position, axis in enumerate(axes):
        own = {name: value[position] for name, value in spread.items()}
        own |= {name: arguments[name] for name in ("normalized_anchor", "normalized_shape")}
        extent = shape[axis]
        start, stop = slice_bounds(extent, own)
        if policy == "trim_to_shape":
            start, stop = (min(max(bound, 0), extent) for bound in (start, stop))
        windows[axis] = Bounds(start, stop)
        if policy == "error" and not 0 <= start <= stop <= extent:
            raise ArgumentIndexError(
                f"the slice {start} to {stop} of dimension {axis} is outside of shape {shape}; "
                "out_of_bounds_policy says what else to do"
            )
    return tuple(windows)


def slice_windows(
    shapes: Sequence[Shape], layout: str, given: Mapping[str, Any]
) -> list[tuple[Bounds, ...]]:
    """The parts of samples of these shapes, by dimension, from the arguments of `SLICE_ARGUMENTS`.

    `given` has an `out_of_bounds_policy` too.
    """
    common = {name: value for name, value in given.items() if not isinstance(value, PerSample)}
    varying = {name: value for name, value in given.items() if isinstance(value, PerSample)}

    def windows_of(shape: Shape, _: object, *values: Any) -> tuple[Bounds, ...]:
        own = dict(zip(varying, values, strict=True))
        named = ("anchor", "shape_input", *_NAMED)
        present = {name: own[name] for name in named if own[name] is not None}
        return _windows(shape, layout, {**common, **own, "values": present})

    numbers = [varying[name] for name in ("anchor", "shape_input") if name in varying]
    types = [  # 1 is not 1.0 here
        tuple(type(number) for each in numbers for number in each[position] or ())
        for position in range(len(shapes))
    ]
    return once_for_equal(windows_of, shapes, types, *varying.values())


class _Slicing(NamedTuple):
    """Plan of `slice`.

    Attributes:
        windows: of each sample, by dimension.
        policy: what stands outside of the data.
        fill_values: for the policy "constant".
        dtype: element type of the output; None for that of the data.
    """

    windows: list[tuple[Bounds, ...]]
    policy: str
    fill_values: tuple[float, ...]
    dtype: torch.dtype | None


def _infer(
    context: Context,
    data: Spec,
    *,
    fill_values: tuple[float, ...],
    dtype: torch.dtype | None,
    **given: Any,
) -> Planned:
    windows = slice_windows(data.shapes, data.layout, given)
    shapes = tuple(tuple(part.stop - part.start for part in own) for own in windows)
    plan = _Slicing(windows, given["out_of_bounds_policy"], fill_values, dtype)
    return Planned((replace(data, shapes=shapes, dtype=dtype or data.dtype),), plan)


def _coordinates(name: str, doc: str) -> Argument:
    kind = FLOATS if name.startswith("rel_") else INTS
    return Argument(name, kind, None, doc, per_sample=True)


SLICE_ARGUMENTS = (
    Argument(
        "anchor",
        _NUMBERS,
        None,
        "where the slice begins; integers are positions, floating point numbers are parts of "
        "the size unless `normalized_anchor` is False",
        per_sample=True,
    ),
    Argument("shape_input", _NUMBERS, None, "its size, likewise", per_sample=True),
    _coordinates("start", "where the slice begins"),
    _coordinates("rel_start", "the same as a part of the size"),
    _coordinates("end", "where the slice ends, exclusively; by default the data's end"),
    _coordinates("rel_end", "the same as a part of the size"),
    _coordinates("shape", "size of the slice, in place of its end"),
    _coordinates("rel_shape", "the same as a part of the size"),
    Argument(
        "axes",
        INTS,
        None,
        "dimensions that the coordinates are for; (1, 0) by default, none: all",
        per_sample=True,
    ),
    Argument("axis_names", TEXT, None, "the same by the layout; WH by default"),
    Argument("normalized_anchor", BOOL, default=True, doc="see `anchor`"),
    Argument("normalized_shape", BOOL, default=True, doc="see `shape_input`"),
)
"""Where a slice lies, for every operator that takes one; `anchor` and `shape_input` by position."""


def _slice_on_gpu(context: Context, data: Batch, plan: _Slicing) -> Any:
    """A copy of frames in one launch, unless one view shows the parts of all samples."""
    shapes, layout = data.spec.shapes, data.layout
    if not len(data) or not {*"HW"} <= {*layout} or {*"DF"} <= {*layout}:
        return NotImplemented
    windows, fill_values = plan.windows, plan.fill_values
    is_one = data.block is not None and windows.count(windows[0]) == len(windows)
    is_inside = all(
        0 <= start <= stop <= side
        for own, shape in zip(windows, shapes, strict=True)
        for (start, stop), side in zip(own, shape, strict=True)
    )
    source, target = data.spec.dtype, context.outputs[0].dtype
    if is_inside and is_one and source == target:
        return NotImplemented
    if not is_inside and plan.policy != "constant":
        return NotImplemented
    if "C" in layout:
        axis = layout.index("C")
        channels = {(*own[axis], shape[axis]) for own, shape in zip(windows, shapes, strict=True)}
        if any((start, stop) != (0, side) for start, stop, side in channels):
            return NotImplemented
    axes = [layout.index(letter) for letter in "FDHW" if letter in layout]
    start = [[own[axis].start for axis in axes] for own in windows]
    fill = fill_values if source == target else _converted(fill_values, source)
    return windows_on_gpu(data, context.empty(), moves_from(start), (fill,))


@lru_cache(maxsize=64)  # of constants: plans of batches with other windows share them
def _converted(fill_values: tuple[float, ...], dtype: torch.dtype) -> tuple[float, ...]:
    """Fill values as numbers of an element type."""
    exact = torch.tensor(fill_values, dtype=torch.float64)
    return tuple(truncate(exact, dtype).to(torch.float64).tolist())


@declare(
    "slice",
    inputs=("data",),
    positional=("anchor", "shape_input"),
    arguments=(
        *SLICE_ARGUMENTS,
        Argument(
            "out_of_bounds_policy",
            Kind("str", _policy),
            "error",
            "what stands outside of the data: `constant` or `pad` (`fill_values`), `edge` or "
            "`clamp`, `reflect_1001` or `reflect`, `reflect_101`, `wrap`; or `trim_to_shape`",
            choices=tuple(dict.fromkeys(_POLICIES.values())),
        ),
        Argument("fill_values", FLOATS, (0.0,), "one value, or one for each channel (C)"),
        Argument("dtype", DTYPE, None, "element type of the output; the data's by default"),
    ),
    infer=_infer,
    kernels={"cuda": _slice_on_gpu},
    check=check_slice,
    deprecated=(OUTPUT_DTYPE, NO_IMAGE_TYPE),
)
def slice(context: Context, data: Batch, plan: _Slicing) -> Batch:  # noqa: A001  (DALI's name)
    """Take a part of every sample, given by start and end or by start and size.

    Coordinates that are not whole are rounded to the nearest integer, values for an integer `dtype`
    truncated. A part that lies inside of the data may share memory with it.
    """
    shapes = data.spec.shapes
    windows, policy, fill_values, dtype = plan
    channel = data.layout.find("C") if data.layout else -1
    taken = []
    for at in parts(data, alike=[windows]):
        values = data.part(at)
        own = windows[at.start]
        part = _inside(values, own)
        if part.shape[1:] != tuple(stop - start for start, stop in own):
            if policy == "constant":
                part = _filled(part, own, shapes[at.start], fill_values, channel)
            else:
                part = _folded(values, own, policy)
        taken.append(part if dtype is None else truncate(part, dtype))
    if len(taken) == 1 and data.block is not None:
        return Batch(taken[0])
    return Batch([sample for part in taken for sample in part.unbind()])


SLICE = OPERATORS["slice"]


def _inside(values: torch.Tensor, windows: Sequence[Bounds]) -> torch.Tensor:
    """The part of the windows inside samples (n, ...); a view."""
    bounds = zip(windows, values.shape[1:], strict=True)
    inner = (builtins.slice(max(start, 0), min(max(stop, 0), n)) for (start, stop), n in bounds)
    return values[(builtins.slice(None), *inner)]


def _filled(
    part: torch.Tensor,
    windows: Sequence[Bounds],
    shape: Shape,
    fill_values: tuple[float, ...],
    channel: int,
) -> torch.Tensor:
    """The windows: `part`, which is inside the data, with fill values around it."""
    sizes = [stop - start for start, stop in windows]
    fill = truncate(torch.tensor(fill_values, dtype=torch.float64), part.dtype).to(part.device)
    if len(fill_values) > 1:
        if len(fill_values) != sizes[channel]:
            raise ArgumentError(
                f"{len(fill_values)} fill_values for {sizes[channel]} channels of the slice"
            )
        last = len(sizes) - 1 - range(len(sizes))[channel]
        fill = fill.reshape(-1, *(1,) * last)
    out = part.new_empty((len(part), *sizes))
    out.copy_(fill.expand(out.shape) if fill.ndim else fill)
    bounds = zip(windows, shape, strict=True)
    inner = (
        builtins.slice(max(start, 0) - start, max(min(max(stop, 0), n) - start, 0))
        for (start, stop), n in bounds
    )
    if part.numel():
        out[(builtins.slice(None), *inner)] = part
    return out


def _folded(values: torch.Tensor, windows: Sequence[Bounds], policy: str) -> torch.Tensor:
    """The windows with positions outside of the data mapped onto positions inside."""
    for axis, (start, stop) in enumerate(windows, 1):
        extent = values.shape[axis]
        if start >= 0 and stop <= extent:
            values = values.narrow(axis, start, stop - start)
            continue
        if extent == 0:
            raise ArgumentError("there is nothing to repeat in a sample without elements")
        positions, _ = pad_frames(np.arange(start, stop), extent, policy)
        values = values.index_select(axis, torch.from_numpy(positions).to(values.device))
    return values
