"""How a batch treats its videos, and what goes wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from videoloader.decoding.limits import MAX_PIXELS, check_max_pixels
from videoloader.decoding.output import ResolutionChange, check_resolution_change
from videoloader.errors import ArgumentError

__all__ = ["OnError", "Rules"]

OnError: TypeAlias = Literal["raise", "skip", "replace", "mask"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What `decode_batch` takes besides requests and the form of the output.

    Attributes:
        rotate: turn pictures as the container says.
        resolution_change: what to do with frames of another size than the first.
        on_error: what a damaged or missing video does.
        hybrid: let the CPU take runs that the GPU has not begun.
        max_pixels: of a picture; a file that claims more fails.
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
