"""The packet table: its columns and flags; and the orientation of pictures."""

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
    """Properties of a packet."""

    KEY = 1
    """Decoding can begin with it (random access point)."""
    DISCARD = 2
    """An edit list removes its frame; others may refer to it."""
    HIDDEN = 4
    """It shows no frame: an alternate reference, or a further part of a frame."""
    DISPOSABLE = 8
    """No other packet refers to it. Meaningful where `VideoIndex.has_headers`."""


def believe_pictures(packets: NDArray[Any], intra: list[bool | None]) -> None:
    """Set keyframe flags from picture headers where they say, ignoring the container's flags."""
    key = np.uint16(PacketFlags.KEY)
    packets["flags"][[told is False for told in intra]] &= ~key
    packets["flags"][[told is True for told in intra]] |= key


@dataclass(frozen=True, slots=True)
class Orientation:
    """How coded pictures are transformed for display: transposed, then flipped.

    These are the eight cases of a display matrix with right angles; other angles are rounded.
    """

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @classmethod
    def from_matrix(cls, a: int, b: int, c: int, d: int) -> Orientation:
        """Orientation of a display matrix ((a, b), (c, d)): x' = a x + c y, y' = b x + d y."""
        if abs(a) + abs(d) >= abs(b) + abs(c):
            return cls(flip_x=a < 0, flip_y=d < 0)
        return cls(transpose=True, flip_x=c < 0, flip_y=b < 0)

    @property
    def rotation(self) -> int:
        """Degrees counter-clockwise, as ffprobe prints it; -90 rotates clockwise."""
        if self.transpose:
            return 90 if self.flip_y else -90
        return 180 if self.flip_x else 0

    def displayed(self, size: tuple[int, int]) -> tuple[int, int]:
        """(height, width) as displayed of a coded picture of `size` (height, width)."""
        return size[::-1] if self.transpose else size


def describe_size(width: int, height: int, orientation: Orientation) -> str:
    """Width and height for messages, and the displayed size if the orientation swaps them.

    >>> describe_size(1920, 1080, Orientation(transpose=True))
    '1920x1080 (displayed 1080x1920)'
    """
    coded = f"{width}x{height}"
    return f"{coded} (displayed {height}x{width})" if orientation.transpose else coded
