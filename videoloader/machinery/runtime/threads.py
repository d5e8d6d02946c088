"""Calls of one function in several threads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def in_threads(call: Callable[[Item], Made], items: Collection[Item], most: int) -> list[Made]:
    """Call a function with each item, in this thread or in up to `most` others.

    Returns:
        The results in the order of the items; the first error is raised.
    """
    count = min(len(items), most)
    if count < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(count, thread_name_prefix="videoloader-call") as pool:
        return list(pool.map(call, items))
