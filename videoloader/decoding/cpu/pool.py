"""Decoding in worker processes, which write frames into memory that they share with this one."""

from __future__ import annotations

import itertools
import os
import weakref
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.decoding.cpu.decoders import CpuTask, Decoders
from videoloader.decoding.cpu.order import KNOWN_VIDEOS, DecodeOrder, remember
from videoloader.errors import ArgumentError, VideoError
from videoloader.forking import reset_after_fork
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import plan_decode
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.workers.shared_memory import SharedMemory, memory_file
from videoloader.workers.supervisor import Parcel, Result, Supervisor, WorkerLostError
from videoloader.workers.use import Use

__all__ = ["CpuPool", "WorkerLostError"]

_LONG = 48  # packets of a run from which on threads of the codec pay, if no other task is there


class _Job(NamedTuple):
    """A task, and how many threads of the codec do it."""

    task: CpuTask
    threads: int

    def __str__(self) -> str:
        return str(self.task)


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
        workers: processes; by default as many as this process may use processors. 0 decodes in
            this process, without protection.
        time_limit: seconds that a task may take.
        memory_limit: bytes that a worker may allocate on top of what it begins with (some 65 MB);
            what goes beyond fails inside the worker. No limit by default. It bounds the data
            segment (RLIMIT_DATA), not the address space: files that are mapped and the memory of
            slots are not counted.
        threads: of each codec; a task that is the only one and long takes a thread a processor.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        time_limit: float = 60.0,
        memory_limit: int | None = None,
        threads: int = 1,
    ) -> None:
        processors = len(os.sched_getaffinity(0))
        self._count = processors if workers is None else workers
        if self._count < 0 or time_limit <= 0 or threads < 1 or (memory_limit or 1) < 1:
            raise ArgumentError(
                "workers is 0 or more, time_limit over 0, threads and memory_limit 1 or more, got "
                f"workers={workers}, time_limit={time_limit:g}, threads={threads}, "
                f"memory_limit={memory_limit}"
            )
        self._threads = threads
        self._many_threads = max(threads, processors)
        self._memory = SharedMemory()
        self._packer = _Packer(self._memory)
        self._own = Decoders()
        self._use = Use("the decoder")
        self._stats = {"tasks": 0, "failures": 0}
        self._workers = Supervisor(
            self._packer.pack,
            _Known,
            workers=self._count,
            time_limit=time_limit,
            memory_limit=memory_limit,
            prepare="videoloader.decoding.cpu.order:load_libraries",
        )
        reset_after_fork(self, CpuPool._begin_anew)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Memory for slots: its contents are arbitrary, and it is used again when it is garbage."""
        return self._memory.allocate(shape, dtype)

    def decode(self, tasks: Iterable[CpuTask]) -> Iterator[tuple[int, Exception | None]]:
        """Do tasks; give the number of each as it is done, and why if it could not be.

        Slots lie in memory from `allocate`, unless there are no workers. Those of a failed task
        hold anything. A task is taken from the iterable when a worker can have it.

        Raises:
            ClosedError: `close` was called before or meanwhile.
            DecodeError: no worker process can be started.
        """
        waiting = iter(tasks)
        first = list(itertools.islice(waiting, 2))
        many = len(first) == 1
        jobs = (
            _Job(task, self._choose_threads(task, many)) for task in itertools.chain(first, waiting)
        )
        for result in self._workers.run(jobs) if self._count else self._decode_here(jobs):
            self._stats["tasks"] += 1
            self._stats["failures"] += result.failure is not None
            yield result.number, result.failure

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
        self._use.is_closed = True
        self._workers.close()
        if self._use.wait():
            self._own.close()
        self._packer.videos.close()
        self._memory.close()

    def __enter__(self) -> CpuPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode_here(self, jobs: Iterable[_Job]) -> Generator[Result, None, None]:
        with self._use.hold():
            try:
                for number, (task, threads) in enumerate(jobs):
                    self._use.check()
                    source, key = task.source, (self._packer.videos.number(task), task.index)
                    failure = None
                    try:
                        self._own.run(
                            task,
                            key=key,
                            open_video=source.open if isinstance(source, Item) else _opener(source),
                            threads=threads,
                        )
                    except VideoError as error:
                        failure = error
                    yield Result(number, None, failure)
            finally:
                if self._use.is_closed:
                    self._own.close()

    def _choose_threads(self, task: CpuTask, many: bool) -> int:
        if task.threads is not None:
            return task.threads
        if many and self._many_threads > self._threads:
            runs = plan_decode(task.index, task.frames).runs
            if sum(len(run.packets) for run in runs) >= _LONG * len(runs) > 0:
                return self._many_threads
        return self._threads

    def _begin_anew(self) -> None:
        """In a fork: what is open may have been in use by threads that are not here."""
        self._own = Decoders()
        self._packer.videos = _Videos()
        self._use.forget()


class _Packer:
    """Makes the orders of tasks."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self.videos = _Videos()

    def pack(self, job: _Job, known: _Known) -> tuple[Parcel, _Known]:
        """The order for a worker that knows some videos and segments, and what it knows then."""
        task = job.task
        video = self.videos.number(task)
        targets = tuple(
            (
                np.asarray(target.frames, dtype=np.int64),
                self._memory.locate(target.slots),
                target.view,
            )
            for target in task.targets
        )
        used = {place.segment for _, place, _ in targets}
        new = tuple(used - known.segments)
        gone = tuple(segment for segment in known.segments if self._memory.gone(segment))
        files = [self._memory.descriptor(segment) for segment in new]
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
            job.threads,
            task.max_pixels,
        )
        videos = known.videos.copy()
        remember(videos, video, None)
        return Parcel(order, files), _Known((known.segments | used) - set(gone), videos)


def _opener(source: str | bytes) -> Any:
    return lambda: open_source(source)


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
