"""`Item`: one video of a data set: a file, an object at a URL, or a member of an archive."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from videoloader.errors import ArgumentError, FormatError, SourceError
from videoloader.machinery.system.address import (
    absolute_path,
    escaped,
    is_url,
    local_path,
    public,
    shown,
)
from videoloader.sources.opening import open_member, open_source
from videoloader.sources.source import Fingerprint, Source

_QUOTED = "file:"  # prefix of percent-encoded relative paths that are not valid text


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One video of a data set: a file or object, or a member of an archive.

    Secrets of a URL (user, password, query) are not part of `path`, so they are neither shown nor
    stored; `location` has them as long as the item exists.

    Args:
        path: of the file or archive; a path or a URL. A relative path is opened from the folder in
            which the item was made, also in another process.
        member: name in the archive.
        offset: of the member in the archive.
        size: of the member; -1 for a whole file, whose size `state` tells.
        listed: state of the file in a listing; not part of the item's identity.
        problem: error found by the listing; not part of the item's identity either.
        signed: what to open it by, if `path` is not sufficient: a URL with its secrets, or the
            absolute path of a relative one, see `absolute`.
        below: the part of `path` below the root of its data set, "" without a root; stays the same
            where the data set is moved.
        folder: working folder in which the item was made, "" if `path` is not relative to one.
    """

    path: str
    member: str = ""
    offset: int = 0
    size: int = -1
    listed: Fingerprint | None = field(default=None, compare=False, repr=False)
    problem: str = field(default="", compare=False, repr=False)
    signed: str = field(default="", repr=False)
    below: str = field(default="", compare=False, repr=False)
    folder: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        is_place = isinstance(self.path, str) and isinstance(self.member, str)
        if not is_place or type(self.offset) is not int or type(self.size) is not int:
            raise ArgumentError("path and member of an Item are text, offset and size integers")
        plain = public(self.path)
        if plain != self.path:
            object.__setattr__(self, "signed", self.path)
            object.__setattr__(self, "path", plain)
        is_whole = not self.path or self.path.startswith("/") or is_url(self.path)
        if not (self.folder or is_whole):
            with suppress(FileNotFoundError):  # it was removed; nothing opens by the path then
                object.__setattr__(self, "folder", sys.intern(os.getcwd()))

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
        return self.signed or (f"{self.folder}/{self.path}" if self.folder else self.path)

    def open(self, *, known: Fingerprint | None = None) -> Source:
        """The bytes of the video.

        `known` is `Source.whole` of the same item, opened before.

        Raises:
            SourceError: they cannot be read.
            FormatError: the file is empty, or has the `problem` that the listing found.
        """
        if self.problem:
            raise FormatError(f"{self.name}: {self.problem}")
        try:
            if not self.member:
                return open_source(self.location, known=known)
            return open_member(
                self.location, name=self.member, offset=self.offset, size=self.size, known=known
            )
        except SourceError as error:
            if not (self.below and isinstance(error.__cause__, FileNotFoundError)):
                raise
            raise SourceError(
                f"{error}; where the videos of a data set were moved, open_dataset(path, "
                "root=folder) says where they are now"
            ) from error.__cause__

    def absolute(self) -> Item:
        """The item as it is found from any working directory; its `path` and name stay.

        >>> Item("cats/1.mp4").absolute().location == os.path.abspath("cats/1.mp4")
        True
        """
        place = local_path(self.location)
        if os.path.isabs(place) or is_url(place):
            return self
        return replace(self, signed=absolute_path(place))

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

        Links in a folder are followed.

        Raises:
            FormatError: the path is absolute, a URL, or has a part `..`, as no path that
                `relative_to` made.

        >>> Item("cats/1.mp4").under("/data").path
        '/data/cats/1.mp4'
        """
        if root is None:
            return self
        path, below = unquoted(self.path), self.path
        if is_url(self.path) or _leads_out(path, root):
            raise FormatError(f"{self.name}: leads out of the root of the data set, {shown(root)}")
        whole = f"{root}/{path}" if is_url(root) else _as_text(os.path.join(root, path))
        known = self.listed, self.problem, self.signed
        return Item(whole, self.member, self.offset, self.size, *known, below)

    def relative_to(self, root: str) -> Item:
        """The item with its path relative to a root, an absolute folder or URL.

        Raises:
            ArgumentError: it is not under the root, or a part of its path is `..`.

        >>> Item("/data/cats/1.mp4").relative_to("/data").path
        'cats/1.mp4'
        """
        path, above = local_path(self.path), root.rstrip("/") + "/"
        if not path.startswith(above) or _leads_out(path[len(above) :], root):
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


def _leads_out(path: str, root: str) -> bool:
    r"""Whether a path that is joined to a root may not be below it.

    Behind a link, `..` is not the folder before it. Servers and clients of HTTP take `%2e%2e` and
    `..\` for `../`.
    """
    if is_url(root):
        path = unquote(path).replace("\\", "/")
    return path.startswith("/") or ".." in path.split("/")


def local_item(path: str) -> Item:
    """The item of a local file; a path that is not UTF-8 is written as a URL."""
    return Item(_as_text(path))


def _as_text(path: str) -> str:
    return path if _is_text(path) else Path(path).as_uri()


def unquoted(path: str) -> str:
    r"""A path relative to a root, of an `Item`, as the file system has it.

    >>> unquoted("file:caf%E9/1.mp4") == os.fsdecode(b"caf\xe9/1.mp4")
    True
    """
    if not path.startswith(_QUOTED):
        return path
    return unquote(path[len(_QUOTED) :], errors="surrogateescape")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_root(root: str | os.PathLike[str]) -> str:
    """The root of a data set as an absolute path, or as a URL without a slash at its end."""
    place = public(local_path(os.fspath(root)))
    return place.rstrip("/") if is_url(place) else absolute_path(place)
