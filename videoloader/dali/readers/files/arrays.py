"""`fn.readers.numpy`, `fn.decoders.numpy`: arrays of NPY files, or regions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPE, FLOAT, FLOATS, INTS, TEXT, Argument
from videoloader.dali.operators.context import Context, Sample, SampleError
from videoloader.dali.operators.decoders.image_files import encoded_bytes
from videoloader.dali.operators.general.slice import SLICE
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import Part, declare
from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.dali.readers.files.npy import Region, read_header, read_region
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
from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.sources.items import Item
from videoloader.sources.local import MemorySource

_AS_SLICE = {
    **{f"roi_{place}": place for place in ("start", "end", "shape")},
    **{f"rel_roi_{place}": f"rel_{place}" for place in ("start", "end", "shape")},
    "roi_axes": "axes",
    "out_of_bounds_policy": "out_of_bounds_policy",
    "fill_value": "fill_values",
}
"""Arguments of a region, and those of `fn.slice` that mean the same."""


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
