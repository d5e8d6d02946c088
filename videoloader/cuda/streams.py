"""CUDA streams of torch for CuPy."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["as_cupy"]


def as_cupy(stream: torch.cuda.Stream) -> Any:
    """A CuPy stream for a stream of torch."""
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream, stream.device_index)
