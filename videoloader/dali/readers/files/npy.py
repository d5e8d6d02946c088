"""NPY files: their header, and the part of the array that is wanted.

Only what lies between the first and the last wanted element is read. Regions may be given in
elements or as parts of the extent.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.general.slice import slice_bounds
from videoloader.errors import ArgumentError, FormatError, UnsupportedError
from videoloader.sources.source import Source

_MAGIC = b"\x93NUMPY"
_HEAD = 12  # bytes up to the longest length of a header, version 2 and later
_MOST_HEADER = 1 << 20
_MOST_DIMENSIONS = 32


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """The header of an NPY file: start of the data, shape, element type and order."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool


@dataclass(frozen=True, slots=True)
class Region:
    """Which part of an array is wanted.

    Args:
        start: first element by axis, or part of the extent; None for the beginning.
        end: behind the last one; None for the end. Not with `shape`.
        shape: number of elements. Not with `end`.
        are_parts: whether (start, end or shape) are parts of the extent.
        axes: that they are for; all if empty.
        policy: for what lies outside: "error", "pad" or "trim_to_shape".
        fill_value: of what is padded.
    """

    start: tuple[float, ...] | None = None
    end: tuple[float, ...] | None = None
    shape: tuple[float, ...] | None = None
    are_parts: tuple[bool, bool] = (False, False)
    axes: tuple[int, ...] = ()
    policy: str = "error"
    fill_value: float = 0.0

    @property
    def is_all(self) -> bool:
        """Whether it is the whole array."""
        return self.start is None and self.end is None and self.shape is None

    def bounds(self, shape: tuple[int, ...]) -> list[tuple[int, int]]:
        """(first, behind the last) by axis of an array of this shape; may lie outside."""
        bounds = [(0, extent) for extent in shape]
        ndim = len(shape)
        for axis in self.axes:
            if not -ndim <= axis < ndim:
                raise ArgumentError(f"axis {axis} of an array of {ndim} dimensions")
        axes = [axis % ndim for axis in self.axes] if self.axes else list(range(ndim))
        if len(set(axes)) != len(axes):
            raise ArgumentError(f"roi_axes={self.axes} names an axis twice")
        starts = _values("start", self.start, len(axes))
        ends = _values("end", self.end, len(axes))
        shapes = _values("shape", self.shape, len(axes))
        for place, axis in enumerate(axes):
            given = {}
            if starts is not None:
                given["rel_start" if self.are_parts[0] else "start"] = starts[place]
            if ends is not None:
                given["rel_end" if self.are_parts[1] else "end"] = ends[place]
            if shapes is not None:
                given["rel_shape" if self.are_parts[1] else "shape"] = shapes[place]
            bounds[axis] = slice_bounds(shape[axis], given)
        return bounds


def read_header(source: Source) -> NpyHeader:
    """The header of an NPY file.

    Raises:
        FormatError: it is none, or its header is damaged.
        UnsupportedError: its elements are none of numbers.
    """
    head = source.read_up_to(0, _HEAD)
    if not head.startswith(_MAGIC) or len(head) < 10:
        raise FormatError(f"{source.name}: no NPY file, which begins with {_MAGIC!r}")
    width = 2 if head[6] == 1 else 4
    offset = 8 + width
    length = int.from_bytes(head[8:offset], "little")
    if length > min(_MOST_HEADER, source.size - offset):
        raise FormatError(f"{source.name}: a header of {length} bytes")
    text = source.read(offset, length).decode("latin-1")
    try:
        fields = ast.literal_eval(text.strip())
        shape = tuple(int(extent) for extent in fields["shape"])
        dtype = np.dtype(fields["descr"])
        is_fortran = bool(fields["fortran_order"])
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError) as error:
        raise FormatError(f"{source.name}: damaged header {text[:80]!r}") from error
    if len(shape) > _MOST_DIMENSIONS or any(extent < 0 for extent in shape):
        raise FormatError(f"{source.name}: shape {shape}")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise UnsupportedError(
            f"{source.name}: elements of type {dtype}; integers, floats and bool are read"
        )
    return NpyHeader(offset + length, shape, dtype, is_fortran)


def read_region(source: Source, region: Region, header: NpyHeader | None = None) -> NDArray[Any]:
    """The wanted part of the array in an NPY file, in C order and memory of its own.

    Raises:
        VideoError: the file is damaged, or the region lies outside.
    """
    header = header or read_header(source)
    shape = header.shape[::-1] if header.is_fortran else header.shape
    count = int(np.prod([int(extent) for extent in shape], dtype=object)) if shape else 1
    if header.offset + count * header.dtype.itemsize > source.size:
        raise FormatError(
            f"{source.name}: {count} elements of {header.dtype} do not fit its {source.size} bytes;"
            " the file is truncated"
        )
    bounds = [(0, extent) for extent in header.shape]
    if not region.is_all:
        try:
            bounds = region.bounds(header.shape)
        except ArgumentError as error:
            raise ArgumentError(f"{source.name}: {error}") from error
    inside = [
        (min(max(first, 0), extent), min(max(last, 0), extent))
        for (first, last), extent in zip(bounds, header.shape, strict=True)
    ]
    if inside != bounds and region.policy == "error":
        raise ArgumentError(
            f"{source.name}: the region {bounds} lies outside its shape {header.shape}; "
            'out_of_bounds_policy="pad" or "trim_to_shape" allow that'
        )
    array = _stored(source, header, inside[::-1] if header.is_fortran else inside)
    if header.is_fortran:
        array = array.T
    if inside != bounds and region.policy == "pad":
        whole = np.full([b - a for a, b in bounds], region.fill_value).astype(header.dtype)
        whole[
            tuple(
                slice(a - first, a - first + b - a)
                for (a, b), (first, _) in zip(inside, bounds, strict=True)
            )
        ] = array
        array = whole
    native = header.dtype.newbyteorder("=")
    return np.ascontiguousarray(array, dtype=native).reshape(array.shape)


def _stored(source: Source, header: NpyHeader, bounds: Sequence[tuple[int, int]]) -> NDArray[Any]:
    """Part of an array in the order of the file; only the rows of its first axis are read."""
    shape = header.shape[::-1] if header.is_fortran else header.shape
    if not shape:
        return _array(source, header.offset, header.dtype, ())
    (first, last), rest = bounds[0], shape[1:]
    row = int(np.prod(rest, dtype=np.int64)) * header.dtype.itemsize
    rows = _array(source, header.offset + first * row, header.dtype, (last - first, *rest))
    return rows[(slice(None), *(slice(a, b) for a, b in bounds[1:]))]


def _array(
    source: Source, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = source.array(offset, size) if size else np.empty(0, np.uint8)
    return data.view(dtype).reshape(shape)


def _values(name: str, given: tuple[float, ...] | None, count: int) -> list[float] | None:
    if given is None:
        return None
    if len(given) == 1:
        return list(given) * count
    if len(given) != count:
        raise ArgumentError(f"{len(given)} values of roi_{name} for {count} axes")
    return list(given)
