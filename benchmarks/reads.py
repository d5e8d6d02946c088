"""How much of a file our index looks at, and how large it is when it is stored.

What is read is counted by the source. What is mapped into memory is counted by the page, by the
marks that the processor leaves on those that were touched.
"""

from __future__ import annotations

import mmap
import os
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import videoloader
from videoloader.errors import VideoError
from videoloader.indexing.source import Fingerprint, Source

__all__ = ["corpus_sizes", "our_figures"]


class CountingSource(Source):
    """A local file that counts what is read of it and what is touched of its mapping."""

    is_mapped = True

    def __init__(self, path: Path) -> None:
        path = path.resolve()
        super().__init__(name=str(path), size=path.stat().st_size)
        self.bytes_read = 0
        self._is_looked_at = False
        self._file = path.open("rb")
        self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._bytes[:: mmap.PAGESIZE].sum()  # every page is in memory, and mapped
        Path("/proc/self/clear_refs").write_text("1")

    @property
    def fingerprint(self) -> Fingerprint:
        """The size."""
        return Fingerprint(self.size)

    def _read(self, offset: int, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, offset)
        self.bytes_read += len(data)
        return data

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The bytes as an array, mapped and not read."""
        self._is_looked_at = True
        return self._bytes[offset : offset + size]

    def bytes_touched(self) -> int:
        """What was read, and the pages of the mapping that were looked at since it was made."""
        if not self._is_looked_at:  # a few pages have their marks for other reasons
            return self.bytes_read
        maps = Path("/proc/self/smaps").read_text()
        (pages,) = re.findall(rf"{re.escape(self.name)}\n(?:.+\n)*?Referenced: +(\d+) kB", maps)
        return self.bytes_read + 1024 * int(pages)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def our_figures(path: Path, repetitions: int) -> dict[str, Any]:
    """Bytes looked at for an index, with and without packet headers, and its size when stored."""
    figures: dict[str, Any] = {}
    for name, headers in (("index", False), ("index_with_headers", True)):
        source = CountingSource(path)
        with source:
            index = videoloader.index_video(source, headers)
            touched = source.bytes_touched()
        times = []
        for _ in range(repetitions):
            start = time.perf_counter()
            videoloader.index_video(path, headers)
            times.append(1e3 * (time.perf_counter() - start))
        figures[name] = {
            "bytes_touched": touched,
            "median_ms": round(statistics.median(times), 4),
            "stored_bytes": stored_size(index),
        }
    return figures


def stored_size(index: videoloader.VideoIndex) -> int:
    """Bytes of a file of the index."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.index"
        index.save(path)
        return path.stat().st_size


def corpus_sizes(folder: Path) -> dict[str, Any]:
    """Stored indexes of a folder of test videos of all kinds, those of few frames too."""
    sizes, frames = [], []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix != ".json":
            try:
                index = videoloader.index_video(path)
            except VideoError:
                continue
            if index.num_frames:
                sizes.append(stored_size(index))
                frames.append(index.num_frames)
    per_frame = [size / count for size, count in zip(sizes, frames, strict=True)]
    return {
        "videos": len(sizes),
        "frames": sum(frames),
        "stored_bytes": sum(sizes),
        "bytes_a_frame": round(sum(sizes) / sum(frames), 2),
        "median_bytes_a_frame": round(statistics.median(per_frame), 2),
        "median_frames": statistics.median(frames),
    }
