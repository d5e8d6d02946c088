"""What went wrong without ending the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from videoloader.sources.address import public

__all__ = ["Failures"]


class Failures:
    """Pairs (path, what went wrong), each kept once, in the order of their first time.

    A bad file fails again in every epoch, so this must not grow with the length of a run.

    Args:
        limit: how many to keep; later ones are not.

    Threads may share it; iterating sees those of one moment.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._known: dict[tuple[str, str], None] = {}
        self._lock = threading.Lock()

    def add(self, path: str, reason: str) -> None:
        """Keep a failure, if it is new and there is room; of a URL only what is public."""
        with self._lock:
            if len(self._known) < self._limit:
                self._known[public(path), reason] = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        with self._lock:
            return iter(tuple(self._known))
