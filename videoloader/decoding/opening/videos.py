"""Opening the videos of a batch."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

from videoloader.decoding.opening.index_cache import IndexCache
from videoloader.errors import ArgumentTypeError, VideoError
from videoloader.sources.address import is_url, shown
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource

__all__ = ["identity", "is_remote", "lasting", "open_any", "open_side_by_side", "source_name"]

_OPENED_AT_ONCE = 16  # sources behind URLs


def identity(source: VideoSource | Source | Item) -> Hashable:
    """What tells videos of a batch apart: a path, URL or item, or the object itself."""
    if isinstance(source, Source):
        return id(source)
    if isinstance(source, Item):
        return source
    return os.fspath(source) if isinstance(source, str | os.PathLike) else id(source)


def source_name(source: object) -> str:
    """A source for messages: a path, what is public of a URL, or its type."""
    if isinstance(source, Source | Item):
        return source.name
    if isinstance(source, str | os.PathLike):
        return shown(os.fspath(source))
    return f"<{type(source).__name__}>"


def is_remote(source: object) -> bool:
    """Whether a source, or the archive that an item is in, is a URL."""
    path = source.path if isinstance(source, Item) else source
    return isinstance(path, str) and is_url(path)


def open_any(source: VideoSource | Source | Item) -> Source:
    """The bytes of a video.

    Raises:
        VideoError: they cannot be had.
    """
    if isinstance(source, Source):
        return source
    return source.open() if isinstance(source, Item) else open_source(source)


def lasting(given: VideoSource | Source | Item, source: Source) -> str | bytes | Item:
    """What a source that was opened can be opened by in another process.

    Args:
        given: what it was opened by here.
        source: what that gave.

    Raises:
        ArgumentTypeError: nothing; it is an open file.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if isinstance(given, Item):
        return given
    if source.path is not None:
        return source.path
    if isinstance(given, str):
        return given
    raise ArgumentTypeError(
        f"{source.name}: a video of an open {type(given).__name__} does not pickle; open it by "
        "its path, URL, bytes or item of a data set"
    )


def open_side_by_side(
    places: Mapping[Hashable, bool], indexes: IndexCache, files: ExitStack
) -> dict[Hashable, Source | VideoError]:
    """Open several URLs, and items behind URLs, at once; what fails gives its error.

    Local files are not worth the threads, which would take turns at the interpreter.

    Args:
        places: what to open, and whether to make its index as well.
        indexes: where indexes are found.
        files: closes what is opened.
    """
    if len(places) < 2:
        return {}

    def open_one(place: Any) -> Source | VideoError:
        try:
            with blamed_on(source_name(place)):
                source = open_any(place)
        except VideoError as error:
            return error
        with lock:
            files.callback(source.close)
        with (
            suppress(VideoError),
            blamed_on(source_name(place)),
        ):  # who asks for the index meets this again
            if places[place]:
                indexes.find(place, source)
        return source

    lock = threading.Lock()
    with ThreadPoolExecutor(min(len(places), _OPENED_AT_ONCE)) as pool:
        return dict(zip(places, pool.map(open_one, places), strict=True))
