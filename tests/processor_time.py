"""Bounds of processor time that hold on slow and busy machines: they are counted in steps.

A step is one turn of an empty loop of the interpreter on this machine, measured beside the work.
"""

import itertools
import time
from contextlib import contextmanager

__all__ = ["MILLION", "at_most_steps", "seconds_of_a_step"]

NOTHING = 0.1  # seconds; less passes without a measurement of steps
MILLION = 1_000_000


@contextmanager
def at_most_steps(count):
    """Fail where the work takes more processor time than `count` steps."""
    begin = time.process_time()
    yield
    seconds = time.process_time() - begin
    if seconds > NOTHING:
        steps = seconds / seconds_of_a_step()
        assert steps < count, f"{steps / MILLION:.1f} million steps, {seconds:.2f} s"


def seconds_of_a_step():
    """The median of three measurements; nothing is allocated, which tracemalloc would slow down."""
    found = []
    for _ in range(3):
        begin = time.process_time()
        for _ in itertools.repeat(None, MILLION):
            pass
        found.append((time.process_time() - begin) / MILLION)
    return sorted(found)[1]
