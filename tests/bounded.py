"""Running something that may cost too much in a process of its own, which has limits."""

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "run_bounded"]

_PROGRAM = """
import json, resource, sys, time
import numpy, av
import videoloader as vl
from videoloader.indexing import index_video
import videoloader.indexing.storage
arguments = sys.argv[2:]
before = resource.getrusage(resource.RUSAGE_SELF)
begin = time.perf_counter()
try:
    told = str(eval(sys.argv[1]))
except vl.VideoError as error:
    told = f"{type(error).__name__}: {error}"
seconds = time.perf_counter() - begin
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps([told, seconds, cpu, (after.ru_maxrss - before.ru_maxrss) << 10]))
"""


@dataclass(frozen=True)
class Cost:
    """What came of it: a result or an error of ours as text; seconds, and bytes of memory."""

    told: str
    seconds: float
    cpu_seconds: float
    memory: int


def run_bounded(expression, *arguments, memory=4 << 30, timeout=60):
    """Evaluate an expression over `arguments`, a list of strings, and measure it.

    The process may have `memory` bytes of address space; imports are not counted in what is
    measured. Raises where it crashes, hangs, or gives an error that is not ours.
    """
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, expression, *map(str, arguments)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{expression}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return Cost(*json.loads(done.stdout.splitlines()[-1]))
