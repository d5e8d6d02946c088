"""`decode_batch`: clips of many videos, decoded together into one batch."""

from __future__ import annotations

import atexit
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import ArrayLike

from videoloader.audio.request import DecodedSound, SoundRequest
from videoloader.decoding.arguments import as_device
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.clip import ClipBatch, ClipFailure
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.cpu.images import Decoded
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.decoding.framing import check_resizing
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.decoding.limits import (
    MAX_PIXELS,
    TIME_LIMIT,
    MemoryLimit,
    check_time_limit,
    machine_memory,
    worker_limit,
)
from videoloader.decoding.nvdec.engine import GpuEngine
from videoloader.decoding.nvdec.utilisation import nvdec_use
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
    ResolutionChange,
    ToneMap,
    View,
    normalize_size,
)
from videoloader.decoding.request import ClipRequest, as_request
from videoloader.decoding.rules import OnError, Rules
from videoloader.decoding.switches import quick_switches
from videoloader.errors import ArgumentError
from videoloader.system.forking import ForkSafeLock
from videoloader.workers.processors import usable_processors

if TYPE_CHECKING:
    from videoloader.indexing.index import Orientation, VideoIndex
    from videoloader.sources.source import Source

__all__ = [
    "BatchDecoder",
    "ClipBatch",
    "ClipFailure",
    "ClipRequest",
    "decode_batch",
    "shared_decoder",
]


@quick_switches()
def decode_batch(
    requests: Sequence[ClipRequest | tuple[Any, ArrayLike]],
    device: str | torch.device = "cpu",
    *,
    size: int | tuple[int, int] | None = None,
    resize_shorter: int | None = None,
    dtype: ElementType = "uint8",
    layout: Layout = "FHWC",
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    interpolation: Interpolation = "triangular",
    tone_map: ToneMap = "none",
    matrix: Matrix = "auto",
    color_range: ColorRange = "auto",
    output: Output = "rgb",
    rotate: bool = True,
    resolution_change: ResolutionChange = "error",
    on_error: OnError = "raise",
    workers: int | None = None,
    hybrid: bool = False,
    max_pixels: int = MAX_PIXELS,
) -> ClipBatch:
    """Decode clips of many videos at once.

    What several clips want of one video is decoded once. The runs that this takes are spread over
    all engines of the GPU, or over worker processes on the CPU. Their pools stay alive between
    calls; a `BatchDecoder` has pools of its own.

    Args:
        requests: clips to decode, as `ClipRequest` or (source, frames).
        device: where the frames are given: `cpu`, `cuda` or `cuda:N`. Videos that the GPU cannot
            decode are decoded on the CPU and uploaded.
        size: (height, width) of all clips, or one number for both: pictures of another aspect ratio
            are stretched. As the videos by default.
        resize_shorter: length of the shorter side instead, which keeps the aspect ratio.
        dtype: element type; see `OutputFormat` for the range of values.
        layout: order of the dimensions of a clip: F frames, H rows, W columns, C channels.
        mean: subtracted from values of 0-255: one number, or one for each channel; float types.
        std: divides after that.
        interpolation: filter of resizing, see `OutputFormat`.
        tone_map: of PQ and HLG pictures, see `OutputFormat`.
        matrix: from Y'CbCr to RGB, see `OutputFormat`.
        color_range: of the samples, see `OutputFormat`.
        output: `rgb`, `gray` (one channel) or `yuv` (planes as coded), see `OutputFormat`.
        rotate: turn pictures as the container says, as players do.
        resolution_change: what to do with frames of another size than the first where a stream
            changes it: `error`, or `scale` them to the first size; with `size` they are scaled.
        on_error: what a damaged or missing video does: `raise` its error; `skip` its clip;
            `replace` its clip by the next of the batch that decodes; `mask` the frames concerned,
            which are filled with the fill value and marked in `Clip.mask`.
        workers: processes that decode on the CPU; as many as this process may use processors by
            default, 0 for none, which is the default in processes that may not have children.
        hybrid: let the CPU take runs as well while the GPU has more than it can begin.
        max_pixels: of a picture of a video; a file that claims more fails. Far above 8K by default.

    Whatever goes wrong with a video costs its clip: also errors of the system and of libraries,
    and clips that the machine has no memory for. Mistakes of a program (`TypeError` and the like)
    are always raised.

    Raises:
        VideoError: one of the requests fails, with `on_error="raise"`.
        ArgumentError: arguments that contradict each other.

    >>> batch = decode_batch([("a.mp4", [0, 4, 8]), ("b.mp4", [3, 2, 1])])  # doctest: +SKIP
    >>> batch.frames.shape  # doctest: +SKIP
    torch.Size([2, 3, 360, 640, 3])
    """
    decoder = shared_decoder(device, workers)
    return decoder.decode(
        requests,
        size=size,
        resize_shorter=resize_shorter,
        dtype=dtype,
        layout=layout,
        mean=mean,
        std=std,
        interpolation=interpolation,
        tone_map=tone_map,
        matrix=matrix,
        color_range=color_range,
        output=output,
        rotate=rotate,
        resolution_change=resolution_change,
        on_error=on_error,
        hybrid=hybrid,
        max_pixels=max_pixels,
    )


class BatchDecoder:
    """Pools of decoders that live from batch to batch. Threads may share it.

    Args:
        device: where frames are given, see `decode_batch`.
        workers: processes that decode on the CPU, see `decode_batch`; they start when needed.
        threads: that decode in this process where there are no workers.
        time_limit: seconds that a process may take for one run of packets, or to index a file that
            FFmpeg has to look at.
        memory_limit: bytes that each process may allocate, not counting the frames that it gives;
            what needs more fails. `auto` is a quarter of the machine's memory, and 2 GiB at least;
            None is no limit.
        indexes: where indexes are kept; a cache of its own by default.
    """

    def __init__(
        self,
        device: str | torch.device = "cpu",
        *,
        workers: int | None = None,
        threads: int = 1,
        time_limit: float = TIME_LIMIT,
        memory_limit: MemoryLimit = "auto",
        indexes: IndexCache | None = None,
    ) -> None:
        self.device = as_device(device)
        self._workers = _default_workers(workers)
        if threads < 1:
            raise ArgumentError(f"threads must be at least 1, got {threads}")
        self._threads = threads
        self._time_limit = check_time_limit(time_limit)
        self._memory_limit = worker_limit(memory_limit)
        indexer = None
        if self._workers:
            indexer = Indexer(time_limit=time_limit, memory_limit=self._memory_limit)
        self._indexes = IndexCache(indexer) if indexes is None else indexes
        self._lock = ForkSafeLock()
        self._counts: Counter[str] = Counter()
        self._cpu: CpuEngine | LocalEngine | None = None
        self._gpu: GpuEngine | None = None

    def decode(
        self,
        requests: Sequence[ClipRequest | tuple[Any, ArrayLike]],
        *,
        size: int | tuple[int, int] | None = None,
        resize_shorter: int | None = None,
        dtype: ElementType = "uint8",
        layout: Layout = "FHWC",
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        interpolation: Interpolation = "triangular",
        tone_map: ToneMap = "none",
        matrix: Matrix = "auto",
        color_range: ColorRange = "auto",
        output: Output = "rgb",
        rotate: bool = True,
        resolution_change: ResolutionChange = "error",
        on_error: OnError = "raise",
        hybrid: bool = False,
        max_pixels: int = MAX_PIXELS,
    ) -> ClipBatch:
        """Decode clips; arguments and errors as of `decode_batch`.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        form = OutputFormat(
            dtype, layout, mean, std, interpolation, tone_map, matrix, color_range, output
        )
        rules = Rules(rotate, resolution_change, on_error, hybrid, max_pixels)
        return self.run(requests, form, rules, size=size, resize_shorter=resize_shorter)

    @quick_switches()  # until what it made is let go of, too
    def run(
        self,
        requests: Sequence[ClipRequest | tuple[Any, ArrayLike]],
        output: OutputFormat | None = None,
        rules: Rules | None = None,
        *,
        size: int | tuple[int, int] | None = None,
        resize_shorter: int | None = None,
    ) -> ClipBatch:
        """What `decode` does, its keywords as values.

        Args:
            requests: clips to decode.
            output: form of all clips.
            rules: how videos, and what goes wrong with them, are treated.
            size: of clips whose requests name none.
            resize_shorter: the same, in place of `size`.
        """
        output, rules = output or OutputFormat(), rules or Rules()
        if resize_shorter is not None:
            check_resizing(size, resize_shorter)
        whole = resize_shorter if size is None else normalize_size(size)
        wanted = [as_request(request, place) for place, request in enumerate(requests)]
        gpu = self._gpu_engine() if self.device.type == "cuda" else None
        cpu = self._cpu_engine()
        assembly = Assembly(wanted, output, whole, rules)
        with ExitStack() as files:
            assembly.open(self._indexes, files)
            assembly.allocate(
                partial((gpu or cpu).allocate, output=output),
                limit=machine_memory() if gpu is None else None,
            )
            if gpu is None:
                cpu.decode(assembly.runs(), assembly)
            else:
                gpu.decode(assembly.runs(), assembly, cpu, hybrid=rules.hybrid)
        batch = assembly.finish()
        with self._lock:
            self._counts["batches"] += 1
            self._counts["clips"] += len(wanted)
            self._counts["failures"] += len(batch.failures)
        return batch

    def read(
        self,
        index: VideoIndex,
        source: Source,
        orientation: Orientation,
        output: OutputFormat | None = None,
        *,
        view: View | None = None,
        start: int = 0,
    ) -> Iterator[torch.Tensor]:
        """The frames of a video on a GPU, a few at a time; see `GpuEngine.read`."""
        return self._gpu_engine().read(index, source, orientation, output, view=view, start=start)

    @quick_switches()
    def decode_images(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images on the CPU; for each its pixels (H, W, C), or the error that it costs.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        return self._cpu_engine().decode_images(requests, form)

    @quick_switches()
    def decode_sounds(self, requests: Sequence[SoundRequest]) -> list[DecodedSound | Exception]:
        """Decode sounds on the CPU; for each its samples, or the error that it costs.

        Raises:
            ClosedError: another thread closes the decoder meanwhile.
        """
        return self._cpu_engine().decode_sounds(requests)

    def stats(self) -> dict[str, Any]:
        """What was done so far: counts of batches, clips and failures, and those of the pools.

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
        """What decodes now: worker processes, and how many were replaced since they died or hung.

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

    def __enter__(self) -> BatchDecoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cpu_engine(self) -> CpuEngine | LocalEngine:
        with self._lock:
            if self._cpu is None and self._workers:
                self._cpu = CpuEngine(self._workers, self._time_limit, self._memory_limit)
            elif self._cpu is None:
                self._cpu = LocalEngine(self._threads)
            return self._cpu

    def _gpu_engine(self) -> GpuEngine:
        with self._lock:
            if self._gpu is None:
                self._gpu = GpuEngine(self.device)
            return self._gpu


def _default_workers(workers: int | None) -> int:
    if workers is not None:
        if workers < 0:
            raise ArgumentError(f"workers is 0 or more, got {workers}")
        return workers
    if multiprocessing.current_process().daemon or torch.utils.data.get_worker_info() is not None:
        return 0
    return usable_processors()


def shared_decoder(
    device: str | torch.device,
    workers: int | None = None,
    *,
    time_limit: float = TIME_LIMIT,
    memory_limit: MemoryLimit = "auto",
) -> BatchDecoder:
    """The decoder that `decode_batch`, loaders and pipelines with the same limits share."""
    chosen = as_device(device)
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", torch.cuda.current_device())
    limits = time_limit, worker_limit(memory_limit)
    return _shared(str(chosen), _default_workers(workers), *limits, os.getpid())


@cache
def _shared(
    device: str,
    workers: int,
    time_limit: float,
    memory_limit: int | None,
    process: int,  # noqa: ARG001
) -> BatchDecoder:
    """One for each process: a fork gets one of its own."""
    decoder = BatchDecoder(
        device, workers=workers, time_limit=time_limit, memory_limit=memory_limit
    )
    atexit.register(decoder.close)
    return decoder
