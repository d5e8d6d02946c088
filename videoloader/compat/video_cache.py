"""Videos kept open between calls, the least recently used closed first."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from videoloader.compat.opening import open_video
from videoloader.errors import ArgumentError
from videoloader.machinery.system.forking import ForkSafeLock, reset_after_fork
from videoloader.video import Video

__all__ = ["VideoCache"]


@dataclass(slots=True, eq=False)
class _Entry:
    """An open video; closed when it is neither kept nor in use."""

    video: Video
    state: tuple[int, ...] | None
    users: int = 0
    is_kept: bool = True


class VideoCache:
    """Open videos by path or URL, with their indexes and decoders.

    Thread-safe. A forked process keeps the videos of its parent and opens its own decoders. A local
    file that has changed is opened again.

    Args:
        max_size: videos kept open; None for no limit.
        **options: of `Video`.
    """

    def __init__(self, max_size: int | None = 100, **options: Any) -> None:
        if max_size is not None and max_size < 1:
            raise ArgumentError(f"max_size is at least 1, or None, got {max_size}")
        self.max_size = max_size
        self._options = options
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = ForkSafeLock()
        reset_after_fork(self, VideoCache._forget_users)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: str | os.PathLike[str]) -> bool:
        return os.fspath(path) in self._entries

    @contextmanager
    def lend(self, path: str | os.PathLike[str]) -> Iterator[Video]:
        """The video of a path or URL, which stays open for the length of a `with` block."""
        entry = self._take(os.fspath(path))
        try:
            yield entry.video
        finally:
            self._give_back(entry)

    def clear(self) -> None:
        """Close all videos; a video in use is closed when it is given back."""
        with self._lock:
            entries = [*self._entries.values()]
            self._entries.clear()
            dropped = self._drop(entries)
        _close(dropped)

    def _take(self, path: str) -> _Entry:
        state = _state(path)
        with self._lock:
            entry = self._entries.get(path)
            if entry is not None and entry.state == state:
                self._entries.move_to_end(path)
                entry.users += 1
                return entry
        fresh = _Entry(open_video(path, **self._options), state, users=1)
        with self._lock:  # two threads may have opened it; the later one is kept
            old = [self._entries.pop(path)] if path in self._entries else []
            self._entries[path] = fresh
            while self.max_size is not None and len(self._entries) > self.max_size:
                old.append(self._entries.popitem(last=False)[1])
            dropped = self._drop(old)
        _close(dropped)
        return fresh

    def _give_back(self, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            is_done = not entry.is_kept and entry.users <= 0
        if is_done:
            entry.video.close()

    def _drop(self, entries: list[_Entry]) -> list[Video]:
        """Mark entries as dropped; returns the videos that are not in use."""
        for entry in entries:
            entry.is_kept = False
        return [entry.video for entry in entries if entry.users <= 0]

    def _forget_users(self) -> None:
        for entry in self._entries.values():
            entry.users = 0


def _state(path: str) -> tuple[int, ...] | None:
    """Identity, size and time of a local file; None for anything else."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return None


def _close(videos: list[Video]) -> None:
    for video in videos:
        video.close()
