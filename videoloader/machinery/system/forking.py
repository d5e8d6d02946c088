"""Locks, and objects in use, in a process that has threads and may fork.

A fork has the memory of its parent, but only the thread that forked. A lock that another thread
held is never released in it, and a decoder that one was using stays half-way for ever. Garbage of
the parent is not collected in it: freeing a codec waits for threads that the fork lacks, and
freeing memory of a GPU aborts it.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from weakref import WeakKeyDictionary

from videoloader.errors import ClosedError

_Owner = TypeVar("_Owner")
_Value = TypeVar("_Value")

forks = 0
"""How many forks lead from the process that imported this to this one: told without a system call,
unlike its number."""

_forked_by: int | None = None  # the thread that went on in this fork, until torch is told

_resets: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def reset_after_fork(owner: _Owner, reset: Callable[[_Owner], None]) -> None:
    """Call `reset(owner)` at the start of every fork of this process, as long as the owner lives.

    No other thread runs in the fork then, and locks are free.
    """
    _resets[owner] = reset


class ForkSafeLock(_thread.RLock):  # type: ignore[misc]  # final for type checkers only
    """A reentrant lock that is free in a fork if another thread of the parent held it."""

    def __init__(self) -> None:
        reset_after_fork(self, ForkSafeLock._free)

    def _free(self) -> None:
        if self.acquire(blocking=False):  # free, or held by the thread that forked
            self.release()
        else:
            self._at_fork_reinit()  # type: ignore[attr-defined]


class _HasTurn(Protocol):
    _turn: ForkSafeLock


_Sharer = TypeVar("_Sharer", bound=_HasTurn)
_Given = ParamSpec("_Given")


def in_turn(
    method: Callable[Concatenate[_Sharer, _Given], _Value],
) -> Callable[Concatenate[_Sharer, _Given], _Value]:
    """Hold the lock `_turn` of the object during the method."""

    @functools.wraps(method)
    def call(self: _Sharer, /, *args: _Given.args, **given: _Given.kwargs) -> _Value:
        with self._turn:
            return method(self, *args, **given)

    return call


class Use:
    """Tracks the use of an object that other threads, or a signal handler, may close.

    Use the object within a `with` block of this.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_closed = False
        self.forget()

    def forget(self) -> None:
        """Mark the object as unused; for a fork, which lacks the threads that used it."""
        self._user: int | None = None
        self._left = threading.Event()

    def __enter__(self) -> None:
        """Begin to use the object. Callers ensure that one thread at a time does.

        Raises:
            ClosedError: it is closed.
            RuntimeError: this thread uses it already, and was interrupted by a signal handler.
        """
        if self._user == threading.get_ident():
            raise RuntimeError(f"{self._name}: at work further up in this very thread")
        self._user = threading.get_ident()
        if self.is_closed:
            self.__exit__()
            self.check()

    def __exit__(self, *_: object) -> None:
        self._user = None
        if self.is_closed:
            self._left.set()

    def check(self) -> None:
        """Raise if the object is closed, before or while this thread uses it.

        Raises:
            ClosedError: it is closed.
        """
        if self.is_closed:
            is_used = self._user == threading.get_ident()
            state = "closed while it was in use" if is_used else "is closed"
            raise ClosedError(f"{self._name}: {state}")

    def wait(self) -> bool:
        """After closing: wait until no thread uses the object.

        Returns False immediately if the calling thread itself uses it, further up the stack.
        """
        user, left = self._user, self._left
        if user == threading.get_ident():
            return False
        if user is not None:
            left.wait()
        return True


class cached_property(Generic[_Value]):  # noqa: N801  (in place of functools')
    """`functools.cached_property` without its lock, as in Python 3.12.

    The lock of Python 3.11 is shared by all objects. If another thread holds it during a fork, the
    fork waits for it for ever. Without the lock, two threads may both compute a value.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> _Value: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> Self | _Value:
        if instance is None:
            return self
        # Later accesses find the value in `__dict__` and do not call this.
        value = instance.__dict__[self._name] = self._function(instance)
        return value


def spare_torch_threads() -> None:
    """Have torch compute without other threads in the thread that forked this process.

    If it computed with several in the parent, it would wait for ever for those in the fork, which
    lacks them. Not done in every fork, since this is torch's setting for the whole process.
    """
    global _forked_by
    if _forked_by == threading.get_ident() and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        _forked_by = None


def keep_forever(value: object) -> None:
    """Never free an object whose destructor joins threads: in a fork they do not exist.

    This increments its reference count: the interpreter would free a module's list at exit.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _reset() -> None:
    global forks, _forked_by
    gc.freeze()  # first: the next allocation may start a collection
    forks += 1
    _forked_by = threading.get_ident()
    # Locks first, since the other resets may need them; then from the newest to the oldest owner,
    # since older objects own newer ones.
    owners = [*reversed([*_resets.items()])]
    owners.sort(key=lambda pair: not isinstance(pair[0], ForkSafeLock))
    for owner, reset in owners:
        reset(owner)


os.register_at_fork(after_in_child=_reset)
