"""Kills workers of parallel sources at random moments, drops and closes pipelines amid batches.

Every batch must be right or an error that names the worker, nothing may hang, and no process, file
or thread may be left. Run: python tests/attacks/python_workers.py [seconds]
"""

import faulthandler
import gc
import os
import random
import signal
import sys
import threading
import time

import numpy as np

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import OperatorError


def sample(info):
    """A sample of a size and with values that its number tells; late now and then."""
    if info.idx_in_epoch % 37 == 0:
        time.sleep(0.002)
    return np.full((1 + info.idx_in_epoch % 5, 4096), info.idx_in_epoch % 251, np.uint8)


def batches():
    """Batches of four that say their number."""
    for number in range(10**6):
        yield np.full((4, 3), number)


@pipeline_def(batch_size=4)
def definition(depth):
    return (
        fn.external_source(sample, batch=False, parallel=True, prefetch_queue_depth=depth),
        fn.external_source(batches, parallel=True, prefetch_queue_depth=depth),
    )


def attack(rng):
    """One pipeline; how many batches it gave, and whether a worker was lost."""
    pipe = definition(rng.randint(1, 4), py_num_workers=rng.randint(1, 4))
    pipe.build()
    pids = pipe._py_pool.pids()
    killer = threading.Timer(rng.random() * 0.1, os.kill, (rng.choice(pids), signal.SIGKILL))
    killer.start()
    taken = 0
    try:
        for number in range(rng.randint(1, 200)):
            samples, numbers = pipe.run()
            for place, value in enumerate(samples):
                wanted = number * 4 + place
                assert value.shape[0] == 1 + wanted % 5
                assert (np.asarray(value) == wanted % 251).all()
            assert (numbers.as_array() == number).all()
            taken += 1
    except OperatorError as error:
        assert "died (signal SIGKILL)" in str(error), error
    finally:
        killer.cancel()
        killer.join()
        if rng.random() < 0.5:
            pipe.close()
        del pipe
    return taken, pids


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    rng = random.Random(7)
    end = time.monotonic() + seconds
    runs = total = 0
    files = None
    while time.monotonic() < end:
        faulthandler.dump_traceback_later(60, exit=True)
        taken, pids = attack(rng)
        gc.collect()
        for pid in pids:
            while os.path.exists(f"/proc/{pid}"):
                time.sleep(0.001)
        runs, total = runs + 1, total + taken
        if runs == 10:
            files = len(os.listdir("/proc/self/fd"))
    faulthandler.cancel_dump_traceback_later()
    time.sleep(0.5)
    gc.collect()
    left = len(os.listdir("/proc/self/fd"))
    assert files is None or left <= files + 10, f"open files grew from {files} to {left}"
    sys.stdout.write(f"{runs} pipelines, {total} batches, nothing left behind\n")


if __name__ == "__main__":
    main()
