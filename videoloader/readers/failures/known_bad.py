"""Clips that are known to fail: from a check of the data set, or from the log of an earlier run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, OutOfMemoryError, SourceError
from videoloader.readers.clip_samples.label_values import VideoLabels
from videoloader.readers.clip_samples.sources import IndexedVideos, ListedVideos
from videoloader.readers.failures.error_log import absolute, read_lines
from videoloader.sources.address import shown
from videoloader.sources.faults import unreadable
from videoloader.sources.items import Item

__all__ = [
    "KnownBad",
    "SkipKnown",
    "kept_numbers",
    "kept_videos",
    "named_videos",
    "read_known",
]

SkipKnown: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""What `videoloader check` wrote (`.parquet`), or a log of failures (JSON lines), or several."""


@dataclass(frozen=True, slots=True)
class KnownBad:
    """Videos with damage, and which of their frames do not decode; None for all of them."""

    frames: dict[tuple[str, str], set[int] | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frames)

    def __contains__(self, item: Item) -> bool:
        return bool(self.frames) and _key(item) in self.frames

    def of(self, item: Item) -> set[int] | None:
        """The frames of a video that do not decode; None for all of them."""
        return self.frames.get(_key(item), set())


def read_known(given: SkipKnown | None) -> KnownBad:
    """What files say of damaged videos.

    Raises:
        SourceError: a file cannot be read, or is something else.
    """
    known: dict[tuple[str, str], set[int] | None] = {}
    if given is None:
        return KnownBad(known)
    for place in [given] if isinstance(given, str | os.PathLike) else given:
        for facts in _facts(place):
            try:
                key = absolute(facts["path"]), facts.get("member") or ""
                frames = facts["frames"] if "frames" in facts else facts["frame"]
                several = [] if frames is None else np.atleast_1d(frames).tolist()
                kind = facts.get("kind") or facts.get("error_kind")
            except (KeyError, TypeError, AttributeError) as error:
                raise SourceError(
                    f"{shown(os.fspath(place))}: no output of `videoloader check` and no log of "
                    f"failures ({type(error).__name__}: {error})"
                ) from error
            if kind == OutOfMemoryError.__name__:  # another run may have the memory
                continue
            before = known.get(key, set())
            known[key] = None if before is None or not several else before | set(several)
    return KnownBad(known)


def kept_videos(
    videos: ListedVideos | IndexedVideos,
    given: SkipKnown | None,
    *,
    labels: VideoLabels | None = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[ListedVideos | IndexedVideos, VideoLabels | None, NDArray[np.float64] | None]:
    """The videos that are not known to be damaged, their labels and weights; none is opened.

    Raises:
        ArgumentError: no video is left.
    """
    kept = kept_numbers(videos, read_known(given))
    if kept is None:
        return videos, labels, weights
    chosen = None if labels is None else labels.take(kept)
    return videos.take(kept), chosen, None if weights is None else weights[kept]


def kept_numbers(
    videos: ListedVideos | IndexedVideos, known: KnownBad, *, wholly: bool = False
) -> NDArray[np.int64] | None:
    """The numbers of the videos that are not known to be damaged; None where that is all.

    Args:
        videos: of a data set; they keep their rows.
        known: of damaged videos.
        wholly: leave out only those of which nothing decodes.

    Raises:
        ArgumentError: no video is left.
    """
    bad = [number for number, frames in named_videos(videos, known) if frames is None or not wholly]
    if bad and len(bad) == len(videos):
        raise ArgumentError(f"skip_known leaves none of the {len(videos)} videos")
    return np.delete(np.arange(len(videos)), bad) if bad else None


def named_videos(
    videos: ListedVideos | IndexedVideos, known: KnownBad
) -> Iterator[tuple[int, set[int] | None]]:
    """Numbers of the videos that are known to be damaged, and their frames, see `KnownBad.of`."""
    if not len(known):
        return
    names = {os.path.basename(member or path) for path, member in known.frames}
    for number, key in enumerate(videos.keys()):
        # Making an item takes far longer than a look at its name. Quoted paths are no UTF-8.
        if key.rpartition("/")[2] in names or key.startswith("file:"):
            item = videos.item(number)
            if item in known:
                yield number, known.of(item)


def _key(item: Item) -> tuple[str, str]:
    return absolute(item.path), item.member


def _facts(place: str | os.PathLike[str]) -> Iterable[dict[str, Any]]:
    if not os.fspath(place).endswith(".parquet"):
        return read_lines(place)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table: Any = pq.read_table(place)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(os.fspath(place), error) from None
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
