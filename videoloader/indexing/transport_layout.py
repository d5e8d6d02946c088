"""`VideoIndex.packing`: the layout of packets in a file; unpacks those in transport packets."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from videoloader.errors import FormatError
from videoloader.indexing.containers.mpegts.grid import PACKET, Ints, pid_of, read_headers
from videoloader.indexing.containers.mpegts.pes import elementary_bytes, elementary_starts

_WRITTEN = re.compile(r"mpegts:(188|192|204):0x(1?[0-9a-f]{1,3})(?:@(\d{1,3}))?")
_SIMPLE = re.compile("plain|demuxed|prefix:([0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class TransportLayout:
    """The layout of packets in transport packets: the parsed form of `VideoIndex.packing`.

    A packet begins with the first byte of the stream in the transport packet at its offset. With
    a `phase` (offset of the first transport packet), it begins exactly at its offset, which may be
    within a transport packet.

    >>> TransportLayout.parse(str(TransportLayout(step=192, pid=256)))
    TransportLayout(step=192, pid=256, phase=None)
    """

    step: int
    pid: int
    phase: int | None = None

    def __str__(self) -> str:
        inside = "" if self.phase is None else f"@{self.phase}"
        return f"mpegts:{self.step}:{self.pid:#x}{inside}"

    @classmethod
    def parse(cls, text: str) -> TransportLayout | None:
        """Parse `VideoIndex.packing`; None if it is not `mpegts:`.

        Raises:
            FormatError: it is damaged.
        """
        if not text.startswith("mpegts:"):
            return None
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise FormatError(f"packets cannot be packed as {text!r}")
        return cls(int(found[1]), int(found[2], 16), None if found[3] is None else int(found[3]))

    @property
    def overlap(self) -> int:
        """Bytes past the offset of the next packet that the last packet may need."""
        return 0 if self.phase is None else PACKET

    def begins(self, offsets: Ints) -> Ints:
        """Offsets of the transport packets in which packets begin."""
        if self.phase is None:
            return offsets
        return offsets - (offsets - self.phase) % self.step

    def unpack(self, block: bytes, offsets: list[int], sizes: list[int]) -> list[bytes]:
        """Extract packets from a block of the file that begins with a transport packet.

        `offsets` of the packets in the block ascend. Bytes past its end are missing in the result.
        """
        data = np.frombuffer(block, dtype=np.uint8)
        headers = read_headers(data, step=self.step)
        rows = np.flatnonzero(pid_of(headers) == self.pid)
        if not len(rows):
            return [b""] * len(offsets)
        places = rows * self.step
        starts = elementary_starts(data, places, headers[rows])
        stream = elementary_bytes(data, places, starts).tobytes()
        ends = np.cumsum(PACKET - starts, dtype=np.int64)
        found = np.maximum(np.searchsorted(places, offsets, side="right") - 1, 0)
        inside = np.maximum(np.array(offsets) - places[found] - starts[found], 0)
        before = (np.append(0, ends)[found] + inside).tolist()
        return [stream[at : at + size] for at, size in zip(before, sizes, strict=True)]


def packing_prefix(packing: str) -> bytes:
    """The prefix of every packet that is not stored in the file.

    >>> packing_prefix("plain").hex(), packing_prefix("prefix:000001").hex()
    ('', '000001')
    """
    return bytes.fromhex(packing.removeprefix("prefix:")) if packing.startswith("prefix:") else b""


def check_packing(packing: str) -> None:
    """Check that `packing` is valid.

    Raises:
        FormatError: it is not.
    """
    if not _SIMPLE.fullmatch(packing) and TransportLayout.parse(packing) is None:
        raise FormatError(f"packets cannot be packed as {packing!r:.80}")
