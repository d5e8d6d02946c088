"""Decoding everything once to know what is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from videoloader.decoding.libav import CpuDecoder
from videoloader.errors import VideoError
from videoloader.indexing.dataset import DatasetIndex, Item
from videoloader.indexing.dataset.job import Progress
from videoloader.indexing.dataset.workers import Failure, run_tasks
from videoloader.indexing.writing import written, written_whole
from videoloader.sampling import plan_decode

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Damage", "check_dataset", "check_video"]

_PART = 512  # frames examined at a time


class Damage(NamedTuple):
    """Frames of a video that do not decode, and why; all of them where `frames` is empty."""

    frames: tuple[int, ...]
    reason: str


def check_video(task: tuple[str, int, Item]) -> list[Damage]:
    """Decode every frame of one video of a data set.

    Args:
        task: path of the data set index, number of the video in it, and where the video is.

    Returns:
        What is damaged, one entry for each cause.
    """
    path, video, item = task
    with DatasetIndex(path) as dataset:
        try:
            index, source = dataset[video], item.open()
            wrong: dict[str, list[int]] = {}
            with source, closing(CpuDecoder(index, source)) as decoder:
                index.check(source)
                for start in range(0, index.num_frames, _PART):
                    frames = np.arange(start, min(start + _PART, index.num_frames))
                    for frame, reason in decoder.examine(plan_decode(index, frames)):
                        if reason is not None:
                            wrong.setdefault(reason, []).append(frame)
        except VideoError as error:
            return [Damage((), str(error))]
    return [Damage(tuple(sorted(frames)), reason) for reason, frames in wrong.items()]


def check_dataset(
    dataset: DatasetIndex,
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    time_limit: float = 3600.0,
    progress: Progress | None = None,
) -> pa.Table:
    """Decode every frame of every video once and write what is damaged.

    Args:
        dataset: to check.
        out: Parquet file to write: a row for each video and cause, with `path`, `member`,
            `frames` (a list, empty for all) and `reason`.
        workers: processes; as many as this process may use processors by default, 0 for none.
        time_limit: seconds that one video may take.
        progress: is told how far the job is.

    Returns:
        The table that was written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = Path(out)
    with written(target):  # rather found out now than when all is done
        target.parent.mkdir(parents=True, exist_ok=True)
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    rows = sorted(_rows(dataset, count, time_limit, progress), key=lambda row: row["video"])
    fields = [("path", pa.string()), ("member", pa.string())]
    fields += [("frames", pa.list_(pa.int64())), ("reason", pa.string())]
    table = pa.Table.from_pylist(rows, schema=pa.schema(fields))
    with written_whole(target) as partial:
        pq.write_table(table, partial, compression="zstd")
    return table


def _rows(
    dataset: DatasetIndex, workers: int, time_limit: float, progress: Progress | None
) -> Iterator[dict[str, Any]]:
    tasks = [(str(dataset.path), video, dataset.item(video)) for video in range(len(dataset))]
    failed = 0
    results = run_tasks(f"{__name__}:check_video", tasks, workers=workers, time_limit=time_limit)
    for done, ((_, video, item), result) in enumerate(results, start=1):
        damages = [Damage((), result.reason)] if isinstance(result, Failure) else result
        for damage in damages:
            yield {
                "video": video,
                "path": item.path,
                "member": item.member,
                "frames": list(damage.frames),
                "reason": damage.reason,
            }
        failed += bool(damages)
        if progress is not None:
            progress(done, len(tasks), failed)
