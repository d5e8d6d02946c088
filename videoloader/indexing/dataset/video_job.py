"""A job over videos: calls one function for each, and can be interrupted and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.journal import ENDING, Journal
from videoloader.indexing.dataset.rows import Row, as_error, text_at
from videoloader.indexing.dataset.videos import DatasetIndex
from videoloader.machinery.system.writing import make_folder, written_whole
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint

OnError: TypeAlias = Literal["record", "raise"]
"""The treatment of a video that fails: record its error in a row, or raise it."""

Progress: TypeAlias = Callable[[int, int, int], None]
"""Called with (videos done, all videos, failed videos)."""

Task: TypeAlias = tuple[int, Item] | tuple[int, Item, Any]
"""Number of a video in its data set, and where it is; or number of a part, its video, and what
part it is, a value whose `repr` tells it from others."""

_T = TypeVar("_T")


def returned_row(task: Any, result: Row | TaskFailure) -> Row:
    """The row that a worker returned, or the row of its failure; `task[1]` is the video."""
    if isinstance(result, TaskFailure):
        item: Item = task[1]
        return Row(item, None, {}, error=f"{item.name}: {result.reason}", kind=result.kind)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoJob:
    """The work of a job on each video.

    Attributes:
        function: `module:name` of a function that is called as `name(task, **arguments)`.
        arguments: of every call, picklable.
        as_row: makes the `Row` or `EncodedRow` for the journal from a task and what the function
            returned, which is a `TaskFailure` if its process died or took too long. By default the
            function returns a `Row`.
        workers, time_limit, ray, ahead: see `run_tasks`.
        options: its other arguments.
        on_error: what happens if a row has an error.
        root: folder or URL that the items are relative to.
        is_failed: whether a row counts as a failure.
        note: called with each task and its row when the row is in the journal.
        progress: called then too.
    """

    function: str
    arguments: Mapping[str, Any]
    as_row: Callable[[Any, Any], Any] = returned_row
    workers: int | None = None
    time_limit: float = 3600.0
    ray: bool | str = False
    ahead: int = 1  # videos take long: those that wait stay free for any worker
    options: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = "record"
    root: str | None = None
    is_failed: Callable[[Any], bool] = lambda row: bool(row.error)
    note: Callable[[Any, Any], None] | None = None
    progress: Progress | None = None

    def run(self, tasks: Sequence[Any], journal: Journal, *, total: int, failed: int = 0) -> None:
        """Call the function for each task, and add the rows to a journal.

        Args:
            tasks: those that are not done yet.
            journal: takes the rows.
            total: number of tasks, those included that are done.
            failed: how many of those failed.

        Raises:
            VideoError: with `on_error="raise"`, of the first video that fails.
        """
        done = total - len(tasks)
        results = run_tasks(
            self.function,
            tasks,
            arguments=dict(self.arguments),
            workers=self.workers,
            time_limit=self.time_limit,
            ray=self.ray,
            ahead=self.ahead,
            **self.options,
        )
        for task, result in results:
            row = self.as_row(task, result)
            if row.error and self.on_error == "raise":
                item = row.item
                raise as_error(row.kind, text_at(row.error, item, item.under(self.root)))
            journal.add(row)
            if self.note is not None:
                self.note(task, row)
            done, failed = done + 1, failed + self.is_failed(row)
            if self.progress is not None:
                self.progress(done, total, failed)


def part_of(items: list[_T], shard: tuple[int, int]) -> list[_T]:
    """The i-th of n parts of a list, in its order.

    >>> part_of(["a", "b", "c"], (1, 2))
    ['b', 'c']
    """
    part, parts = shard
    if not 0 <= part < parts:
        raise ArgumentError(f"shard must be (i, n) with 0 <= i < n, got {shard}")
    return items[part * len(items) // parts : (part + 1) * len(items) // parts]


def part_number(task: Task) -> int | None:
    """The number of the part of a video that a task is of; None if it is of all of it."""
    return task[0] if len(task) > 2 else None


def states_of(dataset: DatasetIndex) -> Callable[[int], Fingerprint | None]:
    """The state of each video as it was indexed, by row."""
    table = dataset.columns(["size", "mtime_ns", "etag"])
    columns = [table[name].to_pylist() for name in table.column_names]
    return lambda row: Fingerprint(*(column[row] for column in columns))


def write_results(
    job: VideoJob,
    tasks: Sequence[Task],
    out: str | os.PathLike[str],
    write: Callable[[Path, Callable[..., Row]], None],
    *,
    name: str,
    state: Callable[[int], Fingerprint | None],
) -> None:
    """Do a job for videos, and write one file from all of their rows.

    What is done is kept beside `out` in a journal until the file is written; the same call goes on
    from there.

    Args:
        job: what to do.
        tasks: the videos or parts, each once.
        out: file to write.
        write: writes it to the path it is given, from the rows of the videos: `Journal.row`.
        name: results of an interrupted job count only if they have the same name.
        state: the fingerprint of a video as it is now; results of another state do not count.
    """
    target = Path(out)
    make_folder(target)  # rather found out now than when all is done
    _check_once(tasks)

    def as_row(task: Task, result: Any) -> Row:
        row: Row = job.as_row(task, result)
        facts = row.facts | {"job": identity(task)}
        if (part := part_number(task)) is not None:
            facts["part"] = part
        return replace(row, state=state(task[0]), facts=facts)

    def identity(task: Task) -> list[Any]:
        return [name, task[0], *map(repr, task[2:])]  # random draws depend on the number

    with Journal(target.with_name(f"{target.name}{ENDING}")) as journal:
        missing, failed = [], 0
        for task in tasks:
            row = journal.get(task[1], part_number(task))
            is_same = row is not None and row.facts.get("job") == identity(task)
            if row is None or not is_same or row.state != state(task[0]):
                missing.append(task)
            else:
                failed += job.is_failed(row)
        replace(job, as_row=as_row).run(missing, journal, total=len(tasks), failed=failed)
        with written_whole(target) as partial:
            write(partial, journal.row)
        journal.remove()


def _check_once(tasks: Sequence[Task]) -> None:
    seen = set()
    for task in tasks:
        item, place = task[1], (task[1].place(), part_number(task))
        if place in seen:
            raise ArgumentError(f"{item.name}: is listed twice; a job does each video once")
        seen.add(place)
