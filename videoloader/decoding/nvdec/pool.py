"""A thread pool that decodes runs in long-lived NVDEC sessions.

A session decodes on one engine. Runs are independent jobs, executed by twice as many threads as
there are engines: while one session returns its frames, another keeps the engine busy. One kernel
launch converts all wanted surfaces of a call.

After a run, its session is kept for later streams (`sessions.py`). Waiting jobs whose size has an
idle session go first, so that with mixed sizes fewer sessions have to change their size.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from videoloader.decoding.nvdec.hardware import (
    DecoderKind,
    StreamNeeds,
    capabilities,
    gpu_memory,
)
from videoloader.decoding.nvdec.session import MakeSlots, NvdecJob, Session, Stats
from videoloader.decoding.nvdec.sessions import Sessions
from videoloader.decoding.switches import quick_switches

__all__ = ["NvdecPool"]

_THREADS_PER_ENGINE = 2
_LEAST_MEMORY, _MEMORY_SHARE = 1 << 30, 16
_MOST_PASSED = 16


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
        threads: runs that are decoded concurrently; by default twice the engines of the GPU. Each
            stream in `read` has another session, as long as it is read.
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
        self._sessions = Sessions(memory)
        self._waiting: deque[_Waiting] = deque()
        self._running = 0
        # Reentrant: the garbage collector may end a `read` iterator, which returns its session,
        # in a thread that holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._prefix = f"nvdec-{gpu}"
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=self._prefix)

    @property
    def sessions(self) -> int:
        """Number of open sessions, idle or busy."""
        return self._sessions.count

    def submit(self, job: NvdecJob) -> Future[Any]:
        """Decode a job when a session is free; mostly in the order of submission.

        Returns:
            Future of a CUDA event after which the slots are filled; jobs of one session share it.
            The future raises `UnsupportedError` if the GPU turns out not to decode the stream,
            `DecodeError` if frames are missing, `SourceError` if the file cannot be read; nothing
            writes to the slots any more then.
        """
        waiting = _Waiting(job, job.kind(self.gpu), job.needs)
        with self._changed:
            self._threads.submit(self._decode_next)
            self._waiting.append(waiting)
            self._changed.notify()
        return waiting.future

    def read(self, job: NvdecJob, make_slots: MakeSlots, most: int) -> Iterator[None]:
        """Decode a run of which all frames are wanted, one piece ahead of the consumer.

        Args:
            job: the run; it needs no targets.
            make_slots: called in another thread with a number of frames; returns rows for the
                converter, whose slots may be written immediately.
            most: frames of each piece except the last.

        Yields:
            None, each time the slots of a piece are filled, in presentation order. Raises the
            errors of `submit`.
        """
        with quick_switches():
            yield from self._read(job, make_slots, most)

    def _read(self, job: NvdecJob, make_slots: MakeSlots, most: int) -> Iterator[None]:
        session = self._take(job)
        pieces = session.pieces(job, make_slots, most)

        def step() -> bool:
            return next(pieces, False)

        ahead = self._threads.submit(step)
        try:
            while ahead.result():
                ahead = self._threads.submit(step)
                yield
        finally:
            ahead.cancel()
            over = threading.Event()

            def finish(_: Future[Any]) -> None:
                try:
                    pieces.close()
                    self._give_back(session)
                finally:
                    over.set()

            ahead.add_done_callback(finish)
            # The garbage collector may be what ends this, in the very thread that would be waited
            # for; `pieces` holds what is written into until then.
            is_own = threading.current_thread().name.startswith(self._prefix)
            while not (is_own or over.is_set()):
                with suppress(KeyboardInterrupt):  # which would leave it at work
                    over.wait()

    def close(self) -> None:
        """Finish all submitted jobs and close the decoders."""
        self._threads.shutdown()
        _close(self._sessions.clear())

    def _decode_next(self) -> None:
        """Decode one of the waiting jobs, if there is one; some may have been cancelled."""
        chosen = self._choose()
        if chosen is None:
            return
        waiting, session, dropped = chosen
        kind, needs = waiting.kind, waiting.needs
        try:
            if session is None:
                session = self._make(kind, needs, dropped)
            with quick_switches():
                done = session.decode(waiting.job)
        except BaseException as error:  # noqa: BLE001
            failure: BaseException | None = error
        else:
            failure = None
        with self._changed:
            self._running -= 1
            self._sessions.end_run(kind, needs)
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
                kind, needs = waiting.kind, waiting.needs
                self._sessions.begin_run(kind, needs)
                return waiting, session, self._sessions.claim(session, kind, needs)

    def _best(self) -> tuple[_Waiting, Session | None] | None:
        """The waiting job to run next, and its idle session; None to wait for a busy session."""
        first = self._waiting[0]
        # Waiting is acceptable if enough other jobs run to keep all engines busy.
        may_wait = self._running >= self._engines
        other: _Waiting | None = None
        for waiting in self._waiting:
            kind, needs = waiting.kind, waiting.needs
            session = self._sessions.ready(kind, needs)
            if session is not None:
                first.passed += waiting is not first
                return waiting, session
            if other is None and not (may_wait and self._sessions.is_worth_waiting(kind, needs)):
                other = waiting
                if first.passed >= _MOST_PASSED:
                    break
        return None if other is None else (other, self._sessions.other(other.kind, other.needs))

    def _take(self, job: NvdecJob) -> Session:
        """A session for a job: an idle one that fits, or a new one."""
        kind, needs = job.kind(self.gpu), job.needs
        with self._changed:
            session = self._sessions.ready(kind, needs) or self._sessions.other(kind, needs)
            dropped = self._sessions.claim(session, kind, needs)
        return session or self._make(kind, needs, dropped)

    def _make(self, kind: DecoderKind, needs: StreamNeeds, dropped: Sequence[Session]) -> Session:
        """Create a session, which `claim` has counted already."""
        _close(dropped)
        try:
            return Session(kind, needs, self.gpu, self.stats)
        except BaseException:
            with self._changed:
                self._sessions.drop(kind, needs)
            raise

    def _give_back(self, session: Session) -> None:
        with self._changed:
            dropped = self._sessions.give_back(session)
            self._changed.notify_all()
        _close(dropped)


def _close(sessions: Sequence[Session]) -> None:
    for session in sessions:
        session.close()
