"""The packet table: columns, flags and facts learned while decoding; orientation of pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


NO_TIME = int(np.iinfo(np.int64).min)
"""Marks a packet without a time."""


class PacketFlags(IntFlag):
    """Properties of a packet.

    >>> from videoloader import index_video
    >>> flags = index_video("clip.mp4", headers=True).packets["flags"]
    >>> np.flatnonzero(flags & PacketFlags.KEY)[:3], PacketFlags(9)
    (array([ 0, 12, 24]), <PacketFlags.KEY|DISPOSABLE: 9>)
    """

    KEY = 1
    """Decoding can begin with it (random access point)."""
    DISCARD = 2
    """An edit list removes its frame; others may refer to it."""
    HIDDEN = 4
    """It shows no frame: an alternate reference, or a further part of a frame."""
    DISPOSABLE = 8
    """No other packet refers to it. Meaningful where `VideoIndex.has_headers`."""
    DAMAGED = 16
    """Bytes of it are missing or wrong, as far as the container tells. Frames that need it do not
    decode."""


_ENTRY = 200  # bytes of a key and a value in a dictionary, besides the contents

UNSEEN = np.uint16(PacketFlags.DISCARD | PacketFlags.HIDDEN)
"""Flags of packets whose frames are not part of the video."""


@dataclass(slots=True, eq=False)
class Learned:
    """Facts found in packets of a video when they were read, which are not read again.

    Attributes:
        disposable: for each packet 1 if no other one refers to it, 0 if one may, -1 if unknown.
        preambles: what decoders that begin at a packet get in front of it, by packet.
        has_gaps: whether the encoder leaves macroblocks out between slices, None if unknown.
        nbytes: about the memory that these take.
    """

    disposable: NDArray[np.int8]
    preambles: dict[int, bytes] = field(default_factory=dict)
    has_gaps: bool | None = None
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.nbytes = self.disposable.nbytes

    def add_preamble(self, packet: int, preamble: bytes) -> None:
        """Keep the bytes that a decoder which begins at a packet gets before it."""
        self.preambles[packet] = preamble
        self.nbytes += _ENTRY + len(preamble)


def believe_pictures(packets: NDArray[Any], intra: list[bool | None]) -> None:
    """Replace the container's keyframe flags by the ones of picture headers, where known."""
    key = np.uint16(PacketFlags.KEY)
    packets["flags"][[told is False for told in intra]] &= ~key
    packets["flags"][[told is True for told in intra]] |= key


def packet_table(
    offsets: ArrayLike,
    sizes: ArrayLike,
    *,
    pts: ArrayLike,
    dts: ArrayLike,
    flags: ArrayLike,
    durations: ArrayLike | None = None,
) -> NDArray[Any]:
    """Make a packet table; without `durations`, each frame lasts until the next one."""
    table = np.empty(len(np.asarray(offsets)), dtype=PACKET_DTYPE)
    table["offset"], table["size"] = offsets, sizes
    table["pts"], table["dts"], table["flags"] = pts, dts, flags
    table["duration"] = spacings(table) if durations is None else durations
    return table


def spacings(table: NDArray[Any]) -> NDArray[np.int64]:
    """Ticks from each frame to the next in presentation order; the last repeats the previous."""
    durations = np.zeros(len(table), dtype=np.int64)
    shown = np.flatnonzero((table["flags"] & UNSEEN) == 0)
    if len(shown) > 1:
        shown = shown[np.argsort(table["pts"][shown], kind="stable")]
        steps = np.diff(table["pts"][shown])
        durations[shown] = np.append(steps, steps[-1])
    return durations


def order_is_known(table: NDArray[Any]) -> bool:
    """Whether the first packet is a keyframe and presentation times are distinct."""
    pts = np.sort(table["pts"][(table["flags"] & UNSEEN) == 0])
    distinct = bool((pts[1:] > pts[:-1]).all())
    return len(table) == 0 or (distinct and bool(table["flags"][0] & PacketFlags.KEY))


@dataclass(frozen=True, slots=True)
class Orientation:
    """Transformation of coded pictures for display: transposed, then flipped.

    These are the eight cases of a display matrix with right angles; other angles are rounded.

    >>> sideways = Orientation.from_matrix(0, 1, -1, 0)  # as phones store portrait video
    >>> sideways.rotation, sideways.displayed((1080, 1920))
    (-90, (1920, 1080))
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
