"""Sounds in worker processes, one a task; their samples travel back as a message."""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.audio.request import DecodedSound, SoundRequest
from videoloader.workers.protocol import Worker

__all__ = ["SoundTask"]


@dataclass(frozen=True, slots=True, eq=False)
class SoundTask:
    """A sound for a worker, and how many workers it may cost."""

    request: SoundRequest
    tries: int = 2

    def perform(self, worker: Worker) -> DecodedSound:  # noqa: ARG002
        """Decode it."""
        return self.request.decode()

    def __str__(self) -> str:
        """The file, for messages."""
        return self.request.name
