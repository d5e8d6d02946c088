"""What only a process of its own can show: Ctrl-C, and the end of the interpreter."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

SCRIPT = """
import sys, time
import torch
from videoloader.dali import fn, pipeline_def

def slow(info):
    time.sleep({delay})
    return torch.zeros(2)

pipe = pipeline_def(lambda: fn.cast(fn.external_source(slow, batch=False), dtype="uint8"))(
    batch_size=4, num_threads=2, prefetch_queue_depth=3
)
print("ready", flush=True)
"""


@contextmanager
def start(script):
    """A process that runs a script, and does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_an_interpreter_that_ends_beside_a_running_pipeline_ends_quietly():
    with start(SCRIPT.format(delay=0.001) + "pipe.run()\n") as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "ready\n", "")


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_ctrl_c_ends_a_loop_over_batches(delay):
    with start(SCRIPT.format(delay=delay) + "while True:\n    pipe.run()\n") as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - begin < 10


AT_ONCE = """
import os, sys
import torch
from videoloader.dali import fn, pipeline_def

pipe = pipeline_def(lambda: fn.external_source(lambda: torch.zeros(4, 2)))(
    batch_size=4, num_threads=64
)
for code in (0, 3, 0, 3):
    child = os.fork()  # torch is imported once
    if not child:
        pipe.schedule_run()
        if code:
            raise SystemExit(code)
        break
    status = os.waitpid(child, 0)[1]
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


def test_an_interpreter_that_ends_while_the_threads_start_ends_quietly():
    with subprocess.Popen(
        [sys.executable, "-c", AT_ONCE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert (out, err) == (2 * "0\n3\n", "")
