"""Opens sources: a path, a URL, bytes in memory, or a seekable file."""

from __future__ import annotations

import os

from videoloader.errors import ArgumentTypeError, SourceError
from videoloader.machinery.system.address import escaped, is_url, local_path
from videoloader.sources.local import MemorySource, open_file, open_path
from videoloader.sources.source import Fingerprint, Source, VideoSource

_HEADERS = 1 << 13  # bytes to request for headers of an archive


def open_member(
    path: str | os.PathLike[str],
    *,
    name: str,
    offset: int,
    size: int,
    known: Fingerprint | None = None,
) -> Source:
    """Open a part of a file, such as a member of a tar archive, as a separate source.

    Messages name it by the file name, a slash and `name`. `known` is `Source.whole` of the same
    part, opened before.

    Raises:
        SourceError: the file cannot be opened, or ends too early.
    """
    place = local_path(os.fspath(path))
    if is_url(place):
        from videoloader.sources.remote import open_url

        return open_url(place, name=escaped(name), offset=offset, size=size, known=known)
    return open_path(place, name=escaped(name), offset=offset, size=size)


def open_source(source: VideoSource | Source, *, known: Fingerprint | None = None) -> Source:
    """Open a path, a URL, bytes, or a seekable binary file.

    `known` is `Source.whole` of the same URL, opened before.

    Raises:
        SourceError: there is no such file, it is a directory, or it cannot be read.
        FormatError: it is empty.
        ArgumentTypeError: it is none of these.
        UnsupportedError: the scheme of the URL is not supported, or obstore, which reads URLs, is
            not installed.

    >>> with open_source("clip.mp4") as source:
    ...     source.read(4, 4)  # 4 bytes from byte 4 on
    b'ftyp'
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        memory = memoryview(source).cast("B")
        return MemorySource(memory, name=f"<{memory.nbytes} bytes>", size=memory.nbytes)
    if isinstance(source, str | os.PathLike):
        place = local_path(os.fspath(source))
        if not place:
            raise SourceError("'': the path is empty; name a video file")
        if is_url(place):
            from videoloader.sources.remote import open_url

            return open_url(place, known=known)
        return open_path(place)
    if not hasattr(source, "seek"):
        raise ArgumentTypeError(
            "source must be a path, a URL, bytes or a seekable binary file, got "
            f"{type(source).__name__} {source!r:.80}"
        )
    return open_file(source)


def open_archive(path: str) -> Source:
    """Open a tar archive for its headers, which are small: a URL is read in small requests."""
    if not is_url(local_path(path)):
        return open_source(path)
    from videoloader.sources.remote import open_url

    return open_url(path, block=_HEADERS)
