"""The scheduling policy of this thread, which an encoder of FFmpeg changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_scheduling() -> Iterator[None]:
    """Restore the scheduling policy of this thread after the block.

    As root, SVT-AV1 gives the calling thread the highest real-time priority and does not reset it.
    A busy thread, or a program that it starts, would then block the rest of the machine.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        if os.sched_getscheduler(0) != policy:
            os.sched_setscheduler(0, policy, parameters)
