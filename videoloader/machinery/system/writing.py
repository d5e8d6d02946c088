"""Files that are written whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from videoloader.errors import SourceError, VideoError

ABANDONED = 3600.0
"""Seconds after which an unfinished file that nobody holds is one of a process that was killed."""

_UNFINISHED = re.compile(r".+\.[0-9a-f]{8}\.partial")
_MOST_FOLDERS = 10_000
_looked_at: set[Path] = set()  # folders in which this process has removed such files


@contextmanager
def written(target: Path) -> Iterator[None]:
    """Convert an `OSError` while `target` is written to a `SourceError`."""
    try:
        yield
    except OSError as error:
        if isinstance(error, VideoError):
            raise
        raise SourceError(f"{target}: cannot be written ({error.strerror or error})") from error


def check_target(target: Path) -> None:
    """Fail if the target is a URL, is no path, or exists and is not a regular file.

    Raises:
        SourceError: it is a URL, a folder, or a device such as /dev/null.
    """
    try:
        is_path = b"\0" not in os.fsencode(target)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise SourceError(f"{str(target)!r}: cannot be written, no file has such a name")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(target)):  # a `Path` has one slash of two
        raise SourceError(f"{target}: is a URL; name a file on this machine to write")
    if os.path.exists(target) and not os.path.isfile(target):
        kind = "a folder" if os.path.isdir(target) else "no regular file"
        raise SourceError(f"{target}: is {kind}; name a file to write")


def make_folder(target: Path) -> None:
    """Check a file to write beforehand, and create its folder.

    Raises:
        SourceError: see `check_target`; or the folder cannot be written.
    """
    check_target(target)
    with written(target):
        target.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def written_whole(target: Path, *, looks_around: bool = True) -> Iterator[Path]:
    """The path of a temporary file, which is renamed to `target` at the end of the `with` block.

    Its folder is created. Its name is random, so several processes or machines may write the same
    target at once. A process that is killed leaves it behind: the first write of another one to
    the folder, an hour later or more, removes it. A lock, which the system releases with the
    process, tells it from a file that is being written slowly; the hour is for file systems where
    other machines do not see the lock.

    Args:
        target: the file.
        looks_around: whether such files are removed; not where somebody else does.

    Raises:
        SourceError: it cannot be written; nothing is left behind, and `target` is as it was.
    """
    make_folder(target)
    # Absolute, since FFmpeg and Arrow take a relative "12:30.mp4" for a URL.
    partial = target.absolute().with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    with written(target):
        if looks_around:
            _remove_abandoned(target.parent)
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
            os.close(file)


def _remove_abandoned(folder: Path) -> None:
    """Remove files of killed processes from a folder; this process looks at each folder once."""
    if folder in _looked_at:
        return
    if len(_looked_at) >= _MOST_FOLDERS:
        _looked_at.clear()
    _looked_at.add(folder)
    oldest = time.time() - ABANDONED
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # removed meanwhile, held, or of another user
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        _remove_free(entry.path)


def _remove_free(path: str) -> None:
    """Remove an unfinished file, unless a process holds its lock.

    Raises:
        OSError: one does.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(file)
