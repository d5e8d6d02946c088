"""What worker processes are told to decode."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.cpu.decoders import CpuTask, Decoders, Target
from videoloader.decoding.output import OutputFormat, View
from videoloader.indexing.index import VideoIndex
from videoloader.runtime.work import Work
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Fingerprint, Source
from videoloader.workers.program import Worker
from videoloader.workers.shared_memory import MappedSegments, Place

__all__ = ["KNOWN_VIDEOS", "DecodeOrder", "load_libraries", "remember"]

KNOWN_VIDEOS = 64
"""Videos whose index a worker keeps."""


@dataclass(slots=True)
class _Video:
    index: VideoIndex
    source: str | Item | mmap
    whole: Fingerprint | None = None

    def open(self) -> Source:
        source = self.source
        if isinstance(source, Item):
            return source.open() if self.whole is None else source.open(known=self.whole)
        if isinstance(source, str):
            return open_source(source, known=self.whole)
        return open_source(memoryview(source))


@dataclass(slots=True)
class _Kept:
    """From order to order: videos by number, open decoders."""

    videos: OrderedDict[int, _Video] = field(default_factory=OrderedDict)
    decoders: Decoders = field(default_factory=Decoders)


@dataclass(frozen=True, slots=True, eq=False)
class DecodeOrder:
    """Frames of one video into slots of shared memory.

    Attributes:
        video: its number.
        facts: of its index, if it is new to the worker.
        source: what it is opened by; None for one in memory, whose open file comes along.
        segments: new ones, whose open files come along first.
        gone: segments that will not be used again.
        targets: frames, and the place and view of their slots.
        output: form of what slots hold; `rotate` as of `CpuTask`.
        threads: of the codec.
        max_pixels: as of `CpuTask`.
        whole: state in which a source far away was opened, so that the worker need not look again.
    """

    video: int
    facts: dict[str, Any] | None
    source: str | Item | None
    segments: tuple[int, ...]
    gone: tuple[int, ...]
    targets: tuple[tuple[NDArray[np.int64], Place, View], ...]
    output: OutputFormat
    rotate: bool
    threads: int
    max_pixels: int | None
    whole: Fingerprint | None = None

    def accept(self, worker: Worker, files: list[int]) -> None:
        """Map what is new, and forget what is gone."""
        kept = worker.kept(_Kept)
        worker.kept(MappedSegments).exchange(self.gone, self.segments, files)
        video = kept.videos.get(self.video)
        if self.facts is not None:
            source: str | Item | mmap | None = self.source
            if source is None:
                source = mmap(files[-1], 0)
                os.close(files[-1])
            video = _Video(VideoIndex(**self.facts), source)
        assert video is not None, "both ends forget the same videos"
        if video.whole != self.whole:  # what is open is of another state
            kept.decoders.forget(self.video)
            video.whole = self.whole
        remember(kept.videos, self.video, video)

    def perform(self, worker: Worker) -> Work:
        """Decode; what it took."""
        kept = worker.kept(_Kept)
        video = kept.videos[self.video]
        segments = worker.kept(MappedSegments)
        targets = tuple(
            Target(frames, segments.array(place), view) for frames, place, view in self.targets
        )
        task = CpuTask(
            "",
            video.index,
            targets,
            self.output,
            self.rotate,
            self.threads,
            self.max_pixels,
        )
        return kept.decoders.run(task, key=self.video, open_video=video.open)


def remember(known: OrderedDict[int, Any], video: int, what: Any) -> None:
    """Note what was used last. Both ends forget the same videos, since they see the same orders."""
    known[video] = what
    known.move_to_end(video)
    if len(known) > KNOWN_VIDEOS:
        known.popitem(last=False)


def load_libraries() -> None:
    """Load what tasks need, and bound its threads."""
    import av.filter
    import av.video.reformatter  # noqa: F401
    import cv2

    from videoloader.audio.request import SoundRequest  # noqa: F401
    from videoloader.decoding.images.jpeg import codec

    cv2.setNumThreads(1)
    codec()
