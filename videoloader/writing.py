"""Files that are written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from videoloader.errors import SourceError, VideoError

__all__ = ["written", "written_whole"]


@contextmanager
def written(target: Path) -> Iterator[None]:
    """Errors of the system while a file is written as ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, VideoError):
            raise
        raise SourceError(f"{target}: cannot be written ({error.strerror or error})") from error


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A name beside `target` to write to, which takes its place at the end of the `with` block.

    Whoever writes the same file at the same time, on whatever machine, has another name.

    Raises:
        SourceError: it cannot be written; nothing is left behind, and `target` is as it was.
    """
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    with written(target):
        try:
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
