"""A function that is called with each item of a list, in several threads."""

import threading

import pytest

from videoloader.machinery.runtime.threads import in_threads


def test_results_come_in_the_order_of_the_items():
    passed = [threading.Event() for _ in range(3)]

    def call(number):  # the last one ends first
        if number < 2:
            assert passed[number + 1].wait(60)
        passed[number].set()
        return -number

    assert in_threads(call, range(3), 3) == [0, -1, -2]


def test_no_more_threads_work_than_were_asked_for():
    both, names = threading.Barrier(2), set()

    def call(_):
        both.wait(60)  # needs two at a time; three would leave one behind
        names.add(threading.current_thread().name)

    in_threads(call, range(8), 2)
    assert len(names) == 2


@pytest.mark.parametrize(("items", "most"), [([1], 16), ([1, 2, 3], 1), ([], 4)])
def test_one_item_or_one_thread_needs_no_other(items, most):
    threads = in_threads(lambda _: threading.get_ident(), items, most)
    assert set(threads) <= {threading.get_ident()}


def test_the_first_error_is_raised():
    def call(number):
        raise ValueError(str(number))

    with pytest.raises(ValueError, match="0"):
        in_threads(call, range(4), 4)
