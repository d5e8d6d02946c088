"""`PacketLayout`: storage of packets in a file; unpacks transport packets."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from videoloader.errors import FormatError
from videoloader.indexing.containers.mpegts.grid import PACKET, Ints, pid_of, read_headers
from videoloader.indexing.containers.mpegts.pes import elementary_bytes, elementary_starts

_WRITTEN = re.compile(
    r"plain|(demuxed)|prefix:((?:[0-9a-f]{2})+)|"
    r"mpegts:(188|192|204):0x(1?[0-9a-f]{1,3})(?:@(\d{1,3}))?"
)


@dataclass(frozen=True, slots=True)
class TransportLayout:
    """The layout of packets in transport packets.

    A packet begins with the first byte of the stream in the transport packet at its offset. With
    a `phase` (offset of the first transport packet), it begins exactly at its offset, which may be
    within a transport packet.
    """

    step: int
    pid: int
    phase: int | None = None

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


@dataclass(frozen=True, slots=True)
class PacketLayout:
    """Storage of a video's packets in its file; by default, contiguous at their offsets.

    Attributes:
        prefix: bytes that all packets begin with, and that are not stored.
        transport: of packets in pieces, in transport packets.
        is_demuxed: only FFmpeg's demuxer can assemble packets.

    >>> PacketLayout.parse("mpegts:192:0x100").transport
    TransportLayout(step=192, pid=256, phase=None)
    """

    prefix: bytes = b""
    transport: TransportLayout | None = None
    is_demuxed: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of the file at a packet's offset are the packet."""
        return self == PLAIN

    def __str__(self) -> str:
        """The layout as text, as it is stored in indexes."""
        if self.transport is not None:
            step, pid, phase = self.transport.step, self.transport.pid, self.transport.phase
            return f"mpegts:{step}:{pid:#x}" + ("" if phase is None else f"@{phase}")
        if self.is_demuxed:
            return "demuxed"
        return f"prefix:{self.prefix.hex()}" if self.prefix else "plain"

    @classmethod
    def parse(cls, text: str) -> PacketLayout:
        """The layout of a text.

        Raises:
            FormatError: it is none.
        """
        if text == "plain":
            return PLAIN
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise FormatError(f"packets cannot be packed as {text!r:.80}")
        demuxed, prefix, step, pid, phase = found.groups()
        if step:
            within = None if phase is None else int(phase)
            return cls(transport=TransportLayout(int(step), int(pid, 16), within))
        return cls(bytes.fromhex(prefix or ""), is_demuxed=bool(demuxed))


PLAIN = PacketLayout()
