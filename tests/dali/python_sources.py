"""Sources for worker processes, which import this: no torch here."""

import os
import time

import numpy as np


class Counted:
    """Gives samples (number in the epoch, place, iteration, epoch, process), `length` an epoch."""

    def __init__(self, length=10**6, shape=()):
        self.length = length
        self.shape = shape

    def __call__(self, info):
        if info.idx_in_epoch >= self.length:
            raise StopIteration
        facts = (info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx, os.getpid())
        return np.array(facts)


def counted_batches(info):
    """Batches of two that say iteration and epoch; three an epoch."""
    if info.iteration >= 3:
        raise StopIteration
    return np.array([[info.iteration, info.epoch_idx]] * 2)


def numbered_batches(iteration):
    """Batches of two, which say their number."""
    return [np.array(iteration), np.array(-iteration)]


def generated():
    """Three batches of two."""
    for number in range(3):
        yield [np.array([number]), np.array([number, number])]


class Iterated:
    """An iterable of three batches of two, that says how often it was begun."""

    begun = 0

    def __iter__(self):
        self.begun += 1
        return iter([[np.array([self.begun, number])] * 2 for number in range(3)])


class Numbers:
    """Called, it is a generator of batches of one, which say their number."""

    def __init__(self, length):
        self.length = length

    def __call__(self):
        """Begin."""
        for number in range(self.length):
            yield [np.array(number)]


def four(iteration):
    """Four batches of one, which say their number."""
    if iteration >= 4:
        raise StopIteration
    return [np.array(iteration)]


def two_outputs(info):
    """A pair and one more, which is not asked for."""
    return np.full((2, 2), info.idx_in_epoch, np.uint8), np.float32(0.5), "unused"


def large(info):
    """Samples of 0.5 to 4 MB."""
    return np.full((1 + info.idx_in_epoch % 8, 1 << 19), info.idx_in_epoch % 251, np.uint8)


class SpecialError(Exception):
    """Takes two arguments, so that it does not unpickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fails_at_five(info):
    """Cannot make sample 5."""
    if info.idx_in_epoch == 5:
        raise KeyError("no sample five")
    return np.array(info.idx_in_epoch)


def fails_specially(info):
    """Raises an error that does not travel."""
    raise SpecialError("this", info.idx_in_epoch)


def dies_at_five(info):
    """Ends its process at sample 5."""
    if info.idx_in_epoch == 5:
        os.kill(os.getpid(), 9)
    return np.array(info.idx_in_epoch)


def hangs(info):
    """Never gives the second batch."""
    if info.iteration:
        time.sleep(1000)
    return np.array(info.idx_in_epoch)


def no_array(info):
    """Not a sample."""
    return {"a": 1}
