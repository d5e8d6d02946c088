"""The packets of a run, as decoders are fed them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.headers import classify_packets
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import PacketReader
from videoloader.indexing.source import Source
from videoloader.sampling import Run

__all__ = ["PacketFeed"]


class PacketFeed:
    """Reads the packets of runs, and leaves out disposable ones that the plan could not know of.

    An index without headers does not tell them; once their bytes are read they tell themselves.
    Not for sharing between threads.

    Args:
        index: of the video.
        source: its bytes.
        drop: leave out disposable packets whose frames are not wanted.
    """

    def __init__(self, index: VideoIndex, source: Source, *, drop: bool = True) -> None:
        self._index = index
        self._reader = PacketReader(index, source)
        self._looks = drop and not index.has_headers

    def chunks(self, run: Run, size: int) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
        """Numbers and bytes of packets, read up to `size` at a time.

        Raises:
            SourceError: the file cannot be read as it was indexed.
        """
        for start in range(0, len(run.packets), size):
            packets = run.packets[start : start + size]
            payloads = self._reader.read(packets)
            if self._looks:
                disposable = classify_packets(self._index, payloads)
                keep = ~disposable | np.isin(packets, run.frame_packets)
                packets = packets[keep]
                payloads = [p for p, kept in zip(payloads, keep.tolist(), strict=True) if kept]
            yield packets, payloads

    def close(self) -> None:
        """Close the demuxer, where there is one."""
        self._reader.close()
