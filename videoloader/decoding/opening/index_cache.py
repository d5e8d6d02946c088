"""Keeping the indexes of videos met before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import numpy as np

from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex, decode_index, encode_index
from videoloader.indexing.video import index_video
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.sources.items import Item
from videoloader.sources.source import Source

_CACHED_BYTES = 1 << 28  # of indexes that are kept
_OVERHEAD = 200  # bytes of a packed index besides its own


class KeptIndexes:
    """The indexes used last. Threads may share it.

    Args:
        ready: bytes of indexes that are kept as they are used, with what was learned of them.
        packed: bytes of the indexes that are kept besides, as they are stored.
    """

    def __init__(self, ready: int, packed: int = 0) -> None:
        self.ready, self.packed = ready, packed
        self.packed_bytes = 0
        self._ready_bytes = 0
        self._ready: OrderedDict[Hashable, tuple[VideoIndex, int]] = OrderedDict()
        self._packed: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = ForkSafeLock()

    def get(self, place: Hashable) -> VideoIndex | None:
        """The index of the video at a place, if it is kept."""
        with self._lock:
            if place in self._packed:
                self._packed.move_to_end(place)
            if place in self._ready:
                index, _ = self._ready[place]
                self._keep_ready(place, index)  # more may have been learned of it
                return index
            if (data := self._packed.get(place)) is None:
                return None
            try:
                index = decode_index(data)
            except FormatError:  # one that cannot be stored is made again each time
                return None
            self._keep_ready(place, index)
            return index

    def add(self, place: Hashable, index: VideoIndex) -> None:
        """Keep an index, and drop the least recently used ones if the cache is full."""
        with self._lock:
            self._keep_ready(place, index)
            self._drop_packed(place)
            if not self.packed:
                return
            self._packed[place] = data = encode_index(index)
            self.packed_bytes += len(data) + _OVERHEAD
            while self.packed_bytes > self.packed:
                self._drop_packed(next(iter(self._packed)))

    def _keep_ready(self, place: Hashable, index: VideoIndex) -> None:
        self._drop_ready(place)
        size = _memory_of(index)
        self._ready[place] = index, size
        self._ready_bytes += size
        while self._ready_bytes > self.ready:
            self._drop_ready(next(iter(self._ready)))

    def _drop_ready(self, place: Hashable) -> None:
        if (kept := self._ready.pop(place, None)) is not None:
            self._ready_bytes -= kept[1]

    def _drop_packed(self, place: Hashable) -> None:
        if (data := self._packed.pop(place, None)) is not None:
            self.packed_bytes -= len(data) + _OVERHEAD


def _memory_of(index: VideoIndex) -> int:
    """Bytes of an index: its tables, derived tables, and facts learned while decoding."""
    tables = [value.nbytes for value in [*vars(index).values()] if isinstance(value, np.ndarray)]
    return sum(tables) + (index.learned.nbytes if "learned" in vars(index) else 0)


class IndexCache:
    """Indexes of the files met last, while they stay as they were. Threads may share it.

    Args:
        indexer: makes those of files that FFmpeg has to look at; None for this process, without
            protection.
        limit: bytes of indexes that are kept ready.
        packed_limit: bytes of the indexes that are kept besides, as they are stored.
    """

    def __init__(
        self, indexer: Indexer | None = None, *, limit: int = _CACHED_BYTES, packed_limit: int = 0
    ) -> None:
        self._indexer = indexer
        self._kept = KeptIndexes(limit, packed_limit)

    def find(self, place: Hashable, source: Source) -> VideoIndex:
        """The index of a source: kept, or made now.

        Args:
            place: a path, URL or `Item`, which tells the video from all others, as a name does not;
                of anything else the index is not kept.
            source: opened from there.
        """
        state, kept = source.fingerprint, self._kept.get(place)
        if kept is not None and kept.fingerprint == state:
            return kept
        index = self._make(place, source)
        if isinstance(place, str | Item) and (state.mtime_ns, state.etag) != (None, None):
            self._kept.add(place, index)
        return index

    def close(self) -> None:
        """End the process that indexes; indexes stay."""
        if self._indexer is not None:
            self._indexer.close()

    def _make(self, place: Hashable, source: Source) -> VideoIndex:
        if self._indexer is None:
            return index_video(source)
        return self._indexer.index(source, place if isinstance(place, str | Item) else None)
