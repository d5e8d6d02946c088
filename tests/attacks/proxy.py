"""Epochs of the proxy that are broken off, fail, or lose a worker: python tests/attacks/proxy.py

Every batch that arrives must be right, nothing may hang, and in the end there are as many
processes, threads and open files as before, and no more memory than a tenth above that of the
first quarter.
"""

import argparse
import faulthandler
import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from child_processes import children

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import proxy
from videoloader.errors import OperatorError, VideoError

LIMIT = 120  # seconds of a round


@pipeline_def(batch_size=4, num_threads=2)
def pipeline():
    x = fn.external_source(name="x")
    return fn.slice(x, 0, 2, axes=[0]) * 3


class Samples(torch.utils.data.Dataset):
    def __init__(self, made, fates, size):
        self.made, self.fates, self.size = made, fates, size

    def __len__(self):
        return 60

    def __getitem__(self, number):
        match self.fates.get(number):
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "raise":
                raise LookupError(number)
            case "short":
                return number, self.made(np.full(1, number, np.float32))
        return number, self.made(np.full(self.size, number, np.float32))


def check(batch):
    numbers, made = batch
    assert made.shape == (len(numbers), 2), made.shape
    assert (made == 3 * numbers[:, None]).all(), (numbers, made)


def one_round(server, rng):
    """An epoch or two with a random loader, and random bad luck."""
    workers = rng.choice([0, 1, 2, 3])
    fates = {
        rng.randrange(60): rng.choice(["raise", "short"]) for _ in range(rng.choice([0, 0, 1]))
    }
    if workers and rng.random() < 0.2:
        fates[rng.randrange(60)] = "kill"
    loader = proxy.DataLoader(
        server,
        Samples(server.proxy, fates, rng.choice([2, 30_000])),
        batch_size=rng.choice([1, 3, 4, 9]),
        shuffle=rng.random() < 0.5,
        num_workers=workers,
        persistent_workers=workers > 0 and rng.random() < 0.5,
        ahead=rng.choice([None, 0, 1, 7]),
    )
    for _ in range(2):
        stop = rng.choice([0, 1, 5, 1000])
        batches = iter(loader)
        for _ in range(stop):
            try:
                check(next(batches))
            except StopIteration:
                break
            except (LookupError, OperatorError, VideoError):
                if rng.random() < 0.5:
                    break
            except (RuntimeError, OSError, EOFError) as error:  # a connection to a dead worker
                assert "worker" in str(error) or not isinstance(error, RuntimeError), error
                return
        if rng.random() < 0.1:
            server.stop_thread()


def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = random.Random(arguments.seed)
    before = children(), threading.active_count(), len(os.listdir("/proc/self/fd"))
    server = proxy.Server(pipeline())
    first = None
    for number in range(arguments.rounds):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        one_round(server, rng)
        gc.collect()
        if number == arguments.rounds // 4:
            first = used()
    faulthandler.cancel_dump_traceback_later()
    last = used()
    server.close()
    del server
    gc.collect()
    deadline = time.monotonic() + 30
    while children() - before[0] and time.monotonic() < deadline:
        time.sleep(0.1)
    after = children(), threading.active_count(), len(os.listdir("/proc/self/fd"))
    told = f"{arguments.rounds} rounds, {first:.0f} to {last:.0f} MiB, {before} to {after}\n"
    sys.stdout.write(told)
    assert not after[0] - before[0]
    assert after[1] <= before[1]
    assert after[2] <= before[2] + 4
    assert last < 1.1 * first


if __name__ == "__main__":
    main()
