"""Opening the videos of a batch."""

from __future__ import annotations

import os
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from videoloader.decoding.opening.index_cache import IndexCache
from videoloader.decoding.switches import quick_switches
from videoloader.errors import ArgumentTypeError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import is_url, shown
from videoloader.machinery.system.faults import blamed_on, tried
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Fingerprint, Source, VideoSource

_OPENED_AT_ONCE = 16  # sources behind URLs


def identity(source: VideoSource | Source | Item) -> Hashable:
    """The identity of a video in a batch: a path, URL or item, or the object itself."""
    if isinstance(source, Source):
        return id(source)
    if isinstance(source, Item):
        return source
    return os.fspath(source) if isinstance(source, str | os.PathLike) else id(source)


def source_name(source: object) -> str:
    """A source for messages: a path, the public part of a URL, or its type."""
    if isinstance(source, Source | Item):
        return source.name
    if isinstance(source, str | os.PathLike):
        return shown(os.fspath(source))
    return f"<{type(source).__name__}>"


def is_remote(source: object) -> bool:
    """Whether a source, or the archive that an item is in, is a URL."""
    path = source.path if isinstance(source, Item) else source
    return isinstance(path, str) and is_url(path)


def open_any(source: VideoSource | Source | Item, *, known: Fingerprint | None = None) -> Source:
    """The bytes of a video; `known` is as for `open_source`.

    Raises:
        VideoError: they cannot be had.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, Item):
        return source.open(known=known)
    return open_source(source, known=known)


def lasting(given: VideoSource | Source | Item, source: Source) -> str | bytes | Item:
    """A value by which another process can open a source that is open here.

    Args:
        given: what it was opened by here.
        source: what that gave.

    Raises:
        ArgumentTypeError: nothing; it is an open file.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if isinstance(given, Item):
        return given
    if source.path is not None:
        return source.path
    if isinstance(given, str):
        return given
    raise ArgumentTypeError(
        f"{source.name}: a video of an open {type(given).__name__} does not pickle; open it by "
        "its path, URL, bytes or item of a data set"
    )


@dataclass(frozen=True, slots=True, eq=False)
class OpenedVideo:
    """A video that is open, and its index.

    `place` tells the file from others: clips of one video are decoded together.
    """

    place: Hashable
    source: Source
    index: VideoIndex


@contextmanager
def open_videos(
    sources: Sequence[VideoSource | Source | Item],
    indexes: Sequence[VideoIndex | None],
    cache: IndexCache,
) -> Iterator[list[OpenedVideo | VideoError]]:
    """Open videos, each source once, until the context ends; where one fails, give its error.

    URLs, and items behind URLs, are opened side by side. Local files are not worth the threads,
    which would take turns at the interpreter.

    Args:
        sources: what to open; a `Source` stays open.
        indexes: of each, where it is known.
        cache: where the other indexes are found.
    """
    with quick_switches(), ExitStack() as files:
        places = [identity(source) for source in sources]
        given = dict(zip(places, sources, strict=True))
        wants = {place for place, index in zip(places, indexes, strict=True) if index is None}
        known = {
            place: _known(given[place], index)
            for place, index in zip(places, indexes, strict=True)
            if index is not None and place not in wants
        }
        open_one = partial(_open, files, cache, wants, known)
        remote = [place for place, source in given.items() if is_remote(source)]
        made = in_threads(lambda place: open_one(place, given[place]), remote, _OPENED_AT_ONCE)
        opened = dict(zip(remote, made, strict=True))
        for place, source in given.items():
            if place not in opened:
                opened[place] = open_one(place, source)
        yield [
            _with_index(place, *opened[place], index)
            for place, index in zip(places, indexes, strict=True)
        ]


_Opened: TypeAlias = tuple[Source | VideoError, VideoIndex | VideoError | None]
"""An opened source, and its index, if one is wanted."""


def _open(
    files: ExitStack,
    cache: IndexCache,
    wants: Container[Hashable],
    known: Mapping[Hashable, Fingerprint | None],
    place: Hashable,
    given: VideoSource | Source | Item,
) -> _Opened:
    """Open a source, and find its index if its place needs one."""
    source = None
    try:
        with blamed_on(source_name(given)):
            source = open_any(given, known=known.get(place))
            if source is not given:
                files.callback(source.close)
            return source, cache.find(place, source) if place in wants else None
    except VideoError as error:
        return error if source is None else source, error


def _known(source: VideoSource | Source | Item, index: VideoIndex) -> Fingerprint | None:
    """The state of an object at a URL if its index has an etag, which each answer is compared with.

    Then opening it takes no request. None for members of archives: the etag is the archive's, whose
    size is not in the index.
    """
    is_whole = not isinstance(source, Item) or not source.member
    if is_remote(source) and is_whole and index.checks == "size" and index.fingerprint.etag:
        return index.fingerprint
    return None


def _with_index(
    place: Hashable,
    source: Source | VideoError,
    made: VideoIndex | VideoError | None,
    index: VideoIndex | None,
) -> OpenedVideo | VideoError:
    """A video with the given index if it fits the source, else with a new one."""
    if isinstance(source, VideoError):
        return source
    if index is None:
        assert made is not None  # it was wanted
        return made if isinstance(made, VideoError) else OpenedVideo(place, source, made)
    wrong = tried(source.name, index.check, source)
    return wrong if isinstance(wrong, VideoError) else OpenedVideo(place, source, index)
