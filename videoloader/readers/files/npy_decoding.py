"""`fn.decoders.numpy`: arrays of NPY files that are in memory."""

from __future__ import annotations

import torch

from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.operators.arguments import DTYPE, Argument
from videoloader.operators.batch import Batch, Context, SampleError
from videoloader.operators.decoders.image_files import encoded_bytes
from videoloader.operators.inputs import Input
from videoloader.operators.operator import declare
from videoloader.readers.files.npy import Region, read_header, read_region
from videoloader.sources.local import MemorySource
from videoloader.tensors.conversion import saturate

__all__ = ["decode_numpy"]


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
def decode_numpy(context: Context, data: Batch, *, dtype: torch.dtype | None) -> tuple[Batch]:  # noqa: ARG001
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
