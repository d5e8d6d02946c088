"""How many processors this process should use."""

from __future__ import annotations

import os

__all__ = ["usable_processors"]


def usable_processors() -> int:
    """Processors that this process may use: its share of them where several ranks share a host.

    A launcher such as torchrun says in LOCAL_WORLD_SIZE how many processes it started on this
    host. They share the processors evenly, unless the launcher has bound each to some: then this
    process may use fewer than its parent.
    """
    own = _allowed(0)
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    if not ranks.isdecimal() or int(ranks) < 2 or own < _allowed(os.getppid()):
        return own
    return max(1, own // int(ranks))


def _allowed(pid: int) -> int:
    try:
        return len(os.sched_getaffinity(pid))
    except (AttributeError, OSError):  # another system, or a parent that is gone
        return 0 if pid else os.cpu_count() or 1
