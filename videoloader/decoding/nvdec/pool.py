"""Decode plans on NVDEC: our own packets into long-lived hardware sessions.

A session decodes on one engine, so runs are independent jobs for threads, twice as many as there
are engines: while one session hands its frames over, another keeps the engine busy. One kernel
launch converts all wanted surfaces that a call gave.

Sessions stay when their run is over, for later streams. A fresh decoder takes 57 ms to its first
picture, one that changes its size 6 ms, one that does not 2 ms, and the first two of these do not
overlap with those of other sessions. So a stream of a new size takes a session of another size;
where the size comes again and all sessions of it are busy, it gets one more.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.nvdec.convert import Converter, pinned_table
from videoloader.decoding.nvdec.feeder import Feeder, HardwareDecoder
from videoloader.decoding.nvdec.hardware import (
    MAX_CALL_BYTES,
    DecoderKind,
    StreamNeeds,
    capabilities,
    decoder_kind,
    gpu_memory,
    stream_needs,
    surface_shape,
)
from videoloader.decoding.switches import quick_switches
from videoloader.decoding.work import NoteWork, Work
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Run
from videoloader.sources.source import Source

__all__ = ["NvdecJob", "NvdecPool", "Stats"]

MakeSlots: TypeAlias = Callable[[int], NDArray[Any]]

_THREADS_PER_ENGINE = 2
_TABLE_ROWS = 512
_LEAST_MEMORY, _MEMORY_SHARE = 1 << 30, 16
_MOST_SESSIONS = 240  # a process gets about 280 decoders
_MOST_MISSED = 10_000


@dataclass(slots=True, eq=False)
class NvdecJob:
    """One run of one video, and where its frames go.

    Attributes:
        index: of the video.
        source: its bytes.
        run: what to decode.
        targets: rows that the converter takes, complete but for the addresses of the surface.
        places: for each wanted packet, which of the rows take its frame.
        converter: fills the slots, which nothing else works on.
        piece: bytes of surfaces that one call may give back at most.
        note: is told of the work when it is done.
    """

    index: VideoIndex
    source: Source
    run: Run
    targets: NDArray[Any]
    places: dict[int, slice]
    converter: Converter
    piece: int = MAX_CALL_BYTES
    note: NoteWork | None = None

    def kind(self, gpu: int) -> DecoderKind:
        """The kind of decoder that the job needs on a GPU."""
        return decoder_kind(self.index, gpu)

    @property
    def needs(self) -> StreamNeeds:
        """What the stream needs of a decoder of that kind."""
        return stream_needs(self.index, int(self.run.packets[0]))


@dataclass(slots=True)
class Stats:
    """Counters of a pool: packets fed, frames decoded, surfaces converted, decoders made."""

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

    def counts(self) -> dict[str, int]:
        """All counts by name."""
        with self.lock:
            return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "lock"}


class NvdecPool:
    """Long-lived NVDEC sessions of one GPU, for streams of many sizes and codecs.

    Threads may share a pool.

    Args:
        gpu: number of the device.
        threads: runs that are decoded at a time; twice the engines of the GPU by default. Streams
            that are being read have a session each besides, while they last.
        memory: bytes of GPU memory that idle sessions and busy ones may take in all, as far as can
            be told; the busy ones may exceed it. A 16th of the GPU's by default, 1 GiB at least.
    """

    def __init__(self, gpu: int, *, threads: int | None = None, memory: int | None = None) -> None:
        if threads is None:
            found = capabilities(gpu, "h264", "420", 8)
            threads = _THREADS_PER_ENGINE * (found.engines if found else 1)
        if memory is None:
            memory = max(_LEAST_MEMORY, gpu_memory(gpu) // _MEMORY_SHARE)
        self.gpu = gpu
        self.stats = Stats()
        self._memory = memory
        self._used, self._count = 0, 0  # bytes and number of all sessions
        self._idle: list[_Session] = []  # least recently used first
        self._missed: set[tuple[DecoderKind, tuple[int, int]]] = set()
        self._lock = threading.RLock()  # an iterator may be collected, and give back, within it
        self._prefix = f"nvdec-{gpu}"
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=self._prefix)

    @property
    def sessions(self) -> int:
        """Sessions that are open, idle or busy."""
        return self._count

    def submit(self, job: NvdecJob) -> Future[Any]:
        """Decode a job when a session is free; those submitted first come first.

        Returns:
            What becomes a CUDA event, after which the slots are filled; jobs of one session have
            the same. It raises `UnsupportedError` where the GPU does not decode the stream after
            all, `DecodeError` where frames are missing, `SourceError` where the file cannot be
            read. Nothing writes into the slots any more then.
        """
        return self._threads.submit(self._decode, job)

    def read(self, job: NvdecJob, make_slots: MakeSlots, most: int) -> Iterator[None]:
        """Decode a run of which all frames are wanted, one piece ahead of what is taken.

        Args:
            job: what to decode; it needs no targets.
            make_slots: called with a number of frames, in another thread: gives rows for the
                converter, the slots of which may be written at once.
            most: frames of a piece; all pieces have as many, but for the last.

        Yields:
            When the slots of a piece are filled, in presentation order. Errors as of `submit`.
        """
        with quick_switches():
            yield from self._read(job, make_slots, most)

    def _read(self, job: NvdecJob, make_slots: MakeSlots, most: int) -> Iterator[None]:
        session = self._take(job)
        pieces = session.pieces(job, make_slots, most)

        def step() -> bool:
            return next(pieces, False)

        ahead = self._threads.submit(step)
        try:
            while ahead.result():
                ahead = self._threads.submit(step)
                yield
        finally:
            ahead.cancel()
            over = threading.Event()

            def finish(_: Future[Any]) -> None:
                try:
                    pieces.close()
                    self._give_back(session)
                finally:
                    over.set()

            ahead.add_done_callback(finish)
            # The garbage collector may be what ends this, in the very thread that would be waited
            # for; `pieces` holds what is written into until then.
            if not threading.current_thread().name.startswith(self._prefix):
                over.wait()

    def close(self) -> None:
        """Finish what is submitted and let go of the decoders."""
        self._threads.shutdown()
        _close(self._idle)
        self._idle.clear()

    def _decode(self, job: NvdecJob) -> Any:
        session = self._take(job)
        try:
            with quick_switches():
                return session.decode(job)
        finally:
            self._give_back(session)

    def _take(self, job: NvdecJob) -> _Session:
        """A session for a job: an idle one that fits, or a new one."""
        kind, needs = job.kind(self.gpu), job.needs
        with self._lock:
            session = self._fitting(kind, needs)
            if session is not None:
                self._idle.remove(session)
                return session
            self._count_session(kind.memory(needs))
            dropped = self._excess()
        _close(dropped)
        try:
            return _Session(kind, needs, self.gpu, self.stats)
        except BaseException:
            with self._lock:
                self._count_session(kind.memory(needs), -1)
            raise

    def _fitting(self, kind: DecoderKind, needs: StreamNeeds) -> _Session | None:
        """The idle session that loses least if it takes a stream; None if a new one is better."""
        fitting = [
            (session.decoder.room.excess(needs), session)
            for session in self._idle
            if session.decoder.kind == kind and session.decoder.room.fits(needs)
        ]
        if not fitting:
            return None
        # Of equals the one that has been idle for longest, so that sizes that are frequent stay.
        excess, session = min(fitting, key=operator.itemgetter(0))
        if excess.is_other_size:
            is_known = (kind, needs.size) in self._missed
            if is_known and self._keeps_limits(kind.memory(needs), sessions=1):
                return None
            if len(self._missed) == _MOST_MISSED:
                self._missed.clear()
            self._missed.add((kind, needs.size))
        return session

    def _keeps_limits(self, memory: int = 0, sessions: int = 0) -> bool:
        """Whether the sessions, and so many more, keep within what they may take in all."""
        count = self._count + sessions
        return self._used + memory <= self._memory and count <= _MOST_SESSIONS

    def _count_session(self, memory: int, more: int = 1) -> None:
        self._used += more * memory
        self._count += more

    def _give_back(self, session: _Session) -> None:
        with self._lock:
            if session.is_between_runs:
                self._idle.append(session)
                dropped = self._excess()
            else:  # after an error, or where a run was left, the state of its decoder is undefined
                self._count_session(session.decoder.memory, -1)
                dropped = [session]
        _close(dropped)

    def _excess(self) -> list[_Session]:
        """Idle sessions that are to go so that the others keep within the memory."""
        dropped = []
        while self._idle and not self._keeps_limits():
            session = self._idle.pop(0)
            self._count_session(session.decoder.memory, -1)
            dropped.append(session)
        return dropped


class _Session:
    """A decoder, the CUDA stream on which it gives frames, and the table of what is converted.

    For one thread at a time.

    Args:
        kind: of the decoder.
        needs: of the first stream.
        gpu: number of the device.
        stats: of the pool.
    """

    def __init__(self, kind: DecoderKind, needs: StreamNeeds, gpu: int, stats: Stats) -> None:
        import cupy

        self._cuda: Any = cupy.cuda
        self._gpu = gpu
        self._stats = stats
        with self._cuda.Device(gpu):  # restored afterwards, since this may be the caller's thread
            self._stream = self._cuda.Stream(non_blocking=True)
            self._filled = self._cuda.Event(disable_timing=True)
            self._table = pinned_table(_TABLE_ROWS)
            self.decoder = HardwareDecoder(kind, needs, gpu, self._stream.ptr)
        self._row = 0
        self._surfaces = 0
        self.is_between_runs = True
        """Whether its decoder has given all frames of what it was fed."""
        stats.add(decoders=1)

    def close(self) -> None:
        """Wait for queued conversions, which read the surfaces and the table."""
        self._stream.synchronize()

    # Every CuPy call into CUDA releases the interpreter lock and has to get it back, which is slow
    # beside a busy Python thread. So a call to the decoder makes none, and a run records one event.

    def decode(self, job: NvdecJob) -> Any:
        """Decode a run; an event behind the last conversion."""
        with self._translating(job.index):
            tiles = int(job.targets["tiles"].max())
            for frames in self._frames(job):
                self._convert(frames, tiles, job)
        self._filled.record(self._stream)
        return self._filled

    def pieces(
        self, job: NvdecJob, make_slots: MakeSlots, most: int
    ) -> Generator[Literal[True], None, None]:
        """Decode a run; stops when the frames of a piece are in their slots."""
        left = len(job.run.frames)
        slots: NDArray[Any] = np.empty(0)
        filled, tiles = 0, 0
        with self._translating(job.index):
            for frames in self._frames(job):
                while frames:
                    if filled == len(slots):
                        slots, filled = make_slots(min(most, left)), 0
                        tiles = int(slots["tiles"].max())
                    some, frames = frames[: len(slots) - filled], frames[len(slots) - filled :]
                    addresses = self._addresses(some, job.index)
                    rows = slots[filled : filled + len(some)]
                    self._launch(rows, addresses, tiles, job.converter)
                    filled += len(some)
                    left -= len(some)
                    if filled == len(slots):
                        self._stream.synchronize()
                        yield True
                        self._cuda.Device(self._gpu).use()  # each piece may run on another thread

    def _frames(self, job: NvdecJob) -> Generator[list[tuple[int, Any]], None, None]:
        """Decode a run; yields the wanted frames of each call with their packets."""
        self._cuda.Device(self._gpu).use()
        self.is_between_runs = False
        begin = time.perf_counter()
        self.decoder.begin(job.index, job.needs)
        before = self._surfaces
        feeder = Feeder(self.decoder, job.index, job.source, job.run, piece=job.piece)
        yield from filter(None, feeder)
        self._stats.add(
            packets=feeder.packets, frames=feeder.frames, surfaces=self._surfaces - before
        )
        if job.note is not None:
            seconds = time.perf_counter() - begin
            used = len(job.run.frame_packets)
            job.note(Work(feeder.packets, feeder.bytes, feeder.frames, used, seconds))
        self.is_between_runs = True

    @contextmanager
    def _translating(self, index: VideoIndex) -> Iterator[None]:
        """Translate errors of the library, after everything queued for the slots is done."""
        try:
            yield
        except Exception as error:
            self._stream.synchronize()
            if (translated := _translated(error, index)) is error:
                raise
            raise translated from error

    def _convert(self, frames: list[tuple[int, Any]], tiles: int, job: NvdecJob) -> None:
        """Convert the wanted surfaces that one call gave, by one launch if the table has room."""
        places = [job.places[packet] for packet, _ in frames]
        counts = [place.stop - place.start for place in places]
        surfaces = np.repeat(self._addresses(frames, job.index), counts)
        chosen = np.concatenate([np.arange(place.start, place.stop) for place in places])
        for begin in range(0, len(chosen), _TABLE_ROWS):
            some = slice(begin, begin + _TABLE_ROWS)
            self._launch(job.targets[chosen[some]], surfaces[some], tiles, job.converter)

    def _addresses(self, frames: list[tuple[int, Any]], index: VideoIndex) -> NDArray[np.int64]:
        """GPU addresses of surfaces."""
        shape = surface_shape(index)
        for packet, frame in frames:
            if tuple(frame.shape) != shape:
                raise UnsupportedError(
                    f"{index.name}: packet {packet} became a surface of {tuple(frame.shape)}, "
                    f"expected {shape}; the picture is cropped or changes its size"
                )
        return np.array([frame.GetPtrToPlane(0) for _, frame in frames])

    def _launch(
        self, rows: NDArray[Any], surfaces: NDArray[np.int64], tiles: int, converter: Converter
    ) -> None:
        if self._row + len(rows) > _TABLE_ROWS:
            self._stream.synchronize()  # the rows are read by the GPU until then
            self._row = 0
        filled = self._table[self._row : self._row + len(rows)]
        filled[:] = rows
        filled["luma"] = surfaces
        self._row += len(rows)
        converter.launch(filled, self._stream, tiles)
        self._surfaces += len(rows)


def _close(sessions: Sequence[_Session]) -> None:
    for session in sessions:
        session.close()


def _translated(error: Exception, index: VideoIndex) -> Exception:
    """The `VideoError` that stands for an error of the library."""
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
