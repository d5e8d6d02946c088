"""How many packets a clip takes before and after transcoding, from indexes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.sampling import ClipSampler, generator, pad_frames, plan_decode, sample_frames
from videoloader.sources.items import Item

_VIDEOS = 32  # that are looked at
_CLIPS = 8  # drawn from each


class Gain(NamedTuple):
    """Packets to decode for a clip on average, each clip by itself.

    Attributes:
        videos: that were looked at.
        before: of the sources.
        predicted: of files with keyframes every `gop` frames, without frames that nothing refers
            to; None without a `gop`.
        after: of the files that were written; None before that.
    """

    videos: int
    before: float
    predicted: float | None
    after: float | None = None

    def __str__(self) -> str:
        parts = [f"packets a clip, mean of {self.videos} videos: {self.before:.1f} before"]
        if self.predicted is not None:
            parts.append(f"{self.predicted:.1f} predicted if no packet is left out")
        if self.after is not None:
            times = self.before / max(self.after, 1e-9)
            change = f"{times:.1f} times fewer" if times > 1 else "no gain"
            parts.append(f"{self.after:.1f} after ({change})")
        return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class _Groups:
    """A video with a keyframe every so many frames and no reordering, as planning sees it."""

    num_frames: int
    gop: int
    disposable: None = None

    @cached_property
    def frame_packets(self) -> NDArray[np.int64]:
        return np.arange(self.num_frames)

    @cached_property
    def seek_packets(self) -> NDArray[np.int64]:
        return self.frame_packets // self.gop * self.gop

    @property
    def end_packets(self) -> NDArray[np.int64]:
        return self.frame_packets


class GainWatch:
    """Counts the packets of clips for some videos of a job, evenly chosen.

    Args:
        sampler: of the clips.
        items: the videos of the job; some are indexed, with headers.
        gop: frames from one keyframe to the next in the files that will be written, if known.
    """

    def __init__(self, sampler: ClipSampler, items: Sequence[Item], gop: int | None) -> None:
        self._sampler, self._gop = sampler, gop
        self._before: dict[int, VideoIndex] = {}
        self._after: dict[int, VideoIndex] = {}
        step = max(len(items) / _VIDEOS, 1)
        for number in sorted({int(place * step) for place in range(min(len(items), _VIDEOS))}):
            with suppress(VideoError), items[number].open() as source:  # the job will report it
                index = index_video(source, headers=True)
                if index.num_frames:
                    self._before[number] = index

    @property
    def videos(self) -> list[VideoIndex]:
        """The videos that are looked at."""
        return [*self._before.values()]

    @property
    def predicted(self) -> Gain | None:
        """Facts known before the job; None if no video can be read."""
        return self._gain([*self._before]) if self._before else None

    def packets_at(self, gop: int) -> float:
        """Packets of a clip with a keyframe every `gop` frames; 0 if no video can be read."""
        groups = {n: _Groups(index.num_frames, gop) for n, index in self._before.items()}
        return self._mean(groups)

    def note(self, number: int, path: str) -> None:
        """Index a file that was written."""
        if number in self._before:
            self._after[number] = index_video(path, headers=True)

    def result(self) -> Gain | None:
        """The gain of the files that were written; the prediction if there are none."""
        if not self._after:
            return self.predicted
        return self._gain([*self._after])._replace(after=self._mean(self._after))

    def _gain(self, numbers: list[int]) -> Gain:
        predicted = None
        if self._gop is not None:
            predicted = self._mean(
                {number: _Groups(self._before[number].num_frames, self._gop) for number in numbers}
            )
        before = self._mean({number: self._before[number] for number in numbers})
        return Gain(len(numbers), before, predicted)

    def _mean(self, tables: Mapping[int, VideoIndex | _Groups]) -> float:
        """Packets of a clip; frames are drawn by the sources, the same in every call."""
        packets = clips = 0
        for number, table in tables.items():
            index = self._before[number]
            for draw in range(_CLIPS):
                rng = generator(draw, sample=number)
                for frames in np.atleast_2d(sample_frames(self._sampler, index, rng=rng)):
                    inside, _ = pad_frames(frames, index.num_frames, "edge")
                    packets += plan_decode(table, inside).num_packets
                    clips += 1
        return packets / max(clips, 1)
