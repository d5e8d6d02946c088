"""Decoding in worker processes, which write frames into memory that they share with this one."""

from __future__ import annotations

import itertools
import os
import weakref
from collections import OrderedDict
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.decoding.cpu.decoders import CpuTask
from videoloader.decoding.cpu.images import ImageOrder, ImageTask
from videoloader.decoding.cpu.order import KNOWN_VIDEOS, DecodeOrder, remember
from videoloader.decoding.cpu.sounds import SoundOrder, SoundTask
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.runtime.work import NoteWork
from videoloader.system.forking import reset_after_fork
from videoloader.workers.processors import usable_processors
from videoloader.workers.shared_memory import SharedMemory, memory_file
from videoloader.workers.supervisor import Parcel, Result, Supervisor, WorkerLostError

__all__ = ["CpuPool", "WorkerLostError"]


@dataclass(frozen=True, slots=True)
class _Known:
    """What a worker has met: segments of shared memory, and videos by number."""

    segments: frozenset[int] = frozenset()
    videos: OrderedDict[int, None] = field(default_factory=OrderedDict)


class CpuPool:
    """Worker processes that decode, and the memory that they decode into.

    Workers are started when there is work for them, stay, and keep what they have open. One that
    dies, or takes longer than the limit for a task, costs at most that task, see `Supervisor`.
    Close the pool, or use it in a `with` block; it is closed when the interpreter ends at the
    latest. For one thread at a time, but for `allocate` and `close`. A fork gets workers of its
    own.

    Args:
        workers: processes; by default as many as this process may use processors.
        time_limit: seconds that a task may take.
        memory_limit: bytes that a worker may allocate on top of what it begins with (some 65 MB);
            what goes beyond fails inside the worker. No limit by default. It bounds the data
            segment (RLIMIT_DATA), not the address space: files that are mapped and the memory of
            slots are not counted.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        time_limit: float = 60.0,
        memory_limit: int | None = None,
    ) -> None:
        count = usable_processors() if workers is None else workers
        if count < 1 or time_limit <= 0 or (memory_limit or 1) < 1:
            raise ArgumentError(
                "workers is 1 or more, time_limit over 0 and memory_limit 1 or more, got "
                f"workers={workers}, time_limit={time_limit:g}, memory_limit={memory_limit}"
            )
        self._memory = SharedMemory()
        self._packer = _Packer(self._memory)
        self._stats = {"tasks": 0, "failures": 0}
        self._workers = Supervisor(
            self._packer.pack,
            _Known,
            workers=count,
            time_limit=time_limit,
            memory_limit=memory_limit,
            prepare="videoloader.decoding.cpu.order:load_libraries",
            tries=lambda task: task.tries,
        )
        reset_after_fork(self, CpuPool._begin_anew)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Memory for slots: its contents are arbitrary, and it is used again when it is garbage."""
        return self._memory.allocate(shape, dtype)

    def decode(
        self, tasks: Iterable[CpuTask], note: NoteWork | None = None
    ) -> Generator[tuple[int, Exception | None], None, None]:
        """Do tasks; give the number of each as it is done, and why if it could not be.

        Close what this gives: an error that is kept, as that of an interrupt is by notebooks, also
        keeps a generator that stands half-way, and its workers would go on.

        Slots lie in memory from `allocate`. Those of a failed task hold anything. A task is taken
        from the iterable when a worker can have it. `note` is told of the work of those done.

        Raises:
            ClosedError: `close` was called before or meanwhile.
            DecodeError: no worker process can be started.
        """
        with closing(self._run(tasks)) as results:
            for result in results:
                if result.failure is None and note is not None:
                    note(result.value)
                yield result.number, result.failure

    def decode_files(
        self, tasks: Iterable[ImageTask] | Iterable[SoundTask]
    ) -> Generator[tuple[int, Any, Exception | None], None, None]:
        """Do tasks of images or sounds as `decode` does others; also give what their orders do."""
        with closing(self._run(tasks)) as results:
            for result in results:
                yield result.number, result.value, result.failure

    def stats(self) -> dict[str, int]:
        """Counts: tasks, failures, workers that were replaced, workers now, bytes of memory."""
        replaced, workers = self._workers.replaced, len(self._workers)
        return {
            **self._stats,
            "replaced": replaced,
            "workers": workers,
            "memory": self._memory.size,
        }

    def close(self) -> None:
        """End the workers and give memory back that is not in use; arrays stay valid.

        For good, at any time and from any thread: `decode` in another thread raises `ClosedError`.
        """
        self._workers.close()
        self._packer.videos.close()
        self._memory.close()

    def _run(
        self, tasks: Iterable[CpuTask] | Iterable[ImageTask] | Iterable[SoundTask]
    ) -> Generator[Result, None, None]:
        with closing(self._workers.run(tasks)) as results:
            for result in results:
                self._stats["tasks"] += 1
                self._stats["failures"] += result.failure is not None
                yield result

    def __enter__(self) -> CpuPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin_anew(self) -> None:
        """In a fork: what is open may have been in use by threads that are not here."""
        self._packer.videos = _Videos()


class _Packer:
    """Makes the orders of tasks."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self.videos = _Videos()

    def pack(self, task: CpuTask | ImageTask | SoundTask, known: _Known) -> tuple[Parcel, _Known]:
        """The order for a worker that knows some videos and segments, and what it knows then."""
        if isinstance(task, SoundTask):
            return Parcel(SoundOrder(task.request)), known
        if isinstance(task, ImageTask):
            return self._pack_images(task, known)
        video = self.videos.number(task)
        targets = tuple(
            (
                np.asarray(target.frames, dtype=np.int64),
                self._memory.locate(target.slots),
                target.view,
            )
            for target in task.targets
        )
        new, gone, files, segments = self._segments(
            {place.segment for _, place, _ in targets}, known
        )
        facts = None
        if video not in known.videos:
            facts = {f.name: getattr(task.index, f.name) for f in fields(task.index)}
            if isinstance(task.source, bytes):
                files.append(self.videos.file(video, task.source))
        order = DecodeOrder(
            video,
            facts,
            None if isinstance(task.source, bytes) else task.source,
            new,
            gone,
            targets,
            task.output,
            task.rotate,
            task.threads,
            task.max_pixels,
            task.whole,
        )
        videos = known.videos.copy()
        remember(videos, video, None)
        return Parcel(order, files), _Known(segments, videos)

    def _pack_images(self, task: ImageTask, known: _Known) -> tuple[Parcel, _Known]:
        place = self._memory.locate(task.memory)
        new, gone, files, segments = self._segments({place.segment}, known)
        order = ImageOrder(place, new, gone, task.images, task.form)
        return Parcel(order, files), _Known(segments, known.videos)

    def _segments(
        self, used: set[int], known: _Known
    ) -> tuple[tuple[int, ...], tuple[int, ...], list[int], frozenset[int]]:
        """Segments that are new to a worker, that it may forget, files of the new; all it knows."""
        new = tuple(used - known.segments)
        gone = tuple(segment for segment in known.segments if self._memory.gone(segment))
        files = [self._memory.descriptor(segment) for segment in new]
        return new, gone, files, (known.segments | used) - set(gone)


class _Videos:
    """Numbers of videos, and the files of those that are in memory."""

    def __init__(self) -> None:
        self._numbers: weakref.WeakKeyDictionary[VideoIndex, dict[Any, int]] = (
            weakref.WeakKeyDictionary()
        )
        self._count = itertools.count()
        self._files: OrderedDict[int, tuple[bytes, int]] = OrderedDict()

    def number(self, task: CpuTask) -> int:
        """The same for equal indexes of one source."""
        known = self._numbers.setdefault(task.index, {})
        key = id(task.source) if isinstance(task.source, bytes) else task.source
        if key not in known:
            known[key] = next(self._count)
        return known[key]

    def file(self, video: int, source: bytes) -> int:
        """An open file with the bytes of a video."""
        if video not in self._files:
            while len(self._files) >= KNOWN_VIDEOS:
                os.close(self._files.popitem(last=False)[1][1])
            self._files[video] = (source, memory_file(source))
        self._files.move_to_end(video)
        return self._files[video][1]

    def close(self) -> None:
        for _, descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        self._numbers.clear()
