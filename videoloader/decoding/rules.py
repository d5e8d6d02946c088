"""How a batch treats its videos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from videoloader.decoding.limits import MAX_PIXELS
from videoloader.decoding.options import BatchOptions, ResolutionChange
from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.options import documented


@documented(BatchOptions)
@dataclass(frozen=True, slots=True)
class DecodingRules:
    """How a batch treats its videos: options of `decode_batch`, checked.

    Args:
        in_order: batches are the chunks of one video, in order; a decoder stays behind the last
            frame of each. On the CPU its codec has all threads. What a GPU cannot decode is an
            error, and not decoded on the CPU.
        is_strict: the first failure ends the batch; else clips that fail are masked and reported.
    """

    rotate: bool = True
    resolution_change: ResolutionChange = "error"
    hybrid: bool = False
    max_pixels: int = MAX_PIXELS
    audio: bool = False
    audio_sample_rate: int | None = None
    audio_channels: int | None = None
    in_order: bool = False
    is_strict: bool = False

    def __post_init__(self) -> None:
        one_of("resolution_change", self.resolution_change, get_args(ResolutionChange))
        whole_number("max_pixels", self.max_pixels, least=1)
        for name in ("audio_sample_rate", "audio_channels"):
            value = getattr(self, name)
            if value is None:
                continue
            if not self.audio:
                raise ArgumentError(f"{name}={value!r} goes with audio=True")
            whole_number(name, value, least=1)
