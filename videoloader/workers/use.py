"""Closes objects that other threads may be using."""

from __future__ import annotations

import threading

from videoloader.errors import ClosedError

__all__ = ["Use"]


class Use:
    """Tracks the use of an object that other threads, or a signal handler, may close.

    Use the object within a `with` block of this.

    Args:
        name: of the object, for messages.
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
        """Raise if the object was closed meanwhile.

        Raises:
            ClosedError: it is closed.
        """
        if self.is_closed:
            raise ClosedError(f"{self._name}: closed while it was in use")

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
