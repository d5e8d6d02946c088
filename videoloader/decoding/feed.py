"""The packets of a run, as decoders are fed them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.needed import Drop, needed_packets
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import PacketReader
from videoloader.indexing.source import Source
from videoloader.sampling import Run

__all__ = ["PacketFeed"]


class PacketFeed:
    """Reads the packets of runs, and leaves out what the plan could not know to be needless.

    Not for sharing between threads.

    Args:
        index: of the video.
        source: its bytes.
        drop: what to leave out. A packet may come with fewer pictures than it has in the file, so
            that it gives no frame.
    """

    def __init__(self, index: VideoIndex, source: Source, *, drop: Drop = "unneeded") -> None:
        self._index = index
        self._reader = PacketReader(index, source)
        self._drop = drop

    def chunks(self, run: Run, size: int) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
        """Numbers and bytes of packets, up to `size` at a time.

        Raises:
            SourceError: the file cannot be read as it was indexed.
        """
        for packets, payloads in needed_packets(self._index, self._reader, run, self._drop, size):
            for start in range(0, len(packets), size):
                yield packets[start : start + size], payloads[start : start + size]

    def close(self) -> None:
        """Close the demuxer, where there is one."""
        self._reader.close()
