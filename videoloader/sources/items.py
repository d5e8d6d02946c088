"""Lists the videos in folders, globs, text lists, tar archives and URLs."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from videoloader.errors import ArgumentError, FormatError, SourceError
from videoloader.sources.address import escaped, is_url, local_path, public, shown
from videoloader.sources.faults import unreadable
from videoloader.sources.lists import check_length, lines_of
from videoloader.sources.opening import open_member, open_source
from videoloader.sources.source import Fingerprint, Source
from videoloader.sources.tar import Member, read_members

__all__ = ["VIDEO_SUFFIXES", "Item", "as_root", "find_items", "find_videos"]

VIDEO_SUFFIXES = frozenset(
    ".264 .265 .3g2 .3gp .avi .f4v .flv .h264 .h265 .hevc .ismv .ivf .jsv .m2ts .m4v .mjpeg .mkv "  # noqa: SIM905
    ".mov .mp4 .mpeg .mpg .mts .obu .ogv .ps .ts .webm .wmv".split()
)
"""File name suffixes, in lower case, of videos in folders and archives."""

_LISTS = {".txt", ".list", ".lst"}
_ARCHIVE = ".tar"
_WANTED = VIDEO_SUFFIXES | {_ARCHIVE}
_QUOTED = "file:"  # prefix of percent-encoded relative paths that are not valid text
_TAR_BLOCK = 1 << 13  # bytes to request for a header of a member


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One video of a data set: a file or object, or a member of an archive.

    Secrets of a URL (user, password, query) are not part of `path`, so they are neither shown nor
    stored; `location` has them as long as the item exists.

    Args:
        path: of the file or archive; a path or a URL.
        member: name in the archive.
        offset: of the member in the archive.
        size: of the member.
        listed: state of the file in a listing; not part of the item's identity.
        problem: error found by the listing; not part of the item's identity either.
        signed: URL to open it by, if `path` is not sufficient.
        below: the part of `path` below the root of its data set, "" without a root; stays the same
            where the data set is moved.
    """

    path: str
    member: str = ""
    offset: int = 0
    size: int = -1
    listed: Fingerprint | None = field(default=None, compare=False, repr=False)
    problem: str = field(default="", compare=False, repr=False)
    signed: str = field(default="", repr=False)
    below: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        is_place = isinstance(self.path, str) and isinstance(self.member, str)
        if not is_place or type(self.offset) is not int or type(self.size) is not int:
            raise ArgumentError("path and member of an Item are text, offset and size integers")
        plain = public(self.path)
        if plain != self.path:
            object.__setattr__(self, "signed", self.path)
            object.__setattr__(self, "path", plain)

    @property
    def name(self) -> str:
        """For messages."""
        return shown(self.path) + (f"/{escaped(self.member)}" if self.member else "")

    @property
    def key(self) -> str:
        """Key for joins with tables: the path, and the name in an archive."""
        return f"{self.path}/{self.member}" if self.member else self.path

    @property
    def key_below(self) -> str:
        """The key in a data set with a root, "" without one; see `below`."""
        return replace(self, path=self.below).key if self.below else ""

    @property
    def location(self) -> str:
        """Path or URL to open it by; may hold secrets."""
        return self.signed or self.path

    def open(self, *, known: Fingerprint | None = None) -> Source:
        """The bytes of the video.

        `known` is `Source.whole` of the same item, opened before.

        Raises:
            SourceError: they cannot be read.
            FormatError: the file is empty, or has the `problem` that the listing found.
        """
        if self.problem:
            raise FormatError(f"{self.name}: {self.problem}")
        if not self.member:
            return open_source(self.location, known=known)
        return open_member(
            self.location, name=self.member, offset=self.offset, size=self.size, known=known
        )

    def state(self) -> Fingerprint:
        """The current state of the video, or its state in the listing.

        Raises:
            SourceError: there is no such file.
        """
        if self.listed is not None:
            return self.listed
        path = local_path(self.location)
        if is_url(path):
            from videoloader.sources.remote import look

            return self._part(look(path))
        try:
            status = os.stat(path)
        except OSError as error:
            raise SourceError(f"{shown(self.path)}: {error.strerror}") from error
        return self._part(Fingerprint(status.st_size, status.st_mtime_ns))

    def under(self, root: str | None) -> Item:
        """The item with its path joined to a root (a folder or URL); unchanged without one.

        >>> Item("cats/1.mp4").under("/data").path
        '/data/cats/1.mp4'
        """
        if root is None or is_url(self.path) or os.path.isabs(self.path):
            return self
        path = below = self.path
        if path.startswith(_QUOTED):
            path = unquote(path[len(_QUOTED) :], errors="surrogateescape")
        whole = f"{root}/{path}" if is_url(root) else _item(os.path.join(root, path)).path
        return replace(self, path=whole, below=below)

    def relative_to(self, root: str) -> Item:
        """The item with its path relative to a root, an absolute folder or URL.

        Raises:
            ArgumentError: it is not under the root.

        >>> Item("/data/cats/1.mp4").relative_to("/data").path
        'cats/1.mp4'
        """
        path, above = local_path(self.path), root.rstrip("/") + "/"
        if not path.startswith(above):
            raise ArgumentError(
                f"{self.name}: is not under the root of the data set, {shown(root)}"
            )
        path = path[len(above) :]
        if path.startswith(_QUOTED) or not _is_text(path):
            path = _QUOTED + quote(os.fsencode(path))
        return replace(self, path=path, below="")

    def place(self) -> tuple[str, str, int, int]:
        """The stored fields: `Item(*item.place())` is this item without `signed`."""
        return self.path, self.member, self.offset, self.size

    def _part(self, whole: Fingerprint) -> Fingerprint:
        return replace(whole, size=self.size) if self.member else whole


def as_root(root: str | os.PathLike[str]) -> str:
    """The root of a data set as an absolute path, or as a URL without a slash at its end."""
    place = public(local_path(os.fspath(root)))
    return place.rstrip("/") if is_url(place) else os.path.abspath(place)


def find_videos(folder: str | os.PathLike[str]) -> list[Path]:
    """All video files under a folder, by suffix, sorted by path.

    Raises:
        SourceError: the folder does not exist, or has no video.
    """
    there = map(Path, _walk(Path(folder), Counter()))
    found = [path for path in there if path.suffix.lower() != _ARCHIVE]
    if not found:
        name = shown(os.fspath(folder))
        raise SourceError(f"{name}: no video files in it (known by endings such as .mp4, .mkv)")
    return found


def find_items(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    passed: Counter[str] | None = None,
) -> list[Item]:
    """The videos in folders, globs, text lists, tar archives, paths and URLs, each once.

    A text list (`.txt`, `.list`, `.lst`) has one path or URL per line, relative to its own folder;
    blank lines and lines that begin with `#` are skipped. A list at a URL may not name `file://`
    URLs. A URL that ends with a slash means all videos and archives under it. Files that are named
    explicitly may have any suffix.
    Links to folders are followed, but each folder is visited once. A path that is not UTF-8
    becomes a `file://` URL. A damaged archive yields the members before the damage, and itself as
    an item that cannot be opened.

    Args:
        sources: what was named.
        passed: counts what of folders and archives was passed over, by the reason.

    Raises:
        SourceError: a folder, glob or URL has no video, or a folder, list or archive cannot be
            read.
        UnsupportedError: the scheme of a URL is not supported.
    """
    items: dict[Item, None] = {}
    passed = Counter() if passed is None else passed
    for source in [sources] if isinstance(sources, str | os.PathLike) else sources:
        for item in _found(local_path(os.fspath(source)), passed):
            for found in _members(item, passed) if _ending(item.path) == _ARCHIVE else [item]:
                if found in items:
                    passed["named before"] += 1
                items[found] = None
    return list(items)


def _found(source: str, passed: Counter[str]) -> Iterator[Item]:
    """Files and archives that a source stands for."""
    if is_url(source):
        yield from _found_remote(source, passed)
        return
    path = Path(source)
    if os.path.isdir(source):  # unlike `path.is_dir`, not for names that are too long
        found = _walk(path, passed)
        if not found:
            raise SourceError(f"{shown(source)}: no video files in it (known by endings as .mp4)")
        yield from map(_item, found)
    elif not os.path.exists(source) and glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        if not matches:
            raise SourceError(f"{shown(source)}: nothing matches")
        for match in matches:
            is_folder = os.path.isdir(match)
            found = _walk(Path(match), passed) if is_folder else [os.path.abspath(match)]
            yield from map(_item, found)
    elif path.suffix.lower() in _LISTS and os.path.isfile(source):
        yield from map(Item, _listed(path))
    else:
        yield _item(os.path.abspath(source))


def _item(path: str) -> Item:
    """The item of a local file; a path that is not UTF-8 is written as a URL."""
    return Item(path if _is_text(path) else Path(path).as_uri())


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _found_remote(url: str, passed: Counter[str]) -> Iterator[Item]:
    from videoloader.sources.remote import list_objects

    plain = public(url)
    if plain.endswith("/"):
        found = []
        for place, state in list_objects(url):
            if _ending(place) in _WANTED:
                found.append(Item(place, listed=state))
            else:
                passed[_with_ending(place)] += 1
        if not found:
            raise SourceError(f"{shown(url)}: no video files in it (known by endings as .mp4)")
        yield from found
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


def _with_ending(place: str) -> str:
    """Why a file is passed over, whose ending is no video's."""
    ending = _ending(place)
    return f"with the ending {escaped(ending)}" if ending else "without an ending"


def _walk(folder: Path, passed: Counter[str]) -> list[str]:
    """Videos and archives under a folder, sorted; only their names are kept on the way."""
    if not folder.is_dir():
        raise SourceError(f"{shown(str(folder))}: no such folder")
    found: list[str] = []
    waiting, seen = [os.path.abspath(folder)], set()
    while waiting:
        place = waiting.pop()
        try:
            status = os.stat(place)
            if (status.st_dev, status.st_ino) in seen:
                passed["links to folders gone through already"] += 1
                continue
            seen.add((status.st_dev, status.st_ino))
            folders = []
            with os.scandir(place) as entries:
                for entry in entries:
                    is_wanted = _ending(entry.name) in _WANTED
                    if is_wanted and _is_file(entry):
                        found.append(entry.path)
                    elif _is_folder(entry):
                        folders.append(entry.path)
                    elif is_wanted:
                        passed["links that lead nowhere, and what is no file"] += 1
                    else:
                        passed[_with_ending(entry.name)] += 1
        except OSError as error:
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
        whole = os.path.abspath(path.parent / place)
        if _has_more_than_a_path(entry) and not os.path.exists(whole):
            raise FormatError(
                f"{where}: {shown(entry)!r} is a path and something behind it; a list has one path "
                "a line. Give labels as labels= (a list, or LabelColumn of a table), or read "
                "`path label` lines with fn.readers.video(file_list=...)"
            )
        yield whole


def _has_more_than_a_path(entry: str) -> bool:
    """Whether a line of a list looks like the path of a video, a blank or comma, and more."""
    inside = [found[1].lower() for found in re.finditer(r"(\.\w+)[\s,;]+\S", entry)]
    return _ending(entry) not in _WANTED and not _WANTED.isdisjoint(inside)


def _entries(text: bytes, name: str) -> Iterator[tuple[str, str]]:
    """The entries of a list, and for messages where they stand."""
    for number, entry in lines_of(text, name):
        if not entry.startswith("#"):
            yield entry, f"{shown(name)}, line {number}"


def _members(archive: Item, passed: Counter[str]) -> Iterator[Item]:
    """The videos in an uncompressed tar archive, in its order."""
    path = archive.location
    try:
        with _open_archive(path) as source:
            whole = source.fingerprint if is_url(local_path(path)) else None
            for member in read_members(source):
                if _ending(member.name) in VIDEO_SUFFIXES:
                    yield _member(path, member, whole)
                else:
                    passed[_with_ending(member.name)] += 1
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


def _open_archive(path: str) -> Source:
    if not is_url(local_path(path)):
        return open_source(path)
    from videoloader.sources.remote import open_url

    return open_url(path, block=_TAR_BLOCK)
