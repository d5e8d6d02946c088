"""`index_dataset`: indexes many videos into one Parquet file; can be interrupted and resumed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing.dataset.cache import is_default_root, read_root, reading
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.listing import find_items
from videoloader.indexing.dataset.part import GROUP, stored_skipped, table_writer
from videoloader.indexing.dataset.reader import DatasetIndex, KnownUrls, open_dataset
from videoloader.indexing.dataset.rows import (
    Row,
    as_error,
    check_schema,
    failed_row,
    schema,
    text_at,
)
from videoloader.indexing.dataset.skipped import Skipped
from videoloader.indexing.index import decode_index
from videoloader.indexing.storage import encode_index
from videoloader.sources.address import is_url, local_path
from videoloader.sources.items import Item, as_root
from videoloader.sources.source import Check, Fingerprint, as_check, difference
from videoloader.system.writing import make_folder
from videoloader.workers.tasks import TaskFailure, run_tasks

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Progress", "index_dataset", "merge_datasets"]

Progress = Callable[[int, int, int], None]
"""Called with (videos done, all videos, failed videos)."""

_T = TypeVar("_T")
_STATE = ("size", "mtime_ns", "etag", "head")  # columns of a fingerprint
_MEMORY = 4 << 30  # bytes for an indexing process, far above the bounds of `index_video`
_AT_ONCE = 16  # remote files that a process indexes, or checks, concurrently


def index_dataset(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    workers: int | None = None,
    on_error: Literal["record", "raise"] = "record",
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
            place), video files, or URLs of these; a URL of a folder ends with a slash.
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
        ArgumentError: a video is not under `root`.
        VideoError: with `on_error="raise"`, the error of the first bad video.

    >>> dataset = index_dataset("videos/", out="new.parquet")
    >>> len(dataset), dataset[3].num_frames
    (4, 90)
    """
    if on_error not in ("record", "raise"):
        raise ArgumentError(f'on_error must be "record" or "raise", got {on_error!r}')
    check = as_check(check)
    places = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    noted = Skipped() if skipped is None else skipped
    items = find_items(places, noted)
    if skipped is None:
        noted.log()
    _check_places(items)
    base = _default_root(places, items) if root is None else as_root(root)
    if base is not None:
        items = [item.relative_to(base) for item in items]
    items = part_of(items, shard)
    target = Path(out)
    make_folder(target)
    journal = Journal(target.with_name(f"{target.name}.journal"))
    try:
        _keep_unchanged(journal, target, items, base)
        current = _current(items, journal, headers=headers, root=base, check=check)
        missing = [item for item, known in zip(items, current, strict=True) if not known]
        done, failed = len(items) - len(missing), 0
        results = run_tasks(
            "videoloader.indexing.dataset.rows:make_encoded_row",
            missing,
            workers=workers,
            time_limit=time_limit,
            arguments={"headers": headers, "root": base},
            memory_limit=_MEMORY,
            threads=_AT_ONCE if _any_remote(missing, base) else 1,
            ray=ray,
        )
        for item, result in results:
            if isinstance(result, TaskFailure):
                result = failed_row(item, result, base).encode(), True
            data, is_failed = result
            if is_failed and on_error == "raise":
                row = Row.decode(data)
                raise as_error(row.kind, text_at(row.error, item, item.under(base)))
            journal.add_encoded(item, data)
            done, failed = done + 1, failed + is_failed
            if progress is not None:
                progress(done, len(items), failed)
        rows = (journal[item] for item in items)
        _write(target, rows, base, is_default=root is None, skipped=noted.relative_to(base))
        journal.remove()
    finally:
        journal.close()
    return open_dataset(target, root=base, check=check, sign=_signatures(items, base))


def _default_root(places: list[str | os.PathLike[str]], items: list[Item]) -> str | None:
    """The folder that was named, if that is all; None if its videos are not all under it."""
    if len(places) != 1:
        return None
    place = local_path(os.fspath(places[0]))
    if not is_url(place) and not os.path.isdir(place):
        return None
    root = as_root(place)
    # A server may list objects of another address; a name may be no text.
    with suppress(ArgumentError, UnicodeEncodeError):
        root.encode()
        for item in items:
            item.relative_to(root)
        return root
    return None


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


def part_of(items: list[_T], shard: tuple[int, int]) -> list[_T]:
    """The i-th of n parts of a list, in its order.

    >>> part_of(["a", "b", "c"], (1, 2))
    ['b', 'c']
    """
    part, parts = shard
    if not 0 <= part < parts:
        raise ArgumentError(f"shard must be (i, n) with 0 <= i < n, got {shard}")
    return items[part * len(items) // parts : (part + 1) * len(items) // parts]


def merge_datasets(
    parts: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
) -> DatasetIndex:
    """Concatenate data set indexes, such as the shards of one job, in the order given.

    Args:
        parts: paths of data set indexes. All have a root, or none has a root that was given.
        out: the Parquet file to write.
        root: of the result; by default that of the parts, if they have the same. Parts with
            different roots that were not given by the user are merged with absolute paths.

    Raises:
        FormatError: a part is not a data set index.
        ArgumentError: a video is in two parts, or the parts are incompatible.

    >>> for part in (0, 1):
    ...     index_dataset("videos/", out=f"{part}.parquet", shard=(part, 2), workers=0).close()
    >>> len(merge_datasets(["0.parquet", "1.parquet"], "whole.parquet"))
    4
    """
    datasets = [Path(part) for part in parts]
    if not datasets:
        raise ArgumentError("nothing to merge")
    roots = {read_root(part) for part in datasets}
    are_default = [is_default_root(part) for part in datasets]
    skipped = Skipped()
    if len(roots) > 1 and root is None and all(are_default):
        for part in datasets:
            skipped.update(stored_skipped(part), read_root(part))
        rows = _all_once(datasets, are_absolute=True)
        _write(Path(out), rows, None, skipped=skipped, is_default=False)
        return open_dataset(out)
    if None in roots and (len(roots) > 1 or root is not None):
        raise ArgumentError(
            "parts without a root have absolute paths, which cannot be merged with relative ones; "
            "index them with root="
        )
    base = next(iter(roots)) if root is None else as_root(root)
    if len(roots) > 1 and root is None:
        raise ArgumentError(
            f"the roots of the parts differ ({', '.join(sorted(map(str, roots)))}); pass root="
        )
    for part in datasets:
        skipped.update(stored_skipped(part))
    is_default = root is None and all(are_default)
    _write(Path(out), _all_once(datasets), base, skipped=skipped, is_default=is_default)
    return open_dataset(out)


def _all_once(parts: list[Path], *, are_absolute: bool = False) -> Iterator[Row]:
    """The rows of all parts, with absolute paths or as they are.

    Raises:
        ArgumentError: two are of one video.
    """
    seen: dict[bytes, int] = {}
    for number, part in enumerate(parts):
        earlier = read_root(part) if are_absolute else None
        for stored in read_rows(part):
            row = _with_root(stored, earlier, None)
            place = json.dumps(row.item.place()[:3]).encode()
            digest = hashlib.blake2b(place, digest_size=16).digest()
            first = seen.setdefault(digest, number)
            if first != number:
                raise ArgumentError(
                    f"{row.item.name} is in {parts[first]} and in {part}; a video is merged once"
                )
            yield row


def read_rows(path: Path) -> Iterator[Row]:
    """All rows of a data set index, failures included."""
    import pyarrow.parquet as pq

    with (
        reading(path),
        pq.ParquetFile(
            path,
            page_checksum_verification=True,
            pre_buffer=False,  # else all of it is in memory
        ) as file,
    ):
        check_schema(file.schema_arrow, path)
        for batch in file.iter_batches(batch_size=GROUP):
            for values in batch.to_pylist():
                values.pop("key", None)
                item = Item(*(values.pop(name) for name in ("path", "member", "offset")))
                state = Fingerprint(*(values.pop(name, None) for name in _STATE))
                item = replace(item, size=state.size if item.member else -1)
                index, error = values.pop("index") or b"", values.pop("error") or ""
                kind = values.pop("error_kind", None) or ""
                is_known = state.mtime_ns is not None or state.etag is not None
                facts = {} if error else values
                yield Row(item, state if is_known else None, facts, index, error, kind)


def _keep_unchanged(journal: Journal, target: Path, items: list[Item], root: str | None) -> None:
    """Copy the rows of these videos from an earlier file into the journal; roots may differ."""
    if not target.exists():
        return
    earlier = read_root(target)
    wanted = {item.place() for item in items}
    for row in read_rows(target):
        if (earlier is None) != (root is None):
            row = _with_root(row, earlier, root)
        if row.item.place() in wanted and journal.get(row.item) is None:
            journal.add(row)


def _with_root(row: Row, earlier: str | None, root: str | None) -> Row:
    """A row with its path made relative to a root, or absolute."""
    if earlier == root:
        return row
    item = row.item.under(earlier)
    if root is not None:
        try:
            item = item.relative_to(root)
        except ArgumentError:
            return row
    if not row.index:
        return replace(row, item=item, error=text_at(row.error, row.item, item))
    if item.member:
        return replace(row, item=item)
    index = replace(decode_index(row.index), name=item.name)
    return replace(row, item=item, index=encode_index(index))


def _current(
    items: list[Item], journal: Journal, *, headers: bool, root: str | None, check: Check
) -> list[bool]:
    """Mask of the videos whose row is up to date."""

    def is_current(item: Item) -> bool:
        row = journal.get(item)
        if row is None or (row.facts["has_headers"] < headers if row.index else not row.kind):
            return False  # failures in files of the previous version have no kind
        if row.index and row.facts["has_audio"] is None:
            return False  # of an earlier version, with fewer columns
        return _is_current(row, item.under(root), check)

    if not _any_remote([item for item in items if item.listed is None], root):
        return [is_current(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(is_current, items))


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


def _write(
    target: Path, rows: Iterator[Row], root: str | None, *, skipped: Skipped, is_default: bool
) -> None:
    """Write the Parquet file, whole or not at all."""
    with table_writer(target, root, is_default=is_default, skipped=skipped) as writer:
        while group := list(itertools.islice(rows, GROUP)):
            writer.write_table(_table(group))


def _table(rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    def values(row: Row) -> dict[str, Any]:
        state = row.state or Fingerprint(row.item.size)
        return row.facts | {
            "key": row.item.key,
            "path": row.item.path,
            "member": row.item.member,
            "offset": row.item.offset,
            "size": state.size,
            "mtime_ns": state.mtime_ns,
            "etag": state.etag,
            "head": state.head,
            "error": row.error or None,
            "error_kind": row.kind or None,
            "index": row.index or None,
        }

    return pa.Table.from_pylist([values(row) for row in rows], schema=schema())
