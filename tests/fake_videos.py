"""Videos without files: the picture of frame n of a fake video is n, everywhere."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import torch

from videoloader.decoding.clip_batch import ClipBatch, ClipFailure
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.errors import DecodeError, VideoError
from videoloader.indexing.packets import Orientation

FILLED = 255


@dataclass
class FakeIndex:
    name: str
    num_frames: int
    time_base: Fraction = Fraction(1, 100)
    average_fps: float = 25.0
    pts: np.ndarray = field(default=None)
    width: int = 6
    height: int = 4
    orientation: Orientation = field(default_factory=Orientation)

    def __post_init__(self):
        if self.pts is None:
            self.pts = 7 + 4 * np.arange(self.num_frames)

    @property
    def boundaries(self):
        return np.append(self.pts, self.pts[-1:] + 4) * float(self.time_base)

    @property
    def duration(self):
        return float(self.boundaries[-1] - self.boundaries[0])

    @property
    def order_in_time(self):
        return None


class Opened(list):
    """Videos that are open, and their paths."""


def path_of(source):
    return getattr(source, "path", source)


class FakeVideos:
    """Stands in for indexing and decoding; `lengths` gives frames by path, `broken` fails."""

    def __init__(self, length=40, height=4, width=6):
        self.length, self.height, self.width = length, height, width
        self.lengths, self.broken, self.indexes = {}, set(), {}
        self.batches, self.opened, self.indexed = [], [], []

    def index(self, item, indexer=None):
        self.indexed.append(item.path)
        return self.made(item.path)

    def made(self, path):
        known = self.indexes.get(path)
        return known or FakeIndex(
            str(path),
            self.lengths.get(path, self.length),
            width=self.width,
            height=self.height,
        )

    def engines(self):
        return {}

    @contextmanager
    def open(self, sources, indexes):
        videos = Opened(map(self._opened, sources, indexes))
        videos.paths = [path_of(source) for source in sources]
        yield videos

    def _opened(self, source, index):
        path = path_of(source)
        self.opened.append(path)
        if path in self.broken:
            return DecodeError(f"{path}: packet 3 does not decode")
        return OpenedVideo(path, None, index or self.made(path))

    def begin(self, requests, videos, output, rules, *, blanks, cache=None):
        assert not rules.is_strict
        assert cache is None
        assert len(blanks) == len(requests)
        self.batches.append(videos.paths)
        clips, failures = [], []
        for number, (request, video) in enumerate(zip(requests, videos, strict=True)):
            if isinstance(request, VideoError):
                failures.append(ClipFailure(number, None, request))
                clips.append(torch.full((1, 1, 1, 3), FILLED, dtype=torch.uint8))
            else:
                clips.append(decoded(request, video.index))
        mean, std = (None if each is None else list(each) for each in (output.mean, output.std))
        clips = [normalised(clip, mean, std).to(getattr(torch, output.dtype)) for clip in clips]
        if output.layout == "FCHW":
            clips = [clip.movedim(-1, -3) for clip in clips]
        if len({clip.shape for clip in clips}) == 1:
            clips = torch.stack(clips)
        each = [np.zeros(0)] * len(requests)
        numbers = np.arange(len(requests))
        batch = ClipBatch(clips, each, each, each, numbers, failures)
        return SimpleNamespace(finish=lambda: batch)


def decoded(request, index):
    frames = np.asarray(request.frames)
    inside = (frames >= 0) & (frames < index.num_frames)
    assert inside.all() or request.pad_mode == "constant"
    values = torch.as_tensor(np.where(inside, frames, request.fill_value).astype(np.uint8))
    crop = request.crop or (0, 0, index.height, index.width)
    height, width = request.window[2:] if request.window else request.size or crop[2:]
    return values[:, None, None, None].repeat(1, height, width, 3)


def normalised(clip, mean, std):
    if mean is None and std is None:
        return clip
    return (clip - torch.tensor(mean or 0.0)) / torch.tensor(std or 1.0)
