"""Decode plans on NVDEC: our own packets into long-lived hardware sessions.

A session decodes on one engine, so runs are independent jobs for a pool of sessions, twice as
many as there are engines: while one session hands its frames over, another keeps the engine busy.
One kernel launch converts all wanted surfaces that a call gave.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import Any

from numpy.typing import NDArray

from videoloader.decoding.convert import Converter, pinned_table
from videoloader.decoding.hardware import (
    DecoderKind,
    capabilities,
    decoder_kind,
    surface_shape,
)
from videoloader.decoding.hardware_feed import Feeder, HardwareDecoder
from videoloader.decoding.switches import quick_switches
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.source import Source
from videoloader.sampling import Run

__all__ = ["NvdecJob", "NvdecPool", "Stats"]

_SESSIONS_PER_ENGINE = 2
_TABLE_ROWS = 4096
_MEMORY = 2 << 30


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

    def counts(self) -> dict[str, int]:
        """All counts by name."""
        with self.lock:
            return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "lock"}


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
        with quick_switches():
            return session.decode(job)


class _Session:
    """What one thread of a pool owns."""

    def __init__(self, gpu: int, stats: Stats, budget: int) -> None:
        import cupy

        cupy.cuda.Device(gpu).use()
        self._gpu = gpu
        self._stats = stats
        self._budget = budget
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._table = pinned_table(_TABLE_ROWS)
        self._row = 0
        self._decoders: OrderedDict[DecoderKind, HardwareDecoder] = OrderedDict()
        self._cuda: Any = cupy.cuda

    def decode(self, job: NvdecJob) -> Any:
        """Decode a run; an event behind the last conversion."""
        self._stream.wait_event(job.ready)
        kind = decoder_kind(job.index, self._gpu)
        # Out of the list while it works: after an error, what it holds is anybody's guess.
        decoder = self._decoders.pop(kind, None) or self._make(kind)
        try:
            decoder.begin(job.index)
            feeder = Feeder(decoder, job.index, job.source, job.run)
            for frames in feeder:
                self._convert(frames, job)
        except Exception as error:
            self._stream.synchronize()  # nothing writes into the slots any more
            raise _translated(error, job.index) from error
        self._stats.add(packets=feeder.packets, frames=feeder.frames)
        self._decoders[kind] = decoder
        event = self._cuda.Event(disable_timing=True)
        event.record(self._stream)
        return event

    def _make(self, kind: DecoderKind) -> HardwareDecoder:
        """A new decoder, in place of those least recently used where memory is short."""
        while self._decoders and sum(k.memory for k in self._decoders) + kind.memory > self._budget:
            self._decoders.popitem(last=False)
        self._stats.add(decoders=1)
        return HardwareDecoder(kind, self._gpu, self._stream.ptr)

    def _convert(self, frames: list[tuple[int, Any]], job: NvdecJob) -> None:
        """Launch the conversion of the wanted surfaces that one call gave."""
        first = self._row
        shape = surface_shape(job.index)
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
