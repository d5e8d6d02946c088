"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from videoloader.errors import SourceError, VideoError


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
    """Fail if the target is a URL, or exists and is not a regular file.

    Raises:
        SourceError: it is a URL, a folder, or a device such as /dev/null.
    """
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
def written_whole(target: Path) -> Iterator[Path]:
    """The path of a temporary file, which is renamed to `target` at the end of the `with` block.

    Its folder is created. Its name is random, so several processes or machines may write the same
    target at once.

    Raises:
        SourceError: it cannot be written; nothing is left behind, and `target` is as it was.
    """
    make_folder(target)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    with written(target):
        try:
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
