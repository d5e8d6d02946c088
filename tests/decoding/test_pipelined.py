"""Making something of each item while the next is awaited."""

import threading
import time

import pytest

from videoloader.decoding.pipelined import pipelined_map
from videoloader.errors import DecodeError


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_all_come_in_order(count):
    assert list(pipelined_map(pow, ((n, 2) for n in range(count)))) == [n**2 for n in range(count)]


def test_the_next_item_is_asked_for_while_one_is_made():
    asked = threading.Event()

    def items():
        yield (0,)
        asked.set()
        yield (1,)

    def make(number):
        assert asked.wait(20)
        return number

    assert list(pipelined_map(make, items())) == [0, 1]


def test_a_failing_item_comes_after_those_before_it():
    def items():
        yield from [(1,), (2,)]
        raise DecodeError("damaged")

    with pytest.raises(DecodeError, match="damaged"):
        list(pipelined_map(abs, items()))
    made = pipelined_map(abs, items())
    assert [next(made), next(made)] == [1, 2]


def test_nothing_comes_after_what_cannot_be_made():
    made = pipelined_map(lambda n: 1 // n, iter([(1,), (0,), (1,)]))
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError):
        next(made)
    assert list(made) == []


def test_letting_go_early_leaves_no_thread():
    before = set(threading.enumerate())
    made = pipelined_map(abs, iter([(1,)] * 9))
    next(made)
    (thread,) = set(threading.enumerate()) - before
    made.close()
    thread.join(10)
    assert not thread.is_alive()


def test_letting_go_early_waits_for_what_is_made_but_not_for_the_end_of_its_thread(monkeypatch):
    joined, over = [], []

    def make(number):
        time.sleep(0.02)
        over.append(number)

    made = pipelined_map(make, iter([(0,), (1,), (2,)]))
    next(made)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", lambda thread, timeout=None: joined.append(thread))
        made.close()
    assert over == [0, 1]
    assert not joined
