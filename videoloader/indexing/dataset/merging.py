"""`merge_datasets`: makes one data set index of several."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.cache import is_default_root, read_root
from videoloader.indexing.dataset.part import read_rows, table_path, write_rows
from videoloader.indexing.dataset.rows import Row, with_root
from videoloader.indexing.dataset.skipped import Skipped, stored_skipped
from videoloader.indexing.dataset.videos import DatasetIndex, open_dataset
from videoloader.sources.items import as_root


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

    >>> from videoloader import index_dataset
    >>> for part in (0, 1):
    ...     index_dataset("videos/", out=f"{part}.parquet", shard=(part, 2), workers=0).close()
    >>> len(merge_datasets(["0.parquet", "1.parquet"], "whole.parquet"))
    4
    """
    datasets, target = [Path(part) for part in parts], table_path(out)
    if not datasets:
        raise ArgumentError("nothing to merge")
    roots = {read_root(part) for part in datasets}
    are_default = [is_default_root(part) for part in datasets]
    skipped = Skipped()
    if len(roots) > 1 and root is None and all(are_default):
        for part in datasets:
            skipped.update(stored_skipped(part), read_root(part))
        rows = _all_once(datasets, are_absolute=True)
        write_rows(target, rows, None, skipped=skipped, is_default=False)
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
    write_rows(target, _all_once(datasets), base, skipped=skipped, is_default=is_default)
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
            row = with_root(stored, earlier, None)
            place = json.dumps(row.item.place()[:3]).encode()
            digest = hashlib.blake2b(place, digest_size=16).digest()
            first = seen.setdefault(digest, number)
            if first != number:
                raise ArgumentError(
                    f"{row.item.name} is in {parts[first]} and in {part}; a video is merged once"
                )
            yield row
