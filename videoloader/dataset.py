"""`ClipDataset`: clips of a pile of videos, for `torch.utils.data.DataLoader`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, get_worker_info

from videoloader.decoding.limits import MAX_PIXELS, check_max_pixels
from videoloader.decoding.output import ColorRange, Layout, Matrix, OutputFormat
from videoloader.epoch_sampler import Draw
from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.readers.clip_sources import ClipSources, find_labels, find_sources
from videoloader.sampling import ClipSampler, PadMode, check_pad_mode, generator, sample_frames
from videoloader.video import Video

__all__ = ["ClipDataset"]

_SAMPLING_STAGE, _TRANSFORM_STAGE = 0, 1
_UNSET = -1  # epoch before `set_epoch` was called

Key: TypeAlias = "int | Draw | tuple[int, int, int]"


class ClipDataset(Dataset[dict[str, Any]]):
    """A map-style data set with one sample a video: the clip, or clips, that a sampler takes.

    Nothing is opened before the first sample is asked for, so the data set pickles into workers of
    any start method. Each worker keeps the indexes of the videos that it met last, in few bytes.

    What a random sampler and transform draw depends on how a sample is asked for:

    - By a `Draw`, as `EpochSampler` gives them: on `seed`, number, epoch and draw alone. Runs are
      the same whatever the workers, ranks and interruptions.
    - By its number, as torch's samplers do: other clips in each epoch and in each draw. The draws
      of a number are counted in each worker, whose random numbers begin with the seed that its
      loader gave it. So `torch.manual_seed` repeats a run with as many workers. In the main
      process draws are counted from its beginning.
    - By its number after `set_epoch`: on `seed`, number and epoch alone. All passes of an epoch
      are the same, as validation needs it, and so are all draws of a number in it.

    A sample is a dictionary that the default collate function stacks:

    - `frames`: uint8 tensor (F, C, H, W) in the layout asked for, or (clips, F, C, H, W) from
      samplers of several clips; or whatever `transform` makes of it.
    - `frame_numbers`: int64 tensor, -1 where filled.
    - `times`: float64 tensor, seconds, -1 where filled.
    - `mask`: bool tensor, False where filled.
    - `sample`: the video that the clip is of: its row in the data set index, counting failures,
      or its place in the list of videos.
    - `label`: int, if there are labels.
    - `error`: with `on_error="replace"`, why this sample stands for another, or an empty string.
    - `requested`: with `on_error="replace"`, what `sample` would be had it not failed.

    Args:
        videos: what `index_dataset` takes (a folder, glob, text list, archive, video, URL, or a
            sequence of them, which may have repetitions), items of a data set, or a data set
            index or its path (`.parquet`), of which all videos that could be read are taken.
        sampler: which frames of a video make up its clip.
        transform: called with the frames. torch's random numbers are seeded for each sample, so
            random transforms of torchvision are as reproducible as the sampling.
        seed: of all randomness.
        labels: one integer a video, or one a row of the data set index, failures included; or a
            mapping from keys (`DatasetIndex.keys`; else paths). By default, if the videos of one
            folder are all in folders in it, the number of that folder in `classes`.
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

    Attributes:
        classes: names of the folders that labels are taken from, sorted; or an empty list.

    >>> dataset = ClipDataset("videos/", RandomClip(count=16, stride=4))  # doctest: +SKIP
    >>> sampler = EpochSampler(dataset, seed=0)  # doctest: +SKIP
    >>> loader = DataLoader(dataset, 8, sampler=sampler, num_workers=2)  # doctest: +SKIP
    """

    def __init__(
        self,
        videos: ClipSources,
        sampler: ClipSampler,
        transform: Callable[[torch.Tensor], Any] | None = None,
        seed: int = 0,
        *,
        labels: Sequence[int] | Mapping[str, int] | None = None,
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
        check_pad_mode(pad_mode)
        if on_error not in ("raise", "replace"):
            raise ArgumentError(f'on_error must be "raise" or "replace", got {on_error!r}')
        self._videos = find_sources(videos, indexes or {})
        self.labels, self.classes = find_labels(videos, self._videos, labels)
        self.sampler = sampler
        self.transform = transform
        self.seed = seed
        self._options: dict[str, Any] = {"pad_mode": pad_mode, "size": size, "layout": layout}
        OutputFormat(matrix=matrix, color_range=color_range)  # checks them before anything is read
        self._opening: dict[str, Any] = {
            "resolution_change": resolution_change,
            "matrix": matrix,
            "color_range": color_range,
            "max_pixels": check_max_pixels(max_pixels),
        }
        self._replaces = on_error == "replace"
        self._draws: NDArray[np.int32] | None = None  # of each number, by this process
        self._stream = 0  # whose draws they are
        self._warned = False
        # Shared, so that workers that live for several epochs see the number change.
        self._epoch = torch.full((), _UNSET, dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]

    @property
    def epoch(self) -> int | None:
        """What `set_epoch` was called with last."""
        epoch = int(self._epoch)
        return None if epoch == _UNSET else epoch

    def set_epoch(self, epoch: int | None) -> None:
        """Fix the epoch of samples that are asked for by number, also in living workers.

        Args:
            epoch: the pass over the data that begins; None for other clips whenever one is drawn,
                as if this had never been called.
        """
        if epoch is not None and epoch < 0:
            raise ArgumentError(f"epochs are counted from 0, got {epoch}")
        self._epoch.fill_(_UNSET if epoch is None else epoch)

    def __len__(self) -> int:
        return len(self._videos)

    def __getitem__(self, key: Key) -> dict[str, Any]:
        draw = self._draw(key)
        return self._replaced(draw) if self._replaces else self._sample(draw)

    def __getitems__(self, keys: Sequence[Key]) -> list[dict[str, Any]]:
        """A batch of samples: what a DataLoader asks for."""
        if self.epoch is not None and not self._warned:
            self._warn_of_repeats(keys)
        return [self[key] for key in keys]

    def _warn_of_repeats(self, keys: Sequence[Key]) -> None:
        """Say that a sampler draws numbers several times, which `set_epoch` makes one clip."""
        plain = [int(key) for key in keys if not isinstance(key, tuple)]
        if len(set(plain)) == len(plain):
            return
        self._warned = True
        warnings.warn(
            f"a batch of epoch {self.epoch} has a sample several times, and all are one clip, "
            "since set_epoch was called; wrap the sampler in videoloader.EpochSampler, which "
            "tells draws apart",
            stacklevel=3,
        )

    def _draw(self, key: Key) -> Draw:
        """Which draw of which sample is asked for, its number not negative."""
        number, *told = key if isinstance(key, tuple) else (int(key),)
        if not -len(self) <= number < len(self):
            raise IndexError(f"sample {number} of a data set of {len(self)}")
        number %= len(self)
        if told:
            return Draw(number, *told)
        epoch = self.epoch
        return Draw(number, *self._counted(number)) if epoch is None else Draw(number, epoch)

    def _counted(self, number: int) -> tuple[int, int]:
        """What stands for the epoch of a number that is drawn, and how often it was before."""
        worker = get_worker_info()
        stream = 0 if worker is None else worker.seed
        if self._draws is None or self._stream != stream:
            self._draws, self._stream = np.zeros(len(self), dtype=np.int32), stream
        self._draws[number] += 1
        return stream, int(self._draws[number]) - 1

    def _sample(self, draw: Draw) -> dict[str, Any]:
        with self._videos.open(draw.sample, **self._opening) as video:
            result = self._load(video, draw)
        result["sample"] = self._videos.row(draw.sample)
        if self.labels is not None:
            result["label"] = self.labels[draw.sample]
        return result

    def _replaced(self, draw: Draw) -> dict[str, Any]:
        """The sample, or the next one that loads, with the first thing that went wrong."""
        first: VideoError | None = None
        for step in range(len(self)):
            try:
                result = self._sample(draw._replace(sample=(draw.sample + step) % len(self)))
            except VideoError as error:
                first = first or error
            else:
                result["error"] = "" if first is None else str(first)
                result["requested"] = self._videos.row(draw.sample)
                return result
        raise DecodeError(f"none of the {len(self)} videos loads; the first: {first}") from first

    def _load(self, video: Video, draw: Draw) -> dict[str, Any]:
        rng = self._generator(draw, _SAMPLING_STAGE)
        chosen = sample_frames(self.sampler, video.index, rng=rng)
        clip = video.get_frames(chosen.reshape(-1), **self._options)
        frames = clip.frames
        if chosen.ndim > 1:
            axis = self._options["layout"].index("F")
            shape = [*frames.shape[:axis], *chosen.shape, *frames.shape[axis + 1 :]]
            frames = frames.reshape(shape).movedim(axis, 0)
        return {
            "frames": self._transformed(frames, draw),
            "frame_numbers": torch.from_numpy(clip.indices.reshape(chosen.shape)),
            "times": torch.from_numpy(clip.times.reshape(chosen.shape)),
            "mask": torch.from_numpy(clip.mask.reshape(chosen.shape)),
        }

    def _transformed(self, frames: torch.Tensor, draw: Draw) -> Any:
        if self.transform is None:
            return frames
        rng = self._generator(draw, _TRANSFORM_STAGE)
        with torch.random.fork_rng(devices=[]):
            # Not torch.manual_seed: that would reset the random numbers of GPUs as well.
            torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
            return self.transform(frames)

    def _generator(self, draw: Draw, stage: int) -> np.random.Generator:
        number, epoch, drawn = draw
        return generator(self.seed, stage=stage, sample=number, epoch=epoch, draw=drawn)

    def __getstate__(self) -> dict[str, Any]:
        # Workers count draws for themselves; a pickle stays small.
        return self.__dict__ | {"_draws": None}
