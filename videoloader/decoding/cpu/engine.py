"""Decodes the runs of a batch into its clips in worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import torch
from numpy.typing import NDArray

from videoloader.audio.request import Made, SoundWork
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.images import Decoded, ImageQueue
from videoloader.decoding.cpu.pool import CpuPool, SoundTask
from videoloader.decoding.cpu.tasks import (
    SPARE_THREADS,
    UNBALANCED,
    CpuTask,
    TaskSource,
    task_of,
)
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.decoding.memory import TORCH_TYPES
from videoloader.decoding.output import OutputFormat
from videoloader.errors import DecodeError
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.machinery.workers.supervisor import WorkerLostError
from videoloader.sampling.plan import MergedRun
from videoloader.sources.items import Item
from videoloader.sources.source import Source


class CpuEngine:
    """Decodes runs in worker processes.

    Threads may share it; they take turns, but for images, which follow each other without a pause.

    Args:
        workers: processes.
        time_limit: seconds for a run.
        memory_limit: bytes that a process may allocate.
    """

    def __init__(self, workers: int, time_limit: float, memory_limit: int | None) -> None:
        self._pool = CpuPool(workers, time_limit=time_limit, memory_limit=memory_limit)
        self._processors = workers
        self._lock = ForkSafeLock()
        self._images = ImageQueue(self._pool, workers, self._lock)

    def allocate(self, shape: tuple[int, ...], output: OutputFormat) -> torch.Tensor:
        """Memory of clips that the workers can write."""
        memory = self._pool.allocate(shape, output.numpy_dtype)
        return torch.from_numpy(memory).view(TORCH_TYPES[output.element])

    def decode(
        self, runs: Sequence[MergedRun], assembly: Assembly, slots: dict[int, NDArray[Any]]
    ) -> None:
        """Decode runs into slots (F, H, W, C), by number of the clip; failures go to the clips.

        The memory of the slots is from `allocate`.
        """
        total = sum(len(run.run.packets) for run in runs)
        share = total / self._processors * UNBALANCED
        runs = sorted(runs, key=lambda run: -len(run.run.packets))
        sources: dict[int, TaskSource] = {}
        with self._lock:
            self._images.finish()
            begun, tasks = [], []
            for run in runs:
                threads = self._threads(len(run.run.packets), share)
                with assembly.contain(run):
                    tasks.append(self._task(run, assembly, slots, sources, threads=threads))
                    begun.append(run)
            failures = self._failures(tasks, assembly)
            for number, failure in failures.items():
                self._again(begun[number], failure, assembly, slots, sources)

    def decode_images(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images: the pixels of each, or why there are none."""
        return self._images.decode(requests, form)

    def decode_sounds(self, requests: Sequence[SoundWork[Made]]) -> list[Made | Exception]:
        """Decode sounds: what each gives, or why it gives nothing."""
        tasks = map(SoundTask, requests)
        with self._lock:
            self._images.finish()
            with closing(self._pool.decode_files(tasks)) as done:
                made = {number: failure or sound for number, sound, failure in done}
        return [made[number] for number in range(len(requests))]

    def sound_source(self, given: object, source: Source) -> str | bytes | Item:
        """What a `ClipSoundRequest` in a worker opens a video by that is open here."""
        found = _task_source(given, source)
        return found if isinstance(found, str | Item) else bytes(found)

    def stats(self) -> dict[str, int]:
        """Counts of the pool."""
        return self._pool.stats()

    def close(self) -> None:
        """End the processes, at any time; a thread that decodes gets a `ClosedError`."""
        self._pool.close()

    def _threads(self, packets: int, share: float) -> int:
        return self._processors + SPARE_THREADS if packets > share else 1

    def _again(
        self,
        run: MergedRun,
        error: Exception,
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
        sources: dict[int, TaskSource],
    ) -> None:
        """Find out which frames of a failed run it is; all of them, if it cost a worker."""
        reasons: dict[int, Any] = dict.fromkeys(run.run.frames.tolist(), error)
        if isinstance(error, DecodeError) and not isinstance(error, WorkerLostError):
            frames = list(reasons)
            tasks = (self._task(run, assembly, slots, sources, frame=frame) for frame in frames)
            failures = self._failures(tasks, assembly)
            reasons = {frames[number]: why for number, why in failures.items()}
        assembly.blame(run, reasons)

    def _failures(self, tasks: Iterable[CpuTask], assembly: Assembly) -> dict[int, Exception]:
        """Do tasks; why some of them failed, by number."""
        with closing(self._pool.decode(tasks, assembly.count)) as done:
            return {number: why for number, why in done if why is not None}

    def _task(
        self,
        run: MergedRun,
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
        sources: dict[int, TaskSource],
        **options: Any,
    ) -> CpuTask:
        """The task of a run; `sources` are kept from task to task."""
        clip = assembly.clips[run.clip]
        if id(clip.source) not in sources:
            sources[id(clip.source)] = _task_source(clip.request.source, clip.source)
        return task_of([run], assembly, slots, sources[id(clip.source)], **options)


def _task_source(given: object, source: Source) -> TaskSource:
    """What a worker opens a video by."""
    if isinstance(given, Item):
        return given.absolute()
    if isinstance(given, bytes):
        return given
    if source.path is not None:
        return source.path
    return given if isinstance(given, str) else source.read(0, source.size)
