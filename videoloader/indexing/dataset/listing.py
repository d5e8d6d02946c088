"""Lists the videos in folders, globs, text lists, tar archives and URLs."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from videoloader.errors import ArgumentTypeError, FormatError, SourceError
from videoloader.indexing.containers.registry import VIDEO_SUFFIXES
from videoloader.indexing.dataset.journal import ENDING as JOURNAL
from videoloader.indexing.dataset.reader import StoredRows
from videoloader.indexing.dataset.rows import is_stored
from videoloader.indexing.dataset.skipped import BROKEN, HIDDEN, PACKED, UNREADABLE, Skipped
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import (
    absolute_path,
    escaped,
    is_url,
    local_path,
    public,
    shown,
)
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.faults import unreadable
from videoloader.sources.items import Item, local_item, unquoted
from videoloader.sources.lists import check_length, lines_of
from videoloader.sources.opening import open_archive, open_source
from videoloader.sources.source import Fingerprint
from videoloader.sources.tar import Member, read_members

Place: TypeAlias = "str | os.PathLike[str] | Item"

_LISTS = {".txt", ".list", ".lst"}
_TABLES = {".csv", ".tsv", ".parquet", ".json", ".jsonl"}
_ARCHIVE = ".tar"
_WANTED = VIDEO_SUFFIXES | {_ARCHIVE}
_MERGING = (
    "merge_datasets([a.path, b.path], out) of videoloader.indexing.dataset makes one of several"
)
_NAMED = 8  # columns of a table in messages
_COMPRESSED = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".zip", ".7z", ".rar")


def find_videos(folder: str | os.PathLike[str]) -> list[Path]:
    """All video files under a folder, by suffix, sorted by path.

    Raises:
        SourceError: the folder does not exist, or has no video.

    >>> [path.name for path in find_videos("videos/")]
    ['0.mp4', '1.mp4', '2.mp4', '3.mp4']
    """
    there = map(Path, _walk(Path(folder), Skipped()))
    found = [path for path in there if path.suffix.lower() != _ARCHIVE]
    if not found:
        name = shown(os.fspath(folder))
        raise SourceError(f"{name}: no video files in it (known by endings such as .mp4, .mkv)")
    return found


def find_items(
    sources: Place | Iterable[Place],
    skipped: Skipped | None = None,
) -> list[Item]:
    """The videos in folders, globs, text lists, tar archives, paths and URLs, each once.

    A text list (`.txt`, `.list`, `.lst`) has one path or URL per line, relative to its own folder;
    blank lines and lines that begin with `#` are skipped, and a path behind `file:` is
    percent-encoded, such as `file:%23a.mp4` for `#a.mp4`. A list at a URL may not name `file://`
    URLs. A URL that ends with a slash means all videos and archives under it; a URL of a store
    (`s3://bucket/prefix`) needs no slash. Files that are named explicitly may have any suffix.
    Hidden files and folders in folders, archives and stores, whose names begin with a dot, are
    passed over. Links to folders are followed, but each folder is visited once. A path that is not
    UTF-8 becomes a `file://` URL. A damaged archive yields the members before the damage, and
    itself as an item that cannot be opened.

    Args:
        sources: folders, globs, lists, archives, paths, URLs or items.
        skipped: takes what is passed over in folders and archives. Without it the counts are
            logged: as a warning if compressed archives, broken links or folders that may not be
            read are among them.

    Raises:
        SourceError: a folder, glob or URL has no video, a folder, list or archive cannot be read,
            or a path or URL is no text that can be stored.
        FormatError: a list has more than paths, or is a table (`.csv`, `.parquet`, ...).
        UnsupportedError: the scheme of a URL is not supported.
        ArgumentTypeError: a source is no path or URL.

    >>> [item.key.rpartition("/")[2] for item in find_items(["videos/run", "clip.mp4"])]
    ['2.mp4', '3.mp4', 'clip.mp4']
    """
    items: dict[Item, None] = {}
    noted = Skipped() if skipped is None else skipped
    for source in each_place(sources):
        if isinstance(source, Item):
            items[source.absolute()] = None
            continue
        place = local_path(os.fspath(source))
        try:
            os.fsencode(place)
        except UnicodeEncodeError as error:
            raise SourceError(f"{shown(place)}: is no path ({error.reason})") from error
        for item in _found(place, noted):
            if not is_stored(item.path):
                raise SourceError(f"{shown(item.path[:80])}...: is no text, or too long for a name")
            for found in _members(item, noted) if _ending(item.path) == _ARCHIVE else [item]:
                if found in items:
                    noted.add("named before", found.key)
                items[found] = None
    if skipped is None:
        noted.log()
    return list(items)


def each_place(places: Any) -> Iterator[Any]:
    """Each of several paths, URLs and items, or one that is given alone.

    Args:
        places: one, or any iterable of them, such as a generator or the column of a table.

    Raises:
        ArgumentTypeError: one is something else, such as a pair of a path and a label; or all are a
            table, a mapping or a data set index, of which more than paths would be lost.
    """
    if advice := _not_listed(places):
        raise ArgumentTypeError(f"{advice}; got {type(places).__name__}")
    if isinstance(places, str | os.PathLike | Item | bytes) or not isinstance(places, Iterable):
        places = [places]
    elif hasattr(places, "to_pylist"):  # of Arrow, whose elements are no texts
        places = places.to_pylist()
    for place in places:
        if not isinstance(place, str | os.PathLike | Item):
            advice = _not_one(place)
            raise ArgumentTypeError(
                f"a video must be a path, URL or item of a data set, got {place!r:.80}{advice}"
            )
        yield place


def is_table(value: Any) -> bool:
    """Whether a value is a table of Arrow, pandas, Polars or a library like these, or columns."""
    if isinstance(value, Mapping):
        return "path" in value and not isinstance(value["path"], str | int | float)
    is_indexed = hasattr(value, "__getitem__")  # by names of columns, as all tables are
    return is_indexed and not _is_dataset(value) and bool(_column_names(value))


def _column_names(table: Any) -> list[str]:
    """The columns of a table; none where a value is no table."""
    names = getattr(table, "column_names", None)  # Arrow has columns, too, which are no names
    names = getattr(table, "columns", None) if names is None else names
    names = table if isinstance(table, Mapping) else names
    return [*map(str, names)] if isinstance(names, Iterable) else []


def _not_listed(places: Any) -> str:
    """Reason why a value is no list of videos, with advice; empty if it may be one."""
    if _is_dataset(places):
        return (
            "a data set index is indexed already; dataset.write(out) writes some of its videos, "
            f"and joined columns, to another, and {_MERGING}"
        )
    if is_table(places):
        names = _column_names(places)
        more = ", ..." if len(names) > _NAMED else ""
        return (
            f"a table (columns {', '.join(names[:_NAMED])}{more}) is no list of videos; give its "
            'column of paths, table["path"], and its labels to Loader or ClipDataset as '
            'labels=table["label"]; or index_dataset(table["path"], out).join(table), for all '
            "columns"
        )
    if isinstance(places, Mapping):
        return (
            "the videos are a mapping, whose values have no place here; give list(mapping), and "
            "its labels to Loader or ClipDataset, which take the mapping"
        )
    return "an open video is no list of videos; give its path" if _is_open(places) else ""


def _not_one(place: Any) -> str:
    """Advice for something that is no video; empty if there is none."""
    if _is_dataset(place):
        return f"; {_MERGING}"
    if _is_open(place):
        return "; give its path"
    if callable(getattr(place, "frames", None)):  # a sampler, or its class
        return "; the videos come first, then the sampler: Loader(videos, RandomClip(16))"
    if isinstance(place, VideoIndex):
        return (
            "; give its path, and the index itself as ClipDataset(paths, clips, "
            "indexes={path: index}) or ClipRequest(path, frames, index=index)"
        )
    if hasattr(place, "skipped") and callable(getattr(place, "paths", None)):  # segments
        return "; segments.paths() are the videos, transcode(segments, folder) writes each part"
    if isinstance(place, bytes | bytearray | memoryview):
        return "; videos in memory are for Video(bytes) and decode_batch([(bytes, frames)])"
    if isinstance(place, Mapping):
        key = next(iter(place), "path")
        return (
            f'; give the paths alone, [row["{key}"] for row in rows], and labels likewise as '
            "labels= of Loader and ClipDataset"
        )
    if isinstance(place, tuple | list):
        return (
            "; give the paths alone; labels go to labels= of Loader and ClipDataset, which also "
            "take (path, label)"
        )
    return ""


def _is_dataset(value: Any) -> bool:
    """Whether a value is a data set index, or some videos of one."""
    return isinstance(value, StoredRows) or isinstance(getattr(value, "dataset", None), StoredRows)


def _is_open(value: Any) -> bool:
    """Whether a value is an open video or the like, and no place of one."""
    return isinstance(value, Closing)


def _found(source: str, skipped: Skipped) -> Iterator[Item]:
    """Files and archives that a source stands for."""
    ending = _ending(public(source))
    if ending == ".parquet" and not os.path.isdir(source):
        raise FormatError(
            f"{shown(source)}: it is no video but a Parquet file; a data set index is given to "
            f"open_dataset, Loader or `videoloader check`, {_MERGING}; of other tables give the "
            "column of paths"
        )
    if ending in _TABLES and not os.path.isdir(source):
        raise FormatError(
            f"{shown(source)}: a table, which is no list of videos; give the videos as a folder, "
            "paths or a .txt file of paths, and their labels as labels=LabelColumn(table, ...); or "
            "read `path label` lines with fn.readers.video(file_list=...)"
        )
    if is_url(source):
        yield from _found_remote(source, skipped)
        return
    path = Path(source)
    if os.path.isdir(source):  # unlike `path.is_dir`, not for names that are too long
        found = _walk(path, skipped)
        if not found:
            suffix = f"; skipped: {skipped}" if skipped else ""
            raise SourceError(
                f"{shown(source)}: no video files in it (known by endings as .mp4){suffix}"
            )
        yield from map(local_item, found)
    elif not os.path.exists(source) and glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise SourceError(f"{shown(source)}: nothing matches")
        for match in matches:
            is_folder = os.path.isdir(match)
            found = _walk(Path(match), skipped) if is_folder else [absolute_path(match)]
            yield from map(local_item, found)
    elif path.suffix.lower() in _LISTS and os.path.isfile(source):
        yield from map(local_item, _listed(path))
    elif not os.path.lexists(source) and (source.endswith("/") or not path.suffix):
        raise SourceError(f"{shown(source)}: no such folder")
    else:
        yield local_item(absolute_path(source))


def _found_remote(url: str, skipped: Skipped) -> Iterator[Item]:
    from videoloader.sources.remote import is_listable, list_objects

    plain = public(url)
    is_folder = plain.endswith("/")
    if is_folder or (_ending(plain) not in _WANTED | _LISTS and is_listable(url)):
        found = []
        for place, state in list_objects(url if is_folder else f"{url}/"):
            if _is_hidden(public(place).removeprefix(plain)):
                skipped.add(HIDDEN, public(place))
            elif _ending(place) in _WANTED:
                found.append(Item(place, listed=state))
            else:
                skipped.add(_with_ending(place), public(place))
        if is_folder and not found:
            raise SourceError(f"{shown(url)}: no video files in it (known by endings as .mp4)")
        yield from found or [Item(url)]
    elif _ending(plain) in _LISTS:
        with open_source(url) as source:
            text = source.read(0, source.size)
        for entry, _ in _entries(text, url):
            if entry.lower().startswith("file:"):
                raise SourceError(
                    f"{shown(url)}: names {shown(entry)}; a list behind a URL names no local files"
                )
            yield Item(entry if is_url(entry) else _beside(url, entry))
    else:
        yield Item(url)


def _beside(url: str, entry: str) -> str:
    """The URL of an entry in a text list at `url`."""
    scheme, _, place = url.partition("?")[0].partition("://")
    folder = place.partition("/")[0] if entry.startswith("/") else place.rpartition("/")[0]
    return f"{scheme}://{folder}/{entry.lstrip('/')}"


def _ending(place: str) -> str:
    """The suffix of a path or URL, in lower case."""
    return os.path.splitext(place)[1].lower()


def _is_hidden(place: str) -> bool:
    """Whether a file, or a folder that it is in, has a name that begins with a dot."""
    return any(part.startswith(".") and part not in (".", "..") for part in place.split("/"))


def _with_ending(place: str) -> str:
    """The reason for skipping a file without the suffix of a video."""
    if place.lower().endswith(_COMPRESSED):
        return PACKED
    ending = _ending(place)
    return f"with the ending {escaped(ending)}" if ending else "without an ending"


def _walk(folder: Path, skipped: Skipped) -> list[str]:
    """Videos and archives under a folder, sorted; only their names are kept on the way."""
    if not folder.is_dir():
        raise SourceError(f"{shown(str(folder))}: no such folder")
    found: list[str] = []
    above = absolute_path(folder)
    waiting, seen = [above], set()
    while waiting:
        place = waiting.pop()
        try:
            status = os.stat(place)
            if (status.st_dev, status.st_ino) in seen:
                skipped.add("links to folders gone through already", place)
                continue
            seen.add((status.st_dev, status.st_ino))
            folders = []
            with os.scandir(place) as entries:
                for entry in entries:
                    if _is_hidden(entry.name):
                        skipped.add(HIDDEN, entry.path)
                        continue
                    is_wanted = _ending(entry.name) in _WANTED
                    if is_wanted and _is_file(entry):
                        found.append(entry.path)
                    elif _is_folder(entry):
                        folders.append(entry.path)
                    elif is_wanted or not _is_file(entry):
                        skipped.add(BROKEN, entry.path)
                    elif _ending(entry.name) != JOURNAL:  # of a job that was stopped
                        skipped.add(_with_ending(entry.name), entry.path)
        except OSError as error:
            if isinstance(error, PermissionError) and place != above:
                skipped.add(UNREADABLE, place)
                continue
            raise unreadable(place, error, "listed") from None
        # Real files come before links, so that a file is listed under its own name if possible.
        waiting += sorted(folders, key=lambda path: (os.path.islink(path), path), reverse=True)
    return sorted(found)


def _is_file(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # a dangling or circular link
        return entry.is_file()
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir()
    return False


def _listed(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes()
    except OSError as error:
        name = shown(str(path))
        raise SourceError(f"{name}: no list of paths ({error.strerror})") from error
    for entry, where in _entries(text, str(path)):
        place = local_path(entry)
        if is_url(place):
            yield place
            continue
        check_length(place, where)
        whole = absolute_path(path.parent / unquoted(place))
        if _has_more_than_a_path(entry) and not os.path.exists(whole):
            raise FormatError(
                f"{where}: {shown(entry)!r} is a path and something behind it; a list has one path "
                "a line. Give labels as labels= (a list, or LabelColumn of a table), or read "
                "`path label` lines with fn.readers.video(file_list=...)"
            )
        yield whole


def _has_more_than_a_path(entry: str) -> bool:
    """Whether a line looks like the path of a video followed by something else."""
    inside = [found[1].lower() for found in re.finditer(r"(\.\w+)[\s,;]+\S", entry)]
    return _ending(entry) not in _WANTED and not _WANTED.isdisjoint(inside)


def _entries(text: bytes, name: str) -> Iterator[tuple[str, str]]:
    """The entries of a list, each with its line for messages."""
    for number, entry in lines_of(text, name):
        if not entry.startswith("#"):
            yield entry, f"{shown(name)}, line {number}"


def _members(archive: Item, skipped: Skipped) -> Iterator[Item]:
    """The videos in an uncompressed tar archive, in its order."""
    path = archive.location
    try:
        with open_archive(path) as source:
            whole = source.fingerprint if is_url(local_path(path)) else None
            for member in read_members(source):
                if _is_hidden(member.name):
                    skipped.add(HIDDEN, _member(path, member, None).key)
                elif _ending(member.name) in VIDEO_SUFFIXES:
                    yield _member(path, member, whole)
                else:
                    skipped.add(_with_ending(member.name), _member(path, member, None).key)
    except FormatError:
        yield archive  # empty; opening it raises the error
    except ValueError as error:
        problem = f"no uncompressed tar archive, or damaged ({error})"
        yield replace(archive, problem=problem)


def _member(path: str, member: Member, whole: Fingerprint | None) -> Item:
    name = member.name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    state = whole and replace(whole, size=member.size)
    problem = "stored with holes, as sparse files are; pack it again without" * member.is_sparse
    return Item(path, name, member.offset, member.size, state, problem)
