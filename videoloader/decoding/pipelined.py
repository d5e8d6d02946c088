"""Making something of each item while the next is awaited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from videoloader.errors import VideoError

__all__ = ["pipelined_map"]

_Made = TypeVar("_Made")


def pipelined_map(make: Callable[..., _Made], items: Iterator[tuple[Any, ...]]) -> Iterator[_Made]:
    """As `itertools.starmap`, but made in another thread while the next item is awaited.

    A `VideoError` of `items` comes after all that was made of those before it.

    >>> list(pipelined_map(pow, iter([(2, 3), (3, 2)])))
    [8, 9]
    """
    thread = ThreadPoolExecutor(1)
    last: Future[_Made] | None = None
    is_dropped = False
    try:
        while True:
            item, failure = None, None
            try:
                item = next(items, None)
            except VideoError as error:
                failure = error
            before, last = last, None if item is None else thread.submit(make, *item)
            if before is not None:
                yield before.result()
            if failure is not None:
                raise failure
            if item is None:
                return
    except GeneratorExit:
        # The garbage collector may be what ends this, where some lock is held that the end of a
        # thread takes; so its work is waited for, and not its end.
        is_dropped = True
        wait(() if last is None else (last,))
        raise
    finally:
        thread.shutdown(wait=not is_dropped)
