"""What the commands `scenes`, `dedupe` and `score` do, and what they say of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from videoloader.datasets.duplicates import find_duplicates, hash_videos
from videoloader.datasets.mapping import map_clips
from videoloader.datasets.pictures import thumbnail_row
from videoloader.datasets.scenes import find_scenes
from videoloader.datasets.scores import score_video
from videoloader.errors import ArgumentError
from videoloader.indexing.dataset import open_dataset
from videoloader.indexing.dataset.part import table_path
from videoloader.training.sources import ClipSources


class CurationResult(NamedTuple):
    """What a job found.

    Attributes:
        text: a line about it.
        facts: the numbers in it, by name.
        errors: row, key and error of each video that failed.
    """

    text: str
    facts: dict[str, int]
    errors: list[dict[str, Any]]


def find_source(sources: Sequence[str], root: str | None) -> ClipSources:
    """A data set index, or whatever else is named.

    Raises:
        ArgumentError: `root` is given for something else than a data set index.
    """
    is_dataset = len(sources) == 1 and sources[0].endswith(".parquet")
    if root is not None and not is_dataset:
        raise ArgumentError("--root is where the videos of a data set index (.parquet) are now")
    if is_dataset:
        return open_dataset(sources[0], root=root)
    return sources[0] if len(sources) == 1 else list(sources)


def scenes(
    source: ClipSources, out: Path, *, exact: bool, thumbnails: Path | None, **options: Any
) -> CurationResult:
    """Find the shots of videos; with `thumbnails` also write those of their keyframes."""
    if thumbnails is not None:
        table_path(thumbnails)  # rather refused now than after the first job
    table = map_clips(source, partial(find_scenes, exact=exact), out, **options)
    if thumbnails is not None:
        map_clips(source, thumbnail_row, thumbnails, **options)
    errors = _errors(table)
    videos = len(set(table["row"].to_pylist())) - len(errors)
    found = len(table) - len(errors)
    text = f"{found} scenes of {videos} videos"
    if not exact:
        text += "; cuts may be half a second off, --exact decodes around them"
    return CurationResult(text, {"scenes": found, "videos": videos}, errors)


def dedupe(
    source: ClipSources,
    out: Path,
    *,
    distance: float | None,
    shard: tuple[int, int],
    **options: Any,
) -> CurationResult:
    """Find copies and near copies, or hash a part of the videos."""
    if shard != (0, 1):
        table = hash_videos(source, out, distance=distance, shard=shard, **options)
        errors = _errors(table)
        count = len(table) - len(errors)
        text = f"{count} videos hashed, part {shard[0]} of {shard[1]}"
        return CurationResult(text, {"hashed": count}, errors)
    table = find_duplicates(source, out, distance=distance, **options)
    errors = _errors(table)
    found, groups = len(table) - len(errors), len({*table["group"].to_pylist()} - {None})
    text = (
        f"{found} videos in {groups} group{'s' * (groups != 1)}; {found - groups} can be left out"
    )
    return CurationResult(text, {"videos": found, "groups": groups}, errors)


def score(source: ClipSources, out: Path, *, sound: bool, **options: Any) -> CurationResult:
    """Score videos."""
    table = map_clips(source, partial(score_video, sound=sound), out, **options)
    errors = _errors(table)
    count = len(table) - len(errors)
    return CurationResult(f"{count} videos scored", {"videos": count}, errors)


def _errors(table: Any) -> list[dict[str, Any]]:
    rows = table.select(["row", "key", "error"]).to_pylist()
    return [row for row in rows if row["error"]]
