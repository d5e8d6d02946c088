"""Videos without files: the picture of frame n of a fake video is n, everywhere."""

from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from videoloader.errors import DecodeError
from videoloader.ops import media

FILLED = 255


@dataclass
class FakeIndex:
    name: str
    num_frames: int
    time_base: Fraction = Fraction(1, 100)
    average_fps: float = 25.0
    pts: np.ndarray = field(default=None)

    def __post_init__(self):
        if self.pts is None:
            self.pts = 7 + 4 * np.arange(self.num_frames)

    @property
    def boundaries(self):
        return np.append(self.pts, self.pts[-1:] + 4) * float(self.time_base)


class FakeVideos:
    """Stands in for indexing and decoding; `lengths` gives frames by path, `broken` fails."""

    def __init__(self, length=40, height=4, width=6):
        self.length, self.height, self.width = length, height, width
        self.lengths, self.broken, self.indexes = {}, set(), {}
        self.opened, self.open_now, self.indexed = [], 0, []

    def index(self, path):
        self.indexed.append(path)
        known = self.indexes.get(path)
        return known or FakeIndex(str(path), self.lengths.get(path, self.length))

    def open(self, path, device="cpu", index=None, **options):
        self.opened.append(path)
        self.open_now += 1
        return FakeVideo(self, path, index or self.index(path))


class FakeVideo:
    def __init__(self, videos, path, index):
        self.videos, self.path, self.index = videos, path, index
        self.name = str(path)

    def get_frames(self, frames=None, pad_mode="none", fill_value=0, size=None):
        if self.path in self.videos.broken:
            raise DecodeError(f"{self.path}: packet 3 does not decode")
        frames = np.asarray(frames)
        inside = (frames >= 0) & (frames < self.index.num_frames)
        assert inside.all() or pad_mode == "constant"
        values = torch.as_tensor(np.where(inside, frames, fill_value).astype(np.uint8))
        height, width = size or (self.videos.height, self.videos.width)
        pictures = values[:, None, None, None].repeat(1, height, width, 3)
        return SimpleNamespace(frames=pictures)

    def close(self):
        self.videos.open_now -= 1


@pytest.fixture
def videos(monkeypatch):
    fake = FakeVideos()
    monkeypatch.setattr(media, "index_video", fake.index)
    monkeypatch.setattr(media, "open_video", fake.open)
    return fake


@pytest.fixture
def no_threads_left():
    """The threads after the test are those before it."""
    import gc
    import threading

    before = set(threading.enumerate())
    yield
    if set(threading.enumerate()) - before:
        gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)  # those of a dropped pipeline end soon, but nobody waits for them
    left = [thread for thread in threading.enumerate() if thread not in before]
    assert not left, left
