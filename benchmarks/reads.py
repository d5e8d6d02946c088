"""How much of a file is read for our index, and how large that is when it is stored."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import videoloader
from videoloader.errors import VideoError

__all__ = ["corpus_sizes", "our_figures"]

_pread, _preadv = os.pread, os.preadv


def counted(path: Path, *, headers: bool) -> tuple[videoloader.VideoIndex, int]:
    """An index, and how many bytes of the file were read for it."""
    total = 0

    def pread(file: int, size: int, offset: int) -> bytes:
        nonlocal total
        data = _pread(file, size, offset)
        total += len(data)
        return data

    def preadv(file: int, buffers: list[memoryview], offset: int) -> int:
        nonlocal total
        count = _preadv(file, buffers, offset)
        total += count
        return count

    with mock.patch("os.pread", pread), mock.patch("os.preadv", preadv):
        index = videoloader.index_video(path, headers)
    return index, total


def our_figures(path: Path, repetitions: int) -> dict[str, Any]:
    """Bytes read for an index, with and without packet headers, and its size when stored."""
    figures: dict[str, Any] = {}
    for name, headers in (("index", False), ("index_with_headers", True)):
        index, touched = counted(path, headers=headers)
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
