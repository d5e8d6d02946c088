"""Processors and memory that this process may use, control groups included."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

CONTROL_GROUP = Path("/sys/fs/cgroup")


def usable_processors() -> int:
    """Number of processors that this process may use; its share if several ranks share a host.

    Launchers such as torchrun set LOCAL_WORLD_SIZE to the number of processes on this host. They
    share the processors of the launcher evenly. Where it has bound each to fewer (`torchrun
    --numa-binding`), a process uses no more than its own, and no more than its share of those that
    several are bound to. Containers with a limit of processor time (`docker run
    --cpus`) have no more processors than that.
    """
    own, quota = _allowed(0), cpu_quota()
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    count = int(ranks) if ranks.isdecimal() and int(ranks) else 1
    if count > 1:
        own = min(own, (_allowed(os.getppid()) or own) // count)
    if quota is not None:
        own = min(own, math.ceil(quota / count))
    return max(1, own)


@cache
def cpu_quota(root: Path = CONTROL_GROUP) -> float | None:
    """Processors that the control group may keep busy, version 2 or 1; None for no limit."""
    with suppress(OSError, ValueError):  # not there, or "max"
        quota, period = (root / "cpu.max").read_text().split()
        return int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota_us = int((root / "cpu" / "cpu.cfs_quota_us").read_text())
        if quota_us > 0:
            return quota_us / int((root / "cpu" / "cpu.cfs_period_us").read_text())
    return None


@cache
def machine_memory(root: Path = CONTROL_GROUP) -> int:
    """Bytes of memory that this machine has, or that the control group allows, version 2 or 1."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # not there, or "max"
            total = min(total, int((root / name).read_text()))
    return total


def _allowed(pid: int) -> int:
    try:
        return len(os.sched_getaffinity(pid))
    except (AttributeError, OSError):  # not Linux, or the parent has ended
        return 0 if pid else os.cpu_count() or 1
