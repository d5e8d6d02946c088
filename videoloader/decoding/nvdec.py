"""Decode plans on NVDEC: our own packets into long-lived hardware sessions.

A session decodes on one engine, so runs are independent jobs for a pool of sessions, twice as
many as there are engines: while one session hands its frames over, another keeps the engine busy.
Every `Decode` call carries many packets, and one kernel launch converts all wanted surfaces that
it gave, since each return to Python waits for the interpreter lock.

Packets bear the rank of their frame in presentation order as timestamp. The parser gives it back
with the frame of the first packet of a call and interpolates the others, so frames are counted
between the timestamps that are ours and identified by them.
"""

from __future__ import annotations

import heapq
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.convert import Converter, pinned_table
from videoloader.decoding.elementary import ElementaryStream
from videoloader.decoding.feed import PacketFeed
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.indexing.source import Source
from videoloader.sampling import Run

__all__ = ["Capabilities", "NvdecJob", "NvdecPool", "Stats", "obstacle"]

# FFmpeg's names of codecs and NVDEC's. Not JPEG: on an H200, 2 of 90 pictures came out wrong.
_CODECS = {
    "av1": "AV1",
    "h264": "H264",
    "hevc": "HEVC",
    "mpeg1video": "MPEG1",
    "mpeg2video": "MPEG2",
    "mpeg4": "MPEG4",
    "vp8": "VP8",
    "vp9": "VP9",
}
_CHROMA = {"yuv420p": "420", "yuvj420p": "420", "yuv444p": "444", "yuvj444p": "444"}

_SESSIONS_PER_ENGINE = 2
_CHUNK_BYTES = 48 << 20  # of surfaces that one call may give back; 16 pictures of 1080p
_MAX_CHUNK = 32  # packets a call; more gain nothing
_READ_AHEAD = 128  # packets read from the file at a time
_TABLE_ROWS = 4096
# A timestamp is the number of the run, the rank of a frame in it, and room for what the parser
# interpolates from there.
_RUN_BITS, _RANK_BITS, _ROOM_BITS = 14, 26, 22

# Decoders are made for the next size up, so that videos of many sizes share them; where
# `ElementaryStream` sees that a stream changes its size on the way, which they would hide.
_SHARED = {"h264", "hevc"}
_SIDES = (256, 480, 864, 1280, 1920, 2560, 4096, 8192, 16384)
_SURFACES = 16  # that a decoder is taken to hold, for the memory budget
_MEMORY = 2 << 30


class Capabilities(NamedTuple):
    """What a GPU decodes of one codec, chroma format and bit depth: sides in pixels."""

    engines: int
    least: tuple[int, int]
    most: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class NvdecJob:
    """One run of one video, and where its frames go.

    Attributes:
        index: of the video.
        source: its bytes.
        run: what to decode.
        targets: rows that the converter takes, complete but for the addresses of the surface.
        places: for each wanted packet, which of the rows take its frame.
        converter: fills the slots.
        ready: CUDA event after which the slots may be written.
    """

    index: VideoIndex
    source: Source
    run: Run
    targets: NDArray[Any]
    places: dict[int, slice]
    converter: Converter
    ready: Any


@dataclass(slots=True)
class Stats:
    """What a pool has done so far: packets fed, frames given, surfaces converted, decoders made."""

    packets: int = 0
    frames: int = 0
    surfaces: int = 0
    decoders: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(
        self, *, packets: int = 0, frames: int = 0, surfaces: int = 0, decoders: int = 0
    ) -> None:
        """Count packets fed, frames given, surfaces converted and decoders made."""
        with self.lock:
            self.packets += packets
            self.frames += frames
            self.surfaces += surfaces
            self.decoders += decoders


@cache
def capabilities(gpu: int, codec: str, chroma: str, bit_depth: int) -> Capabilities | None:
    """What a GPU decodes of a codec (FFmpeg's name), None if nothing."""
    nvc = _library()
    found = nvc.GetDecoderCaps(
        gpu,
        getattr(nvc.cudaVideoCodec, _CODECS[codec]),
        getattr(nvc.cudaVideoChromaFormat, chroma),
        bit_depth,
    )
    if not found["supported"]:
        return None
    return Capabilities(
        max(found["num_decoder_engines"], 1),
        (found["height_min"], found["width_min"]),
        (found["height_max"], found["width_max"]),
    )


def obstacle(index: VideoIndex, gpu: int) -> str | None:
    """Why a GPU does not decode a video; None if it does, as far as the index tells."""
    picture = f"{index.width}x{index.height} {index.pixel_format}"
    if index.codec not in _CODECS or index.pixel_format is None:
        return f"NVDEC does not decode {index.codec} ({picture})"
    chroma, depth = _format(index)
    found = capabilities(gpu, index.codec, chroma, depth) if chroma else None
    if found is None:
        return f"this GPU does not decode {index.codec} of {index.pixel_format}"
    sides = (index.height, index.width)
    fits = (
        low <= side <= high for low, side, high in zip(found.least, sides, found.most, strict=True)
    )
    if not all(fits):
        return f"this GPU decodes {index.codec} from {found.least} to {found.most}, not {sides}"
    if chroma == "420" and (index.width % 2 or index.height % 2):
        return f"NVDEC cuts chroma of odd sizes ({picture})"
    if index.packing == "demuxed":
        return "its packets are put together by a demuxer"
    return None


class NvdecPool:
    """Long-lived NVDEC sessions of one GPU, each with a thread, a CUDA stream and its decoders.

    Threads may share a pool.

    Args:
        gpu: number of the device.
        sessions: how many; twice the engines of the GPU by default.
        memory: bytes of GPU memory that decoders may take in all, as far as can be told.
    """

    def __init__(self, gpu: int, *, sessions: int | None = None, memory: int = _MEMORY) -> None:
        if sessions is None:
            found = capabilities(gpu, "h264", "420", 8)
            sessions = _SESSIONS_PER_ENGINE * (found.engines if found else 1)
        self.gpu = gpu
        self.stats = Stats()
        self._budget = memory // sessions
        self._local = threading.local()
        self._switches = _QuickSwitches()
        self._threads = ThreadPoolExecutor(sessions, thread_name_prefix=f"nvdec-{gpu}")

    def submit(self, jobs: Sequence[NvdecJob]) -> list[Future[Any]]:
        """Decode jobs, the longest first.

        Returns:
            For each job what becomes a CUDA event, after which its slots are filled. It raises
            `UnsupportedError` where the GPU does not decode the stream after all, `DecodeError`
            where frames are missing, `SourceError` where the file cannot be read. Nothing writes
            into the slots any more then.
        """
        order = sorted(range(len(jobs)), key=lambda number: -len(jobs[number].run.packets))
        futures = {number: self._threads.submit(self._decode, jobs[number]) for number in order}
        return [futures[number] for number in range(len(jobs))]

    def close(self) -> None:
        """Finish what is submitted and let go of the decoders."""
        self._threads.shutdown()

    def _decode(self, job: NvdecJob) -> Any:
        session = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = _Session(self.gpu, self.stats, self._budget)
        with self._switches:
            return session.decode(job)


class _QuickSwitches:
    """While it is entered, a thread that waits for the interpreter gets it ten times sooner.

    A thread that never leaves Python, as training loops do, keeps it for 5 ms otherwise, which is
    longer than an engine takes for a call. The interval belongs to the whole interpreter; it is
    put back when the last one leaves.
    """

    _interval = 5e-4
    _lock = threading.Lock()
    _inside = 0
    _before = 0.0

    def __enter__(self) -> None:
        kind = type(self)
        with kind._lock:
            if kind._inside == 0:
                kind._before = sys.getswitchinterval()
                sys.setswitchinterval(min(kind._before, kind._interval))
            kind._inside += 1

    def __exit__(self, *error: object) -> None:
        kind = type(self)
        with kind._lock:
            kind._inside -= 1
            if kind._inside == 0:
                sys.setswitchinterval(kind._before)


class _Session:
    """What one thread of a pool owns."""

    def __init__(self, gpu: int, stats: Stats, budget: int) -> None:
        import cupy

        cupy.cuda.Device(gpu).use()
        self._gpu = gpu
        self._stats = stats
        self._budget = budget
        self._stream: Any = cupy.cuda.Stream(non_blocking=True)
        self._table = pinned_table(_TABLE_ROWS)
        self._row = 0
        self._decoders: OrderedDict[_Kind, _Decoder] = OrderedDict()
        self._event = lambda: cupy.cuda.Event(disable_timing=True)

    def decode(self, job: NvdecJob) -> Any:
        """Decode a run; an event behind the last conversion."""
        self._stream.wait_event(job.ready)
        kind = _kind(job.index, self._gpu)
        # Out of the list while it works: after an error, what it holds is anybody's guess.
        decoder = self._decoders.pop(kind, None) or self._make(kind)
        try:
            decoder.begin(job.index)
            for frames in _Feeder(decoder, job, self._stats):
                self._convert(frames, job)
        except Exception as error:
            self._stream.synchronize()  # nothing writes into the slots any more
            raise _translated(error, job.index) from error
        self._decoders[kind] = decoder
        event = self._event()
        event.record(self._stream)
        return event

    def _make(self, kind: _Kind) -> _Decoder:
        """A new decoder, in place of those least recently used where memory is short."""
        while self._decoders and sum(k.memory for k in self._decoders) + kind.memory > self._budget:
            self._decoders.popitem(last=False)
        self._stats.add(decoders=1)
        return _Decoder(kind, self._gpu, self._stream.ptr)

    def _convert(self, frames: list[tuple[int, Any]], job: NvdecJob) -> None:
        """Launch the conversion of the wanted surfaces that one call gave."""
        first = self._row
        shape = _surface_shape(job.index)
        for packet, frame in frames:
            if tuple(frame.shape) != shape:
                raise UnsupportedError(
                    f"{job.index.name}: packet {packet} became a surface of {tuple(frame.shape)}, "
                    f"expected {shape}; the picture is cropped or changes its size"
                )
            rows = job.targets[job.places[packet]]
            if self._row + len(rows) > _TABLE_ROWS:
                first = self._restart(first, job)
            filled = self._table[self._row : self._row + len(rows)]
            filled[:] = rows
            filled["luma"] = frame.GetPtrToPlane(0)
            self._row += len(rows)
        self._launch(first, job)

    def _restart(self, first: int, job: NvdecJob) -> int:
        self._launch(first, job)
        self._stream.synchronize()  # the rows are read by the GPU until then
        self._row = 0
        return 0

    def _launch(self, first: int, job: NvdecJob) -> None:
        count = self._row - first
        if count:
            job.converter.launch(self._table[first:], count, self._stream)
            self._stats.add(surfaces=count)


class _Decoder:
    """A decoder of the library, for one stream after another."""

    def __init__(self, kind: _Kind, gpu: int, stream: int) -> None:
        nvc = _library()
        self._packet = nvc.PacketData
        self._decoder = nvc.CreateDecoder(
            gpuid=gpu,
            codec=getattr(nvc.cudaVideoCodec, _CODECS[kind.codec]),
            cudacontext=0,
            cudastream=stream,
            usedevicememory=True,
            maxwidth=kind.width,
            maxheight=kind.height,
        )
        self._size: tuple[int, int] | None = None
        self.runs = 0
        """How many runs it has begun."""

    def begin(self, index: VideoIndex) -> None:
        """Get ready for a run of a video; it must have given all frames of the run before."""
        size = (index.width, index.height)
        if self._size not in (None, size):  # only then: it makes the decoder scale other sizes
            self._decoder.setReconfigParams(*size)
        self._size = size
        self.runs += 1

    def decode(self, data: bytes, tag: int) -> list[Any]:
        """Frames that a stretch of the stream completes; all that are left, if it is empty.

        They are good until the next call.
        """
        packet = self._packet()
        memory = np.frombuffer(data, dtype=np.uint8)
        packet.bsl_data = memory.ctypes.data if len(data) else 0
        packet.bsl = len(data)
        packet.pts = tag
        frames: list[Any] = self._decoder.Decode(packet)
        return frames


class _Feeder:
    """Feeds a run to a decoder; gives the wanted frames of each call with their packets."""

    def __init__(self, decoder: _Decoder, job: NvdecJob, stats: Stats) -> None:
        self._decoder = decoder
        self._job = job
        self._stats = stats
        self._stream = ElementaryStream(job.index)
        self._order = _ShownOrder(job.index, job.run, decoder.runs)

    def __iter__(self) -> Iterator[list[tuple[int, Any]]]:
        missing = set(self._job.places)
        fed = given = 0
        for packets, payloads in self._chunks():
            self._order.feed(packets)
            fed += len(packets)
            head = b"" if fed > len(packets) else self._stream.head(int(packets[0]))
            data = head + self._stream.join(payloads)
            frames = self._decoder.decode(data, self._order.tag(int(packets[0])))
            given += len(frames)
            yield self._wanted(frames, missing)
        frames = self._decoder.decode(b"", 0)
        given += len(frames)
        yield self._wanted(frames, missing)
        self._stats.add(packets=fed, frames=given)
        if missing:
            packet = min(missing)
            raise DecodeError(
                f"{self._job.index.name}: NVDEC gave {given} frames for {fed} packets, and none "
                f"for packet {packet}"
            )

    def _chunks(self) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
        """As many packets as one call may carry."""
        job = self._job
        most = max(1, min(_MAX_CHUNK, _CHUNK_BYTES // _surface_bytes(job.index)))
        feed = PacketFeed(job.index, job.source)
        try:
            for packets, payloads in feed.chunks(job.run, _READ_AHEAD):
                start = 0
                while start < len(packets):
                    alone = not self._stream.is_delimited
                    alone |= int(packets[start]) <= self._order.last_leading
                    count = 1 if alone else most
                    yield packets[start : start + count], payloads[start : start + count]
                    start += count
        finally:
            feed.close()

    def _wanted(self, frames: list[Any], missing: set[int]) -> list[tuple[int, Any]]:
        found = []
        for frame in frames:
            packet = self._order.identify(frame.timestamp)
            if packet is not None and packet in missing:
                missing.remove(packet)
                found.append((packet, frame))
        return found


class _ShownOrder:
    """Which packet a frame comes from: frames come in presentation order."""

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
        """Packets that become frames, as they are shown."""
        self._rank = {packet: rank for rank, packet in enumerate(self._packets.tolist())}
        first = self._rank.get(int(packets[0]), 0)
        self.last_leading = max(self._packets[:first].tolist(), default=-1)
        """Last packet whose frame is shown before the first one's; decoders may drop those."""
        self._number = number % (1 << _RUN_BITS)
        self._fed: list[int] = []

    def tag(self, packet: int) -> int:
        """Timestamp for a call that begins with a packet; of one that is not shown, no frame's."""
        rank = self._rank.get(packet, len(self._rank))
        return (self._number << _RANK_BITS | rank) << _ROOM_BITS

    def feed(self, packets: NDArray[np.int64]) -> None:
        """Note that packets go into the decoder."""
        for packet in packets.tolist():
            if packet in self._rank:
                heapq.heappush(self._fed, self._rank[packet])

    def identify(self, timestamp: int) -> int | None:
        """Packet of the next frame: the one of its timestamp, or the next in order.

        A frame may bear the timestamp of a packet that was given before, where it is shown again,
        or of a hidden one. None for a frame of no packet of this run.
        """
        tag, between = divmod(timestamp, 1 << _ROOM_BITS)
        number, rank = divmod(tag, 1 << _RANK_BITS)
        if number != self._number or not self._fed:
            return None
        if not between and rank in self._fed:
            # Frames in front of one that bears its own timestamp will not come any more.
            while self._fed[0] < rank:
                heapq.heappop(self._fed)
        return int(self._packets[heapq.heappop(self._fed)])


class _Kind(NamedTuple):
    """What a decoder is made for."""

    codec: str
    chroma: str
    depth: int
    width: int
    height: int

    @property
    def memory(self) -> int:
        """Bytes on the GPU, roughly."""
        samples = self.width * self.height * (3 if self.chroma == "444" else 1.5)
        return math.ceil(samples) * (2 if self.depth > 8 else 1) * _SURFACES + _CHUNK_BYTES


def _kind(index: VideoIndex, gpu: int) -> _Kind:
    chroma, depth = _format(index)
    found = capabilities(gpu, index.codec, chroma, depth)
    if found is None:
        raise UnsupportedError(f'{index.name}: {obstacle(index, gpu)}; use device="cpu"')
    height, width = index.height, index.width
    if index.codec in _SHARED:
        height, width = (
            min(next(step for step in _SIDES if step >= side), most)
            for side, most in zip((height, width), found.most, strict=True)
        )
    return _Kind(index.codec, chroma, depth, width, height)


def _format(index: VideoIndex) -> tuple[str, int]:
    """Chroma format and bits a sample; no chroma format for what NVDEC has none for."""
    name = index.pixel_format or ""
    base = name.split("p1")[0] + "p" if "p1" in name else name
    return _CHROMA.get(base, ""), index.bit_depth or 8


def _surface_shape(index: VideoIndex) -> tuple[int, int]:
    rows = 3 * index.height
    return (rows if _format(index)[0] == "444" else rows // 2, index.width)


def _surface_bytes(index: VideoIndex) -> int:
    rows, columns = _surface_shape(index)
    return rows * columns * (2 if _format(index)[1] > 8 else 1)


def _translated(error: Exception, index: VideoIndex) -> Exception:
    """An error of ours for one of the library's."""
    if isinstance(error, UnsupportedError | DecodeError | OSError):
        return error
    kind = type(error).__name__
    if kind == "PyNvVCExceptionUnsupported":
        return UnsupportedError(f"{index.name}: NVDEC does not decode this {index.codec} stream")
    if kind.startswith("PyNvVC"):
        reason = " ".join(str(error).split())
        return UnsupportedError(
            f"{index.name}: NVDEC fails on this {index.codec} stream ({reason})"
        )
    return error


@cache
def _library() -> Any:
    """PyNvVideoCodec, which needs the driver's libraries to be imported."""
    try:
        import PyNvVideoCodec
    except ImportError as error:
        raise UnsupportedError(
            f'decoding on a GPU needs PyNvVideoCodec; install "videoloader[cuda]" ({error})'
        ) from error
    return PyNvVideoCodec
