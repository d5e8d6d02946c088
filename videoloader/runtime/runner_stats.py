"""Where the time of a `StageRunner` went: in its stages, and waiting for them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RunnerStats", "StageStats"]


@dataclass(frozen=True, slots=True)
class StageStats:
    """What a stage has done so far: items, and seconds its threads spent working or waiting.

    `queued` items of it wait for the next stage or the consumer now; `room` is the most that may.
    """

    name: str
    items: int
    busy: float
    waiting_for_input: float
    waiting_for_room: float
    queued: int = 0
    room: int = 0


@dataclass(frozen=True, slots=True)
class RunnerStats:
    """Where the time of a runner went.

    Attributes:
        items: that the consumer took.
        seconds: from the first to the last of them.
        waited: seconds that the consumer waited for them, the first not counted.
        stages: of each stage, in order.
    """

    items: int
    seconds: float
    waited: float
    stages: tuple[StageStats, ...]

    def __str__(self) -> str:
        """One line: whether the consumer waits, and for which stage."""
        if self.items < 2:
            return "nothing was waited for yet"
        share = self.waited / self.seconds if self.seconds else 0.0
        if share < 0.01:
            return f"the consumer does not wait ({share:.1%} of {self.seconds:.1f} s)"
        slowest = max(self.stages, key=lambda stage: stage.busy)
        return (
            f"the consumer waited {self.waited:.1f} of {self.seconds:.1f} s ({share:.0%}), "
            f"for {slowest.name} (busy {slowest.busy:.1f} s)"
        )
