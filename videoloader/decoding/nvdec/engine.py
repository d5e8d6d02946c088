"""Decodes the runs of a batch into its clips on the engines of a GPU."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.assembly import Assembly, OpenClip
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.decoding.memory import TORCH_TYPES, as_movable, as_slots
from videoloader.decoding.output import OutputFormat
from videoloader.errors import ClosedError, DecodeError, FormatError, UnsupportedError, VideoError
from videoloader.machinery.cuda.streams import as_cupy
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling.plan import MergedRun, Run

if TYPE_CHECKING:
    from videoloader.decoding.nvdec.convert import Converter
    from videoloader.decoding.nvdec.reader import GpuReader
    from videoloader.decoding.nvdec.session import NvdecJob, Reading
    from videoloader.decoding.nvdec.targets import GpuClip

_CHUNKS_SHARE = 4  # of the memory for sessions, for chunks of videos that are read whole

_log = logging.getLogger(__name__)


class _Submitted(NamedTuple):
    """A run that was submitted; `parts` are the runs that it was joined from, to be continued."""

    run: MergedRun
    future: Future[Any]
    parts: Sequence[MergedRun]


class GpuEngine:
    """Decodes runs on the NVDEC engines of a GPU, and unsupported ones on the CPU.

    Thread-safe.
    """

    def __init__(self, device: torch.device) -> None:
        from videoloader.decoding.nvdec.pool import NvdecPool

        self._gpu = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", self._gpu)  # fixed, even if the current GPU changes
        self._pool = NvdecPool(self._gpu)
        self._converters: dict[OutputFormat, Converter] = {}
        self._readers: WeakSet[GpuReader] = WeakSet()
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
    ) -> Generator[None, None, None]:
        """Decode runs into clips; the current stream waits for pending conversions.

        Yields once, when all runs that the GPU decodes are on their way. Whoever does not go on
        closes it, so that nothing is written into the clips afterwards.

        Args:
            runs: to decode.
            assembly: has the clips that they fill.
            cpu: decodes runs that the GPU cannot.
            hybrid: also give it runs that the GPU has not begun.
        """
        submitted: list[_Submitted] = []
        is_done, began = False, torch.cuda.current_stream(self._gpu)
        try:
            here, there = self._route(runs, assembly)
            self._submit(here, assembly, submitted)
            yield
            self._on_cpu(there, assembly, cpu)
            if hybrid:
                self._share(submitted, assembly, cpu)
            self._on_cpu(self._collect(submitted, assembly), assembly, cpu)
            is_done = True
        finally:
            self._settle([each.future for each in submitted], assembly, None if is_done else began)

    def reader(self, clip: OpenClip, output: OutputFormat) -> GpuReader:
        """A reader of consecutive frames of a video, see `GpuReader`.

        Args:
            clip: any frames of the video, in the form that is wanted.
            output: that form.

        Raises:
            UnsupportedError: the GPU does not decode the video, or not to that form.
        """
        from videoloader.decoding.nvdec.hardware import unsupported_reason
        from videoloader.decoding.nvdec.reader import GpuReader

        if reason := _unmade(output) or unsupported_reason(clip.index, self._gpu):
            raise UnsupportedError(f"{clip.index.name}: {reason}")
        allocate = partial(self.allocate, output=output)
        converter = self._converter(output)
        own = self._begun, self._settle, self._readers, self._pool.memory // _CHUNKS_SHARE
        return GpuReader(clip, output, converter, allocate, *own)

    def _begun(self, jobs: Sequence[NvdecJob]) -> list[Future[Any]]:
        with self._while_open():
            return self._pool.submit(jobs)

    def _settle(
        self, futures: Sequence[Future[Any]], memory: object, stream: torch.cuda.Stream | None
    ) -> None:
        """Cancel jobs and wait for the ones that have begun, also after an error.

        After this, nothing but queued conversions writes to the memory of their clips.

        Args:
            futures: of the jobs.
            memory: has the clips.
            stream: that waits for these conversions; the current one by default.
        """
        for future in futures:
            future.cancel()
        if stream is not None and self._pool.is_worker:
            # The garbage collector may be what ends this, in a thread that decoding waits for.
            for future in futures:
                future.add_done_callback(partial(_keep_until_converted, memory))
            return
        while not all(future.done() for future in futures):
            with suppress(KeyboardInterrupt):  # another one than that which led here
                wait(futures)
        events = {
            future.result()
            for future in futures
            if not future.cancelled() and future.exception() is None
        }
        if events:
            waiting = as_cupy(stream or torch.cuda.current_stream(self._gpu))
            for event in events:
                waiting.wait_event(event)

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
        from videoloader.decoding.nvdec.hardware import unfit_reason, unsupported_reason

        here, there = [], []
        clips = assembly.clips
        for run in runs:
            with assembly.contain(run):
                index = clips[run.clip].index
                reason = _unmade(assembly.output) or unsupported_reason(index, self._gpu)
                reason = reason or unfit_reason(run.run, index)
                if reason is None:
                    here.append(run)
                else:
                    self._note_routed(reason, index.name)
                    there.append(run)
        return here, there

    def _submit(
        self, runs: Sequence[MergedRun], assembly: Assembly, submitted: list[_Submitted]
    ) -> None:
        """Submit runs to the pool; appends them with their futures to `submitted` immediately."""
        if not runs:
            return
        work: list[tuple[MergedRun, Sequence[MergedRun], Reading | None]] = []
        of_videos: dict[Hashable, list[MergedRun]] = {}
        for run in runs:
            clip = assembly.clips[run.clip]
            if clip.source is clip.request.source:  # the file stays open between calls
                of_videos.setdefault(clip.video, []).append(run)
            else:
                work.append((run, (), None))
        for of_video in of_videos.values():
            work += self._read_on(of_video, assembly)
        work.sort(key=lambda one: -len(one[0].run.packets))
        targets = self._targets(runs, assembly)
        made = []
        for run, parts, reading in work:
            with assembly.contain(run):
                made.append((run, parts, self._job(run, targets, assembly, reading)))
        submitted_runs, their_parts, jobs = zip(*made, strict=True) if made else ((), (), ())
        submitted += map(_Submitted, submitted_runs, self._begun(jobs), their_parts)

    def _read_on(
        self, runs: list[MergedRun], assembly: Assembly
    ) -> list[tuple[MergedRun, Sequence[MergedRun], Reading | None]]:
        """Runs of one video, joined where a session goes on to them; see `NvdecPool.reading`."""
        clip = assembly.clips[runs[0].clip]
        setups = {clip.index.extradata_of(int(run.run.packets[0])) for run in runs}
        reading = None
        if len(setups) == 1:
            plain = [run.run for run in runs]
            reading = self._pool.reading(clip.source, clip.index, plain)
        if reading is None:
            return [(run, (), None) for run in runs]
        return [(_joined(runs), runs, reading)]

    def _targets(self, runs: Sequence[MergedRun], assembly: Assembly) -> dict[int, GpuClip]:
        """Memory of the clips that want frames of runs, by number."""
        from videoloader.decoding.nvdec.targets import GpuClip

        order = assembly.output.slot_axes
        targets = {}
        for number in {number for run in runs for _, number, _ in run.wants}:
            clip = assembly.clips[number]
            frame, row, column, channel = (clip.strides[axis] for axis in order)
            targets[number] = GpuClip(clip.address, (frame, row, column, channel), clip.view)
        return targets

    def _job(
        self,
        run: MergedRun,
        targets: Mapping[int, GpuClip],
        assembly: Assembly,
        reading: Reading | None,
    ) -> NvdecJob:
        from videoloader.decoding.nvdec.targets import nvdec_job

        clip = assembly.clips[run.clip]
        job = nvdec_job(
            run,
            targets,
            index=clip.index,
            source=clip.source,
            output=assembly.output,
            orientation=clip.orientation,
            converter=self._converter(assembly.output),
        )
        job.note, job.reading = assembly.count, reading
        return job

    def _collect(self, submitted: list[_Submitted], assembly: Assembly) -> list[MergedRun]:
        """Wait for jobs; returns the runs that turned out to be unsupported on the GPU.

        Where going on to a run fails, it is decoded by itself.
        """
        refused = []
        for run, future, parts in submitted:  # which grows
            if future.cancelled():
                continue
            with assembly.contain(run):
                try:
                    future.result()
                except (UnsupportedError, FormatError, DecodeError) as error:
                    if parts:
                        targets = self._targets(parts, assembly)
                        jobs = [self._job(part, targets, assembly, None) for part in parts]
                        submitted += map(_Submitted, parts, self._begun(jobs), repeat(()))
                        continue
                    name = assembly.clips[run.clip].index.name
                    reason = str(error).removeprefix(f"{name}: ")
                    self._note_routed(re.sub(r"packet \d+", "a packet", reason), name)
                    refused.append(run)
        return refused

    def _share(
        self, submitted: Sequence[_Submitted], assembly: Assembly, cpu: CpuEngine | LocalEngine
    ) -> None:
        """Decode runs that no engine has begun on the CPU, shortest first, one by one."""
        for run, future, _ in sorted(submitted, key=lambda each: len(each.run.run.packets)):
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

    def _note_routed(self, reason: str, name: str) -> None:
        with self._lock:
            self.routed[reason] += 1
            first = self.routed[reason] == 1
        if first:
            _log.warning("%s: decoded on the CPU and uploaded, since %s", name, reason)


def _joined(runs: Sequence[MergedRun]) -> MergedRun:
    """Runs of one video joined to one, for a session that also decodes the packets in between."""
    if len(runs) == 1:
        return runs[0]
    joined = Run.joined([run.run for run in runs])
    return MergedRun(runs[0].clip, joined, [want for run in runs for want in run.wants])


def _keep_until_converted(clips: object, future: Future[Any]) -> None:  # noqa: ARG001
    """Called when a job is over that writes into the memory of clips."""
    if not future.cancelled() and future.exception() is None:
        future.result().synchronize()


def _unmade(output: OutputFormat) -> str | None:
    """Why the kernel does not support an output format; None if it does."""
    if output.interpolation == "bicubic":
        return 'interpolation="bicubic" is done on the CPU'
    is_coded = output.is_planar or (output.output == "gray" and output.dtype == "uint16")
    return f'output="{output.output}" of coded samples is made on the CPU' if is_coded else None
