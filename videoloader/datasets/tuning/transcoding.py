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
from videoloader.datasets.tuning.trials import LEAST_BATCHES, Bench
from videoloader.decoding.output import normalize_size
from videoloader.errors import VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import ClipSampler, generator, pad_frames, sample_frames
from videoloader.sampling.sampler import Frames, SampledVideo
from videoloader.sources.items import Item
from videoloader.writing.cut import cut
from videoloader.writing.gain import GainWatch

GOP = 16
"""Frames from one keyframe to the next in the pieces."""

_SPARE = 2  # groups of a piece beside those that hold a clip
_LONGEST = 240  # frames of a piece
_ENCODED = 3e7  # pixels that a processor encodes in a second, about
_LINKS = 64  # names of the pieces, so that they are opened as often as different files
_ENLARGED = 8 / 7  # size of the files over the size of the clips, for random crops
_SMALLER = 1.5  # size of the videos over the size that training needs; below, none is tried
_OF_VIDEOS = {"labels", "classes", "weights", "balanced", "columns", "skip_known", "cache"}
_OF_VIDEOS |= {"cache_size", "rank", "num_ranks", "remainder", "together"}


@dataclass(frozen=True)
class Encoded:
    """Clips of pieces that were encoded with short groups of pictures.

    Attributes:
        shorter: length of the shorter side, None for that of the videos.
        bench: runs a loader of these pieces.
        share: the packets that are decoded beside those of the wanted frames, over those that are
            planned; decoding leaves out packets that no wanted frame refers to.
        growth: size of the files over their size before.
    """

    shorter: int | None
    bench: Bench
    share: float
    growth: float

    def packets(self, planned: float, used: float) -> float:
        """Packets that are decoded for a clip of `used` frames, if `planned` are planned."""
        return used + self.share * max(planned - used, 0.0)


@dataclass(frozen=True, eq=False)
class PieceClips:
    """Clips of pieces that take the packets of clips of whole videos.

    A sampler: draws a clip of one of the videos, then puts the groups of pictures that hold its
    frames one behind the other, somewhere in the piece. So there are as many runs of packets, each
    as long as in the whole video, unless a clip has frames in more groups than the piece has.

    Attributes:
        clips: of whole videos.
        videos: the whole videos; each is drawn from as often.
    """

    clips: ClipSampler
    videos: Sequence[SampledVideo]

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,  # noqa: ARG002  (that of the piece)
        rng: np.random.Generator | None = None,
    ) -> Frames:
        """Frame numbers in a piece, see `ClipSampler`."""
        rng = generator(0) if rng is None else rng
        index = self.videos[int(rng.integers(len(self.videos)))]
        frames, _ = pad_frames(sample_frames(self.clips, index, rng=rng), index.num_frames, "edge")
        groups = np.unique(frames // GOP)
        first = rng.integers(max(num_frames // GOP - len(groups), 0) + 1)
        places = (first + np.searchsorted(groups, frames // GOP)) % -(-num_frames // GOP)
        return (places * GOP + frames % GOP).clip(max=num_frames - 1)

    @property
    def length(self) -> int:
        """Frames of a piece that has room for a clip, within limits."""
        clips = (sample_frames(self.clips, index, rng=generator(0)) for index in self.videos)
        groups = max(len(np.unique(frames // GOP)) for frames in clips)
        return min((groups + _SPARE) * GOP, _LONGEST)


def encode_pieces(
    bench: Bench, items: Sequence[Item], videos: Sequence[VideoIndex]
) -> Iterator[Encoded]:
    """Encode pieces of videos in a temporary folder, for loaders of them.

    At the size of the videos, then as small as training needs, where that is much smaller. Nothing
    where no piece can be cut or encoded.

    Args:
        bench: runs the loaders.
        items: videos to cut pieces out of.
        videos: whose clips are taken.
    """
    clips = PieceClips(bench.clips, videos)
    with tempfile.TemporaryDirectory(prefix="videoloader-tune-") as name:
        folder = Path(name)
        cuts, sides = _pieces(bench, items, clips.length, folder)
        if not cuts:
            return
        # A dictionary, since both are None where the videos are small already.
        for shorter in dict.fromkeys((None, _smaller(bench.options, int(np.median(sides))))):
            encoded = _encoded(replace(bench, clips=clips), cuts, shorter, folder / f"{shorter}")
            if encoded is not None:
                yield encoded


def _encoded(bench: Bench, cuts: list[Path], shorter: int | None, out: Path) -> Encoded | None:
    """Pieces encoded with a shorter side, None for theirs."""
    workers = 0 if bench.options.get("workers") == 0 else None
    made = transcode(cuts, out, gop=GOP, resize_shorter=shorter, audio=False, workers=workers)
    paths = sorted(out.glob("*.mp4"))
    if not paths:
        return None
    linked = _bench(bench, paths, out / "links")
    trial = linked.run()  # so that the files are indexed, as those of the loader as given are
    watch = GainWatch(linked.clips, [Item(str(path)) for path in linked.dataset], None)
    used, planned = watch.packets_at(1), watch.packets_at(GOP)
    packets = trial.each("packets") / max(trial.each("used"), 1.0) * used  # of one clip by itself
    share = (packets - used) / max(planned - used, 1.0)
    growth = made.bytes_after / max(made.bytes_before, 1)
    return Encoded(shorter, linked, min(max(share, 0.0), 1.0), growth)


def _pieces(
    bench: Bench, items: Sequence[Item], most: int, folder: Path
) -> tuple[list[Path], list[int]]:
    """Files with pieces of up to `most` frames, as they are coded, and the shorter side of each."""
    paths: list[Path] = []
    sides: list[int] = []
    room = _ENCODED * usable_processors() * bench.seconds
    for number, item in enumerate(items):
        with suppress(VideoError):
            with item.open() as source:
                index = index_video(source)
            length = min(most, index.num_frames)
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
