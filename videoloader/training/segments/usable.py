"""Which segments have frames: finds their videos, and tells those that cannot be used."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.limits import worker_limit
from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing.dataset import DatasetIndex, Item, Videos
from videoloader.indexing.dataset.joining import rows_once
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import absolute, shown
from videoloader.machinery.system.faults import blamed_on
from videoloader.training.segments.rows import SegmentRows, Unit
from videoloader.training.sources import IndexedVideos, ListedVideos, find_sources

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

_AT_ONCE, _OPEN_AT_ONCE = 1 << 10, 16  # videos that are handed to threads together, and opened
_ABSENT, _UNREADABLE = "of a video that is not there", "of a video that cannot be read"
_OUTSIDE = "outside its video"
_FAILED = "that have none, but an error of the job that wrote them"
_HINTS = {
    _ABSENT: "; video= may be a format of columns, such as '{id}.mp4'",
    _OUTSIDE: "; whole_videos=True takes all of files that are trimmed already",
}
_ROUNDED = 1e-6  # seconds by which a table may be wrong without a word


class Usable(NamedTuple):
    """The segments that have frames.

    Attributes:
        rows: of the table.
        videos: that of each.
        skipped: rows without frames, and why: a table of `row` and `reason`.
    """

    rows: NDArray[np.int64]
    videos: ListedVideos | IndexedVideos
    skipped: pa.Table


def find_usable(
    rows: SegmentRows,
    index: str | os.PathLike[str] | DatasetIndex | Videos | None,
    *,
    root: str | os.PathLike[str] | None,
    unit: Unit,
    whole_videos: bool,
    on_missing: str,
) -> Usable:
    """Find the videos of segments, and which of these have frames; see `Segments`.

    Raises:
        ArgumentError: a name stands for two videos; or segments have no frames, or none has.
        SourceError: there is no such file or folder.
    """
    named = rows.videos.dictionary_encode()
    found, places = _find(named.dictionary, index, root, rows.name)
    codes = named.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    places = np.append(places, -1)[codes]
    spans = _spans_of(found, places, look=not whole_videos)
    if unit == "seconds":  # from the first frame
        spans = spans._replace(begins=np.zeros_like(spans.begins), ends=spans.ends - spans.begins)
    problems = _problems(places, rows, spans, unit)
    kept = np.flatnonzero(~np.logical_or.reduce([*problems.values()]))
    details = {}
    if spans.errors:
        details[_UNREADABLE] = f", such as {next(iter(spans.errors.values()))}"
        if index is None and root is None:
            details[_UNREADABLE] += "; root= is the folder of videos that the table has by name"
    if index is not None or root is not None:
        example = shown(found.item(0).key.rpartition("/")[2])
        details[_ABSENT] = f", among {len(found)} videos such as {example!r}"
    lasts = spans.counts if unit == "frames" else spans.ends
    if problems[_OUTSIDE].any():
        place = places[problems[_OUTSIDE].argmax()]
        first = 0 if unit == "frames" else spans.begins[place]
        details[_OUTSIDE] = f", of {first:g} to {lasts[place]:g} {unit}"
    skipped = _told(problems, rows, on_missing, details)
    last = lasts[places[kept]]
    ends = rows.ends[kept]
    if count := np.count_nonzero(np.isfinite(ends) & (ends > last + _ROUNDED)):
        text = "%s: %d of %d segments end behind their video, and are cut there"
        _log.warning(text, rows.name, count, len(kept))
    return Usable(kept, found.take(places[kept]), skipped)


class _Spans(NamedTuple):
    """When videos begin and end in seconds, their frames, and why some cannot be read, by place."""

    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    counts: NDArray[np.int64]
    errors: dict[int, VideoError]


def _find(
    names: pa.Array,
    index: str | os.PathLike[str] | DatasetIndex | Videos | None,
    root: str | os.PathLike[str] | None,
    name: str,
) -> tuple[ListedVideos | IndexedVideos, NDArray[np.int64]]:
    """The videos among which those of some names are, and the number of each; -1 for none."""
    import pyarrow as pa

    given = root if index is None else index
    if given is None:
        items = [Item(absolute(path)) for path in names.to_pylist()]
        return ListedVideos(items, {}), np.arange(len(items))
    found = find_sources(given, {})
    paths = pa.array(found.paths(), pa.large_string())
    places = np.full(len(names), -1)
    left = np.arange(len(names))
    while len(left):  # again for names of videos that have a longer one as well
        rows = rows_once(paths, names.take(pa.array(left)), "path", name, argument="video")
        numbers = np.flatnonzero(rows >= 0)
        if not len(numbers):
            break
        places[left[rows[numbers]]] = numbers
        left = np.flatnonzero(places < 0)
    return found, places


def _spans_of(
    found: ListedVideos | IndexedVideos, places: NDArray[np.int64], *, look: bool
) -> _Spans:
    """When videos begin and end; those of a list at some places are opened for it.

    Without `look` they are not: each may be as long as anybody thinks.
    """
    if isinstance(found, IndexedVideos):
        known = found.numbers(["start", "duration", "num_frames"])
        begins, seconds, counts = known.values()
        return _Spans(begins, begins + seconds, counts.astype(np.int64), {})
    count = len(found)
    if not look:
        return _Spans(np.zeros(count), np.full(count, np.inf), np.ones(count, np.int64), {})
    spans = _Spans(np.zeros(count), np.zeros(count), np.zeros(count, np.int64), {})
    with closing(Indexer(memory_limit=worker_limit("auto"))) as indexer:

        def open_one(place: int) -> None:
            item = found.item(place)
            try:
                with blamed_on(item.name), item.open() as source:
                    index = indexer.index(source, item)
            except VideoError as error:
                spans.errors[place] = error
                return
            spans.counts[place] = index.num_frames
            spans.begins[place], spans.ends[place] = index.boundaries[[0, -1]]

        named = np.unique(places[places >= 0])
        for first in range(0, len(named), _AT_ONCE):
            in_threads(open_one, named[first : first + _AT_ONCE].tolist(), _OPEN_AT_ONCE)
    return spans


def _problems(
    places: NDArray[np.int64], rows: SegmentRows, spans: _Spans, unit: Unit
) -> dict[str, NDArray[np.bool_]]:
    """What is wrong with segments, each under its first problem: a mask for each kind."""
    is_there, begins, ends = places >= 0, rows.begins, rows.ends
    is_bad = np.zeros(len(spans.counts) + 1, dtype=np.bool_)
    is_bad[[*spans.errors]] = True
    if unit == "frames":
        lows = np.zeros(len(spans.counts))
        is_behind = begins >= np.append(spans.counts, 0)[places]
    else:
        lows, highs = spans.begins, spans.ends
        # A last frame of unknown duration is on screen at its own time.
        is_still = np.append(highs == lows, [False])[places]
        last = np.append(highs, 0)[places]
        is_behind = (begins > last) | ((begins == last) & ~is_still)
    is_before = np.isfinite(ends) & (ends <= np.append(lows, 0)[places])
    is_empty = np.append(spans.counts == 0, [False])[places]
    found = {
        _FAILED: _failed(rows),
        _ABSENT: ~is_there,
        _UNREADABLE: is_there & is_bad[places],
        "empty or reversed": ~(begins < ends),
        _OUTSIDE: is_there & (is_behind | is_before | is_empty),
    }
    seen = np.zeros(len(places), dtype=np.bool_)
    for kind, mask in found.items():
        found[kind] = mask & ~seen
        seen |= mask
    return found


def _failed(rows: SegmentRows) -> NDArray[np.bool_]:
    """Rows of our own tables of scenes whose video failed: they have an error, and no times."""
    if "error" not in rows.table.column_names:
        return np.zeros(len(rows.begins), dtype=np.bool_)
    has_error: NDArray[np.bool_] = rows.table["error"].is_valid().to_numpy()
    return has_error & np.isinf(rows.begins) & np.isinf(rows.ends)


def _told(
    problems: dict[str, NDArray[np.bool_]],
    given: SegmentRows,
    on_missing: str,
    details: dict[str, str],
) -> pa.Table:
    """The rows with problems, and which; an error or a line in the log says how many.

    `details` are what is said of some kinds of problems.

    Raises:
        ArgumentError: there are some and `on_missing` is `raise`, or no segment is left.
    """
    import pyarrow as pa

    kinds = [kind for kind, mask in problems.items() if mask.any()]
    rows = [np.flatnonzero(problems[kind]) for kind in kinds]
    reasons = [kind for kind, those in zip(kinds, rows, strict=True) for _ in range(len(those))]
    bad = np.concatenate([np.zeros(0, np.int64), *rows])
    left_out = pa.table({"row": bad, "reason": pa.array(reasons, pa.string())}).sort_by("row")
    if not kinds:
        return left_out
    texts = []
    for kind, those in zip(kinds, rows, strict=True):
        row = int(those[0])
        begin, end = given.begins[row], given.ends[row]
        called = shown(str(given.videos[row].as_py()))
        span = "" if np.isinf(begin) and np.isinf(end) else f", {begin:g} to {end:g}"
        more = details.get(kind, "")
        texts.append(f"{len(those)} {kind} (first row {row}: {called!r}{span}{more})")
    count = len(given.table)
    text = f"{given.name}: {len(bad)} of {count} segments have no frames: {'; '.join(texts)}"
    if on_missing == "raise":
        hints = "".join(_HINTS.get(kind, "") for kind in kinds)
        raise ArgumentError(f'{text}; on_missing="skip" leaves them out{hints}')
    if len(bad) == count:
        raise ArgumentError(f"{text}; none is left")
    _log.warning("%s; left out, see Segments.skipped", text)
    return left_out
