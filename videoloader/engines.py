"""What decodes the runs of a batch into its clips: worker processes, or the engines of a GPU."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.assembly import TORCH_TYPES, Assembly, as_movable
from videoloader.decoding.cpu import CpuTask, Target, TaskSource
from videoloader.decoding.merge import MergedRun
from videoloader.decoding.output import CHANNELS, OutputFormat, View
from videoloader.decoding.workers import CpuPool, WorkerLostError
from videoloader.errors import DecodeError, FormatError, UnsupportedError, VideoError
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.index import Orientation, PacketFlags, VideoIndex
from videoloader.indexing.source import Source
from videoloader.sampling import Run, plan_decode

if TYPE_CHECKING:
    from videoloader.decoding.convert import Converter

__all__ = ["CpuEngine", "GpuEngine"]

_PIECE = 25 << 20  # bytes of frames that are read at a time; two such are ready ahead
_UNBALANCED = 1.25  # a run that is longer than so many shares of the whole takes all processors
_SPARE = 2  # frame threads more than processors: some always wait for the pictures of others

_log = logging.getLogger(__name__)


class CpuEngine:
    """Decodes runs in worker processes, or in this one. Threads may share it; they take turns.

    Args:
        workers: processes; 0 for none.
        time_limit: seconds for a run.
    """

    def __init__(self, workers: int, time_limit: float) -> None:
        self._pool = CpuPool(workers, time_limit=time_limit)
        self._processors = max(workers, 1)
        self._lock = threading.Lock()

    def allocate(self, shape: tuple[int, ...], output: OutputFormat) -> torch.Tensor:
        """Memory of clips that the workers can write."""
        memory = self._pool.allocate(shape, output.numpy_dtype)
        return torch.from_numpy(memory).view(TORCH_TYPES[output.dtype])

    def decode(self, runs: Sequence[MergedRun], assembly: Assembly) -> None:
        """Decode runs into clips whose memory is from `allocate`; failures go to the clips."""
        slots = [_as_slots(clip.tensor, assembly.output) for clip in assembly.clips]
        self.decode_into(runs, assembly, dict(enumerate(slots)))

    def decode_into(
        self, runs: Sequence[MergedRun], assembly: Assembly, slots: dict[int, NDArray[Any]]
    ) -> None:
        """Decode runs into slots (F, H, W, C), by place of the clip in the assembly."""
        total = sum(len(run.run.packets) for run in runs)
        share = total / self._processors * _UNBALANCED
        runs = sorted(runs, key=lambda run: -len(run.run.packets))
        with self._lock:
            tasks = (
                _task(run, assembly, slots, threads=self._threads(len(run.run.packets), share))
                for run in runs
            )
            failed = [
                (runs[number], error)
                for number, error in self._pool.decode(tasks)
                if error is not None
            ]
            for run, error in failed:
                self._again(run, error, assembly, slots)

    def stats(self) -> dict[str, int]:
        """Counts of the pool."""
        return self._pool.stats()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def _threads(self, packets: int, share: float) -> int:
        return self._processors + _SPARE if packets > share else 1

    def _again(
        self,
        run: MergedRun,
        error: Exception,
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
    ) -> None:
        """Find out which frames of a failed run it is; all of them, if it cost a worker."""
        reasons = dict.fromkeys(np.unique(run.wants.frames).tolist(), error)
        if isinstance(error, DecodeError) and not isinstance(error, WorkerLostError):
            frames = list(reasons)
            tasks = (_task(run, assembly, slots, frame=frame) for frame in frames)
            reasons = {
                frames[number]: why for number, why in self._pool.decode(tasks) if why is not None
            }
        _blame(run, reasons, assembly)


class GpuEngine:
    """Decodes runs on the NVDEC engines of a GPU, and what these cannot on the CPU.

    Threads may share it.

    Args:
        device: the GPU.
    """

    def __init__(self, device: torch.device) -> None:
        from videoloader.decoding.nvdec import NvdecPool

        self._gpu = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", self._gpu)  # whichever is current later
        self._pool = NvdecPool(self._gpu)
        self._converters: dict[OutputFormat, Converter] = {}
        self._lock = threading.Lock()
        self.routed: Counter[str] = Counter()
        """Runs that the CPU took over, by reason."""

    def allocate(self, shape: tuple[int, ...], output: OutputFormat) -> torch.Tensor:
        """Memory of clips."""
        return torch.empty(shape, dtype=TORCH_TYPES[output.dtype], device=self._device)

    def decode(
        self, runs: Sequence[MergedRun], assembly: Assembly, cpu: CpuEngine, *, hybrid: bool
    ) -> None:
        """Decode runs into clips; the current stream waits for what is still to be converted.

        Args:
            runs: to decode.
            assembly: whose clips they fill.
            cpu: takes what the GPU cannot decode.
            hybrid: let it take runs as well that the GPU has not begun.
        """
        here, there = self._route(runs, assembly)
        submitted = self._submit(here, assembly)
        try:
            self._on_cpu(there, assembly, cpu)
            if hybrid:
                self._share(submitted, assembly, cpu)
            self._on_cpu(self._collect(submitted, assembly), assembly, cpu)
        finally:
            # Whatever happens, nothing writes into the memory of the clips afterwards.
            for _, future in submitted:
                future.cancel()
            done, _ = wait([future for _, future in submitted])
            stream: Any = _as_cupy(torch.cuda.current_stream(self._gpu)) if done else None
            for future in done:
                if not future.cancelled() and future.exception() is None:
                    stream.wait_event(future.result())

    def read(
        self, index: VideoIndex, source: Source, orientation: Orientation
    ) -> Iterator[torch.Tensor]:
        """All frames of a video, (F, H, W, C) in uint8, some at a time as they are decoded.

        Raises:
            UnsupportedError: the GPU does not decode this video, or no further.
            DecodeError: frames are missing.
        """
        import cupy

        from videoloader.decoding.descriptor import describe
        from videoloader.decoding.hardware import obstacle
        from videoloader.decoding.nvdec import NvdecJob
        from videoloader.decoding.targets import nvdec_targets, picture_of

        reason = obstacle(index, self._gpu)
        if reason is not None:
            raise UnsupportedError(f"{index.name}: {reason}")
        output = OutputFormat()
        height, width = index.height, index.width
        size = (width, height) if orientation.transpose else (height, width)
        row = size[1] * CHANNELS
        step = size[0] * row  # of uint8: bytes are elements
        record = describe(
            picture_of(index, orientation),
            View(size),
            output,
            strides=(row, CHANNELS, 1),
            name=index.name,
        )
        consumer = torch.cuda.current_stream(self._gpu)
        with cupy.cuda.Device(self._gpu):
            ready = cupy.cuda.Event(disable_timing=True)
            ready.record(_as_cupy(consumer))
        made: deque[torch.Tensor] = deque()

        def prepare(packets: list[int]) -> Any:
            # The allocator gives memory again that the consumer's stream may still be reading.
            with torch.cuda.device(self._gpu), torch.cuda.stream(consumer):
                memory = self.allocate((len(packets), *size, CHANNELS), output)
                fresh = cupy.cuda.Event(disable_timing=True)
                fresh.record(_as_cupy(consumer))
            made.append(memory)
            job.targets, job.places = nvdec_targets(packets, record, memory.data_ptr(), step)
            return fresh

        for run in plan_decode(index, np.arange(index.num_frames)):
            reason = _unfit(run, index)
            if reason is not None:
                raise UnsupportedError(f"{index.name}: {reason}")
            job = NvdecJob(index, source, run, np.empty(0), {}, self._converter(output), ready)
            for event in self._pool.read(job, prepare):
                _as_cupy(consumer).wait_event(event)
                yield made.popleft()

    def stats(self) -> dict[str, int]:
        """Counts of the pool."""
        return self._pool.stats.counts()

    def close(self) -> None:
        """Let go of the decoders."""
        self._pool.close()

    def _route(
        self, runs: Sequence[MergedRun], assembly: Assembly
    ) -> tuple[list[MergedRun], list[MergedRun]]:
        from videoloader.decoding.hardware import obstacle

        here, there = [], []
        clips = assembly.clips
        for run in runs:
            index = clips[run.clip].index
            reason = obstacle(index, self._gpu) or _unfit(run.run, index)
            if reason is None:
                here.append(run)
            else:
                self._tell(reason, index.name)
                there.append(run)
        return here, there

    def _submit(
        self, runs: Sequence[MergedRun], assembly: Assembly
    ) -> list[tuple[MergedRun, Future[Any]]]:
        if not runs:
            return []
        import cupy

        from videoloader.decoding.targets import GpuClip, nvdec_job

        with torch.cuda.device(self._gpu), cupy.cuda.Device(self._gpu):
            ready = cupy.cuda.Event(disable_timing=True)
            ready.record(_as_cupy(torch.cuda.current_stream()))
        converter = self._converter(assembly.output)
        order = [assembly.output.layout.index(axis) for axis in "FHWC"]
        targets = {}
        for number, clip in enumerate(assembly.clips):
            strides = clip.tensor.stride()
            targets[number] = GpuClip(
                clip.tensor.data_ptr(),
                (strides[order[0]], strides[order[1]], strides[order[2]], strides[order[3]]),
                clip.view,
            )
        jobs = []
        for run in runs:
            clip = assembly.clips[run.clip]
            jobs.append(
                nvdec_job(
                    run,
                    targets,
                    index=clip.index,
                    source=clip.source,
                    output=assembly.output,
                    orientation=clip.orientation,
                    converter=converter,
                    ready=ready,
                )
            )
        return list(zip(runs, self._pool.submit(jobs), strict=True))

    def _collect(
        self, submitted: Sequence[tuple[MergedRun, Future[Any]]], assembly: Assembly
    ) -> list[MergedRun]:
        """Wait for jobs; give the runs that the GPU does not decode after all."""
        refused = []
        for run, future in submitted:
            if future.cancelled():
                continue
            try:
                future.result()
            except (UnsupportedError, FormatError, DecodeError) as error:
                name = assembly.clips[run.clip].index.name
                self._tell(str(error).removeprefix(f"{name}: "), name)
                refused.append(run)
            except VideoError as error:
                _blame(run, dict.fromkeys(run.wants.frames.tolist(), error), assembly)
        return refused

    def _share(
        self,
        submitted: list[tuple[MergedRun, Future[Any]]],
        assembly: Assembly,
        cpu: CpuEngine,
    ) -> None:
        """The CPU takes the shortest of the runs that no engine has begun, one after another."""
        for run, future in sorted(submitted, key=lambda pair: len(pair[0].run.packets)):
            if future.cancel():
                self._on_cpu([run], assembly, cpu)

    def _on_cpu(self, runs: Sequence[MergedRun], assembly: Assembly, cpu: CpuEngine) -> None:
        """Decode runs on the CPU, and upload the frames."""
        if not runs:
            return
        output = assembly.output
        numbers = sorted({number for run in runs for number in run.wants.clips.tolist()})
        staged = {
            number: cpu.allocate(tuple(assembly.clips[number].tensor.shape), output)
            for number in numbers
        }
        slots = {number: _as_slots(memory, output) for number, memory in staged.items()}
        cpu.decode_into(runs, assembly, slots)
        axis = output.layout.index("F")
        for number, memory in staged.items():
            mine = np.unique(
                np.concatenate([run.wants.positions[run.wants.clips == number] for run in runs])
            )
            self._upload(assembly.clips[number].tensor, memory, mine, axis)

    def _upload(
        self, clip: torch.Tensor, staged: torch.Tensor, positions: NDArray[np.int64], axis: int
    ) -> None:
        """Copy frames of a clip to the GPU, by way of pinned memory, beside what else runs."""
        if len(positions) < clip.shape[axis]:
            places = torch.from_numpy(positions)
            pinned = staged.index_select(axis, places).pin_memory()
            uploaded = pinned.to(clip.device, non_blocking=True)
            as_movable(clip).index_copy_(axis, places.to(clip.device), as_movable(uploaded))
        else:
            clip.copy_(staged.pin_memory(), non_blocking=True)

    def _converter(self, output: OutputFormat) -> Converter:
        import cupy

        from videoloader.decoding.convert import Converter

        with self._lock:
            if output not in self._converters:
                with cupy.cuda.Device(self._gpu):
                    self._converters[output] = Converter(output)
            return self._converters[output]

    def _tell(self, reason: str, name: str) -> None:
        with self._lock:
            self.routed[reason] += 1
            first = self.routed[reason] == 1
        if first:
            _log.warning("%s: decoded on the CPU and uploaded, since %s", name, reason)


def _task(
    merged: MergedRun,
    assembly: Assembly,
    slots: dict[int, NDArray[Any]],
    *,
    frame: int | None = None,
    threads: int = 1,
) -> CpuTask:
    """The task that decodes a run, or one frame of it."""
    wants = merged.wants
    chosen = np.ones(len(wants.frames), np.bool_) if frame is None else wants.frames == frame
    targets = []
    for number in np.unique(wants.clips[chosen]).tolist():
        clip = assembly.clips[number]
        mine = chosen & (wants.clips == number)
        frames = np.full(len(clip.wanted.frames), -1, dtype=np.int64)
        frames[wants.positions[mine]] = wants.frames[mine]
        targets.append(Target(frames, slots[number], clip.view))
    clip = assembly.clips[merged.clip]
    return CpuTask(
        source=_task_source(clip.request.source, clip.source),
        index=clip.index,
        targets=tuple(targets),
        output=assembly.output,
        rotate=clip.orientation == clip.index.orientation,
        threads=threads,
    )


def _task_source(given: object, source: Source) -> TaskSource:
    """What a worker opens a video by."""
    if isinstance(given, Item | bytes):
        return given
    if source.path is not None:
        return source.path
    return given if isinstance(given, str) else source.read(0, source.size)


def _blame(run: MergedRun, reasons: dict[int, Any], assembly: Assembly) -> None:
    """Note for the clips that want a frame why there is none."""
    for frame, number in zip(run.wants.frames.tolist(), run.wants.clips.tolist(), strict=True):
        if frame in reasons:
            assembly.clips[number].failed[frame] = reasons[frame]


def _unfit(run: Run, index: VideoIndex) -> str | None:
    """Why the GPU would not decode a run as it is."""
    first = int(run.packets[0])
    if not index.packets["flags"][first] & np.uint16(PacketFlags.KEY):
        return "the run begins at no keyframe"
    if (index.end_packets[run.frames] != run.frame_packets).any():
        return "frames come in several packets"
    return None


def _as_slots(memory: torch.Tensor, output: OutputFormat) -> NDArray[Any]:
    """The memory of a clip as (F, H, W, C) of numpy's types."""
    if output.dtype == "bfloat16":
        memory = memory.view(torch.uint16)
    return output.slots(memory.numpy())


def _as_cupy(stream: torch.cuda.Stream) -> Any:
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream, stream.device_index)
