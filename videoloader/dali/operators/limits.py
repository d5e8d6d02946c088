"""Arguments that limit time and memory of worker processes, for all operators that decode."""

from __future__ import annotations

from videoloader.dali.operators.arguments import Argument, Kind
from videoloader.decoding import limits

TIME_LIMIT = Argument(
    "time_limit",
    Kind("number of seconds over 0", limits.check_time_limit),
    limits.TIME_LIMIT,
    "seconds that a worker process may take for a run of packets, for some images or a sound",
)
MEMORY_LIMIT = Argument(
    "memory_limit",
    Kind("int, None or 'auto'", limits.worker_limit),
    "auto",
    "bytes that a worker process may allocate; `auto` is a quarter of the machine's memory",
)
LIMITS = (TIME_LIMIT.name, MEMORY_LIMIT.name)
