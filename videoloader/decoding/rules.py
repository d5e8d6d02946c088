"""How a batch treats its videos, and what goes wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from videoloader.decoding.limits import MAX_PIXELS, check_max_pixels
from videoloader.decoding.options import BatchOptions, OnError, ResolutionChange
from videoloader.decoding.output import check_resolution_change
from videoloader.errors import ArgumentError
from videoloader.system.options import documented

__all__ = ["DecodingRules", "OnError"]


@documented(BatchOptions)
@dataclass(frozen=True, slots=True)
class DecodingRules:
    """How a batch treats its videos: options of `decode_batch`, checked.

    Args:
        in_order: the batches of this decoder are the chunks of one video, in order: on the CPU its
            codec has all threads, and stays behind the last frame of each.
    """

    rotate: bool = True
    resolution_change: ResolutionChange = "error"
    on_error: OnError = "raise"
    hybrid: bool = False
    max_pixels: int = MAX_PIXELS
    in_order: bool = False

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise ArgumentError(
                f"on_error must be one of {', '.join(get_args(OnError))}, got {self.on_error!r}"
            )
        check_resolution_change(self.resolution_change)
        check_max_pixels(self.max_pixels)
