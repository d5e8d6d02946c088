"""Decodes the runs of a batch into its clips on the engines of a GPU."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.cuda.streams import as_cupy
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.decoding.memory import TORCH_TYPES, as_movable, as_slots
from videoloader.decoding.output import CHANNELS, OutputFormat, View
from videoloader.errors import (
    ClosedError,
    DecodeError,
    FormatError,
    UnsupportedError,
    VideoError,
)
from videoloader.indexing.index import Orientation, PacketFlags, VideoIndex
from videoloader.sampling import Run, plan_decode
from videoloader.sampling.plan import MergedRun
from videoloader.sources.faults import blamed_on
from videoloader.sources.source import Source

if TYPE_CHECKING:
    from videoloader.decoding.nvdec.convert import Converter

__all__ = ["GpuEngine"]

_PIECE = 25 << 20  # bytes of frames to read at a time, 4 of 1080p

_log = logging.getLogger(__name__)


class GpuEngine:
    """Decodes runs on the NVDEC engines of a GPU, and unsupported ones on the CPU.

    Thread-safe.

    Args:
        device: the GPU.
    """

    def __init__(self, device: torch.device) -> None:
        from videoloader.decoding.nvdec.pool import NvdecPool

        self._gpu = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", self._gpu)  # fixed, even if the current GPU changes
        self._pool = NvdecPool(self._gpu)
        self._converters: dict[OutputFormat, Converter] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        stream: Any = torch.cuda.Stream
        self._allocations = stream(self._device)  # nothing is ever queued on it
        self.routed: Counter[str] = Counter()
        """Number of runs decoded on the CPU instead, by reason."""

    def allocate(self, shape: tuple[int, ...], output: OutputFormat) -> torch.Tensor:
        """Allocate memory for clips that the current stream will use.

        It comes from a stream without work. From the current stream, the allocator could reuse
        memory that queued kernels still read, and decoding would have to wait for these.
        """
        with torch.cuda.stream(self._allocations):
            memory = torch.empty(shape, dtype=TORCH_TYPES[output.element], device=self._device)
        memory.record_stream(torch.cuda.current_stream(self._gpu))
        return memory

    def decode(
        self,
        runs: Sequence[MergedRun],
        assembly: Assembly,
        cpu: CpuEngine | LocalEngine,
        *,
        hybrid: bool,
    ) -> None:
        """Decode runs into clips; the current stream waits for pending conversions.

        Args:
            runs: to decode.
            assembly: has the clips that they fill.
            cpu: decodes runs that the GPU cannot.
            hybrid: also give it runs that the GPU has not begun.
        """
        here, there = self._route(runs, assembly)
        submitted: list[tuple[MergedRun, Future[Any]]] = []
        try:
            self._submit(here, assembly, submitted)
            self._on_cpu(there, assembly, cpu)
            if hybrid:
                self._share(submitted, assembly, cpu)
            self._on_cpu(self._collect(submitted, assembly), assembly, cpu)
        finally:
            # After this, nothing writes to the memory of the clips, even after an error.
            for _, future in submitted:
                future.cancel()
            futures = [future for _, future in submitted]
            while not all(future.done() for future in futures):
                with suppress(KeyboardInterrupt):  # another one than that which led here
                    wait(futures)
            events = {
                future.result()
                for future in futures
                if not future.cancelled() and future.exception() is None
            }
            if events:
                stream = as_cupy(torch.cuda.current_stream(self._gpu))
                for event in events:
                    stream.wait_event(event)

    def read(
        self,
        index: VideoIndex,
        source: Source,
        orientation: Orientation,
        output: OutputFormat | None = None,
        *,
        view: View | None = None,
        start: int = 0,
    ) -> Iterator[torch.Tensor]:
        """Yield the frames of a video in pieces (F, H, W, C) uint8, as they are decoded.

        Args:
            index: of the video.
            source: its bytes.
            orientation: rotation and flips to apply.
            output: interpretation of colours and resize filter; its `dtype` and `layout` are the
                defaults.
            view: part of the picture and output size; by default the whole picture unscaled.
            start: first frame.

        Raises:
            UnsupportedError: the GPU cannot decode this video or the rest of it, or cannot convert
                it to this format.
            DecodeError: frames are missing.
        """
        from videoloader.decoding.nvdec.descriptor import describe
        from videoloader.decoding.nvdec.hardware import unsupported_reason
        from videoloader.decoding.nvdec.session import NvdecJob
        from videoloader.decoding.nvdec.targets import picture_of

        output = output or OutputFormat()
        reason = _unmade(output) or unsupported_reason(index, self._gpu)
        if reason is not None:
            raise UnsupportedError(f"{index.name}: {reason}")
        view = view or View(orientation.displayed((index.height, index.width)))
        size = view.slot
        row = size[1] * CHANNELS
        step = size[0] * row  # uint8, so bytes are elements
        # Limit by the decoded size: a piece of small outputs would have too many frames.
        most = max(1, _PIECE // max(step, index.height * index.width * CHANNELS))
        record = describe(
            picture_of(index, orientation, output),
            view,
            output,
            strides=(row, CHANNELS, 1),
            name=index.name,
        )
        consumer = torch.cuda.current_stream(self._gpu)
        made: deque[torch.Tensor] = deque()

        def make_slots(count: int) -> NDArray[Any]:
            with torch.cuda.stream(consumer):  # this is another thread
                memory = self.allocate((count, *size, CHANNELS), output)
            made.append(memory)
            rows = np.full(count, record, dtype=record.dtype)
            rows["destination"] = memory.data_ptr() + step * np.arange(count)
            return rows

        for run in plan_decode(index, np.arange(start, index.num_frames)):
            reason = _unfit(run, index)
            if reason is not None:
                raise UnsupportedError(f"{index.name}: {reason}")
            job = NvdecJob(index, source, run, np.empty(0), {}, self._converter(output))
            with blamed_on(index.name), self._while_open():
                for _ in self._pool.read(job, make_slots, most):
                    yield made.popleft()

    def stats(self) -> dict[str, int]:
        """Counters of the pool."""
        return {**self._pool.stats.counts(), "sessions": self._pool.sessions}

    def close(self) -> None:
        """Finish the jobs that have begun, and close the decoders."""
        self._is_closed = True
        self._pool.close()

    def _route(
        self, runs: Sequence[MergedRun], assembly: Assembly
    ) -> tuple[list[MergedRun], list[MergedRun]]:
        from videoloader.decoding.nvdec.hardware import unsupported_reason

        here, there = [], []
        clips = assembly.clips
        for run in runs:
            with assembly.contain(run):
                index = clips[run.clip].index
                reason = _unmade(assembly.output) or unsupported_reason(index, self._gpu)
                reason = reason or _unfit(run.run, index)
                if reason is None:
                    here.append(run)
                else:
                    self._tell(reason, index.name)
                    there.append(run)
        return here, there

    def _submit(
        self,
        runs: Sequence[MergedRun],
        assembly: Assembly,
        submitted: list[tuple[MergedRun, Future[Any]]],
    ) -> None:
        """Submit runs to the pool; appends each run and its future to `submitted` immediately."""
        if not runs:
            return
        from videoloader.decoding.nvdec.targets import GpuClip, nvdec_job

        converter = self._converter(assembly.output)
        order = assembly.output.slot_axes
        targets = {}
        for number in {number for run in runs for _, number, _ in run.wants}:
            clip = assembly.clips[number]
            frame, row, column, channel = (clip.strides[axis] for axis in order)
            targets[number] = GpuClip(clip.address, (frame, row, column, channel), clip.view)
        jobs = []
        for run in sorted(runs, key=lambda run: -len(run.run.packets)):
            clip = assembly.clips[run.clip]
            with assembly.contain(run):
                job = nvdec_job(
                    run,
                    targets,
                    index=clip.index,
                    source=clip.source,
                    output=assembly.output,
                    orientation=clip.orientation,
                    converter=converter,
                )
                job.note = assembly.count
                jobs.append((run, job))
        for run, job in jobs:
            with self._while_open():
                submitted.append((run, self._pool.submit(job)))

    def _collect(
        self, submitted: Sequence[tuple[MergedRun, Future[Any]]], assembly: Assembly
    ) -> list[MergedRun]:
        """Wait for jobs; returns the runs that turned out to be unsupported on the GPU."""
        refused = []
        for run, future in submitted:
            if future.cancelled():
                continue
            with assembly.contain(run):
                try:
                    future.result()
                except (UnsupportedError, FormatError, DecodeError) as error:
                    name = assembly.clips[run.clip].index.name
                    reason = str(error).removeprefix(f"{name}: ")
                    self._tell(re.sub(r"packet \d+", "a packet", reason), name)
                    refused.append(run)
        return refused

    def _share(
        self,
        submitted: list[tuple[MergedRun, Future[Any]]],
        assembly: Assembly,
        cpu: CpuEngine | LocalEngine,
    ) -> None:
        """Decode runs that no engine has begun on the CPU, shortest first, one by one."""
        for run, future in sorted(submitted, key=lambda pair: len(pair[0].run.packets)):
            if future.cancel():
                self._on_cpu([run], assembly, cpu)

    def _on_cpu(
        self, runs: Sequence[MergedRun], assembly: Assembly, cpu: CpuEngine | LocalEngine
    ) -> None:
        """Decode runs on the CPU, and upload the frames."""
        if not runs:
            return
        output = assembly.output
        positions: dict[int, list[int]] = {}
        for run in runs:
            for _, number, position in run.wants:
                positions.setdefault(number, []).append(position)
        try:
            with blamed_on("frames decoded on the CPU"):
                staged = {
                    number: cpu.allocate(tuple(assembly.clips[number].tensor.shape), output)
                    for number in positions
                }
        except VideoError as error:
            for run in runs:
                assembly.blame(run, dict.fromkeys(run.run.frames.tolist(), error))
            return
        slots = {number: as_slots(memory, output) for number, memory in staged.items()}
        cpu.decode(runs, assembly, slots)
        axis = output.layout.index("F")
        for number, memory in staged.items():
            clip = assembly.clips[number]
            mine = np.sort(positions[number])
            frames = clip.frames[mine]
            mine = mine[~np.isin(frames, list(clip.failed))]  # nothing was written for these
            try:
                with blamed_on(clip.index.name):
                    self._upload(clip.tensor, memory, mine, axis)
            except VideoError as error:
                clip.failed.update(dict.fromkeys(frames.tolist(), error))

    def _upload(
        self, clip: torch.Tensor, staged: torch.Tensor, positions: NDArray[np.int64], axis: int
    ) -> None:
        """Copy frames of a clip to the GPU through pinned memory, concurrently with other work."""
        if not len(positions):
            return
        if len(positions) < clip.shape[axis]:
            places = torch.from_numpy(positions)
            pinned = staged.index_select(axis, places).pin_memory()
            uploaded = pinned.to(clip.device, non_blocking=True)
            as_movable(clip).index_copy_(axis, places.to(clip.device), as_movable(uploaded))
        else:
            clip.copy_(staged.pin_memory(), non_blocking=True)

    def _converter(self, output: OutputFormat) -> Converter:
        import cupy

        from videoloader.decoding.nvdec.convert import Converter

        with self._lock:
            if output not in self._converters:
                with cupy.cuda.Device(self._gpu):
                    self._converters[output] = Converter(output)
            return self._converters[output]

    @contextmanager
    def _while_open(self) -> Iterator[None]:
        """Raise `ClosedError` if the pool has been shut down."""
        try:
            yield
        except VideoError:
            raise
        except RuntimeError as error:
            if not self._is_closed:
                raise
            raise ClosedError("the decoder: closed while it was in use") from error

    def _tell(self, reason: str, name: str) -> None:
        with self._lock:
            self.routed[reason] += 1
            first = self.routed[reason] == 1
        if first:
            _log.warning("%s: decoded on the CPU and uploaded, since %s", name, reason)


def _unmade(output: OutputFormat) -> str | None:
    """Why the kernel does not support an output format; None if it does."""
    if output.interpolation == "bicubic":
        return 'interpolation="bicubic" is done on the CPU'
    return None if output.output == "rgb" else f'output="{output.output}" is made on the CPU'


def _unfit(run: Run, index: VideoIndex) -> str | None:
    """Why the GPU cannot decode a run; None if it can."""
    first = int(run.packets[0])
    if not index.packets["flags"][first] & np.uint16(PacketFlags.KEY):
        return "the run begins at no keyframe"
    if (index.end_packets[run.frames] != run.frame_packets).any():
        return "frames come in several packets"
    return None
