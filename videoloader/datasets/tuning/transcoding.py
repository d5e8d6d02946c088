"""What clips of transcoded files cost: measured on pieces of a few videos, encoded for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from videoloader.datasets.transcode import transcode
from videoloader.datasets.tuning.trials import LEAST_BATCHES, Bench, Trial
from videoloader.decoding.output import normalize_size
from videoloader.errors import VideoError
from videoloader.indexing.video import index_video
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import generator, sample_frames
from videoloader.sources.items import Item
from videoloader.writing.cut import cut
from videoloader.writing.gain import GainWatch

GOP = 16
"""Frames from one keyframe to the next in the pieces."""

_LENGTH = (3 * GOP, 240)  # frames of a piece: least, most
_ENCODED = 3e7  # pixels that a processor encodes in a second, about
_LINKS = 64  # names of the pieces, so that they are opened as often as different files
_ENLARGED = 8 / 7  # size of the files over the size of the clips, for random crops
_SMALLER = 1.5  # size of the videos over the size that training needs; below, none is tried
_OF_VIDEOS = {"labels", "classes", "weights", "balanced", "columns", "skip_known", "cache"}
_OF_VIDEOS |= {"cache_size", "rank", "num_ranks", "remainder"}


@dataclass(frozen=True)
class Encoded:
    """Clips of pieces that were encoded with short groups of pictures.

    Attributes:
        shorter: length of the shorter side, None for that of the videos.
        trial: a loader of these pieces.
        share: the packets that are decoded beside those of the wanted frames, over those that are
            planned; decoding leaves out packets that no wanted frame refers to.
        growth: size of the files over their size before.
    """

    shorter: int | None
    trial: Trial
    share: float
    growth: float

    def packets(self, planned: float, used: float) -> float:
        """Packets that are decoded for a clip of `used` frames, if `planned` are planned."""
        return used + self.share * max(planned - used, 0.0)


def encode_pieces(bench: Bench, items: Sequence[Item]) -> Iterator[Encoded]:
    """Encode pieces of videos in a temporary folder, and run loaders of them.

    At the size of the videos, then as small as training needs, where that is much smaller. Nothing
    where no piece can be cut or encoded.

    Args:
        bench: runs the loaders.
        items: the videos.
    """
    with tempfile.TemporaryDirectory(prefix="videoloader-tune-") as name:
        folder = Path(name)
        cuts, sides = _pieces(bench, items, folder)
        if not cuts:
            return
        # A dictionary, since both are None where the videos are small already.
        for shorter in dict.fromkeys((None, _smaller(bench.options, int(np.median(sides))))):
            encoded = _encoded(bench, cuts, shorter, folder / f"{shorter}")
            if encoded is not None:
                yield encoded


def _encoded(bench: Bench, cuts: list[Path], shorter: int | None, out: Path) -> Encoded | None:
    """Pieces encoded with a shorter side, None for theirs, and a loader of them."""
    workers = 0 if bench.options.get("workers") == 0 else None
    made = transcode(cuts, out, gop=GOP, resize_shorter=shorter, audio=False, workers=workers)
    paths = sorted(out.glob("*.mp4"))
    if not paths:
        return None
    linked = _bench(bench, paths, out / "links")
    linked.run()  # so that the files are indexed, as those of the loader as given are
    trial = linked.run()
    watch = GainWatch(bench.clips, [Item(str(path)) for path in paths], None)
    used, planned = trial.each("used"), watch.packets_at(GOP)
    share = (trial.each("packets") - used) / max(planned - used, 1.0)
    growth = made.bytes_after / max(made.bytes_before, 1)
    return Encoded(shorter, trial, min(max(share, 0.0), 1.0), growth)


def _pieces(bench: Bench, items: Sequence[Item], folder: Path) -> tuple[list[Path], list[int]]:
    """Files with pieces of videos, as they are coded, and the shorter side of each."""
    paths: list[Path] = []
    sides: list[int] = []
    room = _ENCODED * usable_processors() * bench.seconds
    for number, item in enumerate(items):
        with suppress(VideoError):
            with item.open() as source:
                index = index_video(source)
            frames = sample_frames(bench.clips, index, rng=generator(0))
            span = int(frames.max() - frames.min()) + 1
            length = min(max(2 * span, _LENGTH[0]), _LENGTH[1], index.num_frames)
            room -= length * index.width * index.height
            if room < 0 and len(paths) > 1:
                break
            start = (index.num_frames - length) // 2
            path = folder / f"{number}.mp4"
            cut(item, path, start, start + length, index=index, audio=False)
            paths.append(path)
            sides.append(min(index.width, index.height))
    return paths, sides


def _smaller(options: Mapping[str, Any], side: int) -> int | None:
    """The shorter side of files as large as training needs, if that is much less than they have."""
    needed = options.get("resize_shorter")
    if needed is None and options.get("size") is not None:
        needed = -(-int(min(normalize_size(options["size"])) * _ENLARGED) // 2) * 2
    return int(needed) if needed is not None and side >= needed * _SMALLER else None


def _bench(bench: Bench, paths: list[Path], folder: Path) -> Bench:
    """A loader of files with these contents, with the options that apply to any videos.

    There are many files, since a decoder that stays open costs less than one that is opened.
    """
    options = {name: bench.options[name] for name in bench.options if name not in _OF_VIDEOS}
    if options.get("clips_per_video") == "all":
        del options["clips_per_video"]
    count = max(_LINKS, 2 * LEAST_BATCHES * int(options.get("batch_size") or 1))
    folder.mkdir()
    links = [folder / f"{number}.mp4" for number in range(count)]
    for number, link in enumerate(links):
        os.link(paths[number % len(paths)], link)
    return replace(bench, dataset=links, options=options)
