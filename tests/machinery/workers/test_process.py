"""What a message to a worker refers to reaches it once, and costs nothing for the rest of it."""

import os
import sys
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

import numpy as np
import pytest

from videoloader.machinery.workers.process import Parcel, Shared, WorkerProcess, start_program
from videoloader.machinery.workers.shared_memory import SharedMemory, memory_file


@dataclass
class Kept:
    """A value that travels once."""

    number: int


@dataclass
class Sum:
    """Write the sum of some bytes and a number into an array; return what the value is."""

    array: Any
    value: Kept
    text: Any
    others: Any = ()

    def perform(self, worker):
        self.array[...] = sum(bytes(self.text)) + self.value.number
        return id(self.value), id(self.text), len(self.others)


@pytest.fixture
def worker():
    memory = SharedMemory()
    process = WorkerProcess(start_program, memory, 60)
    yield process, memory
    process.stop()


def answer(process):
    while True:
        for message in process.read(wait(process.signs)):
            process.finish()
            assert message.fault is None, message.fault.trace
            return message.value


def test_arrays_are_shared_and_values_and_files_arrive_once(worker):
    process, memory = worker
    text = memoryview(b"abc")
    file = memory_file(text)
    values = [Shared(0, Kept(5), -1), Shared(1, text, file)]
    seen = set()
    for _ in range(2):
        slots = memory.allocate((4, 6), np.int32)
        view = slots.T[::2]
        slots[...] = 0
        process.give("sum", Parcel(Sum(view, values[0].value, text), [view], values))
        seen.add(answer(process))
        assert (view == sum(b"abc") + 5).all()
        assert (slots[:, 1::2] == 0).all()
    os.close(file)
    assert len(seen) == 1


def test_an_order_costs_no_call_for_each_of_its_objects(worker):
    process, memory = worker
    slots = memory.allocate((2,), np.int32)
    value = Shared(0, Kept(5))
    others = [(number, [number]) for number in range(2000)]
    parcel = Parcel(Sum(slots, value.value, b"", others), [slots], [value])
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        process.give("sum", parcel)
    finally:
        sys.setprofile(None)
    assert answer(process)[2] == 2000
    assert calls < 100
