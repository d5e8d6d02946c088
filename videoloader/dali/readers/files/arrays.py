"""`fn.readers.numpy`, `fn.decoders.numpy`: arrays of NPY files, or regions of them.

Only what lies between the first and the last wanted element is read. Regions may be given in
elements or as parts of the extent.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import DTYPE, FLOAT, FLOATS, INTS, TEXT, Argument
from videoloader.dali.operators.context import Context, Sample, SampleError
from videoloader.dali.operators.decoders.image_files import encoded_bytes
from videoloader.dali.operators.general.slice import SLICE, slice_bounds
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import Part, declare
from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.dali.readers.files.reader import (
    FILE_LIST,
    FILE_ROOT,
    FILES,
    check_places,
    stored_places,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.tensors.conversion import saturate
from videoloader.errors import ArgumentError, FormatError, UnsupportedError, VideoError
from videoloader.sources.items import Item
from videoloader.sources.local import MemorySource
from videoloader.sources.source import Source

_AS_SLICE = {
    **{f"roi_{place}": place for place in ("start", "end", "shape")},
    **{f"rel_roi_{place}": f"rel_{place}" for place in ("start", "end", "shape")},
    "roi_axes": "axes",
    "out_of_bounds_policy": "out_of_bounds_policy",
    "fill_value": "fill_values",
}
"""Arguments of a region, and those of `fn.slice` that mean the same."""

_MAGIC = b"\x93NUMPY"
_HEAD = 12  # bytes up to the longest length of a header, version 2 and later
_MOST_HEADER = 1 << 20
_MOST_DIMENSIONS = 32


def _with_slice(given: Mapping[str, Any], varying: Set[str]) -> tuple[Part, Part] | None:
    """Whole arrays, and `fn.slice` on them, for regions by data nodes."""
    if varying.isdisjoint(_AS_SLICE):
        return None
    own = {key: value for key, value in given.items() if key not in _AS_SLICE}
    region = {_AS_SLICE[key]: value for key, value in given.items() if key in _AS_SLICE}
    return ("readers.numpy", own), (SLICE.name, {"axes": (), **region})  # () are all


_STARTS = ("roi_start", "rel_roi_start")
_STOPS = ("roi_end", "rel_roi_end", "roi_shape", "rel_roi_shape")


class _Arrays(StoredFiles):
    def __init__(self, names: Sequence[str | Item], root: str, region: Region) -> None:
        super().__init__(names, root)
        self._region = region

    def read(self, number: int) -> tuple[Sample, ...]:
        with self.item(number).open() as source:
            array = read_region(source, self._region)
        return (Sample(torch.from_numpy(array), source_info=self.name(number)),)


def _region(arguments: Mapping[str, Any]) -> Region:
    # An empty list counts as not given, as in DALI.
    start, start_part, end, end_part, shape, shape_part = (
        arguments[name] or None for name in (*_STARTS, *_STOPS)
    )
    return Region(
        start if start_part is None else start_part,
        end if end_part is None else end_part,
        shape if shape_part is None else shape_part,
        (start_part is not None, not end_part is shape_part is None),
        arguments["roi_axes"],
        arguments["out_of_bounds_policy"],
        arguments["fill_value"],
    )


@declare_reader(
    "readers.numpy",
    arguments=(
        FILE_ROOT,
        FILE_LIST,
        FILES,
        Argument("file_filter", TEXT, "*.npy", "pattern for names of files"),
        Argument("roi_start", INTS, None, "first element of a region, by axis"),
        Argument("roi_end", INTS, None, "behind its last element"),
        Argument("roi_shape", INTS, None, "its shape, in place of its end"),
        Argument("rel_roi_start", FLOATS, None, "its start as parts of the extents"),
        Argument("rel_roi_end", FLOATS, None, "its end as parts of the extents"),
        Argument("rel_roi_shape", FLOATS, None, "its shape as parts of the extents"),
        Argument("roi_axes", INTS, (), "the axes that these are for; all by default"),
        Argument(
            "out_of_bounds_policy",
            TEXT,
            "error",
            "what a region has outside of the array: `error`, `pad` it, or `trim_to_shape`",
            choices=("error", "pad", "trim_to_shape"),
        ),
        Argument("fill_value", FLOAT, 0.0, "of what is padded"),
    ),
    exclusive=(_STARTS, _STOPS),
    check=partial(check_places, operator="readers.numpy"),
    pair=_with_slice,
    unused=("cache_header_information", "register_buffers"),
)
def read_numpy(**arguments: Any) -> _Arrays:
    """Read arrays of NPY files.

    With `file_root` alone the files in it, then those directly in its folders are read, in the
    order of their names. `file_list` has a path in each line; paths are relative to `file_root`, or
    to the folder of the list. Of a region only the rows between its first and its last are read.
    Parts of an extent are rounded to the nearest element, half away from zero. Regions by data
    nodes, one for each sample, are cut from whole arrays, by `fn.slice`.

    Output: the array, in C order; integers, floats and bool of either byte order.
    """
    names, root = stored_places(arguments, "readers.numpy")
    return _Arrays(names, root, _region(arguments))


@declare(
    "decoders.numpy",
    inputs=(Input("data", on_cpu=True),),
    arguments=(
        Argument(
            "dtype",
            DTYPE,
            None,
            "element type of the output: values are rounded and saturated; by default that of the "
            "files, which have to be alike",
        ),
    ),
    devices=("cpu",),
    infer=None,
)
def decode_numpy(context: Context, data: Batch, *, dtype: torch.dtype | None) -> tuple[Batch]:
    """Decode arrays of NPY files, each 1-D uint8.

    The output is in C order; integers, floats and bool of either byte order.
    """
    arrays: list[torch.Tensor] = []
    for position, value in enumerate(data):
        name = (data.source_info[position] if data.source_info else "") or "the array"
        file = encoded_bytes(value, "decoders.numpy")
        try:
            array = _decoded(file, name)
            if dtype is not None:
                array = saturate(array, dtype)
            if arrays and (array.dtype, array.ndim) != (arrays[0].dtype, arrays[0].ndim):
                raise ArgumentError(
                    f"{name}: {array.ndim} dimensions of {array.dtype} where the array before it "
                    f"has {arrays[0].ndim} of {arrays[0].dtype}; dtype makes the types alike"
                )
        except VideoError as error:
            raise SampleError(position, error) from error
        arrays.append(array)
    return (Batch(arrays, "", data.source_info),)


def _decoded(file: memoryview, name: str) -> torch.Tensor:
    source = MemorySource(file, name=name, size=file.nbytes)
    header = read_header(source)
    array = read_region(source, Region(), header)
    if header.offset + array.nbytes != file.nbytes:
        raise FormatError(
            f"{name}: {file.nbytes} bytes where its header says {header.offset + array.nbytes}"
        )
    return torch.from_numpy(array)


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
        """(first, stop) by axis of an array of this shape; may lie outside."""
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
