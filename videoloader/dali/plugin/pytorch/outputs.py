"""Outputs of pipelines as lists, packed or sparse PyTorch tensors; copies into others."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from videoloader.dali.tensors import TensorList, to_tensor
from videoloader.dali.tensors.printing import distinct_shapes
from videoloader.errors import ArgumentError, UnsupportedError


class Packed(NamedTuple):
    """Samples concatenated, as kernels for sequences of several lengths take them.

    Attributes:
        values: tensor (sum of the lengths, ...).
        cu_seqlens: int32 (N + 1,), on the device of the values: sample i is
            `values[cu_seqlens[i]:cu_seqlens[i + 1]]`.

    >>> samples = TensorList([torch.tensor([1, 2]), torch.tensor([3, 4, 5])])
    >>> packed("text", samples, 2)
    Packed(values=tensor([1, 2, 3, 4, 5]), cu_seqlens=tensor([0, 2, 5], dtype=torch.int32))
    """

    values: torch.Tensor
    cu_seqlens: torch.Tensor


def sparse_list(name: str, output: TensorList, count: int) -> list[torch.Tensor]:  # noqa: ARG001
    """The first `count` samples, each a tensor of its own shape."""
    samples = output.tensors
    return samples if count >= len(samples) else [sample.clone() for sample in samples[:count]]


def packed(name: str, output: TensorList, count: int) -> Packed:
    """The first `count` samples, joined along their first dimension."""
    samples = output.tensors[:count]
    example = output[0] if output.tensors else torch.empty(0)
    if example.ndim == 0 or len({sample.shape[1:] for sample in samples}) > 1:
        raise UnsupportedError(
            f"output {name!r} cannot be packed: its samples, of shapes "
            f"{distinct_shapes(output.tensors)}, differ in more than their first dimension, or "
            "have none; take it as a list"
        )
    lengths = torch.tensor([0, *(len(sample) for sample in samples)])
    ends = lengths.cumsum(0).to(torch.int32).to(example.device, non_blocking=True)
    if output.is_dense_tensor() and count >= len(output.tensors):
        return Packed(to_tensor(output.as_tensor()).flatten(0, 1), ends)
    return Packed(torch.cat([*samples, example[:0]]), ends)


def sparse_coo(name: str, output: TensorList, count: int) -> torch.Tensor:  # noqa: ARG001
    """The first `count` samples as one sparse tensor (N, largest extents).

    Every element of a sample is stored, zeros too; what lies outside a sample is not.
    """
    samples = output.tensors[:count]
    if not samples:
        nothing = torch.empty(1 + output[0].ndim, 0, dtype=torch.int64, device=output.device)
        return torch.sparse_coo_tensor(
            nothing, output[0].new_empty(0), (0,) * len(nothing), check_invariants=False
        )
    extents = [max(sizes) for sizes in zip(*(sample.shape for sample in samples), strict=True)]
    indices = []
    for number, sample in enumerate(samples):
        places = torch.ones(sample.shape, device=sample.device).nonzero().T
        indices.append(torch.cat([places.new_full((1, places.shape[1]), number), places]))
    values = torch.cat([sample.reshape(-1) for sample in samples])
    size = (len(samples), *extents)
    return torch.sparse_coo_tensor(
        torch.cat(indices, dim=1), values, size, is_coalesced=True, check_invariants=False
    )


def feed_ndarray(dali_tensor: Any, arr: torch.Tensor, cuda_stream: Any = None) -> torch.Tensor:
    """Copy a tensor or a batch with one shape into a tensor of that shape and element type.

    Args:
        dali_tensor: a `TensorList`, a tensor, or an array.
        arr: what is written.
        cuda_stream: a `torch.cuda.Stream`, or the number of a stream, on which a copy on a GPU
            is queued; the current stream by default.

    Returns:
        `arr`.

    >>> batch = TensorList([torch.ones(3), torch.zeros(3)])
    >>> feed_ndarray(batch, torch.empty(2, 3))
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """
    source = (
        dali_tensor.as_tensor()
        if isinstance(dali_tensor, TensorList)
        else torch.as_tensor(dali_tensor)
    )
    for what, given, wanted in (
        ("element type", source.dtype, arr.dtype),
        ("shape", tuple(source.shape), tuple(arr.shape)),
    ):
        if given != wanted:
            raise ArgumentError(
                f"feed_ndarray copies between tensors of one {what}: "
                f"the source has {given}, the target {wanted}"
            )
    if cuda_stream is None or not arr.is_cuda:
        return arr.copy_(source)
    if not isinstance(cuda_stream, torch.cuda.Stream):
        stream = int(cuda_stream)
        cuda_stream = torch.cuda.ExternalStream(stream, device=arr.device)
    cuda_stream.wait_stream(torch.cuda.current_stream(arr.device))  # where the source is ready
    if source.is_cuda:
        source.record_stream(cuda_stream)
    with torch.cuda.stream(cuda_stream):
        return arr.copy_(source, non_blocking=True)
