"""A log of failures: a file of JSON lines, to which many processes append."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from videoloader.errors import SourceError
from videoloader.sources.address import is_url, local_path, shown
from videoloader.sources.faults import unreadable
from videoloader.system.writing import written

__all__ = ["ErrorLog", "absolute", "read_lines"]

_log = logging.getLogger(__name__)


class ErrorLog:
    """Appends failures to a file, a line each.

    A line is written by one call to the system with nothing buffered, so lines of several
    processes do not mix, and what a killed process had written is there. It pickles. A log that
    can no longer be written does not end the run: it is told once.

    Args:
        path: the file; it is made, and its folder too.

    Raises:
        SourceError: it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        with written(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        self._has_warned = False

    def write(self, failure: Mapping[str, Any]) -> None:
        """Append a failure; the path of a file becomes absolute."""
        facts = {**failure, "path": absolute(failure["path"])}
        line = (json.dumps(facts) + "\n").encode()
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._has_warned:
                _log.warning("%s: failures are no longer logged (%s)", self.path, error.strerror)
            self._has_warned = True


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines.

    The last line may be cut off, where a process was killed or the disk was full.

    Raises:
        SourceError: the file cannot be read, or another line is no JSON object.
    """
    name = os.fspath(path)
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise unreadable(name, error) from None
    name = shown(name)
    for number, line in enumerate(lines, 1):
        try:
            facts = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                return
            raise SourceError(f"{name}: line {number} is no JSON ({error})") from error
        if facts is None:
            continue
        if not isinstance(facts, dict):
            raise SourceError(f"{name}: line {number} is no JSON object")
        yield facts


def absolute(path: str) -> str:
    """The absolute path of a file; a URL as it is.

    >>> absolute("/videos/../clip.mp4"), absolute("s3://videos/clip.mp4")
    ('/clip.mp4', 's3://videos/clip.mp4')
    """
    place = local_path(path)
    return place if is_url(place) else os.path.abspath(place)
