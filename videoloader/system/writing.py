"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from videoloader.errors import SourceError, VideoError

__all__ = ["check_target", "written", "written_whole"]


@contextmanager
def written(target: Path) -> Iterator[None]:
    """Errors of the system while a file is written as ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, VideoError):
            raise
        raise SourceError(f"{target}: cannot be written ({error.strerror or error})") from error


def check_target(target: Path) -> None:
    """Fail if what is to be written, and would be replaced, is no file.

    Raises:
        SourceError: it is a folder, or a device such as /dev/null.
    """
    if os.path.exists(target) and not os.path.isfile(target):
        kind = "a folder" if os.path.isdir(target) else "no regular file"
        raise SourceError(f"{target}: is {kind}; name a file to write")


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A name beside `target` to write to, which takes its place at the end of the `with` block.

    Whoever writes the same file at the same time, on whatever machine, has another name.

    Raises:
        SourceError: it cannot be written; nothing is left behind, and `target` is as it was.
    """
    check_target(target)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    with written(target):
        try:
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
