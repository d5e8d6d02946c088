"""Where a transcoding job writes: a folder of videos, or tar archives of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.rows import Row
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.writing import written, written_whole
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint
from videoloader.training.segments.part import Part

_PARTIAL = re.compile(r"(\.\w+)\.[0-9a-f]{8}\.partial")  # ends of names of `written_whole`
_STAGED = ".staged"


class Folder:
    """One file for each video, in folders and under names as those of the sources.

    Args:
        out: the folder.
        items: the videos.
        suffix: of the files.
        parts: segments, each of the video at its place; their rows are in the names.

    Raises:
        ArgumentError: two videos would have one name.
    """

    def __init__(
        self, out: Path, items: Sequence[Item], suffix: str, parts: Sequence[Part | None]
    ) -> None:
        called = _names(list(dict.fromkeys(items)))
        ends = ["" if part is None else f"_{part.row:06d}" for part in parts]
        self._paths = [
            out / f"{called[item]}{end}{suffix}" for item, end in zip(items, ends, strict=True)
        ]

    def path(self, number: int) -> Path:
        """The file of a video."""
        return self._paths[number]

    def is_packed(self, number: int) -> bool:  # noqa: ARG002
        """Whether a video is in an archive already."""
        return False

    def pack(self, number: int, rows: Sequence[Row | None]) -> None:
        """Nothing is left to do when a video is finished."""

    def finish(self, rows: Sequence[Row | None]) -> None:
        """Nothing is left to do at the end."""


class Shards:
    """Tar archives as WebDataset reads them, each with the same number of videos.

    Video `n` is stored as `n.mp4` with `n.json`, which names its source. Finished videos wait in a
    folder until all of their archive are finished. The journal has a row for each archive, which
    says of which state of which videos it was made; it is made again if that has changed.

    Args:
        out: folder of the archives.
        items: the videos.
        suffix: of the videos.
        size: videos in an archive.
        journal: of the job.
        settings: of the job; archives made with others are made again.
        states: current state of each video, None where it cannot be read.
        parts: segments, each of the video at its place; None for whole videos.
    """

    def __init__(
        self,
        out: Path,
        items: Sequence[Item],
        suffix: str,
        *,
        size: int,
        journal: Journal,
        settings: dict[str, Any],
        states: Sequence[Fingerprint | None],
        parts: Sequence[Part | None],
    ) -> None:
        self._out, self._items, self._suffix = out, items, suffix
        self._places = [
            item.place() if part is None else (*item.place(), repr(part))
            for item, part in zip(items, parts, strict=True)
        ]
        self._size, self._journal = size, journal
        self._contents = [
            {
                "settings": settings,
                "members": [self._member(n, states) for n in self._numbers(shard)],
            }
            for shard in range(-(-len(items) // size))
        ]
        self._packed = {shard for shard in range(len(self._contents)) if self._is_current(shard)}

    def path(self, number: int) -> Path:
        """The file of a video until its archive is made.

        Named by the source, since numbers change where videos are added.
        """
        place = json.dumps(self._places[number]).encode()
        name = hashlib.blake2b(place, digest_size=16).hexdigest()
        return self._out / _STAGED / f"{name}{self._suffix}"

    def is_packed(self, number: int) -> bool:
        """Whether a video is in an archive already."""
        return number // self._size in self._packed

    def pack(self, number: int, rows: Sequence[Row | None]) -> None:
        """Write the archive of a video if all of its videos are finished or have failed."""
        shard = number // self._size
        numbers = self._numbers(shard)
        if shard in self._packed or any(rows[n] is None for n in numbers):
            return
        target = self._tar(shard)
        good = [n for n in numbers if not rows[n].error]  # type: ignore[union-attr]
        with written_whole(target) as partial, tarfile.open(partial, "w") as tar:
            for n in good:
                tar.add(self.path(n), f"{n:08}{self._suffix}", filter=_anonymous)
                facts = json.dumps({"source": self._items[n].key, **rows[n].facts["video"]})  # type: ignore[union-attr]
                member = tarfile.TarInfo(f"{n:08}.json")
                member.size = len(facts)
                tar.addfile(member, io.BytesIO(facts.encode()))
        state = Fingerprint(os.stat(target).st_size)
        self._journal.add(Row(Item(target.name), state, self._contents[shard]))
        self._packed.add(shard)
        for n in good:
            self.path(n).unlink(missing_ok=True)

    def finish(self, rows: Sequence[Row | None]) -> None:  # noqa: ARG002
        """Remove the folder of finished videos, and archives of an earlier job that had more."""
        shutil.rmtree(self._out / _STAGED, ignore_errors=True)
        shard = len(self._contents)
        while self._journal.get(Item(self._tar(shard).name)) and self._tar(shard).exists():
            self._tar(shard).unlink()
            shard += 1

    def _is_current(self, shard: int) -> bool:
        target = self._tar(shard)
        row = self._journal.get(Item(target.name))
        if row is None or row.state is None or not target.exists():
            return False
        is_same = row.state.size == os.stat(target).st_size
        return is_same and row.facts == json.loads(json.dumps(self._contents[shard]))

    def _member(self, number: int, states: Sequence[Fingerprint | None]) -> list[Any]:
        state = states[number]
        known = None if state is None else [state.size, state.mtime_ns, state.etag]
        return [self._places[number], known]

    def _tar(self, shard: int) -> Path:
        return self._out / f"{shard:06}.tar"

    def _numbers(self, shard: int) -> range:
        first = shard * self._size
        return range(first, min(first + self._size, len(self._items)))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member without what differs from run to run."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _names(videos: Sequence[Item]) -> dict[Item, str]:
    """The path of the file of each video, without a suffix.

    Videos whose paths differ in their suffix only keep it, and then those in an archive that of the
    archive.

    Raises:
        ArgumentError: two have the same path still.
    """
    archives = [os.path.splitext(item.path)[0] if item.member else item.path for item in videos]
    plain = [_plain(path, item.member) for path, item in zip(archives, videos, strict=True)]
    levels = zip(*(name.split("/")[:-1] for name in plain), strict=False)
    common = sum(1 for _ in takewhile(lambda level: len({*level}) == 1, levels))
    whole = [_plain(item.path, item.member) for item in videos]
    below, longest = (
        ["/".join(name.split("/")[common:]) for name in names] for names in (plain, whole)
    )
    found = [os.path.splitext(name)[0] for name in below]
    for longer in (below, longest):
        before: list[str] = []
        while found != before:  # a longer name may be that of another
            before, counts = found, Counter(found)
            pairs = zip(before, longer, strict=True)
            found = [name if counts[name] == 1 else other for name, other in pairs]
    firsts: dict[str, Item] = {}
    for name, item in zip(found, videos, strict=True):
        if (first := firsts.setdefault(name, item)) is not item:
            raise ArgumentError(
                f"{first.name} and {item.name} would both be written as {shown(name)!r}; write "
                "archives (videos_per_shard=), which number videos, or rename one"
            )
    return dict(zip(videos, found, strict=True))


def _plain(path: str, member: str) -> str:
    """A path, and a name in an archive, as parts of a relative path."""
    path = re.sub(r"^[a-z0-9+]+://", "", path, flags=re.IGNORECASE)
    parts = f"{path}/{member}".split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def remove_partial(folder: Path, suffix: str) -> None:
    """Delete what a killed job left unfinished; at once, since the journal admits one job."""
    with written(folder):
        for path in folder.rglob("*.partial"):
            found = _PARTIAL.search(path.name)
            if found is not None and found[1] in (suffix, ".tar"):
                path.unlink(missing_ok=True)
