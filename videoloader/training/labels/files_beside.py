"""Files that belong to a clip, in its folder or its tar archive.

As in WebDataset, what belongs together has one name up to the first dot of the last part of the
path, and in an archive lies together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any

from videoloader.errors import FormatError, SourceError, VideoError
from videoloader.machinery.system.address import is_url, local_path
from videoloader.sources.items import Item
from videoloader.sources.opening import open_archive, open_source
from videoloader.sources.source import Source
from videoloader.sources.tar import BLOCK, read_members

_MOST = 1 << 26  # bytes of one file


def read_beside(item: Item, endings: Collection[str], before: Item | None) -> dict[str, Any]:
    """The content of the files beside a clip, by ending: `.txt` text, `.json` values, others bytes.

    Args:
        item: the clip.
        endings: of the files, with the dot.
        before: the clip before it in the data set. If it is in the same archive, only what is
            between the two and behind `item` is looked through, else all of the archive.

    Raises:
        SourceError: a file is not there or cannot be read.
        FormatError: it is not what its ending says, or the archive is damaged.
    """
    if item.member:
        found = _from_archive(item, endings, before)
    else:
        found = {ending: _from_folder(item, ending) for ending in endings}
    return {ending: _value(found[ending], ending, item) for ending in endings}


def _from_folder(item: Item, ending: str) -> bytes:
    is_remote = is_url(local_path(item.path))  # then without the query, which is of the video
    folder, slash, name = (item.path if is_remote else item.location).rpartition("/")
    place = local_path(f"{folder}{slash}{name.partition('.')[0]}{ending}")
    if not is_url(place) and os.path.isfile(place) and not os.path.getsize(place):
        return b""  # which is no source
    with open_source(place) as source:
        return _bytes(source, 0, source.size, item, ending)


def _from_archive(item: Item, endings: Collection[str], before: Item | None) -> dict[str, bytes]:
    begin = 0
    if before is not None and before.path == item.path:
        end = before.offset + before.size
        begin = -(-end // BLOCK) * BLOCK if before.member and end <= item.offset else 0
    found: dict[str, bytes] = {}
    try:
        with open_archive(item.location) as source:
            for name, offset, size, is_sparse in read_members(source, begin):
                if is_sparse:
                    continue
                is_of_clip = _stem(name) == _stem(item.member)
                if offset > item.offset and not is_of_clip:
                    break
                ending = name.removeprefix(_stem(name))
                if is_of_clip and ending in endings:
                    found[ending] = _bytes(source, offset, size, item, ending)
                if offset >= item.offset and len(found) == len(set(endings)):
                    break
    except ValueError as error:
        if isinstance(error, VideoError):
            raise
        raise FormatError(f"{item.name}: the archive is damaged around it ({error})") from error
    for ending in endings:
        if ending not in found:
            raise SourceError(f"{item.name}: no file with the ending {ending} lies beside it")
    return found


def _stem(name: str) -> str:
    folder, slash, short = name.rpartition("/")
    return f"{folder}{slash}{short.partition('.')[0]}"


def _bytes(source: Source, offset: int, size: int, item: Item, ending: str) -> bytes:
    if size > _MOST:
        raise FormatError(f"{item.name}: its {ending} has {size} bytes, more than {_MOST}")
    return source.read(offset, size) if size else b""


def _value(data: bytes, ending: str, item: Item) -> Any:
    try:
        if ending.endswith(".txt"):
            return data.decode()
        if ending.endswith(".json"):
            return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{item.name}: its {ending} cannot be read ({error})") from error
    return data
