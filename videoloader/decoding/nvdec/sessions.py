"""The sessions of a GPU: which one decodes a stream, when to create one, which one to close.

A new decoder takes 57 ms to its first picture, one that changes its size 6 ms, and one of the same
size 2 ms. Creation and size changes of different sessions do not overlap. So a stream uses an idle
session of its size if there is one. Otherwise it changes the size of another session; if the size
is missing repeatedly, a session is created for it, as long as there is room.

A session that stands in the middle of a video, to go on with it (`Reading`), is idle too; others
get it only where there is no room for a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from videoloader.decoding.nvdec.hardware import DecoderKind, StreamNeeds
from videoloader.decoding.nvdec.session import Reading, Session

_Key: TypeAlias = tuple[DecoderKind, tuple[int, int] | None]
"""A kind of decoder and a coded size; None means any size."""

_MOST_SESSIONS = 240  # a process gets about 280 decoders
_MOST_MISSED = 10_000


class Sessions:
    """The sessions of a GPU. Not thread-safe.

    Args:
        memory: estimated bytes of GPU memory for all sessions; busy sessions may exceed it.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self.used, self.count = 0, 0
        """Estimated bytes and number of all sessions."""
        self.idle: list[Session] = []
        """Least recently used first."""
        self._idle_of: Counter[_Key] = Counter()  # number of idle sessions by size
        self._missed: set[_Key] = set()
        self._kept: Counter[_Key] = Counter()
        self._runs: Counter[_Key] = Counter()

    def ready(self, kind: DecoderKind, needs: StreamNeeds) -> Session | None:
        """The idle session with the size of a stream and the lowest cost; None if there is none."""
        key = kind, needs.size
        if key not in self._idle_of:  # fast path: with many sizes, most have none
            return None
        fitting = self._fitting(kind, needs, needs.size)
        return min(
            fitting, key=lambda one: (one.stands, one.decoder.room.excess(needs)), default=None
        )

    def standing(self, reading: Reading) -> Session | None:
        """The idle session that continues this reading; None if there is none."""
        return next((session for session in self.idle if session.reading is reading), None)

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
        # Prefer a size with several sessions; among equals, the least recently used one.
        return min(
            fitting,
            key=lambda one: (one.stands, self._is_single(one), one.decoder.room.excess(needs)),
        )

    def is_worth_waiting(self, kind: DecoderKind, needs: StreamNeeds) -> bool:
        """Whether a busy session that fits a stream better than idle ones will be idle soon."""
        if self._keeps_limits(kind.memory(needs), sessions=1):
            return False
        if self._runs[kind, needs.size]:
            return True
        return self._runs[kind, None] > 0 and not self._fitting(kind, needs)

    def begin_run(self, kind: DecoderKind, needs: StreamNeeds) -> None:
        """Record that a session has begun a run, and will be idle soon."""
        for size in (needs.size, None):
            self._runs[kind, size] += 1

    def end_run(self, kind: DecoderKind, needs: StreamNeeds) -> None:
        """Record that the run of a session is over."""
        for size in (needs.size, None):
            _one_less(self._runs, (kind, size))

    def claim(
        self, session: Session | None, kind: DecoderKind, needs: StreamNeeds
    ) -> list[Session]:
        """Mark an idle session as busy with a stream, or count a new one that will be created.

        Returns:
            Idle sessions to close before creating the new one.
        """
        if session is None:
            return self._add(kind, needs)
        self._remove_idle(session)
        _one_less(self._kept, (kind, session.size))
        session.size = needs.size
        self._kept[kind, session.size] += 1
        return []

    def drop(self, kind: DecoderKind, needs: StreamNeeds) -> None:
        """Forget a counted session that could not be created."""
        self._forget(kind, needs.size, kind.memory(needs))

    def give_back(self, session: Session) -> list[Session]:
        """Mark a session as idle; returns sessions to close."""
        if session.is_sound:
            self.idle.append(session)
            self._idle_of[session.decoder.kind, session.size] += 1
            return self._excess()
        # After an error, the state of its decoder is undefined.
        self._forget(session.decoder.kind, session.size, session.decoder.memory)
        return [session]

    def clear(self) -> list[Session]:
        """Remove and return all idle sessions, to be closed."""
        gone = list(self.idle)
        for session in gone:
            self._remove_idle(session)
            self._forget(session.decoder.kind, session.size, session.decoder.memory)
        return gone

    def _add(self, kind: DecoderKind, needs: StreamNeeds) -> list[Session]:
        self.count += 1
        self.used += kind.memory(needs)
        self._kept[kind, needs.size] += 1
        return self._excess()

    def _remove_idle(self, session: Session) -> None:
        self.idle.remove(session)
        _one_less(self._idle_of, (session.decoder.kind, session.size))

    def _forget(self, kind: DecoderKind, size: tuple[int, int], memory: int) -> None:
        self.count -= 1
        self.used -= memory
        _one_less(self._kept, (kind, size))

    def _fitting(
        self, kind: DecoderKind, needs: StreamNeeds, size: tuple[int, int] | None = None
    ) -> Sequence[Session]:
        may_disturb = not self._keeps_limits(kind.memory(needs), sessions=1)
        return [
            session
            for session in self.idle
            if session.decoder.kind == kind
            and size in (None, session.size)
            and session.decoder.room.fits(needs)
            and (may_disturb or not session.stands)
        ]

    def _is_single(self, session: Session) -> bool:
        return self._kept[session.decoder.kind, session.size] == 1

    def _keeps_limits(self, memory: int = 0, sessions: int = 0) -> bool:
        """Whether all sessions, plus `memory` bytes and `sessions`, are within the limits."""
        return self.used + memory <= self._memory and self.count + sessions <= _MOST_SESSIONS

    def _excess(self) -> list[Session]:
        """Remove and return idle sessions until the others are within the limits."""
        dropped = []
        while self.idle and not self._keeps_limits():
            session = min(self.idle, key=lambda one: (one.stands, self._is_single(one)))
            self._remove_idle(session)
            self._forget(session.decoder.kind, session.size, session.decoder.memory)
            dropped.append(session)
        return dropped


def _one_less(counter: Counter[_Key], key: _Key) -> None:
    """Decrement a count; deletes it at 0, since there may be very many sizes."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
