"""Opening the videos of a batch, and keeping the indexes of those met before."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

from videoloader.decoding.indexer import Indexer
from videoloader.errors import VideoError
from videoloader.forking import ForkSafeLock
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.sources.address import is_url, shown
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource

__all__ = ["IndexCache", "identity", "is_remote", "open_any", "open_side_by_side", "source_name"]

_CACHED_BYTES = 1 << 28  # of indexes that are kept
_OPENED_AT_ONCE = 16  # sources behind URLs


class IndexCache:
    """Indexes of the files met last, while they stay as they were. Threads may share it.

    Args:
        indexer: makes those of files that FFmpeg has to look at; None for this process, without
            protection.
    """

    def __init__(self, indexer: Indexer | None = None) -> None:
        self._indexer = indexer
        self._known: OrderedDict[Hashable, VideoIndex] = OrderedDict()
        self._bytes = 0
        self._lock = ForkSafeLock()

    def find(self, place: Hashable, source: Source) -> VideoIndex:
        """The index of a source: kept, or made now.

        Args:
            place: a path, URL or `Item`, which tells the video from all others, as a name does not;
                of anything else the index is not kept.
            source: opened from there.
        """
        state = source.fingerprint
        with self._lock:
            known = self._known.get(place)
            if known is not None and known.fingerprint == state:
                self._known.move_to_end(place)
                return known
        index = self._make(place, source)
        if isinstance(place, str | Item) and (state.mtime_ns, state.etag) != (None, None):
            with self._lock:
                if place in self._known:
                    self._drop(place)
                self._known[place] = index
                self._bytes += index.packets.nbytes
                while self._bytes > _CACHED_BYTES:
                    self._drop(next(iter(self._known)))
        return index

    def close(self) -> None:
        """End the process that indexes; indexes stay."""
        if self._indexer is not None:
            self._indexer.close()

    def _make(self, place: Hashable, source: Source) -> VideoIndex:
        if self._indexer is None:
            return index_video(source)
        return self._indexer.index(source, place if isinstance(place, str | Item) else None)

    def _drop(self, place: Hashable) -> None:
        self._bytes -= self._known.pop(place).packets.nbytes


def identity(source: VideoSource | Source | Item) -> Hashable:
    """What tells videos of a batch apart: a path, URL or item, or the object itself."""
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
    return source.open() if isinstance(source, Item) else open_source(source)


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
