"""`Skipped`: the files and folders that the listing of a data set passed over, and why."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from videoloader.errors import ArgumentError, FormatError
from videoloader.indexing.dataset.cache import read_metadata, reading
from videoloader.sources.items import Item, local_item

_log = logging.getLogger(__name__)

SKIPPED = b"skipped"
"""Where the metadata of a data set index says what was passed over."""

PACKED = "compressed archives, which are not read: unpack them, or pack them as .tar"
BROKEN = "links that lead nowhere, and what is no file"
UNREADABLE = "folders that this user may not read"
HIDDEN = "hidden, by names that begin with a dot"
_LOST = (PACKED, BROKEN, UNREADABLE)  # reasons that may mean that videos are missing
_NAMED = 1000  # paths that are kept of a reason
_REASONS = 8  # that are named in a line


class Skipped:
    """Files passed over while a data set was listed. Iterating gives (path, reason).

    Of each reason the first 1,000 paths in their order are kept. Paths are stored as those of
    videos: relative to the root of the data set where there is one, URLs without their query.

    Attributes:
        counts: how many there are, by reason, all counted.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._paths: dict[str, list[str]] = {}

    def add(self, reason: str, path: str) -> None:
        """Note a path or URL."""
        self.counts[reason] += 1
        paths = self._paths.setdefault(reason, [])
        paths.append(path)
        if len(paths) >= 2 * _NAMED:
            paths.sort()
            del paths[_NAMED:]

    def update(self, other: Skipped, root: str | None = None) -> None:
        """Add the skipped paths of another listing that are not known yet.

        Shards of a job list the same, so of each reason the larger count is taken where paths are
        the same, else the sum.

        Args:
            other: with paths relative to `root`, if that is given.
            root: makes them absolute.
        """
        for reason, count in other.counts.items():
            mine = self._paths.get(reason, [])
            theirs = [_whole(path, root) for path in other._paths[reason]]
            known = {*mine}
            is_same = not known.isdisjoint(theirs)
            before = self.counts[reason]
            self.counts[reason] = max(before, count) if is_same else before + count
            self._paths[reason] = mine + [path for path in theirs if path not in known]

    def relative_to(self, root: str | None) -> Skipped:
        """The same with paths as a data set with this root stores them."""
        stored = Skipped()
        stored.counts.update(self.counts)
        for path, reason in self:
            item = local_item(path)
            if root is not None:
                with suppress(ArgumentError):  # it is not below the root
                    item = item.relative_to(root)
            stored._paths.setdefault(reason, []).append(item.path)
        return stored

    def lost(self) -> Iterator[tuple[str, str]]:
        """Files that may hold videos, or should have been videos: (path, reason)."""
        return ((path, reason) for path, reason in self if reason in _LOST)

    def log(self) -> None:
        """Log the counts: as a warning if videos may be missing."""
        if self.counts:
            level = logging.WARNING if any(map(self.counts.get, _LOST)) else logging.INFO
            _log.log(level, "skipped: %s", self)

    def encode(self) -> bytes:
        """As ASCII text, for the metadata of a file."""
        counts = dict(sorted(self.counts.items()))
        paths: dict[str, list[str]] = {reason: [] for reason in counts}
        for path, reason in self:
            paths[reason].append(path)
        return json.dumps([counts, paths], separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes) -> Skipped:
        """Decode the bytes of `encode`; empty bytes mean that nothing was skipped.

        Raises:
            ValueError: the bytes are of something else.
        """
        found = cls()
        if not data:
            return found
        try:
            counts, paths = json.loads(data)
            for reason, count in counts.items():
                found.counts[reason] = int(count)
            for reason, each in paths.items():
                if not all(isinstance(path, str) for path in each):
                    raise TypeError(f"{reason}: a path is no text")
                found._paths[reason] = list(each)
        except (AttributeError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"what was skipped is damaged: {error}") from error
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for reason in sorted(self._paths):
            for path in sorted(self._paths[reason])[:_NAMED]:
                yield path, reason

    def __len__(self) -> int:
        return self.counts.total()

    def __str__(self) -> str:
        """Counts by reason, the most frequent reasons first."""
        most = self.counts.most_common(_REASONS)
        rest = len(self) - sum(count for _, count in most)
        named = ", ".join(f"{count} {reason}" for reason, count in most)
        return named + (f", {rest} others" if rest else "")

    def __repr__(self) -> str:
        return f"<Skipped: {self or 'nothing'}>"


def _whole(path: str, root: str | None) -> str:
    """The path of a skipped file, which need not be below the root of the videos."""
    with suppress(FormatError):
        return Item(path).under(root).path
    return path


def stored_skipped(path: Path) -> Skipped:
    """The files that the listing of a data set index passed over."""
    with reading(path):
        return Skipped.decode(read_metadata(path).get(SKIPPED, b""))
