"""`index_dataset`: indexes many videos into one Parquet file; can be interrupted and resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing.dataset.cache import read_root
from videoloader.indexing.dataset.journal import ENDING, Journal
from videoloader.indexing.dataset.listing import Place, each_place, find_items
from videoloader.indexing.dataset.part import is_part, read_rows, table_path, write_rows
from videoloader.indexing.dataset.reader import KnownUrls
from videoloader.indexing.dataset.rows import EncodedRow, Row, failed_row, storable, with_root
from videoloader.indexing.dataset.skipped import Skipped
from videoloader.indexing.dataset.video_job import OnError, Progress, VideoJob, part_of
from videoloader.indexing.dataset.videos import DatasetIndex, open_dataset
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import is_url, local_path
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.writing import make_folder
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.sources.items import Item, as_root
from videoloader.sources.source import Check, as_check, difference

_MEMORY = 4 << 30  # bytes for an indexing process, far above the bounds of `index_video`
_AT_ONCE = 16  # remote files that a process indexes, or checks, concurrently
_AHEAD = 128  # videos queued in a process, so that it never waits for more
_TOGETHER = 32  # local files that travel to a process in one message


def index_dataset(
    sources: Place | Iterable[Place],
    out: str | os.PathLike[str],
    workers: int | None = None,
    on_error: OnError = "record",
    *,
    headers: bool = False,
    root: str | os.PathLike[str] | None = None,
    check: Check = "size",
    shard: tuple[int, int] = (0, 1),
    time_limit: float = 120.0,
    ray: bool | str = False,
    progress: Progress | None = None,
    skipped: Skipped | None = None,
) -> DatasetIndex:
    """Index a data set into a Parquet file, one row a video.

    The job may be interrupted at any moment, also by SIGKILL: a journal next to `out` keeps
    finished rows, and the same call resumes from it. A later call indexes only files that are
    new, have changed (see `check`) or could not be read before. The result depends only on the
    videos, not on interruptions, workers or order of completion.

    Args:
        sources: folders, globs, text lists of paths, tar archives (their members are indexed in
            place), video files, URLs of these, where a URL of a folder ends with a slash, or items
            of a data set (`dataset.item`): one, or an iterable such as the column of a table.
        out: the Parquet file to write.
        workers: number of processes; by default one per usable processor, 0 for none.
        on_error: `record` a file that cannot be indexed as a row with its error, or `raise` it.
        headers: read packet headers too, see `index_video`.
        root: folder or URL that all videos are under. Their paths and keys are stored relative to
            it, so that the data can be moved or copied; see `open_dataset`. By default `sources`,
            if that is one folder; else paths are absolute.
        check: which videos count as changed. `size`: size or etag differs, or modification time
            and first bytes differ. `mtime`: size, etag or modification time differs. `none`: none.
            Failed and truncated videos are indexed again if their modification time differs.
        shard: (i, n) takes the i-th of n parts of the videos, for n machines; see
            `merge_datasets`.
        time_limit: seconds that one video may take in a worker.
        ray: run on a Ray cluster instead of in processes here, with the same result: its address,
            or True for the one that is connected, see docs/cluster.md.
        progress: called after every video.
        skipped: takes what is passed over in folders and archives, see `DatasetIndex.skipped`;
            without it the counts are logged.

    Raises:
        SourceError: a source does not exist or has no video.
        ArgumentError: a video is not under `root`, or `out` holds videos of other parts.
        VideoError: with `on_error="raise"`, the error of the first bad video.

    >>> dataset = index_dataset("videos/", out="new.parquet")
    >>> len(dataset), dataset[3].num_frames
    (4, 90)
    """
    one_of("on_error", on_error, ("record", "raise"))
    check, target = as_check(check), table_path(out)
    places = list(each_place(sources))
    noted = Skipped() if skipped is None else skipped
    items = find_items(places, noted)
    if skipped is None:
        noted.log()
    _check_places(items)
    base, items = _rooted(places, items, root)
    every, items = items, part_of(items, shard)
    make_folder(target)
    _check_part(target, every, items, shard, base)
    with Journal(target.with_name(f"{target.name}{ENDING}")) as journal:
        _keep_unchanged(journal, target, items, base)
        current = _current(items, journal, headers=headers, root=base, check=check)
        missing = [item for item, known in zip(items, current, strict=True) if not known]
        job = VideoJob(
            function="videoloader.indexing.dataset.rows:begin_row",
            arguments={"headers": headers, "root": base},
            as_row=partial(_as_row, root=base),
            workers=workers,
            time_limit=time_limit,
            ray=ray,
            ahead=_AHEAD,
            options={
                "finish": "videoloader.indexing.dataset.rows:encoded_row",
                "memory_limit": _MEMORY,
                "threads": _AT_ONCE if _any_remote(missing, base) else 1,
                "group": _TOGETHER,
            },
            on_error=on_error,
            root=base,
            progress=progress,
        )
        job.run(missing, journal, total=len(items))
        rows = (storable(journal.row(item)) for item in items)
        stored = noted.relative_to(base)
        write_rows(target, rows, base, is_default=root is None, shard=shard, skipped=stored)
        journal.remove()
    return open_dataset(target, root=base, check=check, sign=_signatures(items, base))


def _as_row(
    item: Item, result: tuple[bytes, bool] | TaskFailure, *, root: str | None
) -> Row | EncodedRow:
    if isinstance(result, TaskFailure):
        return failed_row(item, result, root)
    data, is_failed = result
    return Row.decode(data) if is_failed else EncodedRow(item, data)


def _rooted(
    places: list[Place], items: list[Item], root: str | os.PathLike[str] | None
) -> tuple[str | None, list[Item]]:
    """The root and the items relative to it.

    By default it is the folder that was named, if that is all and the items are under it.
    """
    if root is not None:
        base = as_root(root)
        return base, [item.relative_to(base) for item in items]
    (only,) = places if len(places) == 1 else ("",)
    place = "" if isinstance(only, Item) else local_path(os.fspath(only))
    if is_url(place) or os.path.isdir(place):
        # A server may list objects of another address; a name may be no text.
        with suppress(ArgumentError, UnicodeEncodeError):
            base = as_root(place)
            base.encode()
            return base, [item.relative_to(base) for item in items]
    return None, items


def _check_places(items: list[Item]) -> None:
    """Refuse videos with the same stored path; URLs are stored without their query."""
    seen: set[object] = set()
    for item in items:
        place = item.place()
        if place in seen:
            raise ArgumentError(
                f"{item.name}: several URLs differ only in what is not stored, since it may be "
                "secret: user, password and what stands behind the ?"
            )
        seen.add(place)


def _signatures(items: list[Item], root: str | None) -> KnownUrls | None:
    """Full URLs of the items, for the `DatasetIndex` returned here; queries are not stored."""
    signed = {item.under(root).path: item.signed for item in items if item.signed}
    return KnownUrls(signed) if signed else None


def _keep_unchanged(journal: Journal, target: Path, items: list[Item], root: str | None) -> None:
    """Copy the rows of these videos from an earlier file into the journal."""
    if not target.exists():
        return
    wanted = {item.place() for item in items}
    for row in _earlier_rows(target, root):
        if row.item.place() in wanted and journal.get(row.item) is None:
            journal.add(row)


def _earlier_rows(target: Path, root: str | None) -> Iterator[Row]:
    """The rows of an earlier file, with paths as a job with this root stores them."""
    earlier = read_root(target)
    for row in read_rows(target):
        is_as_now = (earlier is None) == (root is None)
        yield row if is_as_now else with_root(row, earlier, root)


def _check_part(
    target: Path, every: list[Item], items: list[Item], shard: tuple[int, int], root: str | None
) -> None:
    """Refuse to write a part of the videos over an index of others of them.

    Raises:
        ArgumentError: the file holds videos of `every` that are not among `items`. A file of the
            same part may, if the listing has changed.
    """
    if shard[1] == 1 or not target.exists() or is_part(target, shard):
        return
    others = {item.place() for item in every}.difference(item.place() for item in items)
    found = next((row for row in _earlier_rows(target, root) if row.item.place() in others), None)
    if found is not None:
        raise ArgumentError(
            f"{target}: holds videos that are not in part {shard[0]} of {shard[1]}, such as "
            f"{found.item.name}; write each part to a file of its own, or delete this one"
        )


def _current(
    items: list[Item], journal: Journal, *, headers: bool, root: str | None, check: Check
) -> list[bool]:
    """Mask of the videos whose row is up to date."""

    def is_current(item: Item) -> bool:
        row = journal.get(item)
        if row is not None and row.index and "num_frames" not in row.facts:
            return False  # of another job, such as `map_clips`
        if row is None or (row.facts["has_headers"] < headers if row.index else not row.kind):
            return False  # failures in files of the previous version have no kind
        if row.index and row.facts["has_audio"] is None:
            return False  # of an earlier version, with fewer columns
        return _is_current(row, item.under(root), check)

    is_remote = _any_remote([item for item in items if item.listed is None], root)
    return in_threads(is_current, items, _AT_ONCE if is_remote else 1)


def _any_remote(items: list[Item], root: str | None) -> bool:
    """Whether any of the videos is behind a URL."""
    return bool(items) and (is_url(root or "") or any(is_url(item.path) for item in items))


def _is_current(row: Row, item: Item, check: Check) -> bool:
    """Whether a row is up to date for a video."""
    if check == "none" and not row.error:
        return True
    if row.state is None:
        return False
    try:
        state = item.state()
        is_known = state.mtime_ns is not None or state.etag is not None
        if is_known and state.is_same(row.state):
            return True
        if row.error or row.facts["warnings"] or not state.may_be(row.state):
            return False  # a truncated file may be complete now, with the same first bytes
        with item.open() as source:
            return difference(row.state, source, check) is None
    except VideoError:
        return False
