"""The sessions of a GPU: which one takes a stream, when to make one, which one goes.

A fresh decoder takes 57 ms to its first picture, one that changes its size 6 ms, one that does not
2 ms, and the first two of these do not overlap with those of other sessions. So a stream takes a
session of its size where one is idle. Else it changes the size of another, and where the size is
missed again it gets one more, as long as there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from videoloader.decoding.nvdec.hardware import DecoderKind, StreamNeeds
from videoloader.decoding.nvdec.session import Session

__all__ = ["Sessions"]

_MOST_SESSIONS = 240  # a process gets about 280 decoders
_MOST_MISSED = 10_000


class Sessions:
    """The sessions of a GPU, for one thread at a time.

    Args:
        memory: bytes of GPU memory that idle sessions and busy ones may take in all, as far as can
            be told; the busy ones may exceed it.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self.used, self.count = 0, 0
        """Bytes and number of all sessions."""
        self.idle: list[Session] = []
        """Least recently used first."""
        self._missed: set[tuple[DecoderKind, tuple[int, int]]] = set()
        self._kept: Counter[tuple[DecoderKind, tuple[int, int]]] = Counter()
        self._runs: Counter[tuple[DecoderKind, tuple[int, int] | None]] = Counter()

    def ready(self, kind: DecoderKind, needs: StreamNeeds) -> Session | None:
        """The idle session that has the size of a stream and loses least by it."""
        key = kind, needs.size
        fitting = [
            session
            for session in self.idle
            if (session.decoder.kind, session.size) == key and session.decoder.room.fits(needs)
        ]
        return min(fitting, key=lambda one: one.decoder.room.excess(needs), default=None)

    def other(self, kind: DecoderKind, needs: StreamNeeds) -> Session | None:
        """The idle session whose size a stream should change; None if a new one is better."""
        key = kind, needs.size
        if key in self._missed and self._keeps_limits(kind.memory(needs), sessions=1):
            return None
        fitting = self._fitting(kind, needs)
        if not fitting:
            return None
        if len(self._missed) == _MOST_MISSED:
            self._missed.clear()
        self._missed.add(key)
        # One of a size that has several; of equals the one that has been idle for longest.
        return min(fitting, key=lambda one: (self._is_single(one), one.decoder.room.excess(needs)))

    def is_worth_waiting(self, kind: DecoderKind, needs: StreamNeeds) -> bool:
        """Whether a busy session that suits a stream better than others will be idle soon."""
        if self._keeps_limits(kind.memory(needs), sessions=1):
            return False
        if self._runs[kind, needs.size]:
            return True
        return self._runs[kind, None] > 0 and not self._fitting(kind, needs)

    def begin_run(self, kind: DecoderKind, needs: StreamNeeds, *, number: int = 1) -> None:
        """Note that a session will be idle soon, or no longer will be (-1)."""
        for size in (needs.size, None):
            self._runs[kind, size] += number

    def take(self, session: Session, needs: StreamNeeds) -> None:
        """Have an idle session decode a stream."""
        self.idle.remove(session)
        kind = session.decoder.kind
        self._kept[kind, session.size] -= 1
        session.size = needs.size
        self._kept[kind, session.size] += 1

    def add(self, kind: DecoderKind, needs: StreamNeeds) -> list[Session]:
        """Count a session that is to be made for a stream; gives those that are to go for it."""
        self.count += 1
        self.used += kind.memory(needs)
        self._kept[kind, needs.size] += 1
        return self._excess()

    def drop(self, kind: DecoderKind, needs: StreamNeeds) -> None:
        """Forget a session that could not be made."""
        self._forget(kind, needs.size, kind.memory(needs))

    def give_back(self, session: Session) -> list[Session]:
        """Note that a session is idle again; gives those that are to go."""
        if session.is_between_runs:
            self.idle.append(session)
            return self._excess()
        # After an error, or where a run was left, the state of its decoder is undefined.
        self._forget(session.decoder.kind, session.size, session.decoder.memory)
        return [session]

    def _forget(self, kind: DecoderKind, size: tuple[int, int], memory: int) -> None:
        self.count -= 1
        self.used -= memory
        self._kept[kind, size] -= 1

    def _fitting(self, kind: DecoderKind, needs: StreamNeeds) -> Sequence[Session]:
        return [
            session
            for session in self.idle
            if session.decoder.kind == kind and session.decoder.room.fits(needs)
        ]

    def _is_single(self, session: Session) -> bool:
        return self._kept[session.decoder.kind, session.size] == 1

    def _keeps_limits(self, memory: int = 0, sessions: int = 0) -> bool:
        """Whether the sessions, and so many more, keep within what they may take in all."""
        return self.used + memory <= self._memory and self.count + sessions <= _MOST_SESSIONS

    def _excess(self) -> list[Session]:
        """Idle sessions that are to go so that the others keep within the limits."""
        dropped = []
        while self.idle and not self._keeps_limits():
            session = min(self.idle, key=self._is_single)
            self.idle.remove(session)
            self._forget(session.decoder.kind, session.size, session.decoder.memory)
            dropped.append(session)
        return dropped
