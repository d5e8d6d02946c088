"""The videos that `fn.readers.video` reads, or ranges of them: known by place, opened when needed.

A video costs its place, label and range, and one number of clips. Indexes that were made to count
clips are kept as the bytes that they are stored as, up to a limit; those of a data set index are
read from its cache, which all processes share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.clips import Clips
from videoloader.decoding.failures import Failures
from videoloader.decoding.limits import worker_limit
from videoloader.decoding.opening.index_cache import KeptIndexes
from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import FormatError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.threads import in_threads
from videoloader.sampling import ClipSampler, DenseClips, EvenClips
from videoloader.sampling.several_clips import count_clips, count_clips_by_length
from videoloader.sources.items import Item
from videoloader.training.known_bad import KnownBad, kept_numbers, named_videos
from videoloader.training.labels.label_values import VideoLabels
from videoloader.training.sources import IndexedVideos, SampleVideos

_READY_BYTES = 1 << 24  # of packet tables that a reader keeps
KEPT_BYTES = 1 << 26  # of indexes that it keeps besides, as they are stored
_AT_ONCE = 1 << 10  # videos that are handed to threads together


@dataclass(frozen=True, slots=True)
class Scopes:
    """Videos, or ranges of them, in the order in which they were named.

    Args:
        videos: where they are.
        labels: of each, or None.
        weights: how often each is drawn, or None.
        kept: indexes that were made to count clips.
        firsts: for videos that are named again, the number under which `kept` has them.
    """

    videos: SampleVideos
    labels: VideoLabels | None = None
    weights: NDArray[np.float64] | None = None
    kept: KeptIndexes = field(default_factory=lambda: KeptIndexes(_READY_BYTES, KEPT_BYTES))
    firsts: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.videos)

    def item(self, number: int) -> Item:
        """Where a video is."""
        return self.videos.item(number)

    def index(self, number: int) -> Any:
        """The index of a video, if it is known."""
        known = self.videos.index(number)
        return self.kept.get(self.firsts.get(number, number)) if known is None else known

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive) of the range that clips are taken from."""
        return self.videos.scope(number, index)

    def without(self, known: KnownBad, *, wholly: bool) -> Scopes:
        """The videos that are not known to be damaged, see `kept_numbers`."""
        kept = kept_numbers(self.videos, known, wholly=wholly)
        if kept is None:
            return self
        labels = None if self.labels is None else self.labels.take(kept)
        weights = None if self.weights is None else self.weights[kept]
        return Scopes(self.videos.take(kept), labels, weights)

    def clips(
        self,
        sampler: ClipSampler,
        *,
        backwards: bool,
        num_threads: int,
        failures: Failures,
        clips_per_video: int = 1,
        known: KnownBad | None = None,
    ) -> Clips:
        """All clips that a sampler takes.

        Args:
            sampler: only `DenseClips` needs a look at the videos.
            backwards: play clips backwards.
            num_threads: that read the tables of files.
            failures: takes videos that cannot be read and ranges without a frame, which have no
                clip then.
            clips_per_video: how often a sampler of one clip is asked for one of each video.
            known: clips end to end that hold a damaged frame are left out.
        """
        if isinstance(sampler, EvenClips):
            clips_per_video = sampler.clips
        if not isinstance(sampler, DenseClips):
            return Clips(sampler, np.full(len(self), clips_per_video, dtype=np.int64), backwards)
        if self.videos.is_indexed and sampler.fps is None:
            lengths = self.videos.numbers(["num_frames"])["num_frames"]
            counts = count_clips_by_length(sampler, lengths)
        else:
            counts = self._counted(sampler, num_threads, failures)
        clips = Clips(sampler, counts, backwards)
        return clips if not known else replace(clips, left_out=self._damaged(clips, known))

    def _damaged(self, clips: Clips, known: KnownBad) -> NDArray[np.int64]:
        """The numbers of the clips that hold a frame that is known not to decode."""
        found: list[int] = []
        for video, frames in named_videos(self.videos, known):
            count = int(clips.counts[video])
            if not frames or not count:
                continue
            index = self.index(video)
            scope = self.scope(video, index)
            first, rng = clips.first(video), np.random.default_rng(0)
            found += [
                number
                for number in range(first, first + count)
                if not frames.isdisjoint(clips.frames(number, index, scope, rng).tolist())
            ]
        return np.array(found, dtype=np.int64)

    def _counted(
        self, sampler: DenseClips, num_threads: int, failures: Failures
    ) -> NDArray[np.int64]:
        """Clips of each video, which are opened several at a time, each file once."""
        counts = np.zeros(len(self), dtype=np.int64)
        groups = list(_groups(self.videos))

        def count(numbers: Sequence[int]) -> VideoIndex | None:
            item = self.item(numbers[0])
            try:
                known = self.videos.index(numbers[0])
                index = media.index_video(item, indexer) if known is None else known
                if not index.num_frames:
                    raise FormatError(f"{item.name}: there is no frame in it")
            except VideoError as error:
                failures.add(item, error, sample=self.videos.row(numbers[0]))
                return None
            for number in numbers:
                try:
                    start, stop = self.scope(number, index)
                except VideoError as error:  # it has become shorter
                    failures.add(item, error, sample=self.videos.row(number))
                    continue
                counts[number] = count_clips(sampler, index, start=start, stop=stop)
            if not self.videos.is_indexed and isinstance(index, VideoIndex):
                return index
            return None

        with closing(Indexer(memory_limit=worker_limit("auto"))) as indexer:
            for first in range(0, len(groups), _AT_ONCE):
                some = groups[first : first + _AT_ONCE]
                for numbers, index in zip(some, in_threads(count, some, num_threads), strict=True):
                    if index is not None:
                        self.kept.add(numbers[0], index)
                        self.firsts.update(dict.fromkeys(numbers[1:], numbers[0]))
        return counts


def _groups(videos: SampleVideos) -> Iterator[Sequence[int]]:
    """The numbers of each video that is there: several where it is named several times."""
    if isinstance(videos, IndexedVideos):
        yield from ((number,) for number in range(len(videos)))
        return
    numbers: dict[Item, list[int]] = {}
    for number in range(len(videos)):
        numbers.setdefault(videos.item(number), []).append(number)
    yield from numbers.values()
