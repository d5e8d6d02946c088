"""`fn.erase`: regions of samples in one color."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from videoloader.dali.operators.arguments import BOOL, COLUMN, FLOATS, Argument, PerFrame, PerSample
from videoloader.dali.operators.axes import AXES, AXIS_NAMES, axis_numbers, for_each
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.fills.fills_on_gpu import erase_regions
from videoloader.dali.operators.geometry.crop_windows import filled
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Shape, Spec, parts
from videoloader.dali.tensors.conversion import copy_here
from videoloader.errors import ArgumentError

Region = tuple[slice, ...]


class _Erasing(NamedTuple):
    """Plan of `erase`.

    Attributes:
        regions: of each sample; equal samples share them.
        fills: for each sample one value, or one for each channel; samples that are filled alike
            share them.
    """

    regions: tuple[tuple[Region, ...], ...]
    fills: list[tuple[float, ...]]


def _infer(
    context: Context,
    values: Spec,
    *,
    anchor: PerSample,
    shape: PerSample,
    axes: tuple[int, ...] | None,
    axis_names: str | None,
    fill_value: PerSample,
    normalized: bool,
    normalized_anchor: bool,
    normalized_shape: bool,
    centered_anchor: bool,
) -> Planned:
    regions = _all_regions(
        *(values.layout, values.shapes, anchor, shape, axes, axis_names),
        relative=(normalized or normalized_anchor, normalized or normalized_shape),
        is_centered=centered_anchor,
    )
    return Planned((values,), _Erasing(regions, _fill_values(values, fill_value)))


def _fill_values(values: Spec, fill_value: PerSample) -> list[tuple[float, ...]]:
    """`_Erasing.fills`."""
    made: dict[Any, tuple[float, ...]] = {}
    found = []
    for shape, fill in zip(values.shapes, fill_value, strict=True):
        count = 1
        if len(fill) > 1:
            if "C" not in values.layout:
                raise ArgumentError(
                    f"fn.erase: {len(fill)} values need channels; the layout has no C"
                )
            count = shape[values.layout.index("C")]
        key = struct.pack(f"{len(fill)}d", *fill), count  # as bytes: 0.0 is not -0.0
        if key not in made:
            made[key] = for_each("fill_value", fill, count, "channels")
        found.append(made[key])
    return found


@declare(
    "erase",
    inputs=(Input("data", is_frames=True),),
    arguments=(
        Argument(
            "anchor",
            COLUMN,
            (),
            "where regions begin, one behind the other",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "shape",
            COLUMN,
            (),
            "their sizes, one behind the other",
            per_sample=True,
            per_frame=True,
        ),
        replace(AXES, doc="the dimensions of anchor and shape; all but C by default"),
        replace(AXIS_NAMES, doc="their letters in the layout; goes before axes"),
        Argument("fill_value", FLOATS, (0.0,), "for all channels or each", per_sample=True),
        Argument("normalized", BOOL, default=False, doc="anchor and shape are parts of the sides"),
        Argument("normalized_anchor", BOOL, default=False, doc="anchor is in parts of the sides"),
        Argument("normalized_shape", BOOL, default=False, doc="shape is in parts of the sides"),
        Argument("centered_anchor", BOOL, default=False, doc="regions have their middle at anchor"),
    ),
    infer=_infer,
    exclusive=(("normalized", "normalized_anchor"), ("normalized", "normalized_shape")),
    kernels={"cuda": lambda context, values, plan: erase_regions(context, values, *plan)},
)
def erase(context: Context, values: Batch, plan: _Erasing) -> Batch:
    """Fill one or more regions of every sample with one value for each channel.

    Regions are given by where they begin and by their size along some dimensions; along others they
    reach from end to end. What lies outside of a sample is left out. Where a clip has other regions
    in each frame, `axes` are those of a frame.
    """
    regions, fills = plan
    out = context.empty()
    for part in parts(values, out, alike=(regions, [id(fill) for fill in fills])):
        source, target = values.part(part), out.part(part)
        copy_here(source, target)
        row = filled(source, (len(fills[part.start]),), fills[part.start])
        if len(row) > 1:
            row = row.reshape(-1, *[1] * (len(values.layout) - 1 - values.layout.index("C")))
        for region in regions[part.start]:
            place = (slice(None), *region)
            target[place] = row.expand(target.shape)[place]
    return out


def _all_regions(
    layout: str,
    shapes: tuple[Shape, ...],
    anchor: PerSample,
    shape: PerSample,
    axes: tuple[int, ...] | None,
    axis_names: str | None,
    *,
    relative: tuple[bool, bool],
    is_centered: bool,
) -> tuple[tuple[Region, ...], ...]:
    """The regions of each sample; equal samples share them."""

    def regions_of(
        letters: str, sides: Shape, starts: Sequence[float], lengths: Sequence[float]
    ) -> tuple[Region, ...]:
        along = _axes(len(sides), letters, axes, axis_names)
        return _regions(sides, along, starts, lengths, relative, is_centered=is_centered)

    def regions_in(sides: Shape, starts: Any, lengths: Any) -> tuple[Region, ...]:
        if not isinstance(starts, PerFrame) and not isinstance(lengths, PerFrame):
            return regions_of(layout, sides, starts, lengths)
        first, second = (PerSample((each,)).frames(0, sides[0]) for each in (starts, lengths))
        return tuple(
            (slice(frame, frame + 1), *region)
            for frame, own in enumerate(zip(first, second, strict=True))
            for region in regions_of(layout[1:], sides[1:], *own)
        )

    return tuple(once_for_equal(regions_in, shapes, anchor, shape))


def _axes(ndim: int, layout: str, axes: Sequence[int] | None, names: str | None) -> tuple[int, ...]:
    """The dimensions of the coordinates."""
    found = axis_numbers(ndim, layout, None if names is not None else axes, names)
    if found is not None:
        return found
    if not layout:
        raise ArgumentError("fn.erase: data without a layout needs axes")
    return tuple(axis for axis, letter in enumerate(layout) if letter != "C")


def _regions(
    sides: Sequence[int],
    axes: Sequence[int],
    anchor: Sequence[float],
    shape: Sequence[float],
    relative: tuple[bool, bool],
    *,
    is_centered: bool,
) -> tuple[Region, ...]:
    """The regions of a sample, cut at its borders; in single precision as DALI has it."""
    count = len(shape) or len(anchor)
    if len(anchor) not in (0, count) or (anchor and not shape) or count % len(axes):
        raise ArgumentError(
            f"fn.erase: anchor and shape need {len(axes)} numbers a region; got {len(anchor)} and "
            f"{len(shape)}"
        )
    extents = np.array([sides[axis] for axis in axes] * (count // len(axes)), np.float32)
    lengths = np.array(shape, dtype=np.float32) * (extents if relative[1] else 1)
    starts = np.zeros(count, dtype=np.float32)
    if anchor:
        starts = np.array(anchor, dtype=np.float32) * (extents if relative[0] else 1)
    if is_centered:
        starts = starts - lengths / np.float32(2)
    bounds = np.minimum(np.maximum([starts, starts + lengths], 0), extents).astype(np.int64)
    first, last = bounds.tolist()
    found = []
    for at in range(0, count, len(axes)):
        region = [slice(None)] * len(sides)
        for axis, start, stop in zip(axes, first[at:], last[at:], strict=False):
            region[axis] = slice(start, max(start, stop))
        found.append(tuple(region))
    return tuple(found)
