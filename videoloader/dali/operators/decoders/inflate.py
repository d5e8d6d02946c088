"""`fn.decoders.inflate`: tensors out of compressed bytes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPE, INTS, REQUIRED, TEXT, Argument, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.decoders.image_files import encoded_bytes
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, DecodeError

_LARGEST = 255
"""Most bytes that a byte of LZ4 can stand for; data that claims more is damaged."""


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    layout, axis = arguments["layout"], arguments["sequence_axis_name"]
    if len(axis) != 1:
        raise ArgumentError(f"fn.decoders.inflate: sequence_axis_name is a letter, got {axis!r}")
    if {"chunk_offsets", "chunk_sizes"} & set(given) and axis in layout:
        raise ArgumentError(f"fn.decoders.inflate: layout {layout!r} has {axis} already")


def _chunks(
    size: int, offsets: Sequence[int] | None, sizes: Sequence[int] | None
) -> list[tuple[int, int]]:
    """(begin, end) of the chunks of a sample of `size` bytes."""
    if sizes is None:
        begins = list(offsets or (0,))
        ends = [*begins[1:], size]
    else:
        begins = (
            list(offsets) if offsets is not None else [sum(sizes[:n]) for n in range(len(sizes))]
        )
        if len(begins) != len(sizes):
            raise ArgumentError(f"{len(begins)} chunk_offsets for {len(sizes)} chunk_sizes")
        ends = [begin + length for begin, length in zip(begins, sizes, strict=True)]
    for begin, end in zip(begins, ends, strict=True):
        if not 0 <= begin < end <= size:
            raise ArgumentError(
                f"a chunk from {begin} to {end} does not lie in a sample of {size} bytes"
            )
    return list(zip(begins, ends, strict=True))


def _decompressed(codec: Any, data: memoryview, length: int) -> bytes:
    """Exactly `length` bytes.

    The codec fails if the data is longer than the given length, but not if it is shorter. So it is
    also asked for one byte less, which has to fail.
    """
    try:
        made: bytes = codec.decompress(data, length, asbytes=True)
    except (OSError, ValueError) as error:
        raise DecodeError(f"not {length} bytes of LZ4 ({error})") from error
    if not length:
        return made
    try:
        codec.decompress(data, length - 1)
    except (OSError, ValueError):
        return made
    raise DecodeError(f"less than {length} bytes of LZ4")


def _infer(
    context: Context,
    data: Spec,
    *,
    shape: PerSample,
    dtype: torch.dtype,
    layout: str,
    sequence_axis_name: str,
    chunk_offsets: PerSample,
    chunk_sizes: PerSample,
    algorithm: str,
) -> Spec:
    pairs = zip(chunk_offsets, chunk_sizes, strict=True)
    is_sequence = any(own != (None, None) for own in pairs)
    named = f"{sequence_axis_name}{layout}" if is_sequence and layout else layout
    return Spec((), dtype, named, context.device)


def _per_sample(name: str, doc: str, default: Any = None) -> Argument:
    return Argument(name, INTS, default, doc, per_sample=True, least=0)


@declare(
    "decoders.inflate",
    inputs=(Input("compressed", on_cpu=True),),
    arguments=(
        _per_sample("shape", "of the output, or of each of its chunks", REQUIRED),
        Argument("dtype", DTYPE, torch.uint8, "element type of the output"),
        Argument("layout", TEXT, "", "of the output, or of each of its chunks"),
        Argument("sequence_axis_name", TEXT, "F", "in front of the layout where there are chunks"),
        _per_sample("chunk_offsets", "where the chunks begin; densely packed by default"),
        _per_sample("chunk_sizes", "bytes of the chunks; up to the next one by default"),
        Argument("algorithm", TEXT, "LZ4", "of compression", choices=("LZ4",)),
    ),
    infer=_infer,
    check=_check,
    unused=("check_output_size",),
)
def inflate(
    context: Context,
    compressed: Batch,
    *,
    shape: PerSample,
    dtype: torch.dtype,
    layout: str,
    sequence_axis_name: str,
    chunk_offsets: PerSample,
    chunk_sizes: PerSample,
    algorithm: str,
) -> Batch:
    """Decompress samples, 1-D uint8, of one block of LZ4 or of several chunks of one shape.

    With `chunk_offsets` or `chunk_sizes` the chunks are stacked. Whatever the device, the CPU
    decompresses.
    """
    import pyarrow as pa

    codec = pa.Codec("lz4_raw")
    out = []
    for position, value in enumerate(compressed):
        data, sides = encoded_bytes(value, "decoders.inflate"), tuple(shape[position])
        offsets, sizes = chunk_offsets[position], chunk_sizes[position]
        length = math.prod(sides) * dtype.itemsize
        pieces = []
        for begin, end in _chunks(len(data), offsets, sizes):
            if length > _LARGEST * (end - begin):
                raise DecodeError(f"{end - begin} bytes of LZ4 cannot hold a tensor {sides}")
            made = _decompressed(codec, data[begin:end], length)
            pieces.append(torch.frombuffer(bytearray(made), dtype=dtype).reshape(sides))
        is_sequence = offsets is not None or sizes is not None
        out.append((torch.stack(pieces) if is_sequence else pieces[0]).to(context.device))
    return Batch(out)
