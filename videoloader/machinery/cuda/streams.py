"""CUDA streams: the current one, one for each stage, and synchronisation between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch


def current_stream(index: int) -> int:
    """The handle of the current stream of a GPU."""
    try:
        return int(torch._C._cuda_getCurrentRawStream(index))
    except AttributeError:  # a private function of torch, which may be removed
        return int(torch.cuda.current_stream(index).cuda_stream)


def current_device() -> int:
    """The number of the current GPU of this thread."""
    try:
        return int(torch._C._cuda_getDevice())
    except AttributeError:  # torch has no CUDA, or has removed this private function
        return int(torch.cuda.current_device())


@dataclass(frozen=True, slots=True)
class ConsumerStream:
    """The current stream of a consumer's thread that runs a stage itself.

    The consumer uses the results on the same stream, so no synchronisation is needed.
    """

    stream: Any


def torch_is_plain() -> bool:
    """Whether torch is in no mode, such as autocast, that would change results of operators."""
    return not (
        torch.is_inference_mode_enabled()
        or torch._C._is_any_autocast_enabled()
        or torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
    )


def stream_here(device: int) -> ConsumerStream | None:
    """The stream on which this thread can run a stage itself; None if it cannot.

    It cannot if another device is the current one, or if torch is in a mode, such as autocast,
    that would change the results of operators.
    """
    if not torch_is_plain() or current_device() != device:
        return None
    return _here(current_stream(device), device)


@lru_cache(maxsize=16)
def _here(handle: int, device: int) -> ConsumerStream:  # noqa: ARG001  (the stream that is current)
    """The current stream, cached by its handle, which is faster to get than a stream object."""
    return ConsumerStream(torch.cuda.current_stream(device))


@contextmanager
def stage_stream(device: str) -> Iterator[Any]:
    """A new stream that is current within the block; None on the CPU."""
    if not device.startswith("cuda"):
        yield None
        return
    make: Any = torch.cuda.Stream
    stream = make(device)
    with torch.cuda.stream(stream):
        yield stream


def wait_for(ready: Any, tensors: Iterable[torch.Tensor]) -> None:
    """Make later work on the current stream wait for tensors that another stream computes.

    Args:
        ready: event recorded after the tensors; None if they are complete.
        tensors: they stay allocated until the stream has used them.
    """
    if ready is None:
        return
    stream = torch.cuda.current_stream(ready.device.index)  # by number, which is fastest
    stream.wait_event(ready)
    keep_for(stream, tensors)


def keep_for(stream: Any, tensors: Iterable[torch.Tensor]) -> None:
    """Prevent reuse of the memory of tensors until a stream has finished with them."""
    seen = set()
    for tensor in tensors:
        if tensor.is_cuda and (key := tensor.untyped_storage().data_ptr()) not in seen:
            seen.add(key)
            tensor.record_stream(stream)


def as_cupy(stream: torch.cuda.Stream) -> Any:
    """A CuPy stream for a stream of torch."""
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream, stream.device_index)
