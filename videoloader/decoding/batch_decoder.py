"""`decode_batch`: clips of many videos, decoded together into one batch."""

from __future__ import annotations

import atexit
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Unpack

import torch
from numpy.typing import ArrayLike

from videoloader.audio.request import Made, SoundWork
from videoloader.decoding.assembly import Assembly, Choose
from videoloader.decoding.attempts import Attempts
from videoloader.decoding.clip_batch import ClipBatch, ClipFailure
from videoloader.decoding.clip_sound import decode_clip_sounds
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.cpu.images import Decoded
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.decoding.failures import FailurePolicy, Failures, name_choices
from videoloader.decoding.framing import check_resizing
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.decoding.limits import DEFAULT_LIMITS, LimitOptions, WorkerLimits, check_limits
from videoloader.decoding.nvdec.engine import GpuEngine
from videoloader.decoding.nvdec.utilisation import nvdec_use
from videoloader.decoding.opening.index_cache import IndexCache
from videoloader.decoding.opening.indexer import Indexer
from videoloader.decoding.opening.videos import OpenedVideo, open_videos, source_name
from videoloader.decoding.options import BatchOptions, DecodingRules, as_device
from videoloader.decoding.output import OutputFormat, normalize_size
from videoloader.decoding.request import Blank, ClipRequest, as_requests
from videoloader.decoding.switches import quick_switches
from videoloader.errors import ClosedError, ResourceError, VideoError
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.forking import ForkSafeLock, spare_torch_threads
from videoloader.machinery.system.options import from_options, takes_options
from videoloader.machinery.workers.processors import machine_memory, usable_processors
from videoloader.sources.items import Item

if TYPE_CHECKING:
    from videoloader.decoding.clip_cache import ClipCache
    from videoloader.decoding.nvdec.reader import GpuReader
    from videoloader.indexing.index import VideoIndex
    from videoloader.sources.source import Source, VideoSource


@quick_switches()
@takes_options(BatchOptions, ClipRequest, OutputFormat, DecodingRules, FailurePolicy)
def decode_batch(
    requests: Iterable[ClipRequest | tuple[Any, ArrayLike]],
    device: str | torch.device = "cpu",
    *,
    workers: int | None = None,
    **options: Unpack[BatchOptions],
) -> ClipBatch:
    """Decode clips of many videos at once.

    What several clips want of one video is decoded once. The runs that this takes are spread over
    all engines of the GPU, or over worker processes on the CPU. Their pools stay alive between
    calls; a `BatchDecoder` has pools of its own.

    Args:
        requests: clips to decode, as `ClipRequest` or (source, frames).
        device: where the frames are given: `cpu`, `cuda` or `cuda:N`. Videos that the GPU cannot
            decode are decoded on the CPU and uploaded.
        workers: processes that decode on the CPU; as many as this process may use processors by
            default, 0 for none, which is the default in processes that may not have children.
        **options: the form of all clips, and how videos are treated.

    Whatever goes wrong with a video costs its clip: also errors of the system and of libraries,
    and clips that the machine has no memory for. Mistakes of a program (`TypeError` and the like)
    are always raised.

    Raises:
        VideoError: one of the requests fails, with `on_error="raise"`.
        ArgumentError: arguments that contradict each other.

    >>> batch = decode_batch([("clip.mp4", [0, 4, 8]), ("videos/run/2.mp4", [3, 2, 1])])
    >>> batch.frames.shape
    torch.Size([2, 3, 64, 96, 3])
    """
    return shared_decoder(device, workers).decode(requests, **options)


@takes_options(LimitOptions, **DEFAULT_LIMITS)
class BatchDecoder(Closing):
    """Pools of decoders that live from batch to batch. Threads may share it.

    Args:
        device: where frames are given, see `decode_batch`.
        workers: processes that decode on the CPU, see `decode_batch`; they start when needed.
        threads: that decode in this process where there are no workers.
        indexes: where indexes are kept; a cache of its own by default.
        **options: limits of each process.

    >>> with BatchDecoder() as decoder:
    ...     batch = decoder.decode([("clip.mp4", range(8))], size=(32, 48), layout="FCHW")
    >>> batch.frames.shape
    torch.Size([1, 8, 3, 32, 48])
    """

    def __init__(
        self,
        device: str | torch.device = "cpu",
        *,
        workers: int | None = None,
        threads: int = 1,
        indexes: IndexCache | None = None,
        **options: Unpack[LimitOptions],
    ) -> None:
        self.device = as_device(device)
        self._is_on_gpu = self.device.type == "cuda"
        self._workers = _default_workers(workers)
        self._threads = whole_number("threads", threads, least=1)
        self._limits = check_limits(options)
        indexer = Indexer(**self._limits._asdict()) if self._workers else None
        self._indexes = IndexCache(indexer) if indexes is None else indexes
        self._lock = ForkSafeLock()
        self._counts: Counter[str] = Counter()
        self._cpu: CpuEngine | LocalEngine | None = None
        self._gpu: GpuEngine | None = None

    @takes_options(BatchOptions, ClipRequest, OutputFormat, DecodingRules, FailurePolicy)
    def decode(
        self,
        requests: Iterable[ClipRequest | tuple[Any, ArrayLike]],
        **options: Unpack[BatchOptions],
    ) -> ClipBatch:
        """Decode clips; errors as of `decode_batch`.

        Args:
            requests: clips to decode, as for `decode_batch`.
            **options: the form of all clips, and how videos are treated.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        form, policy = from_options(OutputFormat, options), from_options(FailurePolicy, options)
        is_strict = policy.on_error == "raise"
        rules = from_options(DecodingRules, options, is_strict=is_strict)
        size, resize_shorter = options["size"], options["resize_shorter"]
        if resize_shorter is not None:
            check_resizing(size, resize_shorter)
        whole = resize_shorter if size is None else normalize_size(size)
        wanted = as_requests(requests)
        sources, indexes = [each.source for each in wanted], [each.index for each in wanted]
        with self.open(sources, indexes) as videos:
            try:
                begun = self.begin(wanted, videos, form, rules, size=whole)
                return begun.finish(partial(_chosen, policy, wanted))
            except VideoError as error:
                if is_strict and not isinstance(error, ClosedError | ResourceError):
                    name_choices(error)
                raise

    def open(
        self, sources: Sequence[VideoSource | Source | Item], indexes: Sequence[VideoIndex | None]
    ) -> AbstractContextManager[list[OpenedVideo | VideoError]]:
        """Open the videos of a batch for `begin`, see `open_videos`."""
        return open_videos(sources, indexes, self._indexes)

    def begin(
        self,
        requests: Sequence[ClipRequest | VideoError],
        videos: Sequence[OpenedVideo | VideoError],
        output: OutputFormat,
        rules: DecodingRules,
        *,
        size: tuple[int, int] | int | None = None,
        blanks: Sequence[Blank] = (),
        cache: ClipCache | None = None,
        together: bool = True,
    ) -> BegunBatch:
        """Plan the decoding of clips of videos that are open, and begin it where a GPU decodes.

        Args:
            requests: clips to decode; where there is an error, the clip fails by it.
            videos: that of each, see `open`.
            output: form of all clips.
            rules: how videos are treated.
            size: (height, width) of clips whose requests name none, or the shorter side's length.
            blanks: how long and large each clip is where it fails, instead of what its request
                says.
            cache: gives the clips that it has, and keeps the others.
            together: give clips of one shape as one tensor, not as a list.

        Raises:
            VideoError: the first failure, if `rules` are strict.
            ClosedError: another thread closes the decoder meanwhile.
        """
        spare_torch_threads()
        gpu = self._gpu_engine() if self._is_on_gpu else None
        cpu = self._cpu_engine()
        assembly = Assembly(requests, videos, output, size, rules, blanks, together=together)
        assembly.allocate(
            partial((gpu or cpu).allocate, output=output),
            limit=machine_memory() if gpu is None else None,
        )
        keep = None if cache is None else cache.read(assembly, self.device)
        steps = _steps(assembly, cpu, gpu)
        next(steps)
        return BegunBatch(assembly, steps, self._count, keep)

    def reader(
        self, request: ClipRequest, video: OpenedVideo, output: OutputFormat, rules: DecodingRules
    ) -> GpuReader:
        """A reader of a video on the GPU of this decoder, chunk by chunk.

        Args:
            request: for any frames, in the form that is wanted.
            video: that of the request.
            output: form of the frames.
            rules: of the video.

        Raises:
            UnsupportedError: the GPU does not decode the video, or not to that form.
        """
        whole = Assembly([request], [video], output, None, replace(rules, is_strict=True), ())
        return self._gpu_engine().reader(whole.clips[0], output)

    def _count(self, clips: int, batch: ClipBatch) -> None:
        with self._lock:
            self._counts["batches"] += 1
            self._counts["clips"] += clips
            self._counts["failures"] += len(batch.failures)

    @quick_switches()
    def decode_images(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images on the CPU; for each its pixels (H, W, C), or the error that it costs.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        return self._cpu_engine().decode_images(requests, form)

    @quick_switches()
    def decode_sounds(self, requests: Sequence[SoundWork[Made]]) -> list[Made | Exception]:
        """Decode sounds on the CPU; gives for each its result or its error.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        return self._cpu_engine().decode_sounds(requests)

    def stats(self) -> dict[str, Any]:
        """Statistics so far: counts of batches, clips and failures, and counts of the pools.

        `routed` counts the runs that the CPU took over from the GPU, by reason.
        """
        with self._lock:
            counts: dict[str, Any] = dict(self._counts)
            cpu, gpu = self._cpu, self._gpu
        if cpu is not None:
            counts["cpu"] = cpu.stats()
        if gpu is not None:
            counts["gpu"] = gpu.stats()
            counts["routed"] = dict(gpu.routed)
        return counts

    def engines(self) -> dict[str, int]:
        """The decoders at work: worker processes, and how many were replaced after a crash.

        On a GPU also NVDEC sessions, runs that the CPU took over, and with `pynvml` the percent of
        the last moments in which its NVDEC engines worked.
        """
        stats = self.stats()
        cpu, gpu = stats.get("cpu", {}), stats.get("gpu", {})
        found = {name: cpu[name] for name in ("workers", "replaced") if name in cpu}
        found |= {name: gpu[name] for name in ("sessions",) if name in gpu}
        if "routed" in stats:
            found["routed"] = sum(stats["routed"].values())
        use = nvdec_use(str(self.device)) if gpu else None
        return found if use is None else found | {"nvdec_percent": use}

    def close(self) -> None:
        """End the worker processes and let go of the decoders; a later batch makes new ones.

        At any time and from any thread. Processes end at once, whatever they are doing: a batch
        that another thread is decoding on the CPU raises `ClosedError` there. What a GPU has
        begun is waited for.
        """
        with self._lock:
            cpu, self._cpu = self._cpu, None
            gpu, self._gpu = self._gpu, None
        for engine in (cpu, gpu, self._indexes):
            if engine is not None:
                engine.close()

    def __repr__(self) -> str:
        where = f"{self._workers} workers" if self._workers else f"{self._threads} threads"
        return f"BatchDecoder({self.device}, {where})"

    def _cpu_engine(self) -> CpuEngine | LocalEngine:
        if (engine := self._cpu) is not None:
            return engine
        with self._lock:
            if self._cpu is None and self._workers:
                self._cpu = CpuEngine(self._workers, *self._limits)
            elif self._cpu is None:
                self._cpu = LocalEngine(self._threads)
            return self._cpu

    def _gpu_engine(self) -> GpuEngine:
        with self._lock:
            if self._gpu is None:
                self._gpu = GpuEngine(self.device)
            return self._gpu


class BegunBatch:
    """A batch that a GPU may be decoding; to be finished or closed. For one thread.

    Args:
        assembly: of its clips.
        steps: decodes them, after it has yielded once.
        count: called with the number of requests, and the batch.
        keep: called when the clips are there, to keep them in a cache.
    """

    def __init__(
        self,
        assembly: Assembly,
        steps: Generator[None, None, None],
        count: Callable[[int, ClipBatch], None],
        keep: Callable[[], None] | None = None,
    ) -> None:
        self._assembly, self._steps, self._count, self._keep = assembly, steps, count, keep

    def finish(self, choose: Choose | None = None) -> ClipBatch:
        """Wait for the clips of the GPU and decode the others on the CPU; failed clips are masked.

        Args:
            choose: gives the requests that make up the batch, where some fail; see
                `Assembly.finish`.

        Raises:
            VideoError, ClosedError: as `BatchDecoder.begin`.
        """
        for _ in self._steps:
            pass
        batch = self._assembly.finish(choose)
        if self._keep is not None:
            self._keep()
        self._count(self._assembly.num_requests, batch)
        return batch

    def close(self) -> None:
        """Give up frames that are not decoded yet; nothing is written into the clips any more."""
        self._steps.close()


def _steps(
    assembly: Assembly, cpu: CpuEngine | LocalEngine, gpu: GpuEngine | None
) -> Generator[None, None, None]:
    """Decode the clips of a batch; yields once, when all that a GPU decodes is on its way."""
    if gpu is None:
        yield
        cpu.decode(assembly.runs(), assembly, assembly.slots())
    else:
        yield from gpu.decode(assembly.runs(), assembly, cpu, hybrid=assembly.rules.hybrid)
    if assembly.rules.audio:
        decode_clip_sounds(assembly, cpu)


def _chosen(
    policy: FailurePolicy, requests: Sequence[ClipRequest], failed: Mapping[int, ClipFailure]
) -> list[int]:
    """The requests whose clips make up a batch in which some failed."""
    attempts = Attempts(Failures(policy), range(len(requests)), may_be_empty=True)
    for place, failure in failed.items():
        item = Item(source_name(requests[place].source))
        attempts.note_failure(place, item, failure.error, frame=failure.frame)
    if policy.on_error == "replace" and not attempts.kept:
        raise failed[0].error
    return attempts.chosen


def _default_workers(workers: int | None) -> int:
    if workers is not None:
        return whole_number("workers", workers)
    if multiprocessing.current_process().daemon or torch.utils.data.get_worker_info() is not None:
        return 0
    return usable_processors()


@takes_options(LimitOptions, **DEFAULT_LIMITS)
def shared_decoder(
    device: str | torch.device, workers: int | None = None, **options: Unpack[LimitOptions]
) -> BatchDecoder:
    """The decoder that `decode_batch`, loaders and pipelines with the same limits share."""
    chosen = as_device(device)
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", torch.cuda.current_device())
    return _shared(str(chosen), _default_workers(workers), check_limits(options), os.getpid())


@cache
def _shared(
    device: str,
    workers: int,
    limits: WorkerLimits,
    process: int,  # noqa: ARG001
) -> BatchDecoder:
    """One for each process: a fork gets one of its own."""
    decoder = BatchDecoder(device, workers=workers, **limits._asdict())
    atexit.register(decoder.close)
    return decoder
