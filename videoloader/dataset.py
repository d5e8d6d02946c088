"""`ClipDataset`: clips of a pile of videos, for `torch.utils.data.DataLoader`."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from videoloader.decoding.output import ColorRange, Matrix, OutputFormat
from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.indexing.dataset import DatasetIndex, Videos, find_items, find_videos
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.source import is_url
from videoloader.limits import MAX_PIXELS, check_max_pixels
from videoloader.sampling import ClipSampler, PadMode, check_pad_mode, generator, sample_frames
from videoloader.video import Layout, Video

__all__ = ["ClipDataset"]

_SAMPLING_STAGE, _TRANSFORM_STAGE = 0, 1
_CACHED_BYTES = 1 << 28  # of indexes that a worker keeps


class ClipDataset(Dataset[dict[str, Any]]):
    """A map-style data set with one sample a video: the clip, or clips, that a sampler takes.

    What a sample holds depends on `seed`, the epoch and its number alone, not on workers, order
    or what was loaded before. Nothing is opened before the first sample is asked for, so the data
    set pickles into workers of any start method; each of them keeps the indexes of videos that
    it has met.

    A sample is a dictionary that the default collate function stacks:

    - `frames`: uint8 tensor (F, C, H, W) in the layout asked for, or (clips, F, C, H, W) from
      samplers of several clips; or whatever `transform` makes of it.
    - `frame_numbers`: int64 tensor, -1 where filled.
    - `times`: float64 tensor, seconds, -1 where filled.
    - `sample`: number of the sample.
    - `label`: int, if `labels` were given.
    - `error`: with `on_error="replace"`, why this sample stands for another, or an empty string.

    Args:
        videos: a folder, the paths or URLs of videos, or a data set index (`open_dataset`).
        sampler: which frames of a video make up its clip.
        transform: called with the frames. torch's random numbers are seeded for each sample, so
            random transforms of torchvision are as reproducible as the sampling.
        seed: of all randomness.
        labels: one integer a video.
        pad_mode: what stands for frames past the end of short videos.
        size: (height, width) to decode to; needed for stacking if the videos differ.
        layout: of the frames, see `Video.get_frames`.
        resolution_change: what to do with frames of another size than the first, see `Video`.
        matrix: from Y'CbCr to RGB, see `Video`.
        color_range: of the samples, see `Video`.
        on_error: `raise` what goes wrong with a video, or `replace` its sample by the next one
            that loads. Errors of a sampler or transform of your own are raised in any case.
        max_pixels: of a picture; videos that claim more fail, see `Video`.
        indexes: made beforehand, by path; others are made as they are needed.

    >>> dataset = ClipDataset("videos/", RandomClip(count=16, stride=4))  # doctest: +SKIP
    >>> loader = DataLoader(dataset, batch_size=8, num_workers=2)  # doctest: +SKIP
    """

    def __init__(
        self,
        videos: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | DatasetIndex,
        sampler: ClipSampler,
        transform: Callable[[torch.Tensor], Any] | None = None,
        seed: int = 0,
        *,
        labels: Sequence[int] | None = None,
        pad_mode: PadMode | str = "edge",
        size: int | tuple[int, int] | None = None,
        layout: Layout = "FCHW",
        resolution_change: Literal["error", "scale"] = "error",
        matrix: Matrix = "auto",
        color_range: ColorRange = "auto",
        on_error: Literal["raise", "replace"] = "raise",
        max_pixels: int = MAX_PIXELS,
        indexes: Mapping[str, VideoIndex] | None = None,
    ) -> None:
        found: Sequence[str | os.PathLike[str]] | Videos
        if isinstance(videos, str) and is_url(videos):
            found = [item.location for item in find_items(videos) if not item.member]
        elif isinstance(videos, str | os.PathLike):
            found = find_videos(videos)
        else:
            found = videos.videos if isinstance(videos, DatasetIndex) else videos
        if labels is not None and len(labels) != len(found):
            raise ArgumentError(f"{len(found)} videos, but {len(labels)} labels")
        check_pad_mode(pad_mode)
        if on_error not in ("raise", "replace"):
            raise ArgumentError(f'on_error must be "raise" or "replace", got {on_error!r}')
        # A data set index is opened by path in each worker; its memory is shared.
        self._videos: Videos | list[str] = (
            found if isinstance(found, Videos) else [os.fspath(path) for path in found]
        )
        self.sampler = sampler
        self.transform = transform
        self.seed = seed
        self.labels = None if labels is None else [int(label) for label in labels]
        self._options: dict[str, Any] = {"pad_mode": pad_mode, "size": size, "layout": layout}
        OutputFormat(matrix=matrix, color_range=color_range)  # checks them before anything is read
        self._opening: dict[str, Any] = {
            "resolution_change": resolution_change,
            "matrix": matrix,
            "color_range": color_range,
            "max_pixels": check_max_pixels(max_pixels),
        }
        self._replaces = on_error == "replace"
        self._given = dict(indexes or {})
        self._made: OrderedDict[str, VideoIndex] = OrderedDict()
        self._made_bytes = 0
        # Shared, so that workers that live for several epochs see the number change.
        self._epoch = torch.zeros((), dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]

    @property
    def epoch(self) -> int:
        """Which pass over the data this is; part of what randomness depends on."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Say which pass over the data begins, for this process and for living workers."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self._videos)

    def __getitem__(self, sample: int) -> dict[str, Any]:
        if not -len(self) <= sample < len(self):
            raise IndexError(f"sample {sample} of a data set of {len(self)}")
        number = int(sample) % len(self)
        return self._replaced(number) if self._replaces else self._sample(number)

    def __getitems__(self, samples: Sequence[int]) -> list[dict[str, Any]]:
        """A batch of samples: what a DataLoader asks for."""
        return [self[sample] for sample in samples]

    def _sample(self, number: int) -> dict[str, Any]:
        with self._open(number) as video:
            result = self._load(video, number)
        result["sample"] = number
        if self.labels is not None:
            result["label"] = self.labels[number]
        return result

    def _open(self, number: int) -> Video:
        if isinstance(self._videos, Videos):
            source, index = self._videos.source(number), self._videos[number]
            return Video(source, index=index, **self._opening)
        path = self._videos[number]
        known = self._given.get(path, self._made.get(path))
        video = Video(path, index=known, **self._opening)
        self._remember(path, video.index)
        return video

    def _replaced(self, number: int) -> dict[str, Any]:
        """The sample, or the next one that loads, with the first thing that went wrong."""
        first: VideoError | None = None
        for step in range(len(self)):
            try:
                result = self._sample((number + step) % len(self))
            except VideoError as error:
                first = first or error
            else:
                result["error"] = "" if first is None else str(first)
                return result
        raise DecodeError(f"none of the {len(self)} videos loads; the first: {first}") from first

    def _load(self, video: Video, number: int) -> dict[str, Any]:
        rng = self._generator(number, _SAMPLING_STAGE)
        chosen = sample_frames(self.sampler, video.index, rng=rng)
        clip = video.get_frames(chosen.reshape(-1), **self._options)
        frames = clip.frames
        if chosen.ndim > 1:
            axis = self._options["layout"].index("F")
            shape = [*frames.shape[:axis], *chosen.shape, *frames.shape[axis + 1 :]]
            frames = frames.reshape(shape).movedim(axis, 0)
        return {
            "frames": self._transformed(frames, number),
            "frame_numbers": torch.from_numpy(clip.indices.reshape(chosen.shape)),
            "times": torch.from_numpy(clip.times.reshape(chosen.shape)),
        }

    def _transformed(self, frames: torch.Tensor, number: int) -> Any:
        if self.transform is None:
            return frames
        rng = self._generator(number, _TRANSFORM_STAGE)
        with torch.random.fork_rng(devices=[]):
            # Not torch.manual_seed: that would reset the random numbers of GPUs as well.
            torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
            return self.transform(frames)

    def _generator(self, number: int, stage: int) -> np.random.Generator:
        return generator(self.seed, stage=stage, sample=number, epoch=self.epoch)

    def _remember(self, path: str, index: VideoIndex) -> None:
        if path in self._made:
            self._made.move_to_end(path)
        elif path not in self._given:
            self._made[path] = index
            self._made_bytes += index.packets.nbytes
            while self._made_bytes > _CACHED_BYTES:
                self._made_bytes -= self._made.popitem(last=False)[1].packets.nbytes

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # Workers make their own; a pickle stays small.
        state["_made"], state["_made_bytes"] = OrderedDict(), 0
        return state
