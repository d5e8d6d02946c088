"""What is known of the packets of a video, and of how its pictures are turned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PACKET_DTYPE",
    "Exactness",
    "Orientation",
    "PacketFlags",
    "believe_pictures",
    "describe_size",
]

Exactness = Literal["tables", "demux", "decode"]

PACKET_DTYPE = np.dtype(
    [
        ("offset", "<i8"),
        ("size", "<i4"),
        ("pts", "<i8"),
        ("dts", "<i8"),
        ("duration", "<i8"),
        ("flags", "<u2"),
    ]
)


class PacketFlags(IntFlag):
    """What is known of a packet."""

    KEY = 1
    """A decoder can begin here."""
    DISCARD = 2
    """An edit list removes its frame; it may be needed to decode others."""
    HIDDEN = 4
    """It gives no frame of its own: an alternate reference, or a further part of a frame."""
    DISPOSABLE = 8
    """No other packet refers to it. Meaningful where `VideoIndex.has_headers`."""


def believe_pictures(packets: NDArray[Any], intra: list[bool | None]) -> None:
    """Take keyframes from the pictures, where they tell, and not from the container's list."""
    key = np.uint16(PacketFlags.KEY)
    packets["flags"][[told is False for told in intra]] &= ~key
    packets["flags"][[told is True for told in intra]] |= key


@dataclass(frozen=True, slots=True)
class Orientation:
    """How coded pictures are turned for display: transposed, then flipped.

    The eight cases of a display matrix with right angles; anything between is rounded to them.
    """

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @classmethod
    def from_matrix(cls, a: int, b: int, c: int, d: int) -> Orientation:
        """The turn of a display matrix ((a, b), (c, d)): x' = a x + c y, y' = b x + d y."""
        if abs(a) + abs(d) >= abs(b) + abs(c):
            return cls(flip_x=a < 0, flip_y=d < 0)
        return cls(transpose=True, flip_x=c < 0, flip_y=b < 0)

    @property
    def rotation(self) -> int:
        """Degrees anti-clockwise, as ffprobe prints it: -90 turns a picture clockwise."""
        if self.transpose:
            return 90 if self.flip_y else -90
        return 180 if self.flip_x else 0

    def displayed(self, size: tuple[int, int]) -> tuple[int, int]:
        """(height, width) of a picture of that size once it is turned."""
        return size[::-1] if self.transpose else size


def describe_size(width: int, height: int, orientation: Orientation) -> str:
    """Width and height, for messages; those as displayed too, where a turn exchanges them.

    >>> describe_size(1920, 1080, Orientation(transpose=True))
    '1920x1080 (displayed 1080x1920)'
    """
    coded = f"{width}x{height}"
    return f"{coded} (displayed {height}x{width})" if orientation.transpose else coded
