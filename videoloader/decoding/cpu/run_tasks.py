"""The tasks that decode the runs of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.decoders import CpuTask, Target, TaskSource
from videoloader.decoding.packets.merge import MergedRun
from videoloader.sampling import FILLED

__all__ = ["SPARE_THREADS", "UNBALANCED", "task_of"]

UNBALANCED = 1.25
"""A run longer than so many equal shares of a batch gets the threads of all processors."""
SPARE_THREADS = 2
"""Frame threads beyond the processors: some always wait for the pictures of others."""


def task_of(
    runs: Sequence[MergedRun],
    assembly: Assembly,
    slots: dict[int, NDArray[Any]],
    source: TaskSource,
    *,
    frame: int | None = None,
    threads: int = 1,
    reads_on: bool = False,
) -> CpuTask:
    """The task that decodes runs of one video, or one frame of them.

    Args:
        runs: of one video, in its order.
        assembly: the batch.
        slots: (F, H, W, C), by number of the clip.
        source: what a worker opens the video by.
        frame: the only one to decode; all by default.
        threads: of the codec.
        reads_on: see `CpuDecoder.decode`.
    """
    wanted: dict[int, list[int]] = {}  # by clip: the frame at each position
    for run in runs:
        for number, owner, position in run.wants:
            if frame is None or frame == number:
                if owner not in wanted:
                    length = len(assembly.clips[owner].frames)
                    wanted[owner] = [FILLED] * length
                wanted[owner][position] = number
    clip = assembly.clips[runs[0].clip]
    return CpuTask(
        source=source,
        index=clip.index,
        targets=tuple(
            Target(frames, slots[number], assembly.clips[number].view)
            for number, frames in wanted.items()
        ),
        output=assembly.output,
        rotate=clip.orientation == clip.index.orientation,
        threads=threads,
        max_pixels=assembly.rules.max_pixels,
        runs=tuple(run.run for run in runs) if frame is None else None,
        reads_on=reads_on,
        whole=clip.source.whole,
    )
