import threading

from videoloader.readers.failures import Failures


def test_each_failure_is_kept_once_in_order():
    failures = Failures()
    for path, reason in [("b", "x"), ("a", "x"), ("b", "x"), ("b", "y")]:
        failures.add(path, reason)
    assert list(failures) == [("b", "x"), ("a", "x"), ("b", "y")]


def test_no_more_are_kept_than_the_limit():
    failures = Failures(limit=3)
    for number in range(10):
        failures.add("a", str(number))
        failures.add("a", "0")
    assert list(failures) == [("a", "0"), ("a", "1"), ("a", "2")]


def test_threads_may_add_while_another_looks():
    failures = Failures(limit=1000)

    def add(start):
        for number in range(start, 1500):
            failures.add("a", str(number))

    threads = [threading.Thread(target=add, args=(start,)) for start in (0, 0, 500, 700)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen = list(failures)
        assert len(set(seen)) == len(seen)
    assert len(list(failures)) == 1000
