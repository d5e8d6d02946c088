"""The packets of a run, as decoders are fed them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.packets.needed import Drop, needed_packets
from videoloader.decoding.packets.preamble import preamble
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import PacketReader, Packets
from videoloader.sampling import Run
from videoloader.sources.source import Source

_LOCAL_BYTES, _REMOTE_BYTES = 1 << 20, 1 << 24
_HEAD = 1 << 15  # bytes of a packet in which its first slice begins


@dataclass(slots=True)
class DecoderCounts:
    """Packets that decoders were given so far, their bytes, and all frames that decoders gave."""

    packets: int = 0
    bytes: int = 0
    frames: int = 0

    def read(self) -> tuple[int, int, int]:
        """The counts by now."""
        return self.packets, self.bytes, self.frames

    def since(self, before: tuple[int, int, int]) -> tuple[int, int, int]:
        """The counts since a `read`."""
        packets, size, frames = before
        return self.packets - packets, self.bytes - size, self.frames - frames


class PacketFeed:
    """Reads the packets of runs, without packets that turn out to be needless.

    Not for sharing between threads.

    Args:
        index: of the video.
        source: its bytes.
        drop: what to leave out. A packet may come with fewer pictures than it has in the file, so
            that it gives no frame.
    """

    def __init__(self, index: VideoIndex, source: Source, *, drop: Drop = "unneeded") -> None:
        self._index = index
        self._reader = PacketReader(index, source)
        self._drop = drop
        self._learns = codec_of(index.codec).learns
        has_own_packets = index.exactness != "decode"  # for each frame
        self._drops_leading = has_own_packets and codec_of(index.codec).start_codes is not None
        self._is_local = source.is_local
        self.most_bytes = _LOCAL_BYTES if source.is_local else _REMOTE_BYTES
        """Bytes that it pays to read at a time."""
        self._heads: dict[int, bytes] = {}

    def chunks(
        self, run: Run, size: int, drop: Drop | None = None, *, begins: bool = True
    ) -> Iterator[tuple[NDArray[np.int64], Packets]]:
        """Numbers and bytes of packets, up to `size` at a time.

        In front of the first one stands what only the beginning of the stream says of it, unless
        the decoder goes on there.

        Args:
            run: from a plan.
            size: of the parts.
            drop: what to leave out of this run; as for all by default.
            begins: whether decoding begins with this run.

        Raises:
            SourceError: the file cannot be read as it was indexed.
        """
        first = int(run.packets[0])
        learned = self._index.learned
        heads = None
        if self._learns and first and begins and first not in learned.preambles:
            heads = self._heads_before(first)  # first of all: a demuxer goes forwards

        def read(packets: NDArray[np.int64]) -> Packets:
            payloads = self._reader.read(packets)
            if begins and packets[0] == first:
                if heads is not None:
                    learned.add_preamble(first, preamble(self._index, payloads[0], *heads))
                if before := learned.preambles.get(first):
                    begin, *others = payloads
                    payloads = Packets.of([before + begin, *others])
            return payloads

        # Where a read means waiting, the whole run is fetched before it is decoded.
        part = size if self._is_local else 0
        drop = self._drop if drop is None else drop
        if begins and self._drops_leading and drop != "nothing":
            run = self._without_leading(run)
        for packets, payloads in needed_packets(self._index, read, run, drop, part):
            if 0 < len(packets) <= size:
                yield packets, payloads
                continue
            for start in range(0, len(packets), size):
                some = slice(start, start + size)
                yield packets[some], payloads.some(some)

    def _without_leading(self, run: Run) -> Run:
        """The run without frames that cannot be decoded from its keyframe.

        They are B-pictures. FFmpeg's decoder of interlaced MPEG-4 takes the time between pictures
        from the first one that it gets.
        """
        frames = self._index.packet_frames[run.packets]
        is_leading = (frames >= 0) & (self._index.seek_packets[frames] < run.packets[0])
        return replace(run, packets=run.packets[~is_leading]) if is_leading.any() else run

    def read(self, packets: NDArray[np.int64]) -> Packets:
        """The bytes of packets as they are in the file; the numbers ascend.

        Raises:
            SourceError: the file cannot be read as it was indexed.
        """
        return self._reader.read(packets)

    def _heads_before(self, packet: int) -> tuple[bytes, bytes]:
        """The beginnings of two packets, which `preamble` needs if decoding begins at `packet`."""
        section = self._index.setup_packet(packet)
        return self._head(0), b"" if section == packet else self._head(section)

    def _head(self, packet: int) -> bytes:
        """How a packet begins."""
        if packet not in self._heads:
            self._heads[packet] = self._reader.read_head(packet, _HEAD)
        return self._heads[packet]

    def close(self) -> None:
        """Close the demuxer, where there is one."""
        self._reader.close()
