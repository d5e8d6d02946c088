"""The corpus of real files as test parameters: references, and what may be expected of each."""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

__all__ = ["CorpusFile", "corpus_files", "md5_of", "packets_fed"]

# Their inverse transforms differ between FFmpeg's versions, as those standards allow.
INEXACT_TRANSFORM = {"mpeg4", "msmpeg4v3", "vc1"}


@dataclass(frozen=True)
class CorpusFile:
    """One video of the corpus and the lists beside it."""

    path: Path
    facts: dict

    @property
    def is_damaged(self) -> bool:
        return bool(self.facts.get("damage"))

    @cached_property
    def reference(self) -> dict:
        return json.loads(Path(f"{self.path}.frames.json").read_text())

    @property
    def stream(self) -> int:
        return self.reference["stream_index"]

    @cached_property
    def hashes(self) -> list[str]:
        return [frame["md5"] for frame in self.reference["frames"] if "md5" in frame]

    @property
    def has_comparable_hashes(self) -> bool:
        exact = self.facts["codec"] not in INEXACT_TRANSFORM
        return exact and self.reference["hash_stable_with_threads"]

    @cached_property
    def expected_hashes(self) -> list[str]:
        """The reference's hashes; FFmpeg's sequential decode here where versions may differ."""
        if self.has_comparable_hashes:
            return self.hashes
        import av

        from videoloader.decoding.pictures.surface import Surface

        with av.open(str(self.path)) as container:
            video = container.streams[self.stream]
            video.thread_count = 1
            return [md5_of(Surface(frame)) for frame in container.decode(video)]


def corpus_files(choose=lambda file: True):
    """Parameters for `pytest.mark.parametrize`: the chosen files, or one that skips.

    Files of the corpus, and of a folder `handed` beside it where there is one.
    """
    folder = os.environ.get("VIDEOLOADER_CORPUS")
    if not folder:
        skip = pytest.mark.skip(reason="needs VIDEOLOADER_CORPUS, the folder of reference media")
        return [pytest.param(None, marks=skip, id="corpus")]
    folders = [Path(folder)]
    if (more := folders[0].resolve().parent / "handed") != folders[0].resolve() and more.is_dir():
        folders.append(more)
    files = [
        CorpusFile(place / facts["file"], facts)
        for place in folders
        for facts in json.loads((place / "manifest.json").read_text())["files"]
        if facts["kind"] == "video"
    ]
    chosen = [file for file in files if choose(file)]
    return [pytest.param(file, id=file.path.name) for file in chosen]


def has_reference(file: CorpusFile) -> bool:
    return Path(f"{file.path}.frames.json").is_file()


def md5_of(surface) -> str:
    """The hash that FFmpeg's framehash gives of a raw picture."""
    digest = hashlib.md5(usedforsecurity=False)
    for plane in surface.planes:
        digest.update(np.ascontiguousarray(plane))
    return digest.hexdigest()


def packets_fed(index, source, frames, drop) -> list[tuple[int, bytes]]:
    """Numbers and bytes of the packets that a decoder is fed for frames, without decoding them.

    The index knows no more of its packets than at first, and no more afterwards.
    """
    from videoloader.decoding.packets.feed import PacketFeed
    from videoloader.sampling import plan_decode

    vars(index).pop("learned", None)
    feed = PacketFeed(index, source, drop=drop)
    chunks = [chunk for run in plan_decode(index, frames) for chunk in feed.chunks(run, 16)]
    vars(index).pop("learned", None)
    return [each for chunk in chunks for each in zip(chunk[0].tolist(), chunk[1], strict=True)]
