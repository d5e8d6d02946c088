"""A job over videos: calls one function for each, and can be interrupted and resumed.

`check_dataset`, `map_clips` and `write_report` run as such jobs. Two others have loops of their
own: `index_dataset`, whose rows are the index itself, and `transcode`, whose journal stays with
the files that it writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.job import Progress
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.reader import DatasetIndex
from videoloader.indexing.dataset.rows import Row
from videoloader.machinery.system.writing import make_folder, written_whole
from videoloader.machinery.workers.tasks import run_tasks
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint

Task: TypeAlias = tuple[int, Item]
"""Number of a video in its data set, and where it is."""


class VideoJob(NamedTuple):
    """What a job does with each video.

    Attributes:
        function: `module:name` of a function that is called as `name(task, **arguments)`.
        arguments: of every call, picklable.
        name: results of an interrupted job count only if they have the same name.
        state: the fingerprint of a video as it is now; results of another state do not count.
        as_row: makes the row for the journal from what the function gave, which is a
            `TaskFailure` if its process died or took too long.
        is_failed: whether a row counts as a failure.
        gpus: that a call needs; for Ray.
    """

    function: str
    arguments: dict[str, Any]
    name: str
    state: Callable[[int], Fingerprint | None]
    as_row: Callable[[Item, Any], Row]
    is_failed: Callable[[Row], bool]
    gpus: int = 0


def for_workers(dataset: DatasetIndex) -> DatasetIndex:
    """A data set for arguments of a job: without its `sign`, which may not pickle."""
    return DatasetIndex(dataset.path, root=dataset.root, check=dataset.check)


def states_of(dataset: DatasetIndex) -> Callable[[int], Fingerprint | None]:
    """The state of each video as it was indexed, by row."""
    table = dataset.columns(["size", "mtime_ns", "etag"])
    columns = [table[name].to_pylist() for name in table.column_names]
    return lambda row: Fingerprint(*(column[row] for column in columns))


def run_video_job(
    job: VideoJob,
    tasks: Sequence[Task],
    out: str | os.PathLike[str],
    write: Callable[[Path, Callable[[Item], Row]], None],
    *,
    workers: int | None = None,
    time_limit: float = 3600.0,
    ray: bool | str = False,
    progress: Progress | None = None,
) -> None:
    """Do a job for videos, and write its result.

    What is done is kept beside `out` in a journal until the result is written; the same call goes
    on from there.

    Args:
        job: what to do.
        tasks: the videos, each once.
        out: file to write.
        write: writes it to the path it is given, from the rows of the videos.
        workers: processes; as many as this process may use processors by default, 0 for none.
        time_limit: seconds that one video may take in a worker.
        ray: work on a Ray cluster instead of in processes here, see `index_dataset`.
        progress: is told how far the job is.
    """
    target = Path(out)
    make_folder(target)  # rather found out now than when all is done
    _check_once(tasks)
    journal = Journal(target.with_name(f"{target.name}.journal"))
    try:
        missing, failed = [], 0
        for number, item in tasks:
            row = journal.get(item)
            mark = _mark(job, number)
            if row is None or row.facts.get("job") != mark or row.state != job.state(number):
                missing.append((number, item))
            else:
                failed += job.is_failed(row)
        done = len(tasks) - len(missing)
        results = run_tasks(
            job.function,
            missing,
            workers=workers,
            time_limit=time_limit,
            arguments=job.arguments,
            ahead=1,  # a video takes long: those that wait stay free for any worker
            ray=ray,
            gpus=job.gpus,
        )
        for (number, item), result in results:
            row = job.as_row(item, result)
            facts = row.facts | {"job": _mark(job, number)}
            journal.add(replace(row, state=job.state(number), facts=facts))
            done, failed = done + 1, failed + job.is_failed(row)
            if progress is not None:
                progress(done, len(tasks), failed)
        with written_whole(target) as partial:
            write(partial, journal.__getitem__)
        journal.remove()
    finally:
        journal.close()


def _check_once(tasks: Sequence[Task]) -> None:
    seen = set()
    for _, item in tasks:
        if item.place() in seen:
            raise ArgumentError(f"{item.name}: is listed twice; a job does each video once")
        seen.add(item.place())


def _mark(job: VideoJob, number: int) -> list[Any]:
    """What a result is of: the job, and the number of the video, on which random draws depend."""
    return [job.name, number]
