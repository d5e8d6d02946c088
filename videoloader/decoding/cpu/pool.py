"""Decoding in worker processes, which write frames into memory that they share with this one."""

from __future__ import annotations

import itertools
import os
import weakref
from collections import OrderedDict
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import DTypeLike, NDArray

from videoloader.audio.request import SoundWork
from videoloader.decoding.cpu.image_task import ImageTask
from videoloader.decoding.cpu.tasks import CpuTask
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.run_stats import NoteWork
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.forking import reset_after_fork
from videoloader.machinery.workers.process import Parcel, Shared
from videoloader.machinery.workers.processors import usable_processors
from videoloader.machinery.workers.protocol import Worker
from videoloader.machinery.workers.shared_memory import SharedMemory, memory_file
from videoloader.machinery.workers.supervisor import Result, Supervisor

_MOST_FILES = 64  # of videos in memory


@dataclass(frozen=True, slots=True, eq=False)
class SoundTask:
    """A sound for a worker, and how many workers it may cost. Its samples travel as a message."""

    request: SoundWork[Any]
    tries: int = 2

    def perform(self, worker: Worker) -> Any:  # noqa: ARG002
        """Decode it."""
        return self.request.decode()

    def __str__(self) -> str:
        """The file, for messages."""
        return self.request.name


class CpuPool(Closing):
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
        self._packer = _Packer()
        self._stats = {"tasks": 0, "failures": 0}
        self._workers: Supervisor[CpuTask | ImageTask | SoundTask] = Supervisor(
            self._packer.pack,
            memory=self._memory,
            workers=count,
            time_limit=time_limit,
            memory_limit=memory_limit,
            prepare="videoloader.decoding.cpu.tasks:load_libraries",
            tries=lambda task: task.tries,
        )
        reset_after_fork(self._packer, _Packer.forget)

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
        """Run tasks of images or sounds; gives each number with its result or its error."""
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
        self._packer.close()
        self._memory.close()

    def _run(
        self, tasks: Iterable[CpuTask] | Iterable[ImageTask] | Iterable[SoundTask]
    ) -> Generator[Result, None, None]:
        with closing(self._workers.run(tasks)) as results:
            for result in results:
                self._stats["tasks"] += 1
                self._stats["failures"] += result.failure is not None
                yield result


class _Packer:
    """Makes parcels of tasks: numbers indexes, and opens videos in memory as files."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self.forget()

    def forget(self) -> None:
        """Reset the state in a fork: open objects may be in use by threads of the parent."""
        self._indexes: weakref.WeakKeyDictionary[VideoIndex, int] = weakref.WeakKeyDictionary()
        self._files: OrderedDict[int, Shared] = OrderedDict()  # by `id` of the bytes

    def pack(self, task: CpuTask | ImageTask | SoundTask) -> Parcel:
        """The task as it is sent; equal indexes have one number."""
        if isinstance(task, SoundTask):
            return Parcel(task)
        if isinstance(task, ImageTask):
            return Parcel(task, [task.memory])
        number = self._indexes.get(task.index)
        if number is None:
            number = self._indexes[task.index] = next(self._count)
        values = [Shared(number, task.index)]
        if isinstance(task.source, bytes):
            values.append(self._file(task.source))
            task = replace(task, source=values[-1].value)
        return Parcel(task, [target.slots for target in task.targets.values()], values)

    def close(self) -> None:
        """Close the files."""
        for shared in self._files.values():
            os.close(shared.file)
        self._files.clear()
        self._indexes.clear()

    def _file(self, source: bytes) -> Shared:
        """The bytes of a video as an open file; the files used last stay open."""
        if id(source) not in self._files:
            while len(self._files) >= _MOST_FILES:
                os.close(self._files.popitem(last=False)[1].file)
            self._files[id(source)] = Shared(
                next(self._count), memoryview(source), memory_file(source)
            )
        self._files.move_to_end(id(source))
        return self._files[id(source)]
