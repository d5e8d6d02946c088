"""From what a user names to a list of videos: folders, globs, lists of paths, tar archives."""

from __future__ import annotations

import glob
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from videoloader.errors import FormatError, SourceError, UnsupportedError
from videoloader.indexing.source import Source, open_member, open_source

__all__ = ["VIDEO_SUFFIXES", "Item", "find_items", "find_videos"]

VIDEO_SUFFIXES = frozenset(
    ".264 .265 .3g2 .3gp .avi .f4v .flv .h264 .h265 .hevc .ismv .ivf .jsv .m2ts .m4v .mjpeg .mkv "  # noqa: SIM905
    ".mov .mp4 .mpeg .mpg .mts .obu .ogv .ps .ts .webm .wmv".split()
)
"""File name endings, in lower case, by which videos are known in folders and archives."""

_LISTS = {".txt", ".list", ".lst"}
_ARCHIVE = ".tar"


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One video of a data set: a file, or a member of an archive at its place there."""

    path: str
    member: str = ""
    offset: int = 0
    size: int = -1

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.path}/{self.member}" if self.member else self.path

    def open(self) -> Source:
        """The bytes of the video."""
        if not self.member:
            return open_source(self.path)
        return open_member(self.path, name=self.member, offset=self.offset, size=self.size)

    def state(self) -> tuple[int, int]:
        """Size, and time of the last change in nanoseconds, of the video as it is now.

        Raises:
            SourceError: there is no such file.
        """
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        return (self.size if self.member else status.st_size), status.st_mtime_ns


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
    """The videos behind folders, globs, text lists, tar archives and paths, each once, in order.

    A text list (`.txt`, `.list`, `.lst`) has a path a line, relative to its own folder; blank
    lines and lines that begin with `#` are passed over. Files that are named are taken whatever
    their ending.

    Raises:
        SourceError: a folder or glob has no video, or a list or archive cannot be read.
        UnsupportedError: a URL, which is not read yet.
    """
    items: dict[Item, None] = {}
    for source in [sources] if isinstance(sources, str | os.PathLike) else sources:
        for path in _paths(os.fspath(source)):
            found = _members(path) if path.lower().endswith(_ARCHIVE) else [Item(path)]
            items.update(dict.fromkeys(found))
    return list(items)


def _paths(source: str) -> Iterator[str]:
    if "://" in source:
        raise UnsupportedError(f"{source}: URLs are not read yet; pass paths")
    path = Path(source)
    if path.is_dir():
        found = _walk(path)
        if not found:
            raise SourceError(f"{source}: no video files in it (known by endings such as .mp4)")
        yield from found
    elif not path.exists() and glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise SourceError(f"{source}: nothing matches")
        for match in matches:
            yield from _walk(Path(match)) if os.path.isdir(match) else [os.path.abspath(match)]
    elif path.suffix.lower() in _LISTS and path.is_file():
        yield from _listed(path)
    else:
        yield os.path.abspath(source)


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
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: no list of paths ({error})") from error
    for line in lines:
        entry = line.strip()
        if entry and not entry.startswith("#"):
            if "://" in entry:
                raise UnsupportedError(f"{entry}: URLs are not read yet; list paths")
            yield os.path.abspath(path.parent / entry)


def _members(path: str) -> list[Item]:
    """The videos in an uncompressed tar archive, in its order."""
    try:
        with tarfile.open(path, "r:") as archive:
            return [
                Item(path, member.name, member.offset_data, member.size)
                for member in archive
                if member.isreg() and os.path.splitext(member.name)[1].lower() in VIDEO_SUFFIXES
            ]
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    except tarfile.TarError as error:
        raise FormatError(f"{path}: no uncompressed tar archive ({error})") from error
