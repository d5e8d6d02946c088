"""A thread pool that decodes runs in long-lived NVDEC sessions.

A session decodes on one engine. Runs are independent jobs for threads: of large pictures twice as
many as there are engines, so that while one session returns its frames, another keeps the engine
busy; of small pictures one for each engine, since more only wait for the interpreter. One kernel
launch converts all wanted surfaces of a call.

After a run, its session is kept for later streams (`sessions.py`). Waiting jobs whose size has an
idle session go first, so that with mixed sizes fewer sessions have to change their size.

A file that stays open may be read call by call. Its session then stays behind the last frame of a
call, and goes on there (`Reading`).
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from videoloader.decoding.cpu.forward import Place
from videoloader.decoding.nvdec.hardware import DecoderKind, StreamNeeds, capabilities, gpu_memory
from videoloader.decoding.nvdec.session import NvdecJob, Reading, Session, Stats
from videoloader.decoding.nvdec.sessions import Sessions
from videoloader.decoding.switches import quick_switches
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Run
from videoloader.sources.source import Source

_THREADS_PER_ENGINE = 2
SMALL = 1 << 19
"""Most pixels of a small picture: those of 360p and 640x640, not of 720p."""

_LEAST_MEMORY, _MEMORY_SHARE = 1 << 30, 16
_MOST_PASSED = 16
_PLACES = 4  # where a video is read on, for readers that take turns
_NEAR = 8  # frames that may be left out between calls


@dataclass(slots=True, eq=False)
class _Waiting:
    """A waiting job, its requirements, and how many later jobs have overtaken it."""

    job: NvdecJob
    kind: DecoderKind
    needs: StreamNeeds
    future: Future[Any] = field(default_factory=Future)
    passed: int = 0


class NvdecPool:
    """Long-lived NVDEC sessions of one GPU, for streams of many sizes and codecs.

    Thread-safe.

    Args:
        gpu: number of the device.
        threads: runs that are decoded concurrently, half as many of small pictures; by default
            twice the engines of the GPU.
        memory: estimated bytes of GPU memory for all sessions; busy sessions may exceed it. By
            default 1/16 of the GPU's memory, at least 1 GiB.
    """

    def __init__(self, gpu: int, *, threads: int | None = None, memory: int | None = None) -> None:
        if threads is None:
            found = capabilities(gpu, "h264", "420", 8)
            threads = _THREADS_PER_ENGINE * (found.engines if found else 1)
        if memory is None:
            memory = max(_LEAST_MEMORY, gpu_memory(gpu) // _MEMORY_SHARE)
        self.gpu = gpu
        self.stats = Stats()
        self._engines = max(1, threads // _THREADS_PER_ENGINE)
        self.memory = memory
        self._sessions = Sessions(memory)
        self._waiting: deque[_Waiting] = deque()
        self._running = self._workers = 0
        self._most_workers = threads
        self._readings: WeakKeyDictionary[Source, list[Reading]] = WeakKeyDictionary()
        # Reentrant: the garbage collector may end a batch, whose jobs are then cancelled, in a
        # thread that holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._prefix = f"nvdec-{gpu}"
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=self._prefix)

    @property
    def sessions(self) -> int:
        """Number of open sessions, idle or busy."""
        return self._sessions.count

    @property
    def is_worker(self) -> bool:
        """Whether jobs of this pool wait for the current thread: it decodes them, or has the lock.

        The garbage collector may end a batch in either.
        """
        lock: Any = self._changed
        return threading.current_thread().name.startswith(self._prefix) or lock._is_owned()

    def submit(self, jobs: Sequence[NvdecJob]) -> list[Future[Any]]:
        """Decode jobs when sessions are free; mostly in the order of submission.

        Returns:
            For each a future of a CUDA event after which the slots are filled; jobs of one session
            share it. The future raises `UnsupportedError` if the GPU turns out not to decode the
            stream, `DecodeError` if frames are missing, `SourceError` if the file cannot be read;
            nothing writes to the slots any more then.
        """
        added = [_Waiting(job, job.kind(self.gpu), job.needs) for job in jobs]
        is_large = any(math.prod(waiting.needs.size) > SMALL for waiting in added)
        most = self._most_workers if is_large else self._engines
        with self._changed:  # all at once: a thread that wakes up wants the interpreter
            for _ in range(min(len(added), most - self._workers)):
                self._threads.submit(self._work)
                self._workers += 1
            self._waiting.extend(added)
            self._changed.notify(len(added))
        return [waiting.future for waiting in added]

    def reading(self, source: Source, index: VideoIndex, runs: Sequence[Run]) -> Reading | None:
        """The reading that continues with runs of a video whose file stays open between calls.

        Args:
            source: of the video.
            index: of the video.
            runs: of one call, ascending.

        Returns:
            None where no earlier call leads to these runs, or where engines decode them sooner side
            by side.
        """
        first, last = runs[0], runs[-1]
        end = Place(max(int(run.frames.max()) for run in runs), int(last.packets[-1]))
        near = max(_NEAR, sum(len(run.frames) for run in runs))
        with self._changed:
            known = self._readings.setdefault(source, [])
            leading = (
                reading
                for reading in known
                if reading.index is index and reading.place.leads_to(first, near)
            )
            chosen, reads_on = next(leading, None), False
            if chosen is None:
                chosen = Reading(weakref.ref(source), index, end, is_begun=False)
            else:
                known.remove(chosen)
                packets, chosen.place = end.packet - chosen.place.packet, end
                reads_on = packets <= max(len(run.packets) for run in runs)
                chosen.is_begun |= reads_on
            alike = [reading for reading in known if reading.is_begun == chosen.is_begun]
            for superfluous in alike[: 1 - _PLACES]:
                superfluous.is_over = True
                known.remove(superfluous)
            known.append(chosen)
            return chosen if reads_on else None

    def close(self) -> None:
        """Finish all submitted jobs and close the decoders."""
        self._threads.shutdown()
        _close(self._sessions.clear())

    def _work(self) -> None:
        """Decode waiting jobs until there are none; each thread does."""
        with quick_switches():
            while (chosen := self._choose()) is not None:
                self._decode(*chosen)
                del chosen  # it keeps the memory of clips

    def _decode(self, waiting: _Waiting, session: Session | None, dropped: list[Session]) -> None:
        """Decode a job in a session, or in a new one."""
        kind, needs = waiting.kind, waiting.needs
        try:
            if session is None:
                session = self._make(kind, needs, dropped)
            done = session.decode(waiting.job)
        except BaseException as error:  # noqa: BLE001
            failure: BaseException | None = error
        else:
            failure = None
        with self._changed:
            self._running -= 1
            self._sessions.end_run(kind, needs)
            if (reading := waiting.job.reading) is not None:
                reading.is_busy = False
            dropped = [] if session is None else self._sessions.give_back(session)
            self._changed.notify_all()
        _close(dropped)  # outside the lock, since it may wait for the GPU
        if failure is None:
            waiting.future.set_result(done)
        else:
            waiting.future.set_exception(failure)

    def _choose(self) -> tuple[_Waiting, Session | None, list[Session]] | None:
        """The next job, its session (None: make one), and idle sessions to close for it."""
        with self._changed:
            while True:
                while self._waiting and self._waiting[0].future.cancelled():
                    # `concurrent.futures.wait` returns for a cancelled future only after this.
                    self._waiting.popleft().future.set_running_or_notify_cancel()
                if not self._waiting:
                    self._workers -= 1
                    return None
                found = self._best()
                if found is None:
                    self._changed.wait()
                    continue
                waiting, session = found
                self._waiting.remove(waiting)
                if not waiting.future.set_running_or_notify_cancel():
                    continue
                self._running += 1
                if waiting.job.reading is not None:
                    waiting.job.reading.is_busy = True
                kind, needs = waiting.kind, waiting.needs
                self._sessions.begin_run(kind, needs)
                return waiting, session, self._sessions.claim(session, kind, needs)

    def _best(self) -> tuple[_Waiting, Session | None] | None:
        """The waiting job to run next, and its idle session; None to wait for a busy session."""
        first = self._waiting[0]
        # Waiting is acceptable if enough other jobs run to keep all engines busy.
        may_wait = self._running >= self._engines
        other: _Waiting | None = None
        begun: list[Reading] = []
        for waiting in self._waiting:
            kind, needs = waiting.kind, waiting.needs
            reading, session = waiting.job.reading, None
            if reading is not None:
                if reading.is_busy or reading in begun:
                    continue  # its jobs are done one by one
                begun.append(reading)
                session = self._sessions.standing(reading)
            session = session or self._sessions.ready(kind, needs)
            if session is not None:
                first.passed += waiting is not first
                return waiting, session
            if other is None and not (may_wait and self._sessions.is_worth_waiting(kind, needs)):
                other = waiting
                if first.passed >= _MOST_PASSED:
                    break
        return None if other is None else (other, self._sessions.other(other.kind, other.needs))

    def _make(self, kind: DecoderKind, needs: StreamNeeds, dropped: list[Session]) -> Session:
        """Create a session, which `claim` has counted already."""
        _close(dropped)
        try:
            return Session(kind, needs, self.gpu, self.stats)
        except BaseException:
            with self._changed:
                self._sessions.drop(kind, needs)
            raise


def _close(sessions: list[Session]) -> None:
    """Close sessions, and let go of them: the lists live on in the frames of waiting threads."""
    while sessions:
        sessions.pop().close()
