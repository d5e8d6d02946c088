"""Data sets for the tests of the proxy, which spawned workers can import."""

import os
import signal
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from torch.utils.data import Dataset, IterableDataset, get_worker_info

Pair = namedtuple("Pair", "first second")


@dataclass
class Record:
    number: int
    value: object


@dataclass(frozen=True, slots=True)
class Frozen:
    value: object


class Calls(Dataset):
    """Sample i is what `make(i)` gives; `make` calls proxies."""

    def __init__(self, make, count=10):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if not 0 <= number < self.count:
            raise IndexError(number)
        return self.make(number)


class Squares(Dataset):
    """Asks for the squares of vectors of `size` numbers, beside the number itself."""

    def __init__(self, proxy, count=10, size=3):
        self.proxy, self.count, self.size = proxy, count, size

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return {"number": number, "square": self.proxy(np.full(self.size, number, np.float32))}


class Stream(IterableDataset):
    """Squares of 0, 1, 2, ..., every worker its share."""

    def __init__(self, proxy, count):
        self.proxy, self.count = proxy, count

    def __iter__(self):
        worker = get_worker_info()
        for number in range(worker.id, self.count, worker.num_workers):
            yield self.proxy(np.full(1, number, np.float32))


def kill_at(number, fatal):
    """Kill this process, as the system does where memory runs out, at one of the numbers."""
    if number == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
