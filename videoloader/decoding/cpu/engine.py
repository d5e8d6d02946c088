"""Decodes the runs of a batch into its clips in worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import torch
from numpy.typing import NDArray

from videoloader.audio.request import Made, SoundWork
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.images import Decoded, ImageQueue
from videoloader.decoding.cpu.parts import SPARE_THREADS, UNBALANCED, Part, narrowed, task_of
from videoloader.decoding.cpu.pool import CpuPool, SoundTask
from videoloader.decoding.cpu.tasks import TaskSource
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.decoding.memory import TORCH_TYPES
from videoloader.decoding.output import OutputFormat
from videoloader.machinery.system.forking import ForkSafeLock
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
            parts = [Part([run], self._threads(len(run.run.packets), share)) for run in runs]
            while parts:
                parts = self._attempt(parts, assembly, slots, sources)

    def decode_images(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images: the pixels of each, or why there are none."""
        return self._images.decode(requests, form)

    def decode_sounds(self, requests: Sequence[SoundWork[Made]]) -> list[Made | Exception]:
        """Decode sounds; gives for each its result or its error."""
        tasks = map(SoundTask, requests)
        with self._lock:
            self._images.finish()
            with closing(self._pool.decode_files(tasks)) as done:
                made = {number: failure or sound for number, sound, failure in done}
        return [made[number] for number in range(len(requests))]

    def sound_source(self, given: object, source: Source) -> str | bytes | Item:
        """A value by which a `ClipSoundRequest` in a worker opens a video that is open here."""
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

    def _attempt(
        self,
        parts: Sequence[Part],
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
        sources: dict[int, TaskSource],
    ) -> list[Part]:
        """Decode parts of a batch; gives the parts to decode in place of failed ones."""
        begun, tasks = [], []
        for part in parts:
            clip = assembly.clips[part.runs[0].clip]
            with assembly.contain(part.runs[0]):
                if id(clip.source) not in sources:
                    sources[id(clip.source)] = _task_source(clip.request.source, clip.source)
                tasks.append(task_of(part, assembly, slots, sources[id(clip.source)]))
                begun.append(part)
        with closing(self._pool.decode(tasks, assembly.count)) as done:
            failures = [(begun[number], why) for number, why in done if why is not None]
        return [each for part, why in failures for each in narrowed(part, why, assembly)]


def _task_source(given: object, source: Source) -> TaskSource:
    """A value by which a worker opens a video."""
    if isinstance(given, Item):
        return given.absolute()
    if isinstance(given, bytes):
        return given
    if source.path is not None:
        return source.path
    return given if isinstance(given, str) else source.read(0, source.size)
