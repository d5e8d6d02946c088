"""`read_clips`: the clips of videos as a data set of Ray Data (extra `ray`)."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.failures import FailureOptions, FailurePolicy, Failures
from videoloader.decoding.framing import Framing
from videoloader.decoding.limits import DEFAULT_LIMITS, LimitOptions, WorkerLimits, check_limits
from videoloader.decoding.options import DecodingRules, SampleOptions
from videoloader.decoding.output import OutputFormat
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.options import documented, from_options, takes_options
from videoloader.machinery.workers.on_ray import warn_of_missing_gpus
from videoloader.sampling import ClipSampler, DenseClips, Draw
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.several_clips import usual_shape
from videoloader.training.batch_content import batch_content
from videoloader.training.decoding import SampleDecoder
from videoloader.training.epoch_samples import ClipsPerVideo, Weights, find_samples, find_weights
from videoloader.training.known_bad import kept_videos
from videoloader.training.labels.label_column import LabelOptions, find_labels
from videoloader.training.labels.label_values import VideoLabels
from videoloader.training.labels.table_columns import Columns, SampleColumns
from videoloader.training.requests import SampleRequests
from videoloader.training.segments.segments import Segments, sample_videos
from videoloader.training.shaped_batches import displayed_sizes
from videoloader.training.sources import ClipSources

__all__ = ["read_clips"]

_BLOCK = 32 << 20  # bytes of clips that a read task holds at once; Ray splits blocks above 128 MiB
_UNSIZED = 8  # clips in a block where sizes are unknown
_BESIDE = 8 + 8 + 1  # bytes for each frame beside its picture: number, time, mask
_ROW = 2 * 8  # bytes for each clip: sample, epoch


@documented(SampleOptions, FailureOptions, LabelOptions, LimitOptions)
class ReadOptions(SampleOptions, FailureOptions, LabelOptions, LimitOptions, total=False):
    """Options of `read_clips`: of samples, those that fail, labels, and decoding processes."""


@takes_options(
    *(ReadOptions, OutputFormat, DecodingRules, Framing, SampleRequests, FailurePolicy),
    layout="FCHW",
    skip_known=None,
    labels=None,
    classes=None,
    **DEFAULT_LIMITS,
)
def read_clips(
    dataset: ClipSources | Segments,
    clips: ClipSampler,
    *,
    columns: Columns = (),
    device: str = "cpu",
    clips_per_video: ClipsPerVideo = 1,
    weights: Weights | None = None,
    balanced: bool = False,
    shuffle: bool = False,
    seed: int = 0,
    epoch: int = 0,
    num_epochs: int = 1,
    workers: int = 1,
    read_args: Mapping[str, Any] | None = None,
    **options: Unpack[ReadOptions],
) -> Any:
    """The clips of videos as a `ray.data.Dataset`, one row a sample; decoded where it is read.

    The samples are those of a `Loader` with the same arguments, in the same order: what a sample
    holds depends on `seed`, the epoch and its number alone, not on nodes, blocks or restarts. Ray
    Data gives blocks as they are done, unless `DataContext` has `preserve_order`.

    Columns are those of a batch of `Loader`: `frames` as Arrow tensors in the layout asked for,
    `frame_numbers`, `times`, `mask`, `sample`, and where they are asked for `labels`, `audio`,
    `columns` and `error`; and `epoch`. Where sizes differ, tensors have variable shapes. All but
    texts go into `iter_torch_batches`.

    Nothing is decoded before the data set is read. Rows and bytes of each read task are known
    beforehand, if `dataset` is a data set index or `size` or `crop_size` say how large clips are. A
    read task holds about 32 MiB of clips at a time. A codec that crashes or hangs costs a sample,
    as it does with `Loader`.

    Ray Data reads a data set anew in each iteration, with the same clips. For training over
    several epochs, `num_epochs` gives their samples one after another.

    Args:
        dataset: as for `Loader`. Paths have to be those of every node, or URLs.
        clips: which frames of a video make up its clip.
        columns: as of `Loader`.
        device: that decodes, `cpu` or `cuda`: then each reader takes a GPU, which need not be on
            this machine, and gives frames in main memory. A `RuntimeWarning` says if no node has
            one: Ray then waits for such a node.
        clips_per_video: as of `Loader`.
        weights: as of `Loader`.
        balanced: as of `Loader`.
        shuffle: permute the samples, differently in each epoch.
        seed: of all randomness.
        epoch: the first.
        num_epochs: how many.
        workers: processes in which a reader decodes on the CPU; 0 for its own.
        read_args: further arguments of `ray.data.read_datasource`, such as `concurrency`,
            `num_cpus`, `num_gpus`, `compute` or `override_num_blocks`.
        **options: of the samples, those that fail, labels, and decoding processes. `max_errors`
            counts in each reader by itself.

    Raises:
        UnsupportedError: Ray is not installed.
        ArgumentError: arguments contradict each other, or there are no videos.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise UnsupportedError("read_clips needs Ray Data; pip install videoloader[ray]") from error
    plan = _plan(
        dataset,
        clips,
        columns,
        clips_per_video,
        weights,
        {**options, "seed": seed, "shuffle": shuffle, "balanced": balanced},
        device=device,
        workers=whole_number("workers", workers),
        epochs=_epochs(epoch, num_epochs),
    )
    source, how = _datasource(plan), dict(read_args or {})
    if device != "cpu":  # actors keep their decoders from one read task to the next
        on_gpu = {"num_gpus": 1, "compute": ray.data.ActorPoolStrategy(min_size=1)}
        how = on_gpu | how
        warn_of_missing_gpus(ray, how["num_gpus"] or 0)
    return ray.data.read_datasource(source, **how)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Options that all readers share.

    Attributes:
        requests: what samples are made of.
        output, rules, policy: of decoding.
        columns: that go along.
        labels: of the videos.
        order: of the samples of an epoch.
        epochs: whose samples are read, one after another.
        device, workers, limits: of the decoder.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: DecodingRules
    policy: FailurePolicy
    columns: SampleColumns | None
    labels: VideoLabels | None
    order: SampleOrder
    epochs: range
    device: str
    workers: int
    limits: WorkerLimits

    def __len__(self) -> int:
        """Rows."""
        return self.order.num_samples * len(self.epochs)

    def samples(self, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number and epoch of the samples in some rows."""
        size = self.order.num_samples
        passes, places = np.divmod(np.arange(first, stop), size)
        samples = np.empty_like(places)
        for number in range(first // size, -(-stop // size)):
            inside = passes == number
            samples[inside] = self.order.at(places[inside], self.epochs[number])
        return samples, passes + self.epochs.start

    @functools.cached_property
    def clip_bytes(self) -> NDArray[np.int64] | None:
        """Bytes of a row of each video, but for labels, sound and columns; None if unknown."""
        requests, framing = self.requests, self.requests.framing
        shape = usual_shape(requests.sampler)
        if self.output.is_planar or (
            requests.counts is None and isinstance(requests.sampler, DenseClips)
        ):
            return None
        count = framing.num_crops * math.prod(shape if requests.counts is None else shape[-1:])
        if framing.slot is not None:
            pixels = np.full(len(requests.videos), math.prod(framing.slot))
        elif requests.videos.is_indexed:
            sizes = np.stack(displayed_sizes(requests.videos), axis=1)
            known, which = np.unique(sizes, axis=0, return_inverse=True)
            kept = [math.prod(framing.view((height, width)).size) for height, width in known]
            pixels = np.array(kept, np.int64)[which.reshape(-1)]
        else:
            return None
        element = np.dtype(self.output.element).itemsize
        return count * (pixels * self.output.channels * element + _BESIDE) + _ROW

    def num_bytes(self, first: int, stop: int) -> int | None:
        """Bytes of some rows."""
        if self.clip_bytes is None:
            return None
        samples, _ = self.samples(first, stop)
        return int(self.clip_bytes[samples % len(self.requests.videos)].sum())


def _epochs(first: int, count: int) -> range:
    first = whole_number("epoch", first)
    return range(first, first + whole_number("num_epochs", count, least=1))


def _plan(
    given: ClipSources | Segments,
    clips: ClipSampler,
    columns: Columns,
    clips_per_video: ClipsPerVideo,
    weights: Weights | None,
    options: Any,
    **others: Any,
) -> _Plan:
    """The plan for arguments of `read_clips`, which are checked."""
    one_of("device", others["device"].partition(":")[0], ("cpu", "cuda"))
    output = from_options(OutputFormat, options)
    if output.element == "bfloat16":
        raise ArgumentError('Arrow has no bfloat16; give dtype="float16" or "float32"')
    every = sample_videos(given, {})
    labels = find_labels(given, every, options["labels"], options["classes"])
    shares = None if weights is None else find_weights(weights, every)
    videos, labels, shares = kept_videos(
        every, options["skip_known"], labels=labels, weights=shares
    )
    samples = find_samples(
        videos, clips, clips_per_video, shares, labels, balanced=options["balanced"]
    )
    requests = from_options(
        SampleRequests,
        options,
        videos=videos,
        sampler=clips,
        framing=from_options(Framing, options),
        counts=samples.counts,
    )
    return _Plan(
        requests=requests,
        output=output,
        rules=from_options(DecodingRules, options),
        policy=from_options(FailurePolicy, options),
        columns=SampleColumns(videos, columns) if columns else None,
        labels=labels,
        order=samples.order(
            np.ones(len(videos), dtype=np.bool_), options["seed"], shuffle=options["shuffle"]
        ),
        limits=check_limits(options),
        **others,
    )


def _datasource(plan: _Plan) -> Any:
    """The datasource; its class is made here, since Ray is imported only when it is needed."""
    import ray
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    class ClipDatasource(Datasource):  # type: ignore[misc]
        """Read tasks for the rows of a plan, which is stored once in the cluster."""

        def __init__(self) -> None:
            super().__init__()
            self._stored = ray.put(plan)

        def estimate_inmemory_data_size(self) -> int | None:
            """Bytes of all rows."""
            return plan.num_bytes(0, len(plan))

        def get_read_tasks(
            self,
            parallelism: int,
            per_task_row_limit: int | None = None,
            data_context: Any = None,  # noqa: ARG002
        ) -> list[Any]:
            """As many tasks as are wanted, with about as many rows each."""
            largest = None if plan.clip_bytes is None else max(1, int(plan.clip_bytes.max()))
            rows = _UNSIZED if largest is None else max(1, _BLOCK // largest)
            rows = min(rows, per_task_row_limit or rows)
            tasks = min(max(1, parallelism), len(plan))
            borders = [task * len(plan) // tasks for task in range(tasks + 1)]
            return [
                ReadTask(
                    functools.partial(_blocks, [self._stored], first, stop, rows),
                    BlockMetadata(
                        num_rows=stop - first,
                        size_bytes=plan.num_bytes(first, stop),
                        input_files=None,
                        exec_stats=None,
                    ),
                    per_task_row_limit=per_task_row_limit,
                )
                for first, stop in itertools.pairwise(borders)
            ]

    return ClipDatasource()


def _blocks(stored: list[Any], first: int, stop: int, rows: int) -> Iterator[Any]:
    """Some rows as Arrow tables of at most `rows`. Runs on a node."""
    from ray.data.block import BlockAccessor

    plan, samples = _reader(stored[0])
    decoder = shared_decoder(plan.device, plan.workers, **plan.limits._asdict())
    for begin in range(first, stop, rows):
        numbers, epochs = plan.samples(begin, min(begin + rows, stop))
        keys = [*map(Draw, numbers.tolist(), epochs.tolist())]
        batch = samples.decode(decoder, keys)
        content = batch_content(batch, plan.requests, plan.output.layout, plan.labels)
        content["epoch"] = torch.tensor([key.epoch for key in batch.keys])
        if plan.policy.on_error != "raise":
            content["error"] = batch.errors
        yield BlockAccessor.batch_to_block({name: _array(each) for name, each in content.items()})


@functools.lru_cache(maxsize=1)
def _reader(stored: Any) -> tuple[_Plan, SampleDecoder]:
    """The plan, fetched once by each process, and what decodes its samples there."""
    import ray

    plan: _Plan = ray.get(stored)
    samples = SampleDecoder(
        plan.requests, plan.output, plan.rules, Failures(plan.policy), columns=plan.columns
    )
    return plan, samples


def _array(values: Any) -> Any:
    """A column for Arrow: an array, or an array of arrays where shapes differ."""
    if isinstance(values, torch.Tensor):
        return values.cpu().numpy()
    if not isinstance(values, Sequence) or not any(isinstance(v, torch.Tensor) for v in values):
        return values
    ragged = np.empty(len(values), dtype=object)
    for place, each in enumerate(values):
        ragged[place] = each.cpu().numpy()
    return ragged
