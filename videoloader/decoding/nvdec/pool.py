"""Decode plans on NVDEC: our own packets into long-lived hardware sessions.

A session decodes on one engine, so runs are independent jobs for a pool of sessions, twice as
many as there are engines: while one session hands its frames over, another keeps the engine busy.
One kernel launch converts all wanted surfaces that a call gave.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
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
    stream_needs,
    surface_shape,
)
from videoloader.decoding.switches import quick_switches
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Run
from videoloader.sources.source import Source

__all__ = ["NvdecJob", "NvdecPool", "Stats"]

MakeSlots: TypeAlias = Callable[[int], NDArray[Any]]

_SESSIONS_PER_ENGINE = 2
_TABLE_ROWS = 4096
_MEMORY = 2 << 30


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
    """

    index: VideoIndex
    source: Source
    run: Run
    targets: NDArray[Any]
    places: dict[int, slice]
    converter: Converter
    piece: int = MAX_CALL_BYTES

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
    """Long-lived NVDEC sessions of one GPU, each with a CUDA stream and its decoders.

    Threads may share a pool.

    Args:
        gpu: number of the device.
        sessions: how many work at a time; twice the engines of the GPU by default. Streams that
            are being read have one each besides, while they last.
        memory: bytes of GPU memory that decoders may take in all, as far as can be told.
    """

    def __init__(self, gpu: int, *, sessions: int | None = None, memory: int = _MEMORY) -> None:
        if sessions is None:
            found = capabilities(gpu, "h264", "420", 8)
            sessions = _SESSIONS_PER_ENGINE * (found.engines if found else 1)
        self.gpu = gpu
        self._most = sessions
        self.stats = Stats()
        self._budget = memory // sessions
        self._made = 0
        self._idle: list[_Session] = []
        self._lock = threading.RLock()  # an iterator may be collected, and give back, within it
        self._prefix = f"nvdec-{gpu}"
        self._threads = ThreadPoolExecutor(sessions, thread_name_prefix=self._prefix)

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
        while self._idle:
            self._idle.pop().close()

    def _decode(self, job: NvdecJob) -> Any:
        session = self._take(job)
        try:
            with quick_switches():
                return session.decode(job)
        finally:
            self._give_back(session)

    def _take(self, job: NvdecJob) -> _Session:
        """An idle session, if possible one that has a decoder for a job."""
        kind, needs = job.kind(self.gpu), job.needs
        with self._lock:
            fitting = [session for session in self._idle if session.find(kind, needs)]
            if not fitting and (self._made < self._most or not self._idle):
                self._made += 1
                return _Session(self.gpu, self.stats, self._budget)
            session = fitting[-1] if fitting else self._idle[0]
            self._idle.remove(session)
            return session

    def _give_back(self, session: _Session) -> None:
        with self._lock:
            if len(self._idle) < self._most:
                self._idle.append(session)
                return
            self._made -= 1
        session.close()


class _Session:
    """A CUDA stream, the decoders that work on it, and the table of what they convert.

    For one thread at a time.
    """

    def __init__(self, gpu: int, stats: Stats, budget: int) -> None:
        import cupy

        self._cuda: Any = cupy.cuda
        self._gpu = gpu
        self._stats = stats
        self._budget = budget
        with self._cuda.Device(gpu):  # restored afterwards, since this may be the caller's thread
            self._stream = self._cuda.Stream(non_blocking=True)
            self._filled = self._cuda.Event(disable_timing=True)
            self._table = pinned_table(_TABLE_ROWS)
        self._row = 0
        self._surfaces = 0
        self._decoders: list[HardwareDecoder] = []  # most recently used last

    def find(self, kind: DecoderKind, needs: StreamNeeds) -> HardwareDecoder | None:
        """The decoder that a stream should be given, None if it has none that fits."""
        fitting = [
            decoder
            for decoder in reversed(self._decoders)
            if decoder.kind == kind and decoder.room.fits(needs)
        ]
        return min(fitting, key=lambda decoder: decoder.room.excess(needs), default=None)

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
        kind, needs = job.kind(self._gpu), job.needs
        decoder = self.find(kind, needs)
        if decoder is None:
            decoder = self._make(kind, needs)
        else:  # it comes back when the run is over: after an error, its state is undefined
            self._decoders.remove(decoder)
        decoder.begin(job.index, needs)
        before = self._surfaces
        feeder = Feeder(decoder, job.index, job.source, job.run, piece=job.piece)
        yield from filter(None, feeder)
        self._stats.add(
            packets=feeder.packets, frames=feeder.frames, surfaces=self._surfaces - before
        )
        self._decoders.append(decoder)

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

    def _make(self, kind: DecoderKind, needs: StreamNeeds) -> HardwareDecoder:
        """Make a decoder; drops the least recently used ones if the memory budget is exceeded."""
        left = self._budget - kind.memory(needs)
        while self._decoders and sum(decoder.memory for decoder in self._decoders) > left:
            self._decoders.pop(0)
        self._stats.add(decoders=1)
        return HardwareDecoder(kind, needs, self._gpu, self._stream.ptr)

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
