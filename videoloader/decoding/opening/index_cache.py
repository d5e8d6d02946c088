"""Keeping the indexes of videos met before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex, decode_index
from videoloader.indexing.storage import encode_index
from videoloader.indexing.video import index_video
from videoloader.sources.items import Item
from videoloader.sources.source import Source
from videoloader.system.forking import ForkSafeLock

__all__ = ["IndexCache", "PackedIndexes"]

_CACHED_BYTES = 1 << 28  # of packet tables that are kept
_OVERHEAD = 200  # bytes of a packed index besides its own


class PackedIndexes:
    """The indexes used last, as the bytes that they are stored as, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._data: OrderedDict[Hashable, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._data)

    def get(self, place: Hashable) -> VideoIndex | None:
        """The index of the video at a place, if it is kept."""
        data = self._data.get(place)
        if data is None:
            return None
        self._data.move_to_end(place)
        try:
            return decode_index(data)
        except FormatError:  # one that cannot be stored is made again each time
            return None

    def add(self, place: Hashable, index: VideoIndex) -> None:
        """Keep an index, and drop those that were not used for longest if it gets too much."""
        self._drop(place)
        if not self.limit:
            return
        self._data[place] = data = encode_index(index)
        self.bytes += len(data) + _OVERHEAD
        while self.bytes > self.limit:
            self._drop(next(iter(self._data)))

    def _drop(self, place: Hashable) -> None:
        data = self._data.pop(place, None)
        if data is not None:
            self.bytes -= len(data) + _OVERHEAD


class IndexCache:
    """Indexes of the files met last, while they stay as they were. Threads may share it.

    Args:
        indexer: makes those of files that FFmpeg has to look at; None for this process, without
            protection.
        limit: bytes of packet tables that are kept ready.
        packed_limit: bytes of the indexes that are kept besides, as they are stored.
    """

    def __init__(
        self,
        indexer: Indexer | None = None,
        *,
        limit: int = _CACHED_BYTES,
        packed_limit: int = 0,
    ) -> None:
        self._indexer = indexer
        self._limit = limit
        self._packed = PackedIndexes(packed_limit)
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
            packed = self._packed.get(place)
            if packed is not None and packed.fingerprint == state:
                self._keep(place, packed)
                return packed
        index = self._make(place, source)
        if isinstance(place, str | Item) and (state.mtime_ns, state.etag) != (None, None):
            with self._lock:
                self._packed.add(place, index)
                self._keep(place, index)
        return index

    def close(self) -> None:
        """End the process that indexes; indexes stay."""
        if self._indexer is not None:
            self._indexer.close()

    def _make(self, place: Hashable, source: Source) -> VideoIndex:
        if self._indexer is None:
            return index_video(source)
        return self._indexer.index(source, place if isinstance(place, str | Item) else None)

    def _keep(self, place: Hashable, index: VideoIndex) -> None:
        if place in self._known:
            self._drop(place)
        self._known[place] = index
        self._bytes += index.packets.nbytes
        while self._bytes > self._limit:
            self._drop(next(iter(self._known)))

    def _drop(self, place: Hashable) -> None:
        self._bytes -= self._known.pop(place).packets.nbytes
