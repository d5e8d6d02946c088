"""Decoding of all frames once, to list the damaged ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.errors import VideoError
from videoloader.indexing.dataset import DatasetIndex, Item
from videoloader.indexing.dataset.part import table_path
from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.dataset.video_job import (
    Progress,
    Task,
    VideoJob,
    part_of,
    states_of,
    write_results,
)
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.sampling import plan_decode

if TYPE_CHECKING:
    import pyarrow as pa

_PART = 512  # frames examined at a time


class Damage(NamedTuple):
    """Frames of a video that do not decode, and why; all of them where `frames` is empty."""

    frames: tuple[int, ...]
    kind: str
    reason: str


def check_video(task: tuple[int, Item], *, dataset: DatasetIndex) -> list[Damage]:
    """Decode every frame of one video of a data set.

    Returns:
        What is damaged, one entry for each cause.
    """
    row, item = task
    try:
        index, source = dataset[row], item.open()
        wrong: dict[str, list[int]] = {}
        with source, closing(CpuDecoder(index, source)) as decoder:
            index.check(source)
            for start in range(0, index.num_frames, _PART):
                frames = np.arange(start, min(start + _PART, index.num_frames))
                for frame, reason in decoder.examine(plan_decode(index, frames)):
                    if reason is not None:
                        wrong.setdefault(reason, []).append(frame)
    except VideoError as error:
        raise_shortage(error, item.name)
        return [Damage((), type(error).__name__, str(error))]
    return [
        Damage(tuple(sorted(frames)), "DecodeError", reason) for reason, frames in wrong.items()
    ]


def check_dataset(
    dataset: DatasetIndex,
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    time_limit: float = 3600.0,
    shard: tuple[int, int] = (0, 1),
    ray: bool | str = False,
    progress: Progress | None = None,
) -> pa.Table:
    """Decode every frame of every video once and write a list of the damaged ones.

    The job may be interrupted at any moment: what is done is kept beside `out` in a journal, and
    the same call goes on from there. Once it has ended, the next call checks everything again.

    Args:
        dataset: to check; rows that are failures are left out.
        out: Parquet file to write: a row for each video and cause, with `row` and `key` of the
            video in the data set, `path`, `member`, `frames` (a list, empty for all),
            `error_kind` and `reason`.
        workers: processes; as many as this process may use processors by default, 0 for none.
        time_limit: seconds that one video may take in a worker.
        shard: (i, n) checks the i-th of n parts of the videos, for n machines.
        ray: work on a Ray cluster instead of in processes here, see `index_dataset`.
        progress: is told how far the job is.

    Returns:
        The table that was written.
    """
    import pyarrow.parquet as pq

    out = table_path(out)
    rows = part_of(dataset.videos.rows.tolist(), shard)
    tasks = [(row, dataset.item(row)) for row in rows]
    job = VideoJob(
        function=f"{__name__}:check_video",
        arguments={"dataset": dataset.without_sign()},
        as_row=_as_row,
        workers=workers,
        time_limit=time_limit,
        ray=ray,
        is_failed=lambda row: bool(row.facts["damage"]),
        progress=progress,
    )
    tables: list[pa.Table] = []

    def write(target: Path, found: Callable[[Item], Row]) -> None:
        damage = {row: found(item).facts["damage"] for row, item in tasks}
        tables.append(_table(dataset, damage))
        pq.write_table(tables[0], target, compression="zstd")

    write_results(job, tasks, out, write, name="check", state=states_of(dataset))
    return tables[0]


def _as_row(task: Task, result: list[Damage] | TaskFailure) -> Row:
    if isinstance(result, TaskFailure):
        result = [Damage((), result.kind, result.reason)]
    return Row(task[1], None, {"damage": result})


def _table(dataset: DatasetIndex, damage: dict[int, list[Damage]]) -> pa.Table:
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    fields = [("row", number), ("key", text), ("path", text), ("member", text)]
    fields += [("frames", pa.list_(number)), ("error_kind", text), ("reason", text)]
    rows = []
    for row, found in sorted(damage.items()):
        item = dataset.item(row)
        place = {"row": row, "key": dataset.key(row), "path": item.path, "member": item.member}
        for frames, kind, reason in sorted(found):  # by their first frame
            rows.append(place | {"frames": frames, "error_kind": kind, "reason": reason})
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))
