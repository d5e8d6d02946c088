"""The files that a reader goes through: of the folders below a root, of a list file, or as given.

Folders and files come in the order of their names' bytes, whatever the file system says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase, translate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import Kind
from videoloader.errors import ArgumentError, FormatError
from videoloader.machinery.system.address import is_url, public, scrubbed, shown
from videoloader.machinery.system.faults import unreadable
from videoloader.sources.items import Item
from videoloader.sources.lists import check_length
from videoloader.sources.local import read_whole

_LABELLED = re.compile(r"(.*\S)\s+([+-]?[0-9]+)")
_MOST_DIGITS = 40  # of a label


class StoredFiles:
    """Files by number: names as they were given, below a root.

    Args:
        names: paths, relative to the root or absolute; URLs and members of archives (`Item`) too.
        root: folder or URL of the relative ones; "" for the working directory.
    """

    def __init__(self, names: Sequence[str | Item], root: str = "") -> None:
        self._names = names
        self._root = root
        self._folder = os.path.join(root, "")

    def __len__(self) -> int:
        return len(self._names)

    def name(self, number: int) -> str:
        """The name as it was given; a URL without its secrets."""
        given = self._names[number]
        return given.key if isinstance(given, Item) else public(given)

    def item(self, number: int) -> Item:
        """Where the file is."""
        given = self._names[number]
        if isinstance(given, Item):
            return given
        if not self._root or is_url(given) or os.path.isabs(given):
            return Item(given)
        return Item(f"{self._root.rstrip('/')}/{given}" if self._root != "/" else f"/{given}")

    def contents(self, number: int) -> NDArray[np.uint8]:
        """The bytes of a file, in memory of the caller's own."""
        given = self._names[number]
        if isinstance(given, str) and ":" not in given and ":" not in self._root:
            found = read_whole(given if given.startswith("/") else self._folder + given)
            if found is not None:
                return found
        with self.item(number).open() as source:
            return source.array(0, source.size)


def _paths(value: Any) -> tuple[str | Item, ...]:
    """Paths, URLs and items as arguments give them: one, or a sequence."""
    if isinstance(value, str | os.PathLike | Item):
        value = (value,)
    if isinstance(value, bytes):
        raise TypeError
    return tuple(each if isinstance(each, Item) else os.fspath(each) for each in value)


PATHS = Kind("path or list of paths", _paths)


def matching(patterns: Sequence[str], *, case_sensitive: bool) -> Callable[[str], bool]:
    """A function that says whether a name matches one of some glob patterns."""
    if case_sensitive:
        return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)
    wanted = [re.compile(translate(pattern), re.IGNORECASE) for pattern in patterns]
    return lambda name: any(pattern.match(name) for pattern in wanted)


def folders_below(
    root: str,
    is_file_wanted: Callable[[str], bool],
    is_folder_wanted: Callable[[str], bool] = bool,
    *,
    with_root: bool = False,
) -> list[tuple[str, list[str]]]:
    """The folders in a folder, and the names of the files directly in each of them, sorted.

    Links are followed. A folder without a file that is wanted is there all the same.

    Args:
        root: the folder.
        is_file_wanted: asked of the name of a file.
        is_folder_wanted: asked of the name of a folder.
        with_root: the folder itself comes first, as ".".
    """
    folders = [name for name in _entries(root, os.DirEntry.is_dir) if is_folder_wanted(name)]
    if with_root:
        folders = [".", *folders]
    return [
        (
            folder,
            [
                name
                for name in _entries(os.path.join(root, folder), os.DirEntry.is_file)
                if is_file_wanted(name)
            ],
        )
        for folder in folders
    ]


def _entries(folder: str, is_wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry.name for entry in entries if is_wanted(entry)), key=os.fsencode)
    except OSError as error:
        raise unreadable(folder, error, "listed") from None


def listed(file_list: str, *, labelled: bool) -> list[tuple[str, int]]:
    """The lines of a list file: a path, and a label if there are any; paths may have blanks.

    Empty lines are passed over.
    """
    name = shown(file_list)
    try:
        lines = Path(file_list).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise unreadable(file_list, error) from None
    entries = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        path, label = text, "0"
        if labelled:
            match = _LABELLED.fullmatch(text)
            if match is None:
                raise FormatError(
                    f"{name}, line {number}: a path and a label, which is an integer, are "
                    f"expected; got {scrubbed(text, '')!r}"
                )
            path, label = match.groups()
        if len(label) > _MOST_DIGITS or not -(1 << 31) <= int(label) < 1 << 31:
            raise FormatError(
                f"{name}, line {number}: the label {label[:_MOST_DIGITS]!r} is over 32 bits"
            )
        check_length(path, f"{name}, line {number}")
        entries.append((path, int(label)))
    if not entries:
        raise ArgumentError(f"file_list {name}: lists no file")
    return entries
