"""Running something that may cost too much in a process of its own, which has limits."""

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from processor_time import seconds_of_a_step

__all__ = ["Cost", "run_bounded"]

_PROGRAM = """
import json, os, resource, sys
import numpy, av
import videoloader as vl
from videoloader.indexing import index_video
import videoloader.indexing.storage

def measure(argument):
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        told = str(eval(sys.argv[1]))
    except vl.VideoError as error:
        told = f"{type(error).__name__}: {error}"
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([told, seconds, (after.ru_maxrss - before.ru_maxrss) << 10]), flush=True)

for argument in sys.argv[2:]:
    if child := os.fork():  # each begins with as little memory
        assert os.waitpid(child, 0)[1] == 0, argument
    else:
        measure(argument)
        os._exit(0)
"""


@dataclass(frozen=True)
class Cost:
    """What came of it: a result or an error of ours as text; seconds of CPU, bytes of memory."""

    told: str
    seconds: float
    memory: int

    @property
    def steps(self):
        """The processor time in steps; see processor_time.py."""
        return self.seconds / seconds_of_a_step()


def run_bounded(expression, *arguments, memory=4 << 30, timeout=60):
    """Evaluate an expression of `argument` for each of some strings, and measure it.

    Each time in a process that may have `memory` bytes of address space; imports are not counted
    in what is measured. Raises where one crashes, hangs, or gives an error that is not ours.
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
    return [Cost(*json.loads(line)) for line in done.stdout.splitlines()]
