"""The switch interval of the interpreter, borrowed and given back."""

import sys
import threading

from videoloader.decoding.switches import quick_switches


def test_the_interval_is_short_inside_and_as_before_behind():
    before = sys.getswitchinterval()
    with quick_switches():
        assert sys.getswitchinterval() < before
        with quick_switches():
            pass
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_the_last_thread_out_puts_it_back():
    before = sys.getswitchinterval()
    inside, leave = threading.Event(), threading.Event()

    def work():
        with quick_switches():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    with quick_switches():
        pass
    assert sys.getswitchinterval() < before
    leave.set()
    thread.join()
    assert sys.getswitchinterval() == before
