"""Closing what other threads are using."""

from __future__ import annotations

import threading

from videoloader.errors import ClosedError

__all__ = ["Use"]


class Use:
    """Who is using something that may be closed by other threads, or by a signal handler.

    A `with` block of it uses what it stands for.

    Args:
        name: of what is used, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_closed = False
        self.forget()

    def forget(self) -> None:
        """Nobody uses it; for a fork, in which those that did are not."""
        self._user: int | None = None
        self._left = threading.Event()

    def __enter__(self) -> None:
        """Use it; one thread at a time, which callers see to.

        Raises:
            ClosedError: it is closed.
            RuntimeError: this thread uses it already: a signal handler broke in.
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
        """Fail if it was closed meanwhile.

        Raises:
            ClosedError: it is closed.
        """
        if self.is_closed:
            raise ClosedError(f"{self._name}: closed while it was in use")

    def wait(self) -> bool:
        """Once it is closed: wait until nobody uses it.

        False if it is this very thread that does, further up.
        """
        user, left = self._user, self._left
        if user == threading.get_ident():
            return False
        if user is not None:
            left.wait()
        return True
