"""What decoding is held to, and whether a run met it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from decoders import EVERY, NEEDED, OURS

TORCHCODEC = "torchcodec, approx."

# Times faster than the best peer with the right frames.
FASTER = {
    ("h264-1080p", "uniform"): 1.5,
    ("h264-1080p", "random"): 1.5,
    ("h264-1080p", "clips"): 1.3,
    ("h264-1080p", "clips-224"): 1.4,
    ("h264-1080p", "consecutive"): 1.0,
    ("h264-1080p", "whole"): 1.0,
    ("h264-1080p", "chunks"): 1.0,
    ("h264-360p", "uniform"): 1.5,
    ("h264-360p", "random"): 1.5,
    ("h264-360p", "clips"): 1.3,
    ("h264-360p", "clips-224"): 1.4,
    ("hevc-1080p", "uniform"): 1.4,
    ("hevc-1080p", "random"): 1.4,
    ("hevc-1080p", "clips"): 1.3,
    ("hevc-1080p", "clips-224"): 1.4,
    ("av1-1080p", "uniform"): 1.2,
    ("av1-1080p", "clips-224"): 1.2,
    ("vp9-720p", "uniform"): 1.0,
    ("vp9-720p", "consecutive"): 1.0,
    ("vp9-720p", "whole"): 1.0,
    ("short", "8 of 60"): 1.3,
}
FASTER_THAN_TORCHCODEC = {"clips-224": 1.7}
BESIDE_A_BUSY_THREAD = 0.9
NO_MORE_MEMORY = {"consecutive", "whole"}


@dataclass(frozen=True, slots=True)
class Goal:
    """`measured` is at least `bound`, or at most where `is_limit`."""

    case: str
    what: str
    bound: float
    measured: float
    is_limit: bool = False

    @property
    def is_met(self) -> bool:
        return self.measured <= self.bound if self.is_limit else self.measured >= self.bound


class Row(Protocol):
    """One measurement."""

    @property
    def video(self) -> str: ...
    @property
    def case(self) -> str: ...
    @property
    def busy(self) -> bool: ...
    @property
    def contender(self) -> str: ...
    @property
    def median_ms(self) -> float: ...
    @property
    def peak_memory_mib(self) -> float: ...
    @property
    def is_right(self) -> bool: ...


def judge(rows: Sequence[Row]) -> list[Goal]:
    """The goals of all cases that were measured, with what was found."""
    return [
        goal
        for video, case in dict.fromkeys((row.video, row.case) for row in rows)
        for goal in _judge_case([row for row in rows if (row.video, row.case) == (video, case)])
    ]


def _judge_case(rows: list[Row]) -> Iterator[Goal]:
    alone = {row.contender: row for row in rows if not row.busy}
    beside = {row.contender: row for row in rows if row.busy}
    peers = [
        row for row in alone.values() if row.is_right and row.contender not in (OURS, NEEDED, EVERY)
    ]
    if OURS not in alone or not peers:
        return
    ours = alone[OURS]
    name = f"{ours.video}, {ours.case}"
    best = min(peers, key=lambda row: row.median_ms)
    if (ours.video, ours.case) in FASTER:
        bound = FASTER[ours.video, ours.case]
        yield Goal(
            name, f"times {best.contender}, at least", bound, best.median_ms / ours.median_ms
        )
    if ours.case in FASTER_THAN_TORCHCODEC and TORCHCODEC in alone and ours.video != "av1-1080p":
        bound = FASTER_THAN_TORCHCODEC[ours.case]
        measured = alone[TORCHCODEC].median_ms / ours.median_ms
        yield Goal(name, f"times {TORCHCODEC}, at least", bound, measured)
    if ours.case in NO_MORE_MEMORY:
        measured = ours.peak_memory_mib / best.peak_memory_mib
        yield Goal(name, f"memory of {best.contender}, at most", 1.0, measured, is_limit=True)
    if OURS in beside:
        measured = ours.median_ms / beside[OURS].median_ms
        yield Goal(name, "of itself beside a busy thread, at least", BESIDE_A_BUSY_THREAD, measured)
