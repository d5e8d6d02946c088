"""`ClipDataset`: clips of a pile of videos, for `torch.utils.data.DataLoader`."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, get_worker_info

from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.clip_batch import Clip, ClipSound
from videoloader.decoding.clip_cache import DEFAULT_CACHE, CacheOptions, open_clip_cache
from videoloader.decoding.failures import FailureOptions, FailurePolicy, Failures, SampleFailure
from videoloader.decoding.framing import Framing
from videoloader.decoding.limits import DEFAULT_LIMITS, LimitOptions, check_limits
from videoloader.decoding.opening.index_cache import IndexCache
from videoloader.decoding.opening.indexer import Indexer
from videoloader.decoding.options import DecodingRules, SampleOptions
from videoloader.decoding.output import OutputFormat
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.runtime.worker_stats import WorkerStats
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.options import documented, from_options, takes_options
from videoloader.sampling import ClipSampler, Draw, check_pad_mode
from videoloader.training.batch_content import collate_samples, transformed
from videoloader.training.decoding import SampleDecoder
from videoloader.training.epoch_samples import check_clips
from videoloader.training.known_bad import kept_videos
from videoloader.training.labels.label_column import LabelOptions, find_labels
from videoloader.training.labels.pairs import paired
from videoloader.training.requests import SampleRequests
from videoloader.training.samples import of_views, views
from videoloader.training.segments.segments import Segments, sample_videos
from videoloader.training.shared_records import SharedRecords, shared
from videoloader.training.sources import LabelledSources

__all__ = ["ClipDataset", "collate_samples"]

_UNSET = -1  # epoch before `set_epoch` was called
_READY_BYTES = 1 << 22  # of packet tables that one process keeps
_KEPT_BYTES = 1 << 26  # of indexes that it keeps besides, as they are stored

Key: TypeAlias = "int | Draw | tuple[int, int, int]"


@documented(SampleOptions, FailureOptions, LabelOptions, CacheOptions, LimitOptions)
class DatasetOptions(
    SampleOptions, FailureOptions, LabelOptions, CacheOptions, LimitOptions, total=False
):
    """Options of `ClipDataset`: for samples, failures, labels, and processes."""


@takes_options(
    *(DatasetOptions, OutputFormat, DecodingRules, Framing, SampleRequests, FailurePolicy),
    layout="FCHW",
    skip_known=None,
    labels=None,
    classes=None,
    **DEFAULT_CACHE,
    **DEFAULT_LIMITS,
)
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
    - with `audio=True` `audio`: float32 tensor (samples, channels), or (clips, samples, channels)
      from samplers of several clips, with zeros behind shorter ones: the sound of the time span of
      the frames; `audio_lengths`, an int or int64 (clips,), and `audio_sample_rates`: its samples,
      and samples a second, 0 if the video has no soundtrack. Lengths differ by a sample where the
      rate is no multiple of that of the frames; `collate_samples` fills up shorter ones.
    - `sample`: the video that the clip is of: its row in the data set index, counting failures,
      or its place in the list of videos; of `Segments` the row of the table.
    - `labels`: if there are any: an int, or a float32 tensor () of floats, (K,) of vectors.
    - `error`: unless `on_error` is "raise", what went wrong with the sample that was asked for, or
      an empty string.
    - `requested`: with it, what `sample` would be had it not been replaced.

    Args:
        dataset: what `index_dataset` takes (a folder, glob, text list, archive, video, URL, item of
            a data set, or an iterable of them, which may have repetitions); pairs of one of these
            and a label, or a mapping from one to the other; a data set index or its path
            (`.parquet`), of which all videos that could be read are taken; or `Segments`, each of
            which is then what a video is otherwise.
        clips: which frames of a video make up its clip.
        transform: called with the frames of a sample. The global random numbers of torch (CPU),
            NumPy, Python and `fn` are seeded for each sample, and put back, so random transforms
            are as reproducible as the sampling.
        seed: of all randomness.
        sample_transform: called with the whole sample, after `transform`, under the same random
            numbers; what it returns stands for the sample.
        decode: `local`, in the process that asks for a sample; or `worker`, in a process that it
            starts and supervises: a codec that crashes or hangs then costs a sample and no more.
        indexes: made beforehand, by path; others are made as they are needed.
        clips_per_video: samples of each video, each drawn by itself: with n videos, samples k,
            n + k, 2 n + k, ... are of video k.
        **options: of the samples, those that fail, their labels, and processes.

    Attributes:
        classes: names of the classes by number, where labels are texts or folders; or an empty
            list.

    >>> from torch.utils.data import DataLoader
    >>> from videoloader import EpochSampler, RandomClip
    >>> dataset = ClipDataset("videos/", RandomClip(count=16, stride=4))
    >>> len(dataset), dataset.classes, dataset[2]["frames"].shape
    (4, ['jump', 'run'], torch.Size([16, 3, 64, 96]))
    >>> loader = DataLoader(dataset, 2, sampler=EpochSampler(dataset, seed=0))  # num_workers=...
    >>> [batch["frames"].shape for batch in loader]
    [torch.Size([2, 16, 3, 64, 96]), torch.Size([2, 16, 3, 64, 96])]
    """

    def __init__(
        self,
        dataset: LabelledSources | Segments,
        clips: ClipSampler,
        transform: Callable[[torch.Tensor], Any] | None = None,
        seed: int = 0,
        *,
        sample_transform: Callable[[dict[str, Any]], Any] | None = None,
        decode: Literal["local", "worker"] = "local",
        indexes: Mapping[str, VideoIndex] | None = None,
        clips_per_video: int = 1,
        **options: Unpack[DatasetOptions],
    ) -> None:
        one_of("decode", decode, ("local", "worker"))
        # All arguments are checked before anything is read.
        policy, framing = from_options(FailurePolicy, options), from_options(Framing, options)
        self._output, rules = (
            from_options(OutputFormat, options),
            from_options(DecodingRules, options),
        )
        check_pad_mode(options["pad_mode"])
        self._limits = check_limits(options) if decode == "worker" else None
        videos, labels = paired(dataset, options["labels"])
        every = sample_videos(videos, indexes or {})
        of_every = find_labels(videos, every, labels, options["classes"])
        self.classes = [] if of_every is None else of_every.classes
        self._videos, self._labels, _ = kept_videos(every, options["skip_known"], labels=of_every)
        self.clips_per_video = check_clips(clips_per_video, clips)
        """Samples of each video, see `EpochSampler(together=)`."""
        self._size = len(self._videos) * clips_per_video
        self._requests = from_options(
            SampleRequests, options, videos=self._videos, sampler=clips, framing=framing, seed=seed
        )
        self._records = SharedRecords()
        self._stats = WorkerStats(shared(torch.zeros(WorkerStats.SHAPE, dtype=torch.float64)))
        failures = Failures(policy, self._records)
        self._sampled = SampleDecoder(
            self._requests, self._output, rules, failures, cache=open_clip_cache(options)
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
    def clips(self) -> ClipSampler:
        """Which frames of a video make up its clip."""
        return self._requests.sampler

    @property
    def labels(self) -> list[Any] | None:
        """The label of each video, a number or a list of numbers; None if there are none."""
        return None if self._labels is None else self._labels.values.tolist()

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return self._requests.seed

    @property
    def epoch(self) -> int | None:
        """The epoch that `set_epoch` was last called with."""
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
        """The failures so far in this process and all workers, at most the first 10,000."""
        return list(self._sampled.failures)

    def stats(self) -> RunStats:
        """Statistics of this process and all workers together, see docs/training/stats.md.

        Workers do not know whether the loop waits for them: `waited` is 0.
        """
        return replace(self._stats.read(), errors=self._sampled.failures.count)

    def __iter__(self) -> Iterator[Any]:
        # Without this a FrameRangeError, which is an IndexError, would end a loop in silence.
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, key: Key) -> Any:
        return self._samples([key])[0]

    def __getitems__(self, keys: Sequence[Key]) -> list[Any]:
        """A batch of samples, as a DataLoader asks for it."""
        if self.epoch is not None and not self._warned:
            self._warn_of_repeats(keys)
        return self._samples(keys)

    def _warn_of_repeats(self, keys: Sequence[Key]) -> None:
        """Say that a sampler draws numbers several times, which `set_epoch` makes one clip."""
        plain = [
            whole_number("sample", key, least=None) for key in keys if not isinstance(key, tuple)
        ]
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
        number, *drawn = key if isinstance(key, tuple) else (key,)
        number = whole_number("sample", number, least=None)
        if not -len(self) <= number < len(self):
            raise IndexError(f"sample {number} of a data set of {len(self)}")
        number %= len(self)
        if drawn:
            return Draw(number, *drawn)
        epoch = self.epoch
        return Draw(number, *self._counted(number)) if epoch is None else Draw(number, epoch)

    def _counted(self, number: int) -> tuple[int, int]:
        """A number in place of the epoch, and how often this sample was drawn before."""
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
            self._sample(clip, shape, key, asked[place], error)
            for clip, shape, key, place, error in zip(
                batch.clips.clips, batch.shapes, batch.keys, batch.places, batch.errors, strict=True
            )
        ]

    def _sample(
        self, clip: Clip, shape: tuple[int, ...], draw: Draw, asked: Draw, error: str
    ) -> Any:
        framing = self._requests.framing
        sample: dict[str, Any] = {
            "frames": views(clip.frames, self._output.layout, shape, framing),
            "frame_numbers": torch.from_numpy(of_views(clip.indices, shape, framing)),
            "times": torch.from_numpy(of_views(clip.times, shape, framing)),
            "mask": torch.from_numpy(of_views(clip.mask, shape, framing)),
            "sample": self._row(draw),
        }
        if clip.audio is not None:
            sample["audio"], sample["audio_lengths"] = clip.audio, len(clip.audio)
            if len(shape) > 1:
                sound = ClipSound(clip.audio, clip.audio_sample_rate, clip.audio_lengths)
                sample["audio"], sample["audio_lengths"] = sound.divided(math.prod(shape[:-1]))
            sample["audio_sample_rates"] = clip.audio_sample_rate
        if self._labels is not None:
            label = self._labels.of(self._requests.video(draw.sample))
            sample["labels"] = label
        if self._sampled.failures.policy.on_error != "raise":
            sample["error"], sample["requested"] = error, self._row(asked)
        rng = self._requests.transform_rng(*draw)
        return transformed(sample, self.transform, self.sample_transform, rng)

    def _row(self, draw: Draw) -> int:
        return self._videos.row(self._requests.video(draw.sample))

    def _decoder(self) -> BatchDecoder:
        """Decodes in this process, be it the worker of a loader, or in one that it supervises."""
        if self._batches is None:
            limits = {} if self._limits is None else self._limits._asdict()
            kept = IndexCache(
                Indexer(**limits) if limits else None, limit=_READY_BYTES, packed_limit=_KEPT_BYTES
            )
            self._batches = BatchDecoder(workers=int(bool(limits)), indexes=kept, **limits)
        return self._batches

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        return f"ClipDataset({len(self)} samples of {len(self._videos)} videos{classes})"

    def __getstate__(self) -> dict[str, Any]:
        # Workers count draws and keep indexes for themselves; a pickle stays small.
        return self.__dict__ | {"_draws": None, "_batches": None}
