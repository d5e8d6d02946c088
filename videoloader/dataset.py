"""`ClipDataset`: clips of a pile of videos, for `torch.utils.data.DataLoader`."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, default_collate, get_worker_info

from videoloader.decoding.batch import BatchDecoder
from videoloader.decoding.clip import Clip
from videoloader.decoding.failures import FailurePolicy, Failures, SampleFailure
from videoloader.decoding.framing import Framing
from videoloader.decoding.limits import (
    MAX_PIXELS,
    TIME_LIMIT,
    MemoryLimit,
    check_time_limit,
    worker_limit,
)
from videoloader.decoding.opening.index_cache import IndexCache
from videoloader.decoding.opening.indexer import Indexer
from videoloader.decoding.output import (
    ColorRange,
    ElementType,
    Interpolation,
    Layout,
    Matrix,
    Output,
    OutputFormat,
)
from videoloader.decoding.rules import OnError, Rules
from videoloader.epoch_sampler import Draw
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.readers.clip_samples.decoding import SampleDecoder
from videoloader.readers.clip_samples.draws import check_clips
from videoloader.readers.clip_samples.global_random import seeded
from videoloader.readers.clip_samples.labels import Labels
from videoloader.readers.clip_samples.requests import SampleRequests
from videoloader.readers.clip_samples.samples import of_views, views
from videoloader.readers.clip_samples.sources import ClipSources, find_labels, find_sources
from videoloader.readers.known_bad import SkipKnown, kept_videos
from videoloader.readers.shared_records import SharedRecords, shared
from videoloader.runtime.run_stats import RunStats
from videoloader.runtime.worker_stats import WorkerStats
from videoloader.sampling import ClipSampler, PadMode, Snap, check_pad_mode
from videoloader.sampling.states import whole_number

__all__ = ["ClipDataset", "collate_samples"]

_UNSET = -1  # epoch before `set_epoch` was called
_READY_BYTES = 1 << 22  # of packet tables that one process keeps
_KEPT_BYTES = 1 << 26  # of indexes that it keeps besides, as they are stored

Key: TypeAlias = "int | Draw | tuple[int, int, int]"


def collate_samples(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A batch of samples of a `ClipDataset`, as `Loader` gives it: for `DataLoader(collate_fn=)`.

    What has one shape in all samples is stacked as by torch's default; tensors of several shapes
    become a list: of `frames` (clips, F, C, H, W), `frame_numbers`, `times` and `mask` (clips, F)
    where videos have different numbers of clips.

    >>> batch = collate_samples([{"frames": torch.zeros(n, 4), "sample": n} for n in (2, 3)])
    >>> [tuple(clips.shape) for clips in batch["frames"]], batch["sample"]
    ([(2, 4), (3, 4)], tensor([2, 3]))
    """
    batch = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        shapes = {each.shape if isinstance(each, torch.Tensor) else None for each in values}
        batch[name] = values if len(shapes) > 1 else default_collate(values)
    return batch


class ClipDataset(Dataset[dict[str, Any]]):
    """A map-style data set with one sample a video: the clip, or clips, that a sampler takes.

    Nothing is opened before the first sample is asked for, so the data set pickles into workers of
    any start method. Each worker keeps the indexes of the videos that it met last, in few bytes.
    The samples of a batch are decoded together, in the worker: what several of them want of one
    video is decoded once. Cropping, resizing, mirroring and normalising are part of decoding.

    One thread at a time asks for samples, since transforms use the global random numbers; workers
    of a `DataLoader` have a copy each. Other threads may call `set_epoch`, `failures` and `stats`.

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

    - `frames`: tensor (F, C, H, W) of the element type and layout asked for, or
      (clips, F, C, H, W) from samplers of several clips; or whatever `transform` makes of it.
      Where videos have different numbers of clips, as with `DenseClips`, or sizes, give the
      `DataLoader` `collate_fn=videoloader.collate_samples`.
    - `frame_numbers`: int64 tensor, -1 where filled.
    - `times`: float64 tensor, seconds, -1 where filled.
    - `mask`: bool tensor, True where the frame that the sampler asked for stands, False where
      another one or the fill value stands for it.
    - `sample`: the video that the clip is of: its row in the data set index, counting failures,
      or its place in the list of videos.
    - `labels`: if there are any: an int, or a float32 tensor () of floats, (K,) of vectors. `label`
      is an older name of the same.
    - `error`: unless `on_error` is "raise", what went wrong with the sample that was asked for, or
      an empty string.
    - `requested`: with it, what `sample` would be had it not been replaced.

    Args:
        videos: what `index_dataset` takes (a folder, glob, text list, archive, video, URL, or a
            sequence of them, which may have repetitions), items of a data set, or a data set
            index or its path (`.parquet`), of which all videos that could be read are taken.
        sampler: which frames of a video make up its clip.
        transform: called with the frames. The global random numbers of torch (CPU), NumPy,
            Python and `fn` are seeded for each sample, and put back, so random transforms are as
            reproducible as the sampling.
        seed: of all randomness.
        sample_transform: called with the whole sample, after `transform`, under the same random
            numbers; what it returns stands for the sample.
        labels: one a video, or one a row of the data set index, failures included; or a mapping
            from keys (`DatasetIndex.keys`; else paths), a function of keys, or a `LabelColumn` of a
            table. All are integers; floats, or floats and integers, which become float32; vectors
            of numbers of one shape; or texts, which are classes. By default, if the videos of one
            folder are all in folders in it, these are the classes.
        classes: names of the classes in the order of their numbers, such as the `classes` of
            another data set; by default those that there are, in alphabetical order. A video of
            another class is an error.
        pad_mode: what stands for frames past the end of short videos: their last frame by default
            (`edge`), with `mask` False; `none` makes them an error of the sample.
        fill_value: of frames filled with `constant`.
        size: (height, width), or one number for both, to decode to: pictures of another aspect
            ratio are stretched. Needed for stacking if the videos differ, or `resize_shorter` and
            `crop`.
        resize_shorter: length of the shorter side instead, which keeps the aspect ratio.
        crop: (height, width), or one number for both, of the centre that is kept after resizing.
        crops: that many parts of this size instead, spread evenly along the longer side: 3 for the
            ends and the centre, as tests average over. A sample has them as further clips: (clips *
            crops, F, C, H, W), the crops of one clip after another; or (crops, F, C, H, W).
        random_resized_crop: (areas, ratios) of a random part that becomes `size`, see `Framing`.
        flip: probability of mirroring left and right.
        dtype: element type, see `OutputFormat`.
        layout: of the frames, see `Video.get_frames`.
        mean: subtracted, on the scale from 0 to 255; float types only.
        std: divided by after that.
        interpolation: filter of resizing, see `OutputFormat`.
        resolution_change: what to do with frames of another size than the first, see `Video`.
        matrix: from Y'CbCr to RGB, see `Video`.
        color_range: of the samples, see `Video`.
        output: `rgb`, `gray` or `yuv`, see `OutputFormat`; the planes of `yuv` lie in one row.
        snap: `keyframe` gives, in place of each frame, the last keyframe at or before it.
        on_error: `raise` what goes wrong with a video; `replace` its sample by the next one that
            loads; `mask` the frames concerned; `skip` the sample, so that the batch of a
            DataLoader is smaller: it has one sample at least, the next one that loads. Errors of a
            sampler or transform of your own are raised in any case. See docs/failures.md, also for
            the next four.
        max_errors: failures, in all workers together, from which on `TooManyFailuresError` is
            raised: a number, or a share of the samples.
        error_log: a file to which each failure is appended as a line of JSON, by all workers.
        skip_known: what `videoloader check` wrote, or an `error_log`: videos that it names are left
            out, and not opened.
        decode: `local`, in the process that asks for a sample; or `worker`, in a process that it
            starts and supervises: a codec that crashes or hangs then costs a sample and no more.
        time_limit: seconds that such a process may take, see `BatchDecoder`.
        memory_limit: bytes that it may allocate, see `BatchDecoder`.
        max_pixels: of a picture; videos that claim more fail, see `Video`.
        indexes: made beforehand, by path; others are made as they are needed.
        clips_per_video: samples of each video, each drawn by itself: with n videos, samples k,
            n + k, 2 n + k, ... are of video k.

    Attributes:
        classes: names of the classes by number, where labels are texts or folders; or an empty
            list.

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
        sample_transform: Callable[[dict[str, Any]], Any] | None = None,
        labels: Labels | None = None,
        classes: Sequence[str] | None = None,
        pad_mode: PadMode | str = "edge",
        fill_value: int | Sequence[int] = 0,
        size: int | Sequence[int] | None = None,
        resize_shorter: int | None = None,
        crop: int | Sequence[int] | None = None,
        crops: int = 1,
        random_resized_crop: tuple[tuple[float, float], tuple[float, float]] | None = None,
        flip: float = 0.0,
        dtype: ElementType = "uint8",
        layout: Layout = "FCHW",
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        interpolation: Interpolation = "triangular",
        resolution_change: Literal["error", "scale"] = "error",
        matrix: Matrix = "auto",
        color_range: ColorRange = "auto",
        output: Output = "rgb",
        snap: Snap = "none",
        on_error: OnError = "raise",
        max_errors: int | float | None = None,
        error_log: str | os.PathLike[str] | None = None,
        skip_known: SkipKnown | None = None,
        decode: Literal["local", "worker"] = "local",
        time_limit: float = TIME_LIMIT,
        memory_limit: MemoryLimit = "auto",
        max_pixels: int = MAX_PIXELS,
        indexes: Mapping[str, VideoIndex] | None = None,
        clips_per_video: int = 1,
    ) -> None:
        if decode not in ("local", "worker"):
            raise ArgumentError(f'decode must be "local" or "worker", got {decode!r}')
        policy = FailurePolicy(on_error, max_errors, error_log)
        # All arguments are checked before anything is read.
        framing = Framing(size, resize_shorter, crop, random_resized_crop, flip, crops=crops)
        self._output = OutputFormat(
            *(dtype, layout, mean, std, interpolation),
            matrix=matrix,
            color_range=color_range,
            output=output,
        )
        rules = Rules(resolution_change=resolution_change, max_pixels=max_pixels)
        check_pad_mode(pad_mode)
        self._limits: dict[str, Any] | None = None
        if decode == "worker":
            self._limits = {
                "time_limit": check_time_limit(time_limit),
                "memory_limit": worker_limit(memory_limit),
            }
        every = find_sources(videos, indexes or {})
        of_every = find_labels(videos, every, labels, classes)
        self.classes = [] if of_every is None else of_every.classes
        self._videos, self._labels, _ = kept_videos(every, skip_known, labels=of_every)
        self._size = len(self._videos) * check_clips(clips_per_video, sampler)
        self._requests = SampleRequests(
            self._videos, sampler, framing, seed, pad_mode, fill_value, snap=snap
        )
        self._records = SharedRecords()
        self._stats = WorkerStats(shared(torch.zeros(WorkerStats.SHAPE, dtype=torch.float64)))
        failures = Failures(policy, self._records)
        self._sampled = SampleDecoder(
            self._requests, self._output, rules, failures, is_never_empty=True
        )
        self.transform = transform
        self.sample_transform = sample_transform
        self._batches: BatchDecoder | None = None
        self._draws: NDArray[np.int32] | None = None  # of each number, by this process
        self._stream = 0  # whose draws they are
        self._warned = False
        # Shared, so that workers that live for several epochs see the number change.
        self._epoch = shared(torch.full((), _UNSET, dtype=torch.int64))

    @property
    def sampler(self) -> ClipSampler:
        """Which frames of a video make up its clip."""
        return self._requests.sampler

    @property
    def labels(self) -> list[Any] | None:
        """The label of each video, a number or a list of numbers; None if there are none."""
        return None if self._labels is None else self._labels.values.tolist()

    @property
    def seed(self) -> int:
        """Of all randomness."""
        return self._requests.seed

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
        self._epoch.fill_(_UNSET if epoch is None else whole_number("epoch", epoch))

    def __len__(self) -> int:
        return self._size

    @property
    def failures(self) -> list[SampleFailure]:
        """What went wrong so far, in this process and all workers; the first 10,000 failures."""
        return list(self._sampled.failures)

    def stats(self) -> RunStats:
        """What was done so far, in this process and all workers together, see docs/stats.md.

        Workers do not know whether the loop waits for them: `waited` is 0.
        """
        return replace(self._stats.read(), errors=self._sampled.failures.count)

    def __iter__(self) -> Iterator[Any]:
        # Without this a FrameRangeError, which is an IndexError, would end a loop in silence.
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, key: Key) -> Any:
        return self._samples([key])[0]

    def __getitems__(self, keys: Sequence[Key]) -> list[Any]:
        """A batch of samples: what a DataLoader asks for."""
        if self.epoch is not None and not self._warned:
            self._warn_of_repeats(keys)
        return self._samples(keys)

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

    def _samples(self, keys: Sequence[Key]) -> list[Any]:
        """The samples of some keys, decoded together."""
        asked = [self._draw(key) for key in keys]
        in_epochs = self.epoch is not None or any(isinstance(key, tuple) for key in keys)
        begin, failed = time.perf_counter(), self._records.own
        batch = self._sampled.decode(self._decoder(), asked, in_epochs=in_epochs)
        worker = get_worker_info()
        self._stats.add(
            None if worker is None else worker.id,
            len(batch.places),
            batch.clips.work,
            time.perf_counter() - begin,
            self._records.own - failed,
        )
        return [
            self._sample(clip, shape, Draw(*key), asked[place], error)
            for clip, shape, key, place, error in zip(
                batch.clips.clips, batch.shapes, batch.keys, batch.places, batch.errors, strict=True
            )
        ]

    def _sample(
        self, clip: Clip, shape: tuple[int, ...], draw: Draw, asked: Draw, error: str
    ) -> Any:
        framing = self._requests.framing
        frames = views(clip.frames, self._output.layout, shape, framing)
        sample: dict[str, Any] = {
            "frames": frames,
            "frame_numbers": torch.from_numpy(of_views(clip.indices, shape, framing)),
            "times": torch.from_numpy(of_views(clip.times, shape, framing)),
            "mask": torch.from_numpy(of_views(clip.mask, shape, framing)),
            "sample": self._row(draw),
        }
        if self._labels is not None:
            label = self._labels.of(self._requests.video(draw.sample))
            sample["labels"] = sample["label"] = label
        if self._sampled.failures.policy.on_error != "raise":
            sample["error"], sample["requested"] = error, self._row(asked)
        if self.transform is None and self.sample_transform is None:
            return sample
        with seeded(self._requests.transform_rng(*draw)):
            if self.transform is not None:
                sample["frames"] = self.transform(frames)
            return sample if self.sample_transform is None else self.sample_transform(sample)

    def _row(self, draw: Draw) -> int:
        return self._videos.row(self._requests.video(draw.sample))

    def _decoder(self) -> BatchDecoder:
        """Decodes in this process, be it the worker of a loader, or in one that it supervises."""
        if self._batches is None:
            indexer = None if self._limits is None else Indexer(**self._limits)
            kept = IndexCache(indexer, limit=_READY_BYTES, packed_limit=_KEPT_BYTES)
            workers = int(self._limits is not None)
            self._batches = BatchDecoder(workers=workers, indexes=kept, **(self._limits or {}))
        return self._batches

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        return f"ClipDataset({len(self)} samples of {len(self._videos)} videos{classes})"

    def __getstate__(self) -> dict[str, Any]:
        # Workers count draws and keep indexes for themselves; a pickle stays small.
        return self.__dict__ | {"_draws": None, "_batches": None}
