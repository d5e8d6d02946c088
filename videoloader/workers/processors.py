"""Number of processors that this process should use."""

from __future__ import annotations

import os

__all__ = ["usable_processors"]


def usable_processors() -> int:
    """Number of processors that this process may use; its share if several ranks share a host.

    Launchers such as torchrun set LOCAL_WORLD_SIZE to the number of processes on this host. They
    share the processors evenly, unless the launcher has set their affinity: then this process has
    fewer allowed processors than its parent.
    """
    own = _allowed(0)
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    if not ranks.isdecimal() or int(ranks) < 2 or own < _allowed(os.getppid()):
        return own
    return max(1, own // int(ranks))


def _allowed(pid: int) -> int:
    try:
        return len(os.sched_getaffinity(pid))
    except (AttributeError, OSError):  # not Linux, or the parent has ended
        return 0 if pid else os.cpu_count() or 1
