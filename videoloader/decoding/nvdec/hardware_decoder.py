"""Feeds runs to NVDEC decoders: packets in, wanted frames out, each with its packet number.

A call takes many packets, since each return to Python waits for the interpreter lock. The
timestamp of a call is the rank of its first packet's frame in presentation order. The parser
returns it with the frame of that packet and interpolates timestamps for the other packets. So
frames are identified by the original timestamps, and counted in between.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from ctypes import c_char_p, c_void_p
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.cpu.forward import Place
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
from videoloader.decoding.packets.feed import DecoderCounts, PacketFeed
from videoloader.decoding.packets.preamble import has_film_grain
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags
from videoloader.indexing.payloads import Packets
from videoloader.sampling.plan import Run, plan_run
from videoloader.sources.source import Source

_READ_AHEAD = 256  # packets to read from the file at a time
_SMALL = 640 * 480  # pixels of a picture that NVDEC decodes sooner than Python reads its header
_LEAST_BYTES = 1 << 17  # to read at first where a video is read on
_BEHIND = 48  # packets to feed behind a run; decoders hold back fewer frames
_FIRST = 4  # packets of a call for a single frame, so that it comes soon

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
        self.runs = self.calls = 0
        """Numbers of runs that it has begun, and of calls that fed or flushed it."""

    def begin(self, index: VideoIndex, needs: StreamNeeds) -> None:
        """Prepare for a run of a video; all frames of the previous run must have been output."""
        self.room.take(needs)
        size = (index.width, index.height)
        if self._size not in (None, size):  # else it would enable scaling of other sizes
            self._decoder.setReconfigParams(*size)
        self._size = size
        self.runs += 1

    def decode(self, data: bytes, tag: int) -> list[Any]:
        """Decode a part of the stream; returns the completed frames. Empty `data` flushes.

        The frames are valid until the next call.
        """
        packet = self._packet()
        packet.bsl_data = c_void_p.from_buffer(c_char_p(data)).value if data else 0
        packet.bsl = len(data)
        packet.pts = tag
        self.calls += 1
        frames: list[Any] = self._decoder.Decode(packet)
        return frames


class Feeder:
    """Feeds runs of a video to a decoder; yields the wanted frames of each call with their packets.

    One that reads on leaves the decoder full behind a run, and goes on there with the next one: the
    packets behind the run are fed as far as its frames are held back. Frames of the last call that
    belong to later runs are kept; they are valid as long as no other call is made. The last frame
    of a run begins a call: its timestamp shows that no frame before it is missing. Behind it, calls
    begin where runs of the same length would end, or of multiples of it. A run that ends elsewhere
    may have to begin at its keyframe.

    Args:
        decoder: must have begun the run.
        index: of the video.
        run: the first, or the only one.
        piece: maximum bytes of the surfaces that one call may return.
        reads_on: whether further runs follow, see `leads_to`.
        step: frames that a later run has at least, or a divisor of that.
    """

    def __init__(
        self,
        decoder: HardwareDecoder,
        index: VideoIndex,
        run: Run,
        *,
        piece: int = MAX_CALL_BYTES,
        reads_on: bool = False,
        step: int = 1,
    ) -> None:
        self._decoder = decoder
        self._index = index
        self._most = self._room = max(1, min(MAX_CALL, piece // surface_bytes(index)))
        self._reads_on, self._step = reads_on, step
        self._stream = ElementaryStream(index)
        self._begin = self._next = int(run.packets[0])
        self._end = self._section_end(index) if reads_on else self._begin
        self._sizes = index.packets["size"]
        self._numbers = np.arange(self._begin, self._end)
        packets = self._numbers if reads_on else run.packets
        self._order = _ShownOrder(index, packets, decoder.runs)
        self._last_frame = min(run.frames.tolist()) - 1
        self._last_packet = -1  # of the last frame of a run
        self._begins: list[int] = []  # packets that begin a call
        self._tagged: set[int] = set()  # packets that began a call
        self._held: list[tuple[int, Any]] = []
        self._fetched = Packets.of([])  # packets from `_next` on
        self._budget = _LEAST_BYTES
        self.counts = DecoderCounts()
        self.is_empty = False
        """Whether the decoder has output all frames of the packets fed."""

    @property
    def is_over(self) -> bool:
        """Whether no frame is left for later runs."""
        return self.is_empty and not self._held

    def leads_to(self, run: Run) -> bool:
        """Whether going on to a run is possible, and costs less than beginning at its keyframe.

        Its last frame has to begin a call, which shows that no frame before it is missing.
        """
        _, last = _last(run)
        return (
            self._begin <= run.packets[0]
            and run.packets[-1] < self._end
            and (last >= self._next or last in self._tagged or self.is_empty)
            and Place(self._last_frame, self._next - 1).leads_to(run)
        )

    def feed(self, run: Run, source: Source) -> Iterator[list[tuple[int, Any]]]:
        """Yield the wanted frames of each call, each with its packet.

        Raises:
            UnsupportedError: the hardware would output different pictures for this stream.
            DecodeError: a frame is missing.
            SourceError: the file cannot be read, or has changed since it was indexed.
        """
        before = self._last_frame
        self._last_frame, self._last_packet = _last(run)
        if self._reads_on:
            length = self._last_frame - before
            self._begins = self._order.ends(self._last_packet, max(length, self._step))
            self._most = min(self._room, max(2 * length, _FIRST))
        missing = set(run.frame_packets.tolist())
        yield self._wanted(self._held, missing)
        if self._reads_on and not missing:
            return
        chunks = self._behind(run, source) if self._reads_on else self._run(run, source)
        for packets, data in chunks:
            self.counts.packets += len(packets)
            self.counts.bytes += sum(self._sizes[packets].tolist())
            self._tagged.add(packets[0])
            frames = self._call(data, self._order.feed(packets))
            found = self._wanted(frames, missing)
            if found:
                yield found
            if self._reads_on and not missing:
                return
        if not self._reads_on or self._next == self._end:
            self.is_empty = True
            frames = self._call(b"", 0)
            self._order.finish()
            yield self._wanted(frames, missing)
        if missing:
            raise DecodeError(f"{self._index.name}: NVDEC gave no frame for packet {min(missing)}")

    def _section_end(self, index: VideoIndex) -> int:
        """The first packet behind the beginning that other extradata apply to."""
        setup, end = index.extradata_of(self._begin), len(index.packets)
        for packet, data in reversed(index.extradata):
            if packet > self._begin and data != setup:
                end = packet
        return end

    def _run(self, run: Run, source: Source) -> Iterator[tuple[list[int], bytes]]:
        """Yield packets of a run in chunks for one call each, as `_calls` does."""
        is_small = self._index.width * self._index.height <= _SMALL
        feed = PacketFeed(self._index, source, drop="disposable" if is_small else "unneeded")
        try:
            for packets, payloads in feed.chunks(run, _READ_AHEAD):
                yield from self._calls(packets, payloads)
        finally:
            feed.close()

    def _behind(self, run: Run, source: Source) -> Iterator[tuple[list[int], bytes]]:
        """Yield the packets after the fed ones, up to the last that a run may need, likewise.

        Of the first run, packets that only frames before it need are left out.
        """
        index = self._index
        stop = min(int(run.packets[-1]) + 1 + _BEHIND, self._end)
        if self._next == self._begin and (self._begin or run.frames.min()):
            feed = PacketFeed(index, source)
            first = int(run.frames.min())
            packets = index.frame_packets[first:]
            later = np.flatnonzero((packets >= self._begin) & (packets < stop))
            window = plan_run(index, self._begin, stop - 1, first + later, packets[later])
            for numbers, payloads in feed.chunks(window, _READ_AHEAD, "disposable"):
                for part in self._calls(numbers, payloads):
                    self._next = part[0][-1] + 1
                    yield part
            self._next = stop
        while self._next < stop:
            if not len(self._fetched):
                feed = PacketFeed(index, source)
                sizes = self._sizes[self._next : min(self._next + _READ_AHEAD, self._end)]
                count = int(np.cumsum(sizes, dtype=np.int64).searchsorted(self._budget, "right"))
                self._fetched = feed.read(self._from_next(max(1, count)))
                self._budget = min(2 * self._budget, feed.most_bytes)
            some = self._fetched.some(slice(self._most))
            part = next(self._calls(self._from_next(len(some)), some))
            self._fetched = self._fetched.some(slice(len(part[0]), None))
            self._next += len(part[0])
            yield part

    def _from_next(self, count: int) -> NDArray[np.int64]:
        """Numbers of the next packets."""
        first = self._next - self._begin
        return self._numbers[first : first + count]

    def _calls(
        self, packets: NDArray[np.int64], payloads: Packets
    ) -> Iterator[tuple[list[int], bytes]]:
        """Divide packets into chunks for one call each: their numbers, and that part of the stream.

        Raises:
            UnsupportedError: the hardware would output different pictures for this stream.
        """
        if not self.counts.packets and has_film_grain(self._index, payloads):
            raise UnsupportedError(f"{self._index.name}: NVDEC does not add its film grain")
        numbers = packets.tolist()
        begins, start, last_leading = self._begins, 0, self._order.last_leading
        while start < len(numbers):
            stop = start + (1 if numbers[start] <= last_leading else self._most)
            next_begin = bisect_right(begins, numbers[start])
            if next_begin < len(begins):
                stop = min(stop, bisect_left(numbers, begins[next_begin]))
            part = payloads.some(slice(start, stop))
            stop = start + self._stream.count_joinable(part)
            head = b"" if self.counts.packets else self._stream.head(numbers[start])
            yield numbers[start:stop], self._stream.join(part.some(slice(stop - start)), head)
            start = stop

    def _call(self, data: bytes, tag: int) -> list[tuple[int, Any]]:
        """Make a call; returns the frames with their packets."""
        frames = self._decoder.decode(data, tag)
        self.counts.frames += len(frames)
        packets = self._order.identify([frame.timestamp for frame in frames])
        return list(zip(packets, frames, strict=True))

    def _wanted(self, frames: list[tuple[int, Any]], missing: set[int]) -> list[tuple[int, Any]]:
        """The missing frames of a call; frames after them are held for later runs."""
        found = [pair for pair in frames if pair[0] in missing]
        missing.difference_update([packet for packet, _ in found])
        if not self._reads_on:
            return found
        if missing:
            self._held = []
        else:
            self._order.check(self._last_packet)
            self._held = frames[frames.index(found[-1]) + 1 if found else 0 :]
        return found


class _ShownOrder:
    """Maps output frames, which come in presentation order, to their packets."""

    def __init__(self, index: VideoIndex, packets: NDArray[np.int64], number: int) -> None:
        shown = (index.packets["flags"][packets] & np.uint16(PacketFlags.HIDDEN)) == 0
        times = index.packets["pts"][packets]
        if index.order is not None:
            place = np.full(len(index.packets), -1, dtype=np.int64)
            place[index.order] = np.arange(len(index.order))
            times = place[packets]
            shown &= times >= 0
        shown_packets = packets[shown]
        order = times[shown].argsort(kind="stable")
        self._packets: list[int] = shown_packets[order].tolist()
        """Packets with frames, in presentation order."""
        self._ranks = {packet: rank for rank, packet in enumerate(self._packets)}
        """Rank of each packet of the run in that order, but for hidden ones."""
        # Leading frames, shown before the keyframe that the run begins with: decoders may drop
        # them, and may output the keyframe before they are fed. This run never wants them.
        self._first = self._ranks.get(int(packets[0]), 0)
        self.last_leading = max(self._packets[: self._first], default=-1)
        """Last packet of a leading frame."""
        self._name = index.name
        self._number = number % (1 << _RUN_BITS)
        self._fed: list[int] = []  # ranks of frames that are not output yet, ascending
        self._sure = -1  # rank up to which no frame is missing

    def feed(self, packets: list[int]) -> int:
        """Record that packets are fed to the decoder; returns the timestamp for their call.

        It matches no frame if the first of them is hidden.
        """
        ranks = [self._ranks.get(packet, -1) for packet in packets]
        self._fed += [rank for rank in ranks if rank >= self._first]
        self._fed.sort()
        rank = ranks[0] if ranks[0] >= 0 else len(self._packets)
        return (self._number << _RANK_BITS | rank) << _ROOM_BITS

    def ends(self, last: int, length: int) -> list[int]:
        """Packets with which a call should begin, ascending: there a run ends, or may end.

        Args:
            last: packet of the last frame of the current run.
            length: frames that each later run is expected to have; the last may have fewer.
        """
        first = self._ranks.get(last)
        if first is None:  # other extradata apply to it
            return []
        return sorted({*self._packets[first::length], self._packets[-1]})

    def identify(self, timestamps: list[int]) -> list[int]:
        """Packets of the next output frames: by timestamps that are ours, else the next in order.

        A frame may have the timestamp of an earlier packet, if it is shown again, or of a hidden
        one. -1 for a leading frame, which is not wanted.

        Raises:
            DecodeError: an earlier frame is missing, so that frames since the last timestamp may
                have been mapped to wrong packets.
        """
        fed, first, place = self._fed, self._first, 0
        number, count, packets = self._number, len(self._fed), self._packets
        found = []
        for timestamp in timestamps:
            tag = timestamp >> _ROOM_BITS
            if tag >> _RANK_BITS != number or place == count:
                found.append(-1)
                continue
            if not timestamp & _ROOM:  # not interpolated
                rank = tag & _RANK
                if rank < first:
                    found.append(-1)
                    continue
                if fed[place] != rank and rank in fed[place:]:
                    self._fail(place)
                self._sure = fed[place]
            found.append(packets[fed[place]])
            place += 1
        del fed[:place]
        return found

    def finish(self) -> None:
        """Check that no frame is missing."""
        if self._fed:
            self._fail(0)
        self._sure = len(self._packets)

    def check(self, packet: int) -> None:
        """Check that no frame is missing up to the frame of a packet, the first of a call.

        Raises:
            DecodeError: it came without the timestamp of its call.
        """
        if self._sure < self._ranks[packet]:
            raise DecodeError(
                f"{self._name}: NVDEC gave packet {packet} no timestamp, so that frames before it "
                "may be missing"
            )

    def _fail(self, place: int) -> NoReturn:
        packet = self._packets[self._fed[place]]
        raise DecodeError(f"{self._name}: NVDEC gave no frame for packet {packet}")


def _last(run: Run) -> tuple[int, int]:
    """The last frame of a run, and its packet."""
    # Lists, not arrays: a NumPy call in a thread that was just woken takes 10 to 20 us.
    return max(zip(run.frames.tolist(), run.frame_packets.tolist(), strict=True))
