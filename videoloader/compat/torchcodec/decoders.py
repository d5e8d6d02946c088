"""torchcodec.decoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from videoloader.compat.torchcodec import installed
from videoloader.compat.torchcodec.audio_decoder import AudioDecoder, WavDecoder
from videoloader.compat.torchcodec.containers import ContainerMetadata, get_container_metadata
from videoloader.compat.torchcodec.images import ImageReadMode, decode_image
from videoloader.compat.torchcodec.metadata import (
    AudioStreamHeaderMetadata,
    AudioStreamMetadata,
    StreamMetadata,
    VideoStreamHeaderMetadata,
    VideoStreamMetadata,
)
from videoloader.compat.torchcodec.video_decoder import CpuFallbackStatus, VideoDecoder
from videoloader.errors import ArgumentError

__all__ = [
    "AudioDecoder",
    "AudioStreamHeaderMetadata",
    "AudioStreamMetadata",
    "ContainerMetadata",
    "CpuFallbackStatus",
    "ImageReadMode",
    "SimpleVideoDecoder",
    "StreamMetadata",
    "VideoDecoder",
    "VideoStreamHeaderMetadata",
    "VideoStreamMetadata",
    "WavDecoder",
    "decode_image",
    "get_container_metadata",
    "get_nvdec_cache_capacity",
    "set_cuda_backend",
    "set_nvdec_cache_capacity",
]

SimpleVideoDecoder = VideoDecoder

_CAPACITY = [20]  # torchcodec's default


@contextmanager
def set_cuda_backend(backend: str) -> Iterator[None]:
    """Check the name, `nvdec`, `beta` or `ffmpeg`; NVDEC decodes in all cases."""
    if backend.lower() not in ("nvdec", "beta", "ffmpeg"):
        raise ArgumentError(
            f"Invalid CUDA backend ({backend}). Supported values are 'nvdec' and 'ffmpeg'."
        )
    yield


def set_nvdec_cache_capacity(capacity: int) -> None:
    """Store the number, without other effect."""
    if capacity < 0:
        raise ArgumentError(f"capacity must be non-negative, got {capacity}")
    _CAPACITY[0] = capacity


def get_nvdec_cache_capacity() -> int:
    """The number that `set_nvdec_cache_capacity` stored."""
    return _CAPACITY[0]


def __getattr__(name: str) -> Any:
    return installed.find_name(name, "decoders")
