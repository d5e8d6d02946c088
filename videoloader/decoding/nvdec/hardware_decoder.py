"""Feeds runs to NVDEC decoders: packets in, wanted frames out, each with its packet number.

A call takes many packets, since each return to Python waits for the interpreter lock. The
timestamp of a call is the rank of its first packet's frame in presentation order. The parser
returns it with the frame of that packet and interpolates timestamps for the other packets. So
frames are identified by the original timestamps, and counted in between.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.nvdec.elementary import ElementaryStream
from videoloader.decoding.nvdec.hardware import (
    MAX_CALL,
    MAX_CALL_BYTES,
    DecoderKind,
    DecoderRoom,
    StreamNeeds,
    library,
    surface_bytes,
)
from videoloader.decoding.packets.feed import PacketFeed
from videoloader.decoding.packets.preamble import has_film_grain
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.sampling import Run
from videoloader.sources.source import Source

__all__ = ["Feeder", "HardwareDecoder"]

_READ_AHEAD = 128  # packets to read from the file at a time

# A timestamp has three bit fields: number of the run, rank of the frame in it, and low bits for
# interpolation by the parser.
_RUN_BITS, _RANK_BITS, _ROOM_BITS = 14, 26, 22


class HardwareDecoder:
    """A decoder of PyNvVideoCodec, used for one stream after another.

    Args:
        kind: of all streams.
        needs: of the first stream.
        gpu: number of the device.
        stream: CUDA stream on which it outputs frames.
    """

    def __init__(self, kind: DecoderKind, needs: StreamNeeds, gpu: int, stream: int) -> None:
        nvc = library()
        self._packet = nvc.PacketData
        self._decoder = nvc.CreateDecoder(
            gpuid=gpu,
            codec=getattr(nvc.cudaVideoCodec, codec_of(kind.codec).nvdec or ""),
            cudacontext=0,
            cudastream=stream,
            usedevicememory=True,
            maxwidth=kind.width,
            maxheight=kind.height,
        )
        self._size: tuple[int, int] | None = None
        self.kind = kind
        self.room = DecoderRoom(needs)
        """Decides which streams it has enough surfaces for."""
        self.memory = kind.memory(needs)
        """Approximate bytes of GPU memory that it takes."""
        self.runs = 0
        """Number of runs that it has begun."""

    def begin(self, index: VideoIndex, needs: StreamNeeds) -> None:
        """Prepare for a run of a video; all frames of the previous run must have been output."""
        self.room.take(needs)
        size = (index.width, index.height)
        if self._size not in (None, size):  # else it would enable scaling of other sizes
            self._decoder.setReconfigParams(*size)
        self._size = size
        self.runs += 1

    def decode(self, data: bytes | bytearray, tag: int) -> list[Any]:
        """Decode a part of the stream; returns the completed frames. Empty `data` flushes.

        The frames are valid until the next call.
        """
        packet = self._packet()
        memory = np.frombuffer(data, dtype=np.uint8)
        packet.bsl_data = memory.ctypes.data if len(data) else 0
        packet.bsl = len(data)
        packet.pts = tag
        frames: list[Any] = self._decoder.Decode(packet)
        return frames


class Feeder:
    """Feeds a run to a decoder; yields the wanted frames of each call with their packets.

    Args:
        decoder: must have begun the run.
        index: of the video.
        source: its bytes.
        run: packets to feed, and wanted frames.
        piece: maximum bytes of the surfaces that one call may return.
    """

    def __init__(
        self,
        decoder: HardwareDecoder,
        index: VideoIndex,
        source: Source,
        run: Run,
        *,
        piece: int = MAX_CALL_BYTES,
    ) -> None:
        self._decoder = decoder
        self._index = index
        self._source = source
        self._run = run
        self._piece = piece
        self._stream = ElementaryStream(index)
        self._order = _ShownOrder(index, run, decoder.runs)
        self.packets = 0
        """Number of packets fed so far."""
        self.bytes = 0
        """Number of frames of these packets."""
        self.frames = 0
        """Number of frames output by the decoder so far, wanted or not."""

    def __iter__(self) -> Iterator[list[tuple[int, Any]]]:
        """Yield the wanted frames of each call, each with its packet.

        Raises:
            UnsupportedError: the hardware would output different pictures for this stream.
            DecodeError: a frame is missing.
            SourceError: the file cannot be read, or has changed since it was indexed.
        """
        missing = set(self._run.frame_packets.tolist())
        for packets, payloads in self._chunks():
            if not self.packets and has_film_grain(self._index, payloads[0]):
                raise UnsupportedError(f"{self._index.name}: NVDEC does not add its film grain")
            head = b"" if self.packets else self._stream.head(int(packets[0]))
            data = self._stream.join(payloads, head)
            self._order.feed(packets)
            self.packets += len(packets)
            self.bytes += sum(map(len, payloads))
            yield self._wanted(data, self._order.tag(int(packets[0])), missing)
        yield self._wanted(b"", 0, missing)
        self._order.finish()
        if missing:
            raise DecodeError(f"{self._index.name}: NVDEC gave no frame for packet {min(missing)}")

    def _chunks(self) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
        """Yield packets in chunks for one call each."""
        most = max(1, min(MAX_CALL, self._piece // surface_bytes(self._index)))
        feed = PacketFeed(self._index, self._source, drop="unneeded")
        try:
            for packets, payloads in feed.chunks(self._run, _READ_AHEAD):
                start = 0
                while start < len(packets):
                    alone = not self._stream.is_delimited
                    alone |= int(packets[start]) <= self._order.last_leading
                    count = 1 if alone else most
                    yield packets[start : start + count], payloads[start : start + count]
                    start += count
        finally:
            feed.close()

    def _wanted(
        self, data: bytes | bytearray, tag: int, missing: set[int]
    ) -> list[tuple[int, Any]]:
        """Make a call; returns the wanted frames with their packets."""
        found = []
        for frame in self._decoder.decode(data, tag):
            self.frames += 1
            packet = self._order.identify(frame.timestamp)
            if packet is not None and packet in missing:
                missing.remove(packet)
                found.append((packet, frame))
        return found


class _ShownOrder:
    """Maps output frames, which come in presentation order, to their packets."""

    def __init__(self, index: VideoIndex, run: Run, number: int) -> None:
        packets = run.packets
        shown = (index.packets["flags"][packets] & np.uint16(PacketFlags.HIDDEN)) == 0
        times = index.packets["pts"][packets]
        if index.order is not None:
            place = np.full(len(index.packets), -1, dtype=np.int64)
            place[index.order] = np.arange(len(index.order))
            times = place[packets]
            shown &= times >= 0
        self._packets = packets[shown][np.argsort(times[shown], kind="stable")]
        """Packets with frames, in presentation order."""
        self._rank = {packet: rank for rank, packet in enumerate(self._packets.tolist())}
        # Leading frames, shown before the keyframe that the run begins with: decoders may drop
        # them, and may output the keyframe before they are fed. This run never wants them.
        self._first = self._rank.get(int(packets[0]), 0)
        self.last_leading = max(self._packets[: self._first].tolist(), default=-1)
        """Last packet of a leading frame."""
        self._name = index.name
        self._number = number % (1 << _RUN_BITS)
        self._fed: list[int] = []

    def tag(self, packet: int) -> int:
        """Timestamp for a call whose first packet is `packet`; matches no frame if hidden."""
        rank = self._rank.get(packet, len(self._rank))
        return (self._number << _RANK_BITS | rank) << _ROOM_BITS

    def feed(self, packets: NDArray[np.int64]) -> None:
        """Record that packets are fed to the decoder."""
        for packet in packets.tolist():
            if self._rank.get(packet, -1) >= self._first:
                heapq.heappush(self._fed, self._rank[packet])

    def identify(self, timestamp: int) -> int | None:
        """Packet of the next output frame: by its timestamp if it is ours, else the next in order.

        A frame may have the timestamp of an earlier packet, if it is shown again, or of a hidden
        one. None for a leading frame, which is not wanted.

        Raises:
            DecodeError: an earlier frame is missing, so that frames since the last timestamp may
                have been mapped to wrong packets.
        """
        tag, between = divmod(timestamp, 1 << _ROOM_BITS)
        number, rank = divmod(tag, 1 << _RANK_BITS)
        if number != self._number or not self._fed or (not between and rank < self._first):
            return None
        if not between and rank in self._fed and self._fed[0] != rank:
            self._fail()
        return int(self._packets[heapq.heappop(self._fed)])

    def finish(self) -> None:
        """Check that no frame is missing."""
        if self._fed:
            self._fail()

    def _fail(self) -> None:
        packet = int(self._packets[self._fed[0]])
        raise DecodeError(f"{self._name}: NVDEC gave no frame for packet {packet}")
