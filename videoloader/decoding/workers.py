"""Decoding in worker processes, which may crash, hang or run out of memory without harm to others.

The frames do not travel: workers write them into memory that they share with this process. A
task and its result are one message each, a worker has one task at hand and one more waiting, and
nobody looks for work at intervals.
"""

from __future__ import annotations

import itertools
import os
import pickle
import resource
import select
import socket
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from mmap import mmap
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.decoding.cpu import CpuTask, Decoders, Target
from videoloader.decoding.memory import MappedSegments, Place, SharedMemory, memory_file
from videoloader.decoding.output import OutputFormat, View
from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.processes import Helper
from videoloader.indexing.source import Source, open_source
from videoloader.sampling import plan_decode

__all__ = ["CpuPool", "WorkerLostError", "work"]

_AHEAD = 2  # tasks that a worker is given before it has done the first
_KNOWN = 64  # videos whose index a worker keeps
_START_LIMIT = 120.0  # seconds until a worker is ready
_LONG = 48  # packets of a run from which on threads of the codec pay, if no other task is there
_ROOM = 1 << 14  # bytes of a message; one that fills the socket would wait for a worker that hangs
_NUMBER = 8  # bytes of the number that goes with an open file


class WorkerLostError(DecodeError):
    """A task cost the process that worked on it."""


class _Order(NamedTuple):
    """A task as it travels."""

    number: int
    video: int
    facts: dict[str, Any] | None  # of the index, if it is new to the worker
    source: str | Item | None  # None for a video in memory
    segments: tuple[int, ...]  # new ones, whose open files are on their way
    gone: tuple[int, ...]
    targets: tuple[tuple[NDArray[np.int64], Place, View], ...]
    output: OutputFormat
    rotate: bool
    threads: int


class CpuPool:
    """Worker processes that decode, and the memory that they decode into.

    Workers are started when there is work for them, stay, and keep what they have open. One that
    dies, or takes longer than the limit for a task, costs that task, and another takes its place.
    Close the pool, or use it in a `with` block; it is closed when the interpreter ends at the
    latest. Not for sharing by threads; a fork of this process gets workers of its own.

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
        if self._count < 0 or time_limit <= 0 or threads < 1:
            raise ArgumentError(
                "workers is 0 or more, time_limit over 0 and threads 1 or more, got "
                f"workers={workers}, time_limit={time_limit:g}, threads={threads}"
            )
        self._time_limit = time_limit
        self._memory_limit = memory_limit
        self._threads = threads
        self._many_threads = max(threads, processors)
        self._memory = SharedMemory()
        self._videos = _Videos()
        self._team: list[_Worker] = []
        self._own: Decoders | None = None
        self._stats = {"tasks": 0, "failures": 0, "replaced": 0}
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _stop, self._team)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Memory for slots: its contents are arbitrary, and it is used again when it is garbage."""
        return self._memory.allocate(shape, dtype)

    def decode(self, tasks: Iterable[CpuTask]) -> Iterator[tuple[int, Exception | None]]:
        """Do tasks; give the number of each as it is done, and why if it could not be.

        Slots lie in memory from `allocate`, unless there are no workers. Those of a failed task
        hold anything. A task is taken from the iterable when a worker can have it.
        """
        if os.getpid() != self._owner:
            self._own = None
            _stop(self._team)  # lets go of them, no more: they are the other process's
            self._owner = os.getpid()
        numbered = enumerate(tasks)
        first = list(itertools.islice(numbered, 2))
        many = len(first) == 1
        waiting = itertools.chain(first, numbered)
        results = (
            self._decode_here(waiting, many) if not self._count else self._share(waiting, many)
        )
        for number, failure in results:
            self._stats["tasks"] += 1
            self._stats["failures"] += failure is not None
            yield number, failure

    def stats(self) -> dict[str, int]:
        """Counts: tasks, failures, workers that were replaced, workers now, bytes of memory."""
        return {**self._stats, "workers": len(self._team), "memory": self._memory.size}

    def close(self) -> None:
        """End the workers and give memory back that is not in use; arrays stay valid."""
        if os.getpid() == self._owner:
            _stop(self._team)
        if self._own is not None:
            self._own.close()
        self._videos.close()
        self._memory.close()

    def __enter__(self) -> CpuPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode_here(
        self, waiting: Iterator[tuple[int, CpuTask]], many: bool
    ) -> Generator[tuple[int, Exception | None], None, None]:
        if self._own is None:
            self._own = Decoders()
        for number, task in waiting:
            source, key = task.source, (self._videos.number(task), task.index)
            try:
                self._own.run(
                    task,
                    key=key,
                    open_video=source.open if isinstance(source, Item) else _opener(source),
                    threads=self._choose_threads(task, many),
                )
            except VideoError as error:
                yield number, error
            else:
                yield number, None

    def _share(
        self, waiting: Iterator[tuple[int, CpuTask]], many: bool
    ) -> Generator[tuple[int, Exception | None], None, None]:
        """Keep all workers busy until nothing is left."""
        team = self._team
        try:
            while True:
                yield from self._give(waiting, many)
                busy = [worker for worker in team if worker.given]
                if not busy:
                    return
                left = min(worker.deadline for worker in busy) - time.monotonic()
                ready = wait([worker.connection for worker in busy], timeout=max(left, 0))
                for worker in busy:
                    if worker.connection in ready:
                        yield from self._take(worker)
                    elif time.monotonic() > worker.deadline:
                        yield self._replace(worker, f"it took longer than {self._time_limit:g} s")
        finally:
            # What is still at work has nobody to wait for it, and writes into memory of others.
            for worker in [worker for worker in team if worker.given]:
                worker.stop()
                team.remove(worker)

    def _give(
        self, waiting: Iterator[tuple[int, CpuTask]], many: bool
    ) -> Iterator[tuple[int, Exception | None]]:
        """Tasks to workers, first to those that have none; what cannot even be sent has failed."""
        for depth in range(1, _AHEAD + 1):
            place = 0
            while place < self._count:
                if place == len(self._team):
                    task = next(waiting, None)
                    if task is None:
                        return
                    self._team.append(_Worker(self._time_limit, self._memory_limit))
                elif len(self._team[place].given) >= depth:
                    place += 1
                    continue
                else:
                    task = next(waiting, None)
                    if task is None:
                        return
                number, work_of = task
                try:
                    threads = self._choose_threads(work_of, many)
                    self._team[place].give(number, work_of, threads, self._memory, self._videos)
                except VideoError as error:
                    yield number, error

    def _take(self, worker: _Worker) -> Iterator[tuple[int, Exception | None]]:
        try:
            while worker.given and worker.connection.poll():
                result = worker.take()
                if result is not None:
                    yield result
        except (EOFError, OSError):
            yield self._replace(worker, worker.death())

    def _replace(self, worker: _Worker, reason: str) -> tuple[int, Exception]:
        """Blame the task at hand, and have another worker do the one behind it."""
        worker.stop()
        number, task, _ = worker.given.popleft()
        rest = list(worker.given)
        worker.given.clear()
        self._stats["replaced"] += 1
        other = _Worker(self._time_limit, self._memory_limit)
        self._team[self._team.index(worker)] = other
        for next_number, next_task, threads in rest:
            other.give(next_number, next_task, threads, self._memory, self._videos)
        return number, WorkerLostError(f"{task}: {reason}")

    def _choose_threads(self, task: CpuTask, many: bool) -> int:
        if task.threads is not None:
            return task.threads
        if many and self._many_threads > self._threads:
            runs = plan_decode(task.index, task.frames).runs
            if sum(len(run.packets) for run in runs) >= _LONG * len(runs) > 0:
                return self._many_threads
        return self._threads


def _opener(source: str | bytes) -> Any:
    return lambda: open_source(source)


def _stop(team: list[_Worker]) -> None:
    for worker in team:
        worker.stop()
    team.clear()


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
            while len(self._files) >= _KNOWN:
                os.close(self._files.popitem(last=False)[1][1])
            self._files[video] = (source, memory_file(source))
        self._files.move_to_end(video)
        return self._files[video][1]

    def close(self) -> None:
        for _, descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        self._numbers.clear()


class _Worker:
    """A process, the tasks it was given, and what it knows."""

    def __init__(self, time_limit: float, memory_limit: int | None) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = {"files": theirs.fileno(), "memory_limit": memory_limit}
            self._helper = Helper(f"{__name__}:work", arguments, pass_fds=(theirs.fileno(),))
        self._files = ours
        self.connection = self._helper.connection
        self.given: deque[tuple[int, CpuTask, int]] = deque()
        self._time_limit = time_limit
        self.deadline = time.monotonic() + _START_LIMIT
        self._is_ready = False
        self._known: OrderedDict[int, None] = OrderedDict()
        self._segments: set[int] = set()

    def give(
        self, number: int, task: CpuTask, threads: int, memory: SharedMemory, videos: _Videos
    ) -> None:
        """Send a task."""
        video = videos.number(task)
        targets = tuple(
            (np.asarray(target.frames, dtype=np.int64), memory.locate(target.slots), target.view)
            for target in task.targets
        )
        used = {place.segment for _, place, _ in targets}
        new = tuple(used - self._segments)
        gone = tuple(segment for segment in self._segments if memory.gone(segment))
        source = None if isinstance(task.source, bytes) else task.source
        facts = None
        if video not in self._known:
            facts = {f.name: getattr(task.index, f.name) for f in fields(task.index)}
        order = _Order(
            number,
            video,
            facts,
            source,
            new,
            gone,
            targets,
            task.output,
            task.rotate,
            threads,
        )
        if not self.given and self._is_ready:
            self.deadline = time.monotonic() + self._time_limit
        self.given.append((number, task, threads))
        data = pickle.dumps(order)
        with suppress(OSError):  # if it has died already, the next look at the connection tells
            if len(data) > _ROOM:
                file = memory_file(data)
                self._send_file(number, file)
                os.close(file)
                data = b""
            for segment in new:
                self._send_file(segment, memory.descriptor(segment))
            if facts is not None and isinstance(task.source, bytes):
                self._send_file(video, videos.file(video, task.source))
            self.connection.send_bytes(data)
        self._segments.update(new)
        self._segments.difference_update(gone)
        _remember(self._known, video, None)

    def take(self) -> tuple[int, Exception | None] | None:
        """A result that has arrived; None where the worker says that it is ready."""
        result: tuple[int, Exception | None] | None = self.connection.recv()
        self.deadline = time.monotonic() + self._time_limit
        if result is None:
            self._is_ready = True
        else:
            self.given.popleft()
        return result

    def death(self) -> str:
        """How the process died."""
        return self._helper.death()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._files.close()
        self._helper.stop()

    def _send_file(self, number: int, descriptor: int) -> None:
        socket.send_fds(self._files, [number.to_bytes(_NUMBER, "little")], [descriptor])


def _remember(known: OrderedDict[int, Any], video: int, what: Any) -> None:
    """Both ends forget the same videos, since they see the same tasks."""
    known[video] = what
    known.move_to_end(video)
    if len(known) > _KNOWN:
        known.popitem(last=False)


@dataclass(slots=True)
class _Video:
    index: VideoIndex
    source: str | Item | mmap

    def open(self) -> Source:
        source = self.source
        if isinstance(source, Item):
            return source.open()
        return open_source(source if isinstance(source, str) else memoryview(source))


def work(descriptor: int, *, files: int, memory_limit: int | None) -> None:
    """What a worker does: tasks as they come, until nobody is there to send them."""
    import cv2

    cv2.setNumThreads(1)
    _load_libraries()
    if memory_limit is not None:
        _limit_memory(memory_limit)
    connection: Connection[Any, Any] = Connection(descriptor)
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    known: OrderedDict[int, _Video] = OrderedDict()
    segments = MappedSegments()
    decoders = Decoders()
    with socket.socket(fileno=files) as channel, suppress(EOFError, OSError):
        connection.send(None)
        while True:
            data = connection.recv_bytes()
            if not data:
                with open(_receive_file(channel)[1], "rb") as file:
                    data = file.read()
            order: _Order = pickle.loads(data)
            segments.drop(order.gone)
            for _ in order.segments:
                segments.add(*_receive_file(channel))
            if order.facts is not None:
                source = order.source
                if source is None:
                    _, held = _receive_file(channel)
                    video = _Video(VideoIndex(**order.facts), mmap(held, 0))
                    os.close(held)
                else:
                    video = _Video(VideoIndex(**order.facts), source)
            else:
                video = known[order.video]
            _remember(known, order.video, video)
            failure = _attempt(order, video, segments, decoders)
            connection.send((order.number, failure))


def _attempt(
    order: _Order, video: _Video, segments: MappedSegments, decoders: Decoders
) -> Exception | None:
    targets = tuple(
        Target(frames, segments.array(place), view) for frames, place, view in order.targets
    )
    task = CpuTask("", video.index, targets, order.output, order.rotate)
    try:
        decoders.run(task, key=order.video, open_video=video.open, threads=order.threads)
    except VideoError as error:
        return error
    except MemoryError as error:
        return DecodeError(f"{task}: needs more memory than a worker may use ({error})")
    except Exception as error:  # noqa: BLE001  (whatever it is, it costs this task only)
        return DecodeError(f"{task}: {type(error).__name__}: {error}")
    return None


def _receive_file(channel: socket.socket) -> tuple[int, int]:
    number, descriptors, _, _ = socket.recv_fds(channel, _NUMBER, 1)
    if not descriptors:
        raise EOFError
    return int.from_bytes(number, "little"), descriptors[0]


def _end_with(descriptor: int) -> None:
    """End this process when the other end of a connection is closed, even amid a task."""
    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    os._exit(0)


def _load_libraries() -> None:
    """What tasks need, so that a limit counts from here on."""
    import av.filter
    import av.video.reformatter  # noqa: F401


def _limit_memory(size: int) -> None:
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used * 1024 + size, most))
