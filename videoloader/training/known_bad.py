"""Clips that are known to fail: from a check of the data set, or from the log of an earlier run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.failures import SkipKnown
from videoloader.errors import ArgumentError, OutOfMemoryError, SourceError
from videoloader.machinery.system.address import absolute, shown
from videoloader.machinery.system.faults import unreadable
from videoloader.sources.items import Item
from videoloader.training.labels.label_values import VideoLabels
from videoloader.training.sources import SampleVideos

Frames: TypeAlias = "set[int] | None"
"""The frames of a video that do not decode; None for all of them."""

Found = TypeVar("Found", bound=SampleVideos)


@dataclass(frozen=True, slots=True)
class KnownBad:
    """Videos with damage, and which of their frames do not decode.

    Attributes:
        places: by absolute path and name in an archive.
        keys: by key, of those in a data set with a root. They hold for the data set where it was
            moved.
        roots: of these data sets. A video below one of them is known by its place alone.
    """

    places: dict[tuple[str, str], Frames] = field(default_factory=dict)
    keys: dict[str, Frames] = field(default_factory=dict)
    roots: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, item: Item) -> bool:
        return self.of(item) != set()

    def of(self, item: Item) -> Frames:
        """The frames of a video that do not decode; none of a video that is not known."""
        place = absolute(item.path), item.member
        if place in self.places:
            return self.places[place]
        if not item.below or _root(item.path, item.below) in self.roots:
            return set()
        return self.keys.get(item.key_below, set())

    def add(self, place: tuple[str, str], key: str, frames: Sequence[int]) -> None:
        """Add the bad frames of a video from one line; no frames means all of them.

        Args:
            place: its path, and its name in an archive.
            key: in its data set, "" if there is no root.
            frames: that do not decode.
        """
        path, member = absolute(place[0]), place[1]
        _add(self.places, (path, member), frames)
        below = key.removesuffix(f"/{member}") if member else key
        if below and below != place[0]:
            _add(self.keys, key, frames)
            self.roots.add(_root(path, below))


def read_known(given: SkipKnown | None) -> KnownBad:
    """Damaged videos, read from the files that name them.

    Raises:
        SourceError: a file cannot be read, or is something else.
    """
    known = KnownBad()
    if given is None:
        return known
    for place in [given] if isinstance(given, str | os.PathLike) else given:
        for facts in _facts(place):
            try:
                video = facts["path"], facts.get("member") or ""
                frames = facts["frames"] if "frames" in facts else facts["frame"]
                several = [] if frames is None else np.atleast_1d(frames).tolist()
                # Skip failures for lack of memory: another run may have enough.
                if (facts.get("kind") or facts.get("error_kind")) != OutOfMemoryError.__name__:
                    known.add(video, facts.get("key") or "", several)
            except (KeyError, TypeError, AttributeError) as error:
                raise SourceError(
                    f"{shown(os.fspath(place))}: no output of `videoloader check` and no log of "
                    f"failures ({type(error).__name__}: {error})"
                ) from error
    return known


def kept_videos(
    videos: Found,
    given: SkipKnown | None,
    *,
    labels: VideoLabels | None = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[Found, VideoLabels | None, NDArray[np.float64] | None]:
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
    videos: SampleVideos, known: KnownBad, *, wholly: bool = False
) -> NDArray[np.int64] | None:
    """The numbers of the videos that are not known to be damaged; None where that is all.

    A part of a video is left out where it holds a damaged frame.

    Args:
        videos: of a data set, or parts of them; they keep their rows.
        known: of damaged videos.
        wholly: leave out only those of which nothing decodes.

    Raises:
        ArgumentError: no video is left.
    """
    bad = [
        number
        for number, frames in named_videos(videos, known)
        if frames is None or not (wholly or not videos.holds(number, frames))
    ]
    if bad and len(bad) == len(videos):
        raise ArgumentError(f"skip_known leaves none of the {len(videos)} videos")
    return np.delete(np.arange(len(videos)), bad) if bad else None


def named_videos(videos: SampleVideos, known: KnownBad) -> Iterator[tuple[int, set[int] | None]]:
    """Numbers of the videos that are known to be damaged, and their frames, see `KnownBad.of`."""
    if not len(known):
        return
    names = {os.path.basename(member or path) for path, member in known.places}
    for number, key in enumerate(videos.keys()):
        # Making an item takes far longer than a look at its name. Quoted paths are no UTF-8.
        if key.rpartition("/")[2] in names or key.startswith("file:"):
            item = videos.item(number)
            if item in known:
                yield number, known.of(item)


def _add(known: dict[Any, Frames], name: Any, frames: Sequence[int]) -> None:
    before = known.get(name, set())
    known[name] = None if before is None or not frames else before | {*frames}


def _root(path: str, below: str) -> str:
    return path.removesuffix(f"/{below}")


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


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines.

    The last line may be cut off, where a process was killed or the disk was full.

    Raises:
        SourceError: the file cannot be read, or another line is no JSON object.
    """
    name = os.fspath(path)
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise unreadable(name, error) from None
    name = shown(name)
    for number, line in enumerate(lines, 1):
        try:
            facts = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                return
            raise SourceError(f"{name}: line {number} is no JSON ({error})") from error
        if facts is None:
            continue
        if not isinstance(facts, dict):
            raise SourceError(f"{name}: line {number} is no JSON object")
        yield facts
