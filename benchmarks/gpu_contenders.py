"""Who decodes what on the GPU: ourselves, our peers, and NVDEC with nothing around it.

A contender's class does the cases it can; `measure` times and judges them. All of them open the
files in the measured time, and use up to fourteen threads or decoders.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from compiled_loop import use_it
from footage import Reference, Verdict
from gpu_ceiling import measure_ceiling, measure_one_engine
from serve import busy_thread

THREADS = 14
SIDE = 224
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
OURS = "videoloader"
COMPILED = "videoloader, compiled loop"
CEILING = "NVDEC alone"
CASES = ("sequential", "clips", "uniform", "first")
_SMALL = (180, 320)  # of the pictures that are judged
_FORM: dict[str, Any] = {
    "size": SIDE,
    "dtype": "float16",
    "layout": "FCHW",
    "mean": MEAN,
    "std": STD,
}

See = Callable[[int, int, Any], None]  # place, frame number, picture (C, H, W)


@dataclass(frozen=True, slots=True)
class Work:
    """One case: clip `i` is of file `i`; `size` is the video's height and width."""

    case: str
    paths: tuple[str, ...]
    clips: tuple[tuple[int, ...], ...]
    size: tuple[int, int]
    reference: str
    device: str
    repetitions: int


class Contender:
    """`clips` gives normalised float16 (16, 3, 224, 224) tensors on the device, in order."""

    cases: tuple[str, ...] = CASES
    runs_on_cpu = False
    all_videos = False

    def clips(self, work: Work) -> list[Any]:
        raise NotImplementedError

    def sequential(self, work: Work, see: See | None) -> None:
        """All frames of all files to RGB on the device; `see` is given each when not timed."""
        raise NotImplementedError

    def first(self, path: str, number: int, work: Work) -> Any:
        """One frame at full size, uint8 RGB (H, W, C), on the device."""
        raise NotImplementedError


class Ours(Contender):
    cases = (*CASES, "flat")
    runs_on_cpu = True
    all_videos = True

    def clips(self, work: Work) -> list[Any]:
        import videoloader

        vl: Any = videoloader
        if not hasattr(vl, "decode_batch"):
            return [self._clip(path, clip) for path, clip in zip(work.paths, work.clips)]  # noqa: B905
        wanted = [
            vl.ClipRequest(path, frames=list(clip))
            for path, clip in zip(work.paths, work.clips, strict=True)
        ]
        return list(vl.decode_batch(wanted, device=work.device, **_FORM).frames)

    def _clip(self, path: str, clip: tuple[int, ...]) -> Any:
        import videoloader as vl

        with vl.Video(path) as video:
            return normalised(video.get_frames(list(clip), size=SIDE, layout="FCHW").frames)

    def sequential(self, work: Work, see: See | None) -> None:
        import videoloader as vl

        def read(place: int) -> None:
            with vl.Video(work.paths[place], device=work.device) as video:
                for number, frame in enumerate(video):
                    if see is not None:
                        see(place, number, frame.permute(2, 0, 1))

        in_threads(read, len(work.paths))

    def first(self, path: str, number: int, work: Work) -> Any:
        import videoloader as vl

        with vl.Video(path, device=work.device) as video:
            return video[number]


class CompiledLoop(Ours):
    """Ours with a loop in C++ over the packets of a run; needs `g++`, see compiled_loop.py."""

    runs_on_cpu = False

    def sequential(self, work: Work, see: See | None) -> None:
        use_it()
        super().sequential(work, see)

    def clips(self, work: Work) -> list[Any]:
        use_it()
        return super().clips(work)

    def first(self, path: str, number: int, work: Work) -> Any:
        use_it()
        return super().first(path, number, work)


class TorchCodec(Contender):
    runs_on_cpu = True
    all_videos = True

    def _open(self, path: str, work: Work) -> Any:
        from torchcodec.decoders import VideoDecoder

        return VideoDecoder(path, seek_mode="approximate", device=work.device)

    def clips(self, work: Work) -> list[Any]:
        def read(place: int) -> Any:
            frames = self._open(work.paths[place], work).get_frames_at(list(work.clips[place]))
            return normalised(resized(frames.data))

        return in_threads(read, len(work.paths))

    def sequential(self, work: Work, see: See | None) -> None:
        def read(place: int) -> None:
            decoder = self._open(work.paths[place], work)
            for start in range(0, len(decoder), 20):
                stop = min(start + 20, len(decoder))
                frames = decoder.get_frames_in_range(start, stop).data
                if see is not None:
                    for number, frame in enumerate(frames, start):
                        see(place, number, frame)

        in_threads(read, len(work.paths))

    def first(self, path: str, number: int, work: Work) -> Any:
        return self._open(path, work)[number].permute(1, 2, 0)


class SimpleDecoder(Contender):
    """PyNvVideoCodec's random access: a decoder for each thread, given one file after another."""

    def __init__(self) -> None:
        self._own = threading.local()

    def _open(self, path: str) -> Any:
        import PyNvVideoCodec

        if not hasattr(self._own, "decoder"):
            self._own.decoder = PyNvVideoCodec.SimpleDecoder(
                path,
                gpu_id=0,
                use_device_memory=True,
                output_color_type=PyNvVideoCodec.OutputColorType.RGBP,
            )
        else:
            self._own.decoder.reconfigure_decoder(path)
        return self._own.decoder

    def clips(self, work: Work) -> list[Any]:
        import torch
        from torch.utils.dlpack import from_dlpack

        def read(place: int) -> Any:
            numbers = list(work.clips[place])
            frames = self._open(work.paths[place]).get_batch_frames_by_index(numbers)
            stacked = torch.stack([from_dlpack(frame) for frame in frames])
            return normalised(resized(stacked))

        return in_threads(read, len(work.paths))

    def sequential(self, work: Work, see: See | None) -> None:
        from torch.utils.dlpack import from_dlpack

        def read(place: int) -> None:
            decoder = self._open(work.paths[place])
            for start in range(0, len(decoder), 20):
                numbers = list(range(start, min(start + 20, len(decoder))))
                frames = decoder.get_batch_frames_by_index(numbers)
                if see is not None:
                    for number, frame in zip(numbers, frames, strict=True):
                        see(place, number, from_dlpack(frame))

        in_threads(read, len(work.paths))

    def first(self, path: str, number: int, work: Work) -> Any:  # noqa: ARG002
        from torch.utils.dlpack import from_dlpack

        return from_dlpack(self._open(path)[number]).clone().permute(1, 2, 0)


class ThreadedDecoder(Contender):
    cases = ("sequential",)

    def sequential(self, work: Work, see: See | None) -> None:
        import PyNvVideoCodec
        from torch.utils.dlpack import from_dlpack

        def read(place: int) -> None:
            decoder = PyNvVideoCodec.ThreadedDecoder(
                work.paths[place],
                32,
                gpu_id=0,
                use_device_memory=True,
                output_color_type=PyNvVideoCodec.OutputColorType.RGBP,
            )
            number = 0
            while frames := decoder.get_batch_frames(16):
                for frame in frames:
                    if see is not None:
                        see(place, number, from_dlpack(frame))
                    number += 1
            decoder.end()

        in_threads(read, len(work.paths))


# -- Measuring. --


def measure(name: str, work: Work, *, busy: bool) -> dict[str, Any]:
    """One case of one contender in this process; what fails is told and not raised.

    Beside a busy thread the frames are not compared once more.
    """
    contender = CONTENDERS[name]
    let_go(work)
    try:
        if isinstance(contender, Ceiling):
            how = measure_one_engine if work.case == "first" else measure_ceiling
            return how(work.paths, work.clips, work.size)
        cases = {"first": _first, "sequential": _sequential, "flat": _flat}
        return cases.get(work.case, _clips)(contender, work, busy)
    except Exception as error:  # noqa: BLE001  (a peer may fail in any way)
        return {"error": f"{type(error).__name__}: {error}"}


def _clips(contender: Contender, work: Work, busy: bool) -> dict[str, Any]:
    result = contender.clips(work)
    synchronize(work)
    seconds = []
    with beside(busy):
        for _ in range(work.repetitions):
            result = []
            begin = time.perf_counter()
            result = contender.clips(work)
            synchronize(work)
            seconds.append(time.perf_counter() - begin)
    judge = Judge(work)
    for place, clip in enumerate(result):
        for number, frame in zip(work.clips[place], denormalised(clip), strict=True):
            judge.see(place, number, frame)
    figures = judge.figures()
    if isinstance(contender, Ours) and work.device != "cpu" and not busy:
        figures |= agreement(contender, result, work)
    per_second = len(result) / statistics.median(seconds)
    return {"value": per_second, "unit": "clips/s", "seconds": seconds, **figures}


def _sequential(contender: Contender, work: Work, busy: bool) -> dict[str, Any]:
    judge = Judge(work)
    contender.sequential(work, None if busy else judge.see)
    seconds = []
    with beside(busy):
        for _ in range(work.repetitions):
            begin = time.perf_counter()
            contender.sequential(work, None)
            synchronize(work)
            seconds.append(time.perf_counter() - begin)
    frames = sum(len(clip) for clip in work.clips)
    figures = {} if busy else judge.figures(expected=frames)
    rate = frames / statistics.median(seconds)
    return {"value": rate, "unit": "fps", "seconds": seconds, **figures}


def _first(contender: Contender, work: Work, busy: bool) -> dict[str, Any]:
    judge = Judge(work)
    times = []
    for place, (path, (number,)) in enumerate(zip(work.paths, work.clips, strict=True)):
        with beside(busy):
            begin = time.perf_counter()
            frame = contender.first(path, number, work)
            synchronize(work)
            times.append(1e3 * (time.perf_counter() - begin))
        judge.see(place, number, frame.permute(2, 0, 1))
    median = statistics.median(times[1:])  # the first warms the process
    return {"value": median, "unit": "ms", "milliseconds": times, **judge.figures()}


def _flat(contender: Contender, work: Work, busy: bool) -> dict[str, Any]:
    """Memory in use after each tenth of the clips, in batches of 40."""
    used = []
    begin, total = time.perf_counter(), len(work.paths)
    with beside(busy):
        for start in range(0, total, 40):
            part = slice(start, start + 40)
            batch = replace(work, paths=work.paths[part], clips=work.clips[part])
            contender.clips(batch)
            if (start + 40) % max(total // 10, 40) == 0:
                used.append(used_mib(work))
    grown = used[-1] - used[len(used) // 5]
    seconds = time.perf_counter() - begin
    return {"value": grown, "unit": "MiB grown", "used": used, "seconds": [seconds]}


def beside(busy: bool) -> contextlib.AbstractContextManager[None]:
    return busy_thread() if busy else contextlib.nullcontext()


class Judge:
    """Compares pictures with the reference; threads may share it."""

    def __init__(self, work: Work) -> None:
        self._reference = Reference(np.load(work.reference))
        self._verdicts: list[Verdict] = []
        self._lock = threading.Lock()

    def see(self, place: int, number: int, picture: Any) -> None:  # noqa: ARG002
        """One picture (C, H, W), 0-255, on any device."""
        from torch.nn.functional import adaptive_avg_pool2d

        with self._lock:  # one at a time: a picture of floats counts as memory of the contender
            small = adaptive_avg_pool2d(picture.float(), _SMALL).round().clamp(0, 255)
            pixels = small.permute(1, 2, 0).byte().cpu().numpy()
        self._verdicts.append(self._reference.judge(number, np.ascontiguousarray(pixels)))

    def figures(self, expected: int | None = None) -> dict[str, Any]:
        verdict = sum(self._verdicts, Verdict(0, 0, 0.0))
        missing = 0 if expected is None else expected - verdict.frames
        return {
            "frames": verdict.frames,
            "wrong_frames": verdict.wrong + missing,
            "difference": round(verdict.difference, 3),
            "right": verdict.wrong + missing == 0 and verdict.difference < 8,
        }


def agreement(ours: Ours, result: list[Any], work: Work) -> dict[str, Any]:
    """Differences of the first clips from those that the CPU decodes, of 255."""
    few = slice(0, 4)
    on_cpu = replace(work, paths=work.paths[few], clips=work.clips[few], device="cpu")
    differences = [
        (denormalised(there).cpu() - denormalised(here)).abs()
        for there, here in zip(result[few], ours.clips(on_cpu), strict=True)
    ]
    return {
        "mean_from_cpu": round(float(sum(one.mean() for one in differences)) / len(differences), 4),
        "largest_from_cpu": float(max(one.max() for one in differences)),
    }


@cache
def threads() -> ThreadPoolExecutor:
    """They stay: to start and end them beside a busy thread would be most of the time."""
    return ThreadPoolExecutor(THREADS)


def in_threads(read: Callable[[int], Any], count: int) -> list[Any]:
    return list(threads().map(read, range(count)))


def resized(frames: Any) -> Any:
    from torch.nn.functional import interpolate

    return interpolate(frames.float(), (SIDE, SIDE), mode="bilinear", antialias=True)


def normalised(frames: Any) -> Any:
    """float16 (F, C, H, W) from 0-255."""
    import torch

    mean, std = (torch.tensor(one, device=frames.device).view(3, 1, 1) for one in (MEAN, STD))
    return ((frames.float() - mean) / std).half()


def denormalised(clip: Any) -> Any:
    import torch

    mean, std = (torch.tensor(one, device=clip.device).view(3, 1, 1) for one in (MEAN, STD))
    return clip.float() * std + mean


def let_go(work: Work) -> None:
    """Give back what PyTorch keeps of the case before: memory is that of one case at a time."""
    if work.device != "cpu":
        import torch

        torch.cuda.empty_cache()


def synchronize(work: Work) -> None:
    if work.device != "cpu":
        import torch

        torch.cuda.synchronize()


def used_mib(work: Work) -> float:
    """Memory in use on the GPU, or of this process where there is none."""
    if work.device == "cpu":
        from pathlib import Path

        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
    import torch

    free, total = torch.cuda.mem_get_info()
    return float(total - free) / 2**20


class Ceiling(Contender):
    all_videos = True


CONTENDERS: dict[str, Contender] = {
    CEILING: Ceiling(),
    OURS: Ours(),
    COMPILED: CompiledLoop(),
    "torchcodec": TorchCodec(),
    "PyNvVideoCodec SimpleDecoder": SimpleDecoder(),
    "PyNvVideoCodec ThreadedDecoder": ThreadedDecoder(),
}
