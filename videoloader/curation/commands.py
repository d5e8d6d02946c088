"""What the commands `scenes`, `dedupe` and `score` do, and what they say of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from videoloader.clip_samples.sources import ClipSources
from videoloader.curation.duplicates import find_duplicates
from videoloader.curation.mapping import map_clips
from videoloader.curation.pictures import thumbnail_row
from videoloader.curation.scenes import find_scenes
from videoloader.curation.scores import score_video

__all__ = ["CurationResult", "dedupe", "scenes", "score"]


class CurationResult(NamedTuple):
    """A line about a job that is done, and the errors of videos."""

    text: str
    errors: list[str]


def scenes(
    sources: Sequence[str], out: Path, *, exact: bool, thumbnails: Path | None, **options: Any
) -> CurationResult:
    """Find the shots of videos; with `thumbnails` also write those of their keyframes."""
    table = map_clips(_source(sources), partial(find_scenes, exact=exact), out, **options)
    if thumbnails is not None:
        map_clips(_source(sources), thumbnail_row, thumbnails, **options)
    errors = _errors(table)
    videos = len(set(table["row"].to_pylist())) - len(errors)
    found = len(table) - len(errors)
    return CurationResult(f"{out}: {found} scenes of {videos} videos", errors)


def dedupe(
    sources: Sequence[str], out: Path, *, distance: float | None, **options: Any
) -> CurationResult:
    """Find copies and near copies."""
    table = find_duplicates(_source(sources), out, distance=distance, **options)
    errors = _errors(table)
    found, groups = len(table) - len(errors), len({*table["group"].to_pylist()} - {None})
    text = f"{out}: {found} videos in {groups} groups; {found - groups} can be left out"
    return CurationResult(text, errors)


def score(sources: Sequence[str], out: Path, *, sound: bool, **options: Any) -> CurationResult:
    """Score videos."""
    table = map_clips(_source(sources), partial(score_video, sound=sound), out, **options)
    errors = _errors(table)
    return CurationResult(f"{out}: {len(table) - len(errors)} videos scored", errors)


def _source(sources: Sequence[str]) -> ClipSources:
    """A data set index, or whatever else is named."""
    return sources[0] if len(sources) == 1 else list(sources)


def _errors(table: Any) -> list[str]:
    return [error for error in table["error"].to_pylist() if error]
