"""From what a user names to a list of videos: folders, globs, lists, tar archives, URLs."""

from __future__ import annotations

import glob
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from videoloader.errors import FormatError, SourceError
from videoloader.indexing.source import (
    Fingerprint,
    Source,
    is_url,
    local_path,
    open_member,
    open_source,
)

__all__ = ["VIDEO_SUFFIXES", "Item", "find_items", "find_videos"]

VIDEO_SUFFIXES = frozenset(
    ".264 .265 .3g2 .3gp .avi .f4v .flv .h264 .h265 .hevc .ismv .ivf .jsv .m2ts .m4v .mjpeg .mkv "  # noqa: SIM905
    ".mov .mp4 .mpeg .mpg .mts .obu .ogv .ps .ts .webm .wmv".split()
)
"""File name endings, in lower case, by which videos are known in folders and archives."""

_LISTS = {".txt", ".list", ".lst"}
_ARCHIVE = ".tar"
_TAR_BLOCK = 1 << 13  # bytes to request for a header of a member


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One video of a data set: a file or object, or a member of an archive at its place there.

    Args:
        path: of the file or archive; a path or a URL.
        member: name in the archive.
        offset: of the member in the archive.
        size: of the member.
        listed: the state that a listing told, no part of what the item is.
    """

    path: str
    member: str = ""
    offset: int = 0
    size: int = -1
    listed: Fingerprint | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.path}/{self.member}" if self.member else self.path

    def open(self) -> Source:
        """The bytes of the video."""
        if not self.member:
            return open_source(self.path)
        return open_member(self.path, name=self.member, offset=self.offset, size=self.size)

    def state(self) -> Fingerprint:
        """The state of the video as it is now, or was when it was listed.

        Raises:
            SourceError: there is no such file.
        """
        if self.listed is not None:
            return self.listed
        if is_url(self.path):
            from videoloader.indexing.remote import look

            return self._part(look(self.path))
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        return self._part(Fingerprint(status.st_size, status.st_mtime_ns))

    def place(self) -> list[str | int]:
        """What makes this item again: `Item(*item.place())`."""
        return [self.path, self.member, self.offset, self.size]

    def _part(self, whole: Fingerprint) -> Fingerprint:
        return replace(whole, size=self.size) if self.member else whole


def find_videos(folder: str | os.PathLike[str]) -> list[Path]:
    """All video files under a folder, by their ending, in the order of their paths.

    Raises:
        SourceError: the folder does not exist, or has no video in it.
    """
    found = [Path(path) for path in _walk(Path(folder)) if Path(path).suffix.lower() != _ARCHIVE]
    if not found:
        raise SourceError(f"{folder}: no video files in it (known by endings such as .mp4, .mkv)")
    return found


def find_items(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> list[Item]:
    """The videos behind folders, globs, text lists, tar archives, paths and URLs, each once.

    A text list (`.txt`, `.list`, `.lst`) has a path or URL a line, relative to its own folder;
    blank lines and lines that begin with `#` are passed over. A URL that ends with a slash stands
    for all videos and archives under it. Files that are named are taken whatever their ending.

    Raises:
        SourceError: a folder, glob or URL has no video, or a list or archive cannot be read.
        UnsupportedError: a URL of a kind that is not read.
    """
    items: dict[Item, None] = {}
    for source in [sources] if isinstance(sources, str | os.PathLike) else sources:
        for item in _found(local_path(os.fspath(source))):
            is_archive = _ending(item.path) == _ARCHIVE
            items.update(dict.fromkeys(_members(item) if is_archive else [item]))
    return list(items)


def _found(source: str) -> Iterator[Item]:
    """Files and archives that a source stands for."""
    if is_url(source):
        yield from _found_remote(source)
        return
    path = Path(source)
    if path.is_dir():
        found = _walk(path)
        if not found:
            raise SourceError(f"{source}: no video files in it (known by endings such as .mp4)")
        yield from map(Item, found)
    elif not path.exists() and glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise SourceError(f"{source}: nothing matches")
        for match in matches:
            found = _walk(Path(match)) if os.path.isdir(match) else [os.path.abspath(match)]
            yield from map(Item, found)
    elif path.suffix.lower() in _LISTS and path.is_file():
        yield from map(Item, _listed(path))
    else:
        yield Item(os.path.abspath(source))


def _found_remote(url: str) -> Iterator[Item]:
    from videoloader.indexing.remote import list_objects

    if url.endswith("/"):
        found = [
            Item(place, listed=state)
            for place, state in list_objects(url)
            if _ending(place) in VIDEO_SUFFIXES | {_ARCHIVE}
        ]
        if not found:
            raise SourceError(f"{url}: no video files in it (known by endings such as .mp4)")
        yield from found
    elif _ending(url) in _LISTS:
        with open_source(url) as source:
            text = source.read(0, source.size)
        for entry in _entries(text, url):
            yield Item(local_path(entry) if is_url(entry) else _beside(url, entry))
    else:
        yield Item(url)


def _beside(url: str, entry: str) -> str:
    """The URL of a path as it is written in a list behind a URL."""
    scheme, _, place = url.partition("?")[0].partition("://")
    folder = place.partition("/")[0] if entry.startswith("/") else place.rpartition("/")[0]
    return f"{scheme}://{folder}/{entry.lstrip('/')}"


def _ending(place: str) -> str:
    """The suffix of a path or URL, in lower case."""
    if place.startswith(("http://", "https://")):
        place = place.partition("#")[0].partition("?")[0]
    return os.path.splitext(place)[1].lower()


def _walk(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder")
    wanted = VIDEO_SUFFIXES | {_ARCHIVE}
    found = (
        os.path.abspath(os.path.join(place, name))
        for place, _, names in os.walk(folder, followlinks=True)
        for name in names
        if os.path.splitext(name)[1].lower() in wanted
    )
    return sorted(path for path in found if os.path.isfile(path))


def _listed(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: no list of paths ({error})") from error
    for entry in _entries(text, str(path)):
        place = local_path(entry)
        yield place if is_url(place) else os.path.abspath(path.parent / place)


def _entries(text: bytes, name: str) -> Iterator[str]:
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: no list of paths ({error})") from error
    for line in lines:
        entry = line.strip()
        if entry and not entry.startswith("#"):
            yield entry


def _members(archive: Item) -> Iterator[Item]:
    """The videos in an uncompressed tar archive, in its order."""
    path = archive.path
    try:
        with _open_archive(path) as source, source.file() as file:
            whole = source.fingerprint if is_url(path) else None
            with tarfile.open(fileobj=file, mode="r:") as tar:
                for member in tar:
                    if member.isreg() and _ending(member.name) in VIDEO_SUFFIXES:
                        state = whole and replace(whole, size=member.size)
                        yield Item(path, member.name, member.offset_data, member.size, state)
    except tarfile.TarError as error:
        raise FormatError(f"{path}: no uncompressed tar archive ({error})") from error


def _open_archive(path: str) -> Source:
    if not is_url(path):
        return open_source(path)
    from videoloader.indexing.remote import open_url

    return open_url(path, block=_TAR_BLOCK)
