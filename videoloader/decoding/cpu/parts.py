"""Parts of a batch, each for one decoder at a time, and which frames it is where one fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.tasks import CpuTask, Target, TaskSource
from videoloader.errors import DecodeError
from videoloader.machinery.workers.supervisor import WorkerLostError
from videoloader.sampling.plan import MergedRun

UNBALANCED = 1.25
"""A run longer than so many equal shares of a batch gets the threads of all processors."""
SPARE_THREADS = 2
"""Frame threads beyond the processors: some always wait for the pictures of others."""


class Part(NamedTuple):
    """The work of one decoder at a time: runs of one video, in its order, or one frame of a run.

    Attributes:
        runs: to decode together.
        threads: of the codec.
        frame: the only one to decode; all by default.
    """

    runs: Sequence[MergedRun]
    threads: int = 1
    frame: int | None = None


def narrowed(part: Part, error: Any, assembly: Assembly) -> list[Part]:
    """The parts to decode in place of one that failed, to find the frames that fail.

    First by one thread, since several do not tell which packet is damaged. Then, unless the rules
    are strict, each run by itself, and each frame of a run that does not decode. At last there is
    nothing more to decode, and the error goes to the clips.
    """
    runs, threads, frame = part
    if frame is None and not isinstance(error, WorkerLostError):
        if threads > 1:
            return [Part(runs)]
        if not assembly.rules.is_strict:
            if len(runs) > 1:
                return [Part([run]) for run in runs]
            if isinstance(error, DecodeError):
                return [Part(runs, frame=number) for number in runs[0].run.frames.tolist()]
    for run in runs:
        frames = run.run.frames.tolist() if frame is None else [frame]
        assembly.blame(run, dict.fromkeys(frames, error))
    return []


def task_of(
    part: Part,
    assembly: Assembly,
    slots: dict[int, NDArray[Any]],
    source: TaskSource,
    *,
    reads_on: bool = False,
) -> CpuTask:
    """The task that decodes a part of a batch.

    Args:
        part: what to decode.
        assembly: the batch.
        slots: (F, H, W, C), by number of the clip.
        source: what a worker opens the video by.
        reads_on: see `CpuDecoder.decode`.
    """
    runs, threads, frame = part
    wants = [want for run in runs for want in run.wants if frame is None or frame == want[0]]
    clip = assembly.clips[runs[0].clip]
    return CpuTask(
        source=source,
        index=clip.index,
        targets={n: Target(slots[n], assembly.clips[n].view) for n in {n for _, n, _ in wants}},
        wants=wants,
        output=assembly.output,
        rotate=assembly.rules.rotate,
        threads=threads,
        max_pixels=assembly.rules.max_pixels,
        runs=tuple([run.run for run in runs]) if frame is None else None,
        reads_on=reads_on,
        whole=clip.source.whole,
    )
