"""Feeds runs to NVDEC decoders: packets in, wanted frames out, each with its packet number.

A call takes many packets, since each return to Python waits for the interpreter lock. The
timestamp of a call is the rank of its first packet's frame in presentation order. The parser
returns it with the frame of that packet and interpolates timestamps for the other packets. So
frames are identified by the original timestamps, and counted in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

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

_READ_AHEAD = 256  # packets to read from the file at a time

# A timestamp has three bit fields: number of the run, rank of the frame in it, and low bits for
# interpolation by the parser.
_RUN_BITS, _RANK_BITS, _ROOM_BITS = 14, 26, 22
_RANK, _ROOM = (1 << _RANK_BITS) - 1, (1 << _ROOM_BITS) - 1


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
        """Number of bytes of these packets."""
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
            self.packets += len(packets)
            self.bytes += sum(map(len, payloads))
            yield self._wanted(data, self._order.feed(packets), missing)
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
        frames = self._decoder.decode(data, tag)
        self.frames += len(frames)
        packets = self._order.identify([frame.timestamp for frame in frames])
        found = [pair for pair in zip(packets, frames, strict=True) if pair[0] in missing]
        missing.difference_update(packet for packet, _ in found)
        return found


class _ShownOrder:
    """Maps output frames, which come in presentation order, to their packets."""

    def __init__(self, index: VideoIndex, run: Run, number: int) -> None:
        packets = self._all = run.packets
        shown = (index.packets["flags"][packets] & np.uint16(PacketFlags.HIDDEN)) == 0
        times = index.packets["pts"][packets]
        if index.order is not None:
            place = np.full(len(index.packets), -1, dtype=np.int64)
            place[index.order] = np.arange(len(index.order))
            times = place[packets]
            shown &= times >= 0
        places = np.flatnonzero(shown)
        places = places[np.argsort(times[places], kind="stable")]
        self._packets: list[int] = packets[places].tolist()
        """Packets with frames, in presentation order."""
        self._ranks = np.full(len(packets), -1)
        """Rank of each packet of the run in that order; -1 for a hidden one."""
        self._ranks[places] = np.arange(len(places))
        # Leading frames, shown before the keyframe that the run begins with: decoders may drop
        # them, and may output the keyframe before they are fed. This run never wants them.
        self._first = max(int(self._ranks[0]), 0)
        self.last_leading = max(self._packets[: self._first], default=-1)
        """Last packet of a leading frame."""
        self._name = index.name
        self._number = number % (1 << _RUN_BITS)
        self._fed: list[int] = []  # ranks of frames that are not output yet, ascending

    def feed(self, packets: NDArray[np.int64]) -> int:
        """Record that packets are fed to the decoder; returns the timestamp for their call.

        It matches no frame if the first of them is hidden.
        """
        ranks = self._ranks[np.searchsorted(self._all, packets)]
        self._fed += ranks[ranks >= self._first].tolist()
        self._fed.sort()
        rank = int(ranks[0]) if ranks[0] >= 0 else len(self._packets)
        return (self._number << _RANK_BITS | rank) << _ROOM_BITS

    def identify(self, timestamps: list[int]) -> list[int]:
        """Packets of the next output frames: by timestamps that are ours, else the next in order.

        A frame may have the timestamp of an earlier packet, if it is shown again, or of a hidden
        one. -1 for a leading frame, which is not wanted.

        Raises:
            DecodeError: an earlier frame is missing, so that frames since the last timestamp may
                have been mapped to wrong packets.
        """
        fed, first, place = self._fed, self._first, 0
        found = []
        for timestamp in timestamps:
            tag, is_interpolated = timestamp >> _ROOM_BITS, timestamp & _ROOM
            rank = tag & _RANK
            if tag >> _RANK_BITS != self._number or place == len(fed):
                found.append(-1)
                continue
            if not is_interpolated:
                if rank < first:
                    found.append(-1)
                    continue
                if fed[place] != rank and rank in fed[place:]:
                    self._fail(place)
            found.append(self._packets[fed[place]])
            place += 1
        del fed[:place]
        return found

    def finish(self) -> None:
        """Check that no frame is missing."""
        if self._fed:
            self._fail(0)

    def _fail(self, place: int) -> NoReturn:
        packet = self._packets[self._fed[place]]
        raise DecodeError(f"{self._name}: NVDEC gave no frame for packet {packet}")
