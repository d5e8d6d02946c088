"""torchcodec.decoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from videoloader.compat.torchcodec.audio_decoder import AudioDecoder
from videoloader.compat.torchcodec.metadata import AudioStreamMetadata, VideoStreamMetadata
from videoloader.compat.torchcodec.video_decoder import CpuFallbackStatus, VideoDecoder
from videoloader.errors import ArgumentError

__all__ = [
    "AudioDecoder",
    "AudioStreamMetadata",
    "CpuFallbackStatus",
    "SimpleVideoDecoder",
    "VideoDecoder",
    "VideoStreamMetadata",
    "get_nvdec_cache_capacity",
    "set_cuda_backend",
    "set_nvdec_cache_capacity",
]

SimpleVideoDecoder = VideoDecoder

_CAPACITY = [20]  # torchcodec's default


@contextmanager
def set_cuda_backend(backend: str) -> Iterator[None]:
    """Checks the name, `nvdec`, `beta` or `ffmpeg`; NVDEC decodes whichever is asked for."""
    if backend.lower() not in ("nvdec", "beta", "ffmpeg"):
        raise ArgumentError(
            f"Invalid CUDA backend ({backend}). Supported values are 'nvdec' and 'ffmpeg'."
        )
    yield


def set_nvdec_cache_capacity(capacity: int) -> None:
    """Remembers the number; decoders are kept for as long as they are of use."""
    if capacity < 0:
        raise ArgumentError(f"capacity must be non-negative, got {capacity}")
    _CAPACITY[0] = capacity


def get_nvdec_cache_capacity() -> int:
    """What `set_nvdec_cache_capacity` was given last."""
    return _CAPACITY[0]
