"""An NVDEC decoder with its CUDA stream: decodes runs and converts the wanted frames."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.cpu.forward import Place
from videoloader.decoding.nvdec.convert import Converter, pinned_table
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE
from videoloader.decoding.nvdec.hardware import (
    MAX_CALL_BYTES,
    DecoderKind,
    StreamNeeds,
    decoder_kind,
    stream_needs,
    surface_shape,
)
from videoloader.decoding.nvdec.hardware_decoder import Feeder, HardwareDecoder
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.run_stats import NoteWork, Work
from videoloader.sampling import Run
from videoloader.sources.source import Source

_TABLE_ROWS = 512
_WORDS = np.dtype((np.uint64, SURFACE_DTYPE.itemsize // 8))
_HIGHEST = -5  # priority of a stream; CUDA takes the highest that the GPU has


@dataclass(slots=True, eq=False)
class Reading:
    """A video that is decoded call after call, each going on where the one in front ended.

    Its jobs are done one by one, by a session that stays behind the last of them. Where other
    streams take this session, the next job begins at its keyframe again.

    Attributes:
        source: its bytes; the session is free for others when they are gone.
        index: of the video.
        place: where its last call ends, decoded or not.
        is_begun: whether a second call has followed on the first one, which is decoded by itself.
        is_busy: whether one of its jobs is being done.
        is_over: no job follows.
        step: frames that a later job has at least, or a divisor of that.
    """

    source: weakref.ref[Source]
    index: VideoIndex
    place: Place
    is_begun: bool
    is_busy: bool = False
    is_over: bool = False
    step: int = 1


@dataclass(slots=True, eq=False)
class NvdecJob:
    """One run of one video, and the slots of its frames.

    Attributes:
        index: of the video.
        source: its bytes.
        run: packets to decode, and wanted frames.
        targets: descriptors for the converter, complete except for surface addresses.
        places: for each wanted packet, the rows of `targets` for its frame.
        converter: fills the slots, which must not be used by others meanwhile.
        piece: maximum bytes of the surfaces that one call may return.
        note: called with counts of the work when it is done.
        reading: that the run is a part of, if it is to go on where the session stands.
        memory: of the slots, if nobody else keeps it while the job is being done.
    """

    index: VideoIndex
    source: Source
    run: Run
    targets: NDArray[Any]
    places: Mapping[int, Sequence[int]]
    converter: Converter
    piece: int = MAX_CALL_BYTES
    note: NoteWork | None = None
    reading: Reading | None = None
    memory: object = None
    needs: StreamNeeds = field(init=False)
    """Requirements of the stream for a decoder of its kind."""

    def __post_init__(self) -> None:
        self.needs = stream_needs(self.index, int(self.run.packets[0]))

    def kind(self, gpu: int) -> DecoderKind:
        """The kind of decoder that the job needs on a GPU."""
        return decoder_kind(self.index, gpu)


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
        """Add to the counters."""
        with self.lock:
            self.packets += packets
            self.frames += frames
            self.surfaces += surfaces
            self.decoders += decoders

    def counts(self) -> dict[str, int]:
        """All counts by name."""
        with self.lock:
            return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "lock"}


class Session:
    """A decoder, the CUDA stream on which it outputs frames, and a table for the converter.

    One thread at a time may use it.

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
        with self._cuda.Device(gpu):  # restores the device, since this may be the caller's thread
            # Conversions do not wait behind the kernels of a training step.
            self._stream = self._cuda.Stream(non_blocking=True, priority=_HIGHEST)
            self._filled = self._cuda.Event(disable_timing=True)
            self._table = pinned_table(_TABLE_ROWS)
            self._words = self._table.view(_WORDS)
            self.decoder = HardwareDecoder(kind, needs, gpu, self._stream.ptr)
        self.size = needs.size
        """Coded size of the current or next stream."""
        self._row = 0
        self._surfaces = 0
        self._feeder: Feeder | None = None
        self.reading: Reading | None = None
        """The video behind whose last job the decoder stands."""
        self._is_empty = True  # whether its decoder has output all frames of the packets fed
        self.is_sound = True
        """Whether it may decode another run: its last one did not fail and is not being decoded."""
        stats.add(decoders=1)

    @property
    def stands(self) -> bool:
        """Whether it is idle in the middle of a video that is read on."""
        reading = self.reading
        return reading is not None and not reading.is_over and reading.source() is not None

    def close(self) -> None:
        """Wait for queued conversions, since they read the surfaces and the table."""
        self._stream.synchronize()

    # Every CuPy call into CUDA releases and reacquires the interpreter lock, which is slow if
    # another Python thread is busy. So decoder calls use none, and a run records only one event.

    def decode(self, job: NvdecJob) -> Any:
        """Decode a run; returns an event recorded after the last conversion."""
        try:
            tiles = max(job.targets["tiles"].tolist())
            for frames in self._frames(job):
                self._convert(frames, tiles, job)
        except Exception as error:
            self._stream.synchronize()  # conversions into the slots
            if (translated := _translated(error, job.index)) is error:
                raise
            raise translated from error
        self._filled.record(self._stream)
        return self._filled

    def _frames(self, job: NvdecJob) -> Generator[list[tuple[int, Any]], None, None]:
        """Decode a run; yields the wanted frames of each call with their packets."""
        self._cuda.Device(self._gpu).use()
        self.is_sound = False
        begin = time.perf_counter()
        feeder = self._feeder_of(job)
        before = feeder.counts.read()
        surfaces = self._surfaces
        calls = self.decoder.calls
        try:
            yield from filter(None, feeder.feed(job.run, job.source))
        except UnsupportedError:  # seen in the packets, before any was fed
            self.is_sound = self._is_empty = self.decoder.calls == calls
            raise
        packets, size, frames = feeder.counts.since(before)
        self._stats.add(packets=packets, frames=frames, surfaces=self._surfaces - surfaces)
        if job.note is not None:
            seconds = time.perf_counter() - begin
            job.note(Work(packets, size, frames, len(job.run.frame_packets), seconds))
        self._is_empty = feeder.is_empty
        if job.reading is not None and not feeder.is_over:
            self._feeder, self.reading = feeder, job.reading
        self.is_sound = True

    def _feeder_of(self, job: NvdecJob) -> Feeder:
        """The feeder for the run of a job: one that goes on to it, or a new one."""
        feeder, self._feeder = self._feeder, None
        reading, self.reading = self.reading, None
        if feeder is not None and reading is job.reading and feeder.leads_to(job.run):
            return feeder
        if not self._is_empty:
            self.decoder.decode(b"", 0)
        self.decoder.begin(job.index, job.needs)
        self._is_empty = False
        own = self.decoder, job.index, job.run
        if job.reading is None:
            return Feeder(*own, piece=job.piece)
        return Feeder(*own, piece=job.piece, reads_on=True, step=job.reading.step)

    def _convert(self, frames: list[tuple[int, Any]], tiles: int, job: NvdecJob) -> None:
        """Convert the wanted surfaces of one call, with one launch if the table has room."""
        rows: list[int] = []
        surfaces: list[int] = []
        addresses = self._addresses(frames, job.index)
        for (packet, _), address in zip(frames, addresses, strict=True):
            mine = job.places[packet]
            rows += mine
            surfaces += [address] * len(mine)
        for begin in range(0, len(rows), _TABLE_ROWS):
            some = slice(begin, begin + _TABLE_ROWS)
            self._launch(job.targets, rows[some], surfaces[some], tiles, job.converter)

    def _addresses(self, frames: list[tuple[int, Any]], index: VideoIndex) -> list[int]:
        """GPU addresses of the surfaces of a call."""
        shape = surface_shape(index)
        # Sizes do not change and change back within a call: the headers in it say the same size.
        for packet, frame in (frames[0], frames[-1]):
            if tuple(frame.shape) != shape:
                raise UnsupportedError(
                    f"{index.name}: packet {packet} became a surface of {tuple(frame.shape)}, "
                    f"expected {shape}; the picture is cropped or changes its size"
                )
        return [frame.GetPtrToPlane(0) for _, frame in frames]

    def _launch(
        self,
        targets: NDArray[Any],
        rows: Sequence[int],
        surfaces: Sequence[int],
        tiles: int,
        converter: Converter,
    ) -> None:
        if self._row + len(rows) > _TABLE_ROWS:
            self._stream.synchronize()  # the GPU reads the old rows until then
            self._row = 0
        mine = slice(self._row, self._row + len(rows))
        # As words, since NumPy copies structures field by field. The first is the surface.
        self._words[mine] = targets.view(_WORDS)[rows]
        self._words[mine, 0] = surfaces
        filled = self._table[mine]
        self._row += len(rows)
        converter.launch(filled, self._stream, tiles)
        self._surfaces += len(rows)


def _translated(error: Exception, index: VideoIndex) -> Exception:
    """Convert an error of the library to a `VideoError`."""
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
