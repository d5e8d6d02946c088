"""`index_dataset`: videos in, one Parquet file out, stopped and resumed at will."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.on_ray import run_on_ray
from videoloader.indexing.dataset.reader import DatasetIndex, KnownUrls, open_dataset, reading
from videoloader.indexing.dataset.rows import Row, check_schema, failed_row, schema
from videoloader.indexing.dataset.sources import Item, find_items
from videoloader.indexing.dataset.workers import Failure, run_tasks
from videoloader.indexing.source import Fingerprint, is_url
from videoloader.indexing.writing import written, written_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Progress", "index_dataset", "merge_datasets"]

Progress = Callable[[int, int, int], None]
"""Called with videos done, videos in all, and how many of those done have failed."""

_GROUP = 4096  # rows in a row group
_STATE = ("size", "mtime_ns", "etag")  # columns of a fingerprint
_LOOKS = 16  # remote files to look at side by side


def index_dataset(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    workers: int | None = None,
    on_error: Literal["record", "raise"] = "record",
    *,
    headers: bool = False,
    shard: tuple[int, int] = (0, 1),
    time_limit: float = 120.0,
    ray: bool = False,
    progress: Progress | None = None,
) -> DatasetIndex:
    """Index a data set into a Parquet file, one row a video.

    The job may be interrupted at any moment, also by SIGKILL: what is done is kept beside `out`
    in a journal, and the same call goes on from there. Called again later, it indexes only files
    that are new or have changed (size, and etag or time of change) or could not be had. The file
    depends on the videos alone, not on interruptions, workers or order of completion.

    Args:
        sources: folders, globs, text lists of paths, tar archives (their members are indexed in
            place), video files, or URLs of these; a URL of a folder ends with a slash.
        out: the Parquet file to write.
        workers: processes; as many as this process may use processors by default, 0 for none.
        on_error: `record` a file that cannot be indexed as a row with its error, or `raise` it.
        headers: read packet headers too, see `index_video`.
        shard: (i, n) takes the i-th of n parts of the videos, for n machines; see
            `merge_datasets`.
        time_limit: seconds that one video may take in a worker.
        ray: work on the Ray cluster at hand instead of in processes here; to the same result.
        progress: is told how far the job is.

    Raises:
        SourceError: a source does not exist or has no video.
        VideoError: with `on_error="raise"`, what is wrong with the first bad video.
    """
    if on_error not in ("record", "raise"):
        raise ArgumentError(f'on_error must be "record" or "raise", got {on_error!r}')
    part, parts = shard
    if not 0 <= part < parts:
        raise ArgumentError(f"shard must be (i, n) with 0 <= i < n, got {shard}")
    items = find_items(sources)
    _check_places(items)
    items = items[part * len(items) // parts : (part + 1) * len(items) // parts]
    if workers is None:
        workers = len(os.sched_getaffinity(0))
    target = Path(out)
    with written(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    journal = Journal(target.with_name(f"{target.name}.journal"))
    try:
        _keep_unchanged(journal, target, items)
        current = _current(items, journal, headers)
        missing = [item for item, known in zip(items, current, strict=True) if not known]
        done, failed = len(items) - len(missing), 0
        function, arguments = "videoloader.indexing.dataset.rows:make_row", {"headers": headers}
        if ray:
            results = run_on_ray(function, missing, arguments=arguments)
        else:
            results = run_tasks(
                function, missing, workers=workers, time_limit=time_limit, arguments=arguments
            )
        for item, result in results:
            row = failed_row(item, result.reason) if isinstance(result, Failure) else result
            if row.error and on_error == "raise":
                raise VideoError(row.error)
            journal.add(row)
            done, failed = done + 1, failed + bool(row.error)
            if progress is not None:
                progress(done, len(items), failed)
        _write(target, (_row(journal, item) for item in items))
        journal.remove()
    finally:
        journal.close()
    return open_dataset(target, sign=_signatures(items))


def _check_places(items: list[Item]) -> None:
    """Refuse videos that would have the same place in the file, where URLs have no query."""
    seen: set[object] = set()
    for item in items:
        place = item.place()
        if place in seen:
            raise ArgumentError(
                f"{item.name}: several URLs differ only in what is not stored, since it may be "
                "secret: user, password and what stands behind the ?"
            )
        seen.add(place)


def _signatures(items: list[Item]) -> KnownUrls | None:
    """What of URLs is not stored, for as long as the caller has the data set."""
    signed = {item.path: item.signed for item in items if item.signed}
    return KnownUrls(signed) if signed else None


def merge_datasets(
    parts: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str]
) -> DatasetIndex:
    """One data set index of several, such as the shards of one job, in the order given.

    Raises:
        FormatError: a part is no data set index.
    """
    datasets = [Path(part) for part in parts]
    if not datasets:
        raise ArgumentError("nothing to merge")
    _write(Path(out), (row for part in datasets for row in read_rows(part)))
    return open_dataset(out)


def read_rows(path: Path) -> Iterator[Row]:
    """All rows of a data set index, those with errors too."""
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        check_schema(file.schema_arrow, path)
        for batch in file.iter_batches(batch_size=_GROUP):
            for values in batch.to_pylist():
                item = Item(*(values.pop(name) for name in ("path", "member", "offset")))
                state = Fingerprint(*(values.pop(name) for name in _STATE))
                item = replace(item, size=state.size if item.member else -1)
                index, error = values.pop("index") or b"", values.pop("error") or ""
                is_known = state.mtime_ns is not None or state.etag is not None
                facts = {} if error else values
                yield Row(item, state if is_known else None, facts, index, error)


def _keep_unchanged(journal: Journal, target: Path, items: list[Item]) -> None:
    """Take over what an earlier file knows of these videos."""
    if not target.exists():
        return
    wanted = {item.place() for item in items}
    for row in read_rows(target):
        if row.item.place() in wanted and journal.get(row.item) is None:
            journal.add(row)


def _current(items: list[Item], journal: Journal, headers: bool) -> list[bool]:
    """Which videos have a row that holds for them as they are now."""

    def is_current(item: Item) -> bool:
        return _is_current(journal.get(item), item, headers)

    if not any(is_url(item.path) and item.listed is None for item in items):
        return [is_current(item) for item in items]
    with ThreadPoolExecutor(_LOOKS) as pool:
        return list(pool.map(is_current, items))


def _is_current(row: Row | None, item: Item, headers: bool) -> bool:
    """Whether a row holds for a video as it is now, and knows enough."""
    if row is None or row.state is None or (not row.error and row.facts["has_headers"] < headers):
        return False
    try:
        state = item.state()
    except VideoError:
        return False
    is_known = state.mtime_ns is not None or state.etag is not None
    return is_known and state.is_same(row.state)


def _row(journal: Journal, item: Item) -> Row:
    row = journal.get(item)
    assert row is not None, f"{item.name} has no row"
    return row


def _write(target: Path, rows: Iterator[Row]) -> None:
    """Write the Parquet file, whole or not at all."""
    import pyarrow.parquet as pq

    with (
        written_whole(target) as partial,
        pq.ParquetWriter(
            partial,
            schema(),
            compression="zstd",
            compression_level=9,
            use_dictionary=_DICTIONARY,
            write_page_checksum=True,
        ) as writer,
    ):
        while group := list(itertools.islice(rows, _GROUP)):
            writer.write_table(_table(group))


_DICTIONARY = ["member", "error", "codec", "container", "pixel_format", "exactness"]
_DICTIONARY += ["color_matrix", "color_primaries", "color_transfer", "color_range"]


def _table(rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    def values(row: Row) -> dict[str, Any]:
        state = row.state or Fingerprint(row.item.size)
        return row.facts | {
            "path": row.item.path,
            "member": row.item.member,
            "offset": row.item.offset,
            "size": state.size,
            "mtime_ns": state.mtime_ns,
            "etag": state.etag,
            "error": row.error or None,
            "index": row.index or None,
        }

    return pa.Table.from_pylist([values(row) for row in rows], schema=schema())
