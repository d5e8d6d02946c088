"""`Loader`: batches of clips for training, decoded ahead of the training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.batch_decoder import BatchDecoder, shared_decoder
from videoloader.decoding.clip_cache import DEFAULT_CACHE, CacheOptions, open_clip_cache
from videoloader.decoding.failures import FailureOptions, FailurePolicy, Failures, SampleFailure
from videoloader.decoding.framing import Framing
from videoloader.decoding.limits import DEFAULT_LIMITS, LimitOptions, check_limits
from videoloader.decoding.options import DecodingRules, SampleOptions, as_device
from videoloader.decoding.output import OutputFormat
from videoloader.errors import ArgumentError
from videoloader.machinery.cuda.streams import stage_stream, wait_for
from videoloader.machinery.runtime.monitor import STATS_INTERVAL, Monitor, OnStats
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.runtime.stage_thread import Stage
from videoloader.machinery.runtime.stages import StageRunner
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.options import documented, from_options, takes_options
from videoloader.sampling import Buckets, ClipSampler, Draw, Packing
from videoloader.sampling.orders.batch_order import OrderOptions, state_number
from videoloader.training.batch_content import batch_content, batch_tensors, transformed_batch
from videoloader.training.decoding import DecodedSamples, SampleDecoder
from videoloader.training.epoch_samples import ClipsPerVideo, Weights, find_samples, find_weights
from videoloader.training.iterations import Iterations, LoaderIterator
from videoloader.training.known_bad import kept_videos
from videoloader.training.labels.label_column import LabelOptions, find_labels
from videoloader.training.labels.pairs import paired
from videoloader.training.labels.table_columns import Columns, SampleColumns
from videoloader.training.planned_packets import PlannedPackets, plan_packets
from videoloader.training.requests import SampleRequests
from videoloader.training.segments.segments import Segments, sample_videos
from videoloader.training.shaped_batches import epoch_order, shaped_batches
from videoloader.training.sources import LabelledSources

__all__ = ["Loader", "LoaderIterator"]


@documented(SampleOptions, FailureOptions, LabelOptions, OrderOptions, CacheOptions, LimitOptions)
class LoaderOptions(
    SampleOptions,
    FailureOptions,
    LabelOptions,
    OrderOptions,
    CacheOptions,
    LimitOptions,
    total=False,
):
    """Options of `Loader`: for samples, failures, labels, the order, the cache, and processes."""


@takes_options(
    *(LoaderOptions, OutputFormat, DecodingRules, Framing, SampleRequests, FailurePolicy),
    layout="FCHW",
    shuffle=False,
    together=False,
    rank=None,
    num_ranks=None,
    remainder=None,
    skip_known=None,
    labels=None,
    classes=None,
    **DEFAULT_CACHE,
    **DEFAULT_LIMITS,
)
class Loader(Closing):
    """Batches of clips, one clip or one set of clips a video, for a training loop.

    Each iteration is an epoch. Batches are decoded ahead, in worker processes on the CPU or on the
    engines of a GPU; what is done to the pictures is part of decoding. What a sample holds depends
    on `seed`, the epoch and its number alone: not on the batch size, ranks, workers, or where the
    run was resumed.

    A batch is a dictionary. For type checkers its values are tensors, also where sizes differ;
    those of columns have any type:

    - `frames`: tensor (B, ...) of clips in `layout`, on `device`; with samplers of several clips
      (B, clips, ...). A list of B tensors (...) or (clips, ...) where sizes or numbers of clips
      differ; then `frame_numbers`, `times` and `mask` are lists of (clips, F), too.
    - `labels`: int64 (B,) of integers and classes, float32 (B,) of floats, (B, K) of vectors; no
      such key without labels.
    - `frame_numbers`: int64 (B, F), -1 where filled; `times`: float64, seconds; `mask`: bool, True
      for frames that the sampler asked for. It is False for the frame or fill value that replaces
      one past the end of a short video, or one that does not decode.
    - with `audio=True` `audio`: float32 (B, samples, channels) on the CPU, or
      (B, clips, samples, channels) with samplers of several clips: the sound of the time span of
      each clip, zeros behind those that are shorter, or a list where numbers of channels or clips
      differ; `audio_lengths`: int64 (B,) or (B, clips), samples of each, 0 if the video has no
      soundtrack; `audio_sample_rates`: int64 (B,), samples a second.
    - `sample`: int64 (B,), the rows of the data set index, or the places in the list, of the videos
      that are really there; of `Segments` the rows of their table.
    - each of `columns`.
    - `error`: with `on_error="replace"` or `"mask"`, for each sample what went wrong, or "".

    A loader has one iteration at a time. The first `next` of another `iter(loader)` ends the one
    that is under way, whose `next` then raises `ClosedError`; two at a time take two loaders.
    Threads may share an iterator: each batch goes to one of them. `close`, `stats`, `failures` and
    `state_dict` may be called from any thread; `set_epoch` and `load_state_dict` from the one that
    iterates.

    With `Packing` a batch is one sequence of T tokens of B clips, one clip after another: `patches`
    (T, elements of a patch), see `patchify`, or `frames`, a list of clips; `cu_seqlens` and
    `max_seqlen`; for each token `positions`, `token_times`, `sample_ids` and `mask`; for each clip
    `shapes`; lists of `frame_numbers`, `times` and `frame_mask`; and the rest as above. See
    docs/training/foundation-models.md.

    Args:
        dataset: what `ClipDataset` takes: a folder, list, glob, archive, URL, data set index, or
            `Segments` of videos, or (video, label) pairs.
        clips: which frames of a video make up its clip.
        batch_size: samples in a batch of this process; or `batches`.
        batches: clips of several shapes instead: `Buckets` or `Packing`, which say what clips are
            like, what a batch holds, and with `on_unfit` what becomes of videos that are too short
            or too small. `dataset` is a data set index then. `clips` is a sampler
            with a `count`, and neither `size`, `resize_shorter` nor `crop_size` is given.
        columns: what goes along with the samples: names of columns of the data set index, or of the
            table of `Segments`, endings
            such as `.txt` of files beside the clips or in their archive, a `TableColumns`. In a
            batch they have these names: tensors of numbers, or lists.
        device: where frames are given, and decoded if they can be.
        clips_per_video: samples that an epoch has of each video, each drawn by itself; see
            `together`. `all`: every clip that `DenseClips` (of a data set index) or `EvenClips`
            takes of a video is a sample of its own, instead of one sample of several clips.
        weights: how often each video is drawn: a number for each video or row, or by key a mapping
            or function; implies `shuffle`. An epoch has as many samples as without.
        balanced: draw videos of every label as often; implies `shuffle`.
        transform: called with the frames of each sample, on the thread that iterates; what it
            returns takes their place. The global random numbers of torch (CPU), NumPy, Python and
            `fn` are seeded for it by the sample, and put back.
        sample_transform: called with the whole sample as a dictionary, after `transform`, under the
            same random numbers; what it returns is collated.
        prefetch: finished batches that wait for the training step.
        workers: processes that decode on the CPU, see `decode_batch`.
        on_stats: called every `stats_interval` seconds, in the thread that iterates, with the
            `stats()` of the time since the last call.
        stats_interval: seconds.
        **options: of the samples, those that fail, labels, the order, and processes.

    >>> from videoloader import RandomClip
    >>> loader = Loader("videos/", RandomClip(16, stride=4), batch_size=2, size=(32, 48))
    >>> for batch in loader:
    ...     print(tuple(batch["frames"].shape), batch["labels"].tolist())
    (2, 16, 3, 32, 48) [0, 0]
    (2, 16, 3, 32, 48) [1, 1]
    >>> loader.state_dict()
    {'epoch': 1, 'position': 0, 'seed': 0, 'size': 4}
    """

    def __init__(
        self,
        dataset: LabelledSources | Segments,
        clips: ClipSampler,
        *,
        batch_size: int | None = None,
        batches: Buckets | Packing | None = None,
        columns: Columns = (),
        device: str | torch.device = "cpu",
        clips_per_video: ClipsPerVideo = 1,
        weights: Weights | None = None,
        balanced: bool = False,
        transform: Callable[[torch.Tensor], Any] | None = None,
        sample_transform: Callable[[dict[str, Any]], Any] | None = None,
        prefetch: int = 2,
        workers: int | None = None,
        on_stats: OnStats | None = None,
        stats_interval: float = STATS_INTERVAL,
        **options: Unpack[LoaderOptions],
    ) -> None:
        failures = Failures(from_options(FailurePolicy, options))
        videos, labels = paired(dataset, options["labels"])
        every = sample_videos(videos, {})
        of_every = find_labels(videos, every, labels, options["classes"])
        self.classes = [] if of_every is None else of_every.classes
        """Names of the classes, by number; empty where labels are no texts or folders."""
        shares = None if weights is None else find_weights(weights, every)
        self._videos, self._labels, shares = kept_videos(
            every, options["skip_known"], labels=of_every, weights=shares
        )
        samples = find_samples(
            self._videos,
            clips,
            clips_per_video,
            shares,
            self._labels,
            balanced=balanced,
            together=options["together"],
        )
        framing = from_options(Framing, options, is_sized_later=batches is not None)
        shaped = shaped_batches(batches, batch_size, self._videos, clips, framing, samples, options)
        if shaped is not None:
            shaped.check_transforms(transform, sample_transform)
        self.order = epoch_order(shaped, batch_size, len(self._videos), samples, options)
        whole_number("prefetch", prefetch, least=1)
        if workers is not None:
            whole_number("workers", workers)
        shape = None if shaped is None else shaped.plan.shape
        self._requests = from_options(
            SampleRequests,
            options,
            videos=self._videos,
            sampler=clips,
            framing=framing,
            shape=shape,
            counts=samples.counts,
        )
        self._samples = SampleDecoder(
            self._requests,
            from_options(OutputFormat, options),
            from_options(DecodingRules, options),
            failures,
            columns=SampleColumns(self._videos, columns) if columns else None,
            batches=shaped,
            cache=open_clip_cache(options),
        )
        self._limits = check_limits(options)
        self._transforms = transform, sample_transform
        self._prefetch = prefetch
        self._device = as_device(device)
        self._workers = workers
        self._iterations = Iterations(self.order)
        self._decoder: BatchDecoder | None = None
        self._monitor = Monitor(on_stats, stats_interval)

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank; with `Packing`, in that which `epoch` says."""
        return self.order.num_steps(0, self.epoch)

    @property
    def epoch(self) -> int:
        """The epoch that runs, or ran last; or that follows a `set_epoch` or `load_state_dict`.

        So `range(loader.epoch, epochs)` are the epochs that a run which goes on has still to do.
        """
        return self._iterations.epoch

    @property
    def next_epoch(self) -> int:
        """The epoch of the next iteration."""
        return self._iterations.next_epoch

    def __iter__(self) -> LoaderIterator:
        """The batches of the next epoch, or the rest of the one that was resumed.

        The epoch begins with the first `next`, which ends an iteration that is under way.
        """
        return LoaderIterator(self._iterations, self._run, self._deliver, self.__repr__)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is; without this they count from 0.

        After `load_state_dict` the epoch of the state still goes on where it stood.

        Raises:
            ArgumentError: the number is below 0, or no whole number.
        """
        self._iterations.set_epoch(whole_number("epoch", epoch))

    def state_dict(self) -> dict[str, int]:
        """Where the run stands: a few integers, the same on every rank after the same step."""
        epoch, done = self._iterations.position
        return {"epoch": epoch, "position": done, **self.order.state}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where another run stood, also with another batch size or number of ranks.

        `epoch` is then that of the next iteration. An iteration that is under way ends.

        Raises:
            ArgumentError: the data set or the seed is another, or what `batches` says; or the state
                lacks a number, or has one that no epoch can have. The loader stays as it is.
        """
        epoch, done = state_number(state, "epoch"), state_number(state, "position")
        own: dict[str, int | None] = {"batches": None, "together": None, **self.order.state}
        for name, value in own.items():
            if state.get(name) != value:
                raise ArgumentError(
                    f"the state is of a loader with {name}={state.get(name)}, this one has "
                    f"{name}={value}; it fits the videos, seed and options it was saved with"
                )
        state_number(state, "position", most=self.order.end(epoch))
        if self.order.is_over(done, epoch):  # raises where a position divides a group
            epoch, done = epoch + 1, 0
        self._iterations.resume(epoch, done)

    @property
    def unfit(self) -> NDArray[np.int64]:
        """With `batches`, the videos that are in no batch, as `sample` of a batch has them."""
        rows = [self._videos.row(video) for video in self.order.unfit.tolist()]
        return np.array(rows, dtype=np.int64)

    def planned_packets(self, batches: int = 10) -> PlannedPackets:
        """Packets of the first batches of `epoch`, and as if each clip was decoded by itself.

        Videos are opened and their indexes read; nothing is decoded. So the gain of `together` is
        known before a run. Videos that do not open are left out. Packets that no other one refers
        to count unless the index was made with `headers=True`; decoding leaves most of them out.

        Args:
            batches: of this rank; at most those that it has.
        """
        epoch = self.epoch
        decoder = shared_decoder(self._device, self._workers, **self._limits._asdict())
        steps = range(min(whole_number("batches", batches), self.order.num_steps(0, epoch)))
        keys = ([Draw(n, epoch) for n in self.order.batch(epoch, step).tolist()] for step in steps)
        return plan_packets(self._samples, decoder, keys)

    @property
    def failures(self) -> list[SampleFailure]:
        """The failures so far, at most the first 10,000."""
        return list(self._samples.failures)

    def stats(self) -> RunStats:
        """Statistics of this epoch, or of the last one, see docs/training/stats.md.

        `str()` of it says in one line whether the training loop waits, and for what.
        """
        engines = {} if self._decoder is None else self._decoder.engines()
        return self._monitor.stats(self._iterations.stats, self._samples.failures, engines)

    def close(self) -> None:
        """End the iteration and drop the batches made ahead. Another iteration may begin."""
        self._iterations.end()
        self._monitor.close()

    def __repr__(self) -> str:
        order = self.order
        each = "" if order.batch_size is None else f" of {order.batch_size}"
        ranks = f", rank {order.rank} of {order.num_ranks}" if order.num_ranks > 1 else ""
        return (
            f"Loader({order.size} samples, {len(self)} batches{each}{ranks}, "
            f"epoch {self.epoch}, {self._device})"
        )

    def _run(self, epoch: int, start: int) -> StageRunner:
        """The producer of the batches of an epoch, from a position on."""
        self._monitor.begin(self._samples.failures)
        steps = self.order.num_steps(start, epoch)
        decoder = self._decoder = shared_decoder(
            self._device, self._workers, **self._limits._asdict()
        )
        monitor = self._monitor

        def plan(step: int, _: Any) -> NDArray[np.int64]:
            if step >= steps:
                raise StopIteration
            return self.order.batch(epoch, step, start)

        def decode(samples: NDArray[np.int64], stream: Any) -> DecodedSamples:
            keys = [Draw(sample, epoch) for sample in samples.tolist()]
            with monitor.meter.measure("decode", len(keys)):
                batch = self._samples.decode(decoder, keys)
            monitor.meter.add_work(batch.clips.work)
            if stream is not None:
                batch.ready = stream.record_event()
            return batch

        scope = partial(stage_stream, str(self._device))
        stages = [Stage("plan", plan), Stage("decode", decode, scope, threads=2)]
        return StageRunner(stages, depth=self._prefetch)

    def _deliver(self, batch: DecodedSamples) -> Any:
        """A batch as the training loop gets it."""
        wait_for(batch.ready, batch_tensors(batch))
        result = batch_content(batch, self._requests, self._samples.output.layout, self._labels)
        if self._samples.failures.policy.on_error in ("replace", "mask"):
            result["error"] = batch.errors
        if self._transforms != (None, None):
            draw = partial(self._requests.transform_rng, epoch=batch.epoch)
            with self._monitor.meter.measure("transform", len(batch.samples)):
                rngs = [*map(draw, batch.samples.tolist())]
                result = transformed_batch(result, *self._transforms, rngs)
        self._monitor.take(self, len(batch.samples))
        return result
