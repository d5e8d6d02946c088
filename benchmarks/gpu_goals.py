"""What decoding on the GPU is held to, and whether a run met it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from goals import Goal
from gpu_contenders import CEILING, OURS

TORCHCODEC = "torchcodec"
# DALI 2.4's `decoders.video` as measured once on an H200 (clips and uniform videos a second, for
# H.264 1080p); its wheel is too large to take along.
DALI = {"clips": 10.3, "uniform": 8.1}
OF_CEILING = {"sequential": 0.98, "clips": 0.95, "uniform": 0.95}
OF_TORCHCODEC = {"sequential": 1.0, "clips": 1.8, "uniform": 1.8}
OF_DALI = 4.0
BESIDE_A_BUSY_THREAD = 0.9
FIRST_MS_OVER_NEEDED = 5.0
MEMORY_MIB = 3072.0
GROWTH_MIB = 64.0


def judge(results: dict[str, Any]) -> list[Goal]:
    """The goals of all cases that were measured, with what was found."""
    return [goal for video, found in results.items() for goal in _judge_video(video, found)]


def _judge_video(video: str, found: dict[str, Any]) -> Iterator[Goal]:
    ours, ceiling = found.get(OURS, {}), found.get(CEILING, {})
    for case in OF_CEILING:
        value = _value(ours, case)
        name = f"{video}, {case}"
        if value is None:
            continue
        if (top := _ceiling(ceiling, case)) is not None:
            yield Goal(name, "of the ceiling, at least", OF_CEILING[case], value / top)
        if (peer := _value(found.get(TORCHCODEC, {}), case)) is not None:
            bound = OF_TORCHCODEC[case]
            yield Goal(name, "times torchcodec, at least", bound, value / peer)
        if video == "h264-1080p" and case in DALI:
            what = "times DALI (measured earlier), at least"
            yield Goal(name, what, OF_DALI, value / DALI[case])
        if (beside := _value(ours, f"{case}, busy")) is not None:
            what = "of itself beside a busy thread, at least"
            yield Goal(name, what, BESIDE_A_BUSY_THREAD, beside / value)
    first, alone = _value(ours, "first"), _value(ceiling, "first")
    if first is not None and alone is not None:
        name = f"{video}, first"
        yield Goal(
            name,
            "ms over one engine's, at most",
            FIRST_MS_OVER_NEEDED,
            first - alone,
            is_limit=True,
        )
    if first is not None and (beside := _value(ours, "first, busy")) is not None:
        what = "of itself beside a busy thread, at least"
        yield Goal(f"{video}, first", what, BESIDE_A_BUSY_THREAD, first / beside)
    if ours.get("gpu_memory_mib") and video != "mixed":
        memory = float(ours["gpu_memory_mib"])
        yield Goal(video, "MiB of the GPU's memory, at most", MEMORY_MIB, memory, is_limit=True)
    if (grown := _value(ours, "flat")) is not None:
        yield Goal(video, "MiB grown over 10,000 clips, at most", GROWTH_MIB, grown, is_limit=True)


def share(found: dict[str, Any], case: str) -> float | None:
    """What ours reaches of the ceiling in a case of one video, None if one was not measured."""
    ours, ceiling = _value(found.get(OURS, {}), case), found.get(CEILING, {})
    top = _value(ceiling, case) if case == "first" else _ceiling(ceiling, case)
    if ours is None or top is None:
        return None
    return top / ours if case == "first" else ours / top


def _value(found: dict[str, Any], case: str) -> float | None:
    one = found.get(case, {})
    return float(one["value"]) if "value" in one and one.get("right", True) else None


def _ceiling(found: dict[str, Any], case: str) -> float | None:
    """Frames, clips or videos a second, were there nothing but the decoding of needed packets."""
    one = found.get(case, {})
    if "value" not in one:
        return None
    return float(one["value"] if case == "sequential" else one["per_second"])
