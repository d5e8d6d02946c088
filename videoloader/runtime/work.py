"""How much decoding a batch took."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
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
        return Work(*map(operator.add, _counts(self), _counts(other)))

    def __sub__(self, other: Work) -> Work:
        return Work(*map(operator.sub, _counts(self), _counts(other)))


_counts = operator.attrgetter(*Work.__slots__)

NO_WORK = Work()

NoteWork: TypeAlias = Callable[[Work], object]
"""Is told of work that is done."""
