"""The tasks that decode the runs of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.assembly import Assembly
from videoloader.decoding.cpu.decoders import CpuTask, Target, TaskSource
from videoloader.decoding.merge import MergedRun
from videoloader.sampling import DecodePlan

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
    wants = [run.wants for run in runs]
    frames = np.concatenate([each.frames for each in wants])
    clips = np.concatenate([each.clips for each in wants])
    positions = np.concatenate([each.positions for each in wants])
    if frame is not None:
        chosen = frames == frame
        frames, clips, positions = frames[chosen], clips[chosen], positions[chosen]
    targets = []
    for number in sorted(set(clips.tolist())):
        clip = assembly.clips[number]
        mine = clips == number
        wanted = np.full(len(clip.wanted.frames), -1, dtype=np.int64)
        wanted[positions[mine]] = frames[mine]
        targets.append(Target(wanted, slots[number], clip.view))
    clip = assembly.clips[runs[0].clip]
    plan = None
    if frame is None:
        plan = DecodePlan(tuple(run.run for run in runs), np.unique(frames), positions)
    return CpuTask(
        source=source,
        index=clip.index,
        targets=tuple(targets),
        output=assembly.output,
        rotate=clip.orientation == clip.index.orientation,
        threads=threads,
        max_pixels=assembly.rules.max_pixels,
        plan=plan,
        reads_on=reads_on,
        whole=clip.source.whole,
    )
