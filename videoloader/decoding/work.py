"""How much decoding a batch took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeAlias

__all__ = ["NO_WORK", "NoteWork", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """What decoders have done for some clips. Work that ended in an error is not counted.

    Attributes:
        packets: fed to decoders.
        bytes: of these packets.
        decoded: frames that the decoders gave.
        used: distinct frames of them that somebody wanted; the others were discarded.
        decode_seconds: that decoders were busy with them, the sum over all processes and sessions;
            reading included, and on a GPU the conversion, which overlaps with decoding there.
        convert_seconds: that conversion to RGB, resizing and copying took on CPUs.
    """

    packets: int = 0
    bytes: int = 0
    decoded: int = 0
    used: int = 0
    decode_seconds: float = 0.0
    convert_seconds: float = 0.0

    @property
    def discarded(self) -> int:
        """Frames that were decoded since others need them, and that nobody wanted."""
        return self.decoded - self.used

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Work)))

    def __sub__(self, other: Work) -> Work:
        return Work(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Work)))


NO_WORK = Work()

NoteWork: TypeAlias = Callable[[Work], object]
"""Is told of work that is done."""
