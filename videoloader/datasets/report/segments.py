"""Segments of videos, on the timelines of a page."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.indexing.dataset import DatasetIndex
from videoloader.indexing.dataset.joining import OF_PLACES
from videoloader.training.segments.rows import Unit
from videoloader.training.segments.segments import Segments


def read_segments(path: str | os.PathLike[str], dataset: DatasetIndex, *, unit: Unit) -> Segments:
    """The segments in a table; those of videos that are not there are left out.

    Raises:
        VideoError: as for `Segments`.
    """
    return Segments(path, dataset, unit=unit, on_missing="skip")


class Timelines:
    """The segments of each video of a data set.

    Raises:
        ArgumentError: the segments are of no data set index.
    """

    def __init__(self, segments: Segments) -> None:
        if not segments.is_indexed:
            raise ArgumentError(
                f"{segments!r}: were made without a data set index; give Segments the one of the "
                "page as index="
            )
        self._segments = segments
        self._numbers: dict[str, list[int]] = {}
        for number, key in enumerate(segments.keys()):
            self._numbers.setdefault(key, []).append(number)
        # Of the table what can be read, such as labels, but no names of files.
        fields = [each for each in segments.table.schema if each.name not in OF_PLACES]
        self._shown = [each.name for each in fields if "binary" not in str(each.type)]

    def count(self, key: str) -> int:
        """Segments of a video."""
        return len(self._numbers.get(key, ()))

    def of(self, dataset: DatasetIndex, row: int) -> list[tuple[float, float, str]]:
        """Begin and end of each segment of a video, as parts of its frames, and what it is.

        Raises:
            VideoError: the index of the video cannot be read.
        """
        segments, index = self._segments, dataset[row]
        numbers = self._numbers.get(dataset.key(row), [])
        rows = segments.rows[np.array(numbers, np.int64)]
        told = segments.table.select(self._shown).take(rows).to_pylist()
        found = []
        for number, values in zip(numbers, told, strict=True):
            try:
                start, stop = segments.scope(number, index)
            except FrameRangeError:
                continue  # it has no frame
            total = index.num_frames
            found.append((start / total, stop / total, _text(values)))
        return found


def _text(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items() if value is not None)
