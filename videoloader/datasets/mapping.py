"""`map_clips`: calls a function for every clip or video of a data set, into a Parquet file."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack

import numpy as np
import torch

from videoloader import errors
from videoloader.datasets.job_videos import find_samples, states_by_number
from videoloader.datasets.result_columns import as_rows, encode_rows, write_rows
from videoloader.decoding.options import FrameOptions, StreamOptions, as_device
from videoloader.errors import ArgumentError, ArgumentTypeError, VideoError
from videoloader.indexing.dataset import DatasetIndex
from videoloader.indexing.dataset.part import table_path
from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.dataset.video_job import (
    OnError,
    Progress,
    Task,
    VideoJob,
    part_of,
    write_results,
)
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.system.options import documented
from videoloader.machinery.system.pickling import pickle_for_program
from videoloader.sampling import ClipSampler, generator, sample_frames
from videoloader.sampling.sampler import check_sampler
from videoloader.sources.source import Fingerprint
from videoloader.training.segments.part import Part
from videoloader.training.segments.segments import Segments
from videoloader.training.sources import ClipSources, IndexedVideos
from videoloader.video import Video

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

_JOB = b"videoloader_job"  # in the metadata of the file

Function: TypeAlias = Callable[[Any], Any]


@documented(FrameOptions, StreamOptions)
class MapOptions(FrameOptions, StreamOptions, total=False):
    """Options of the clips of `map_clips`, as of `Video` and `Video.get_frames`."""


class _Work(NamedTuple):
    """The work for each video, the same for all.

    Attributes:
        function: of the user, pickled where it has travelled to another process.
        columns: names of the values that it returns; empty where it returns dictionaries.
        clips: sampler of its clips; None where it takes the whole video.
        dataset: that the videos are of; None for listed ones.
        device: that decodes.
        seed: of random samplers.
        options: of the clips.
    """

    function: bytes | Function
    columns: tuple[str, ...]
    clips: ClipSampler | None
    dataset: DatasetIndex | None
    device: str
    seed: int
    options: MapOptions


def map_clips(
    source: ClipSources | Segments,
    function: Function,
    out: str | os.PathLike[str],
    *,
    clips: ClipSampler | None = None,
    columns: str | Sequence[str] = (),
    device: str = "cpu",
    workers: int | None = None,
    on_error: OnError = "record",
    time_limit: float = 3600.0,
    shard: tuple[int, int] = (0, 1),
    ray: bool | str = False,
    seed: int = 0,
    keep: bool = False,
    progress: Progress | None = None,
    **options: Unpack[MapOptions],
) -> pa.Table:
    """Call a function for every clip, or video, of a data set, and write what it returns.

    The job may be interrupted at any moment, also by SIGKILL: a journal beside `out` keeps the
    videos that are done, and the same call goes on from there. It takes a function for the same if
    it has the same name and code; if something changed that it calls, delete the journal. The
    result depends neither on interruptions nor on the number of workers.

    If the function fails, the log has a warning of the first video, and how many there were.

    Rows are in the order of the videos, all of one video together. They have the columns `row`
    (of the data set index, or number in the list), `key` (as `DatasetIndex.keys`, for joins),
    `clip` (number of the row in its video), with `clips` the list `frames` of frame numbers, then
    `error` and `error_kind`, null where nothing went wrong, and the columns of the function. A
    video that fails has one row with its error; rows of the index that are failures keep theirs.

    Args:
        source: a data set index or its path, videos of one (`dataset.filter(...)`), or what
            `index_dataset` takes: a folder, paths, items. Or `Segments`, with `clips`: each segment
            stands for a video, and `row` is that of their table.
        function: called with each `Clip` of `clips`, or with the open `Video` where there are none.
            Returns a row: a dictionary, a NamedTuple, or the value or values of `columns`; or a
            list of dictionaries or NamedTuples for several rows. Values are what Parquet can hold:
            numbers, texts, bytes, lists; arrays and tensors become lists of their element type.
            For worker processes it must pickle; lambdas and functions of the main script do.
        out: Parquet file to write.
        clips: the sampler that takes the clips of each video; random ones draw by `seed` and the
            number of the video.
        columns: names of the values, where the function returns no dictionary.
        device: where the frames of clips are given: `cpu`, `cuda` or `cuda:N`.
        workers: processes, each with the function and its state; by default one for a GPU, and
            else as many as this process may use processors; 0 calls it in this process.
        on_error: `record` what goes wrong with a video, or `raise` it.
        time_limit: seconds that one video may take in a worker.
        shard: (i, n) takes the i-th of n parts of the videos, for n machines.
        ray: work on a Ray cluster instead of in processes here, see `index_dataset`.
        seed: of random samplers.
        keep: return what is in `out` if it is the result of this job for these videos, as they are
            now; by default it is made anew.
        progress: is told how far the job is: videos done, all, failed.
        **options: of the video and of its clips.

    Returns:
        The table that was written, read from the file.

    Raises:
        ArgumentError: a video is listed twice, `out` does not end in `.parquet`, or arguments
            contradict each other.
        ArgumentTypeError: `function` cannot be called.
        VideoError: with `on_error="raise"`, of the first video that fails.

    >>> def brightness(clip):
    ...     return {"mean": float(clip.frames.float().mean())}
    >>> from videoloader import UniformClip
    >>> clips = UniformClip(4)
    >>> table = map_clips("set.parquet", brightness, "mean.parquet", clips=clips, workers=0)
    >>> table.column_names
    ['row', 'key', 'clip', 'frames', 'error', 'error_kind', 'mean']
    """
    import pyarrow.parquet as pq

    one_of("on_error", on_error, ("record", "raise"))
    if not callable(function):
        raise ArgumentTypeError(f"function is called with each clip or video, got {function!r}")
    out = table_path(out)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    seed = whole_number("seed", seed, least=None)
    if not ray:  # rather now than as the error of each video
        as_device(device)
    _check_options(options, clips)
    samples, videos = find_samples(source, clips)
    if workers is None and device != "cpu":
        workers = 1
    numbers = part_of(list(range(len(videos))), shard)
    dataset = videos.videos.dataset if isinstance(videos, IndexedVideos) else None
    travels = bool(ray) or workers != 0
    work = _Work(
        pickle_for_program(function) if travels else function,
        names,
        clips,
        None if dataset is None else dataset.without_sign(),
        device,
        seed,
        options,
    )
    job = VideoJob(
        function=f"{__name__}:map_video",
        arguments={"work": work},
        workers=workers,
        time_limit=time_limit,
        ray=ray,
        options={"gpus": int(device != "cpu")},
        on_error=on_error,
        note=_WarnOnce(),
        progress=progress,
    )
    tasks: list[Task] = [(samples.row(number), samples.item(number)) for number in numbers]
    if isinstance(samples, Segments):
        tasks = [(*tasks[n], samples.part(number)) for n, number in enumerate(numbers)]
    of_number = states_by_number(videos)
    by_row = {task[0]: number for task, number in zip(tasks, numbers, strict=True)}

    def state(row: int) -> Fingerprint | None:
        return of_number(by_row[row])

    name = _name_of(function, work)
    job_id = _digest(name, *((*task, state(task[0])) for task in tasks))
    if keep and _job_of(out) == job_id:
        return pq.read_table(out)
    all_keys = videos.keys()
    keys = [all_keys[number] for number in numbers]
    write_results(
        job,
        tasks,
        out,
        partial(
            write_rows,
            tasks=tasks,
            keys=keys,
            names=names,
            has_frames=clips is not None,
            metadata={_JOB: job_id},
        ),
        name=name,
        state=state,
    )
    table = pq.read_table(out)
    kinds = table["error_kind"].value_counts().to_pylist()
    if failed := sum(each["counts"] for each in kinds if _is_of_function(each["values"])):
        _log.warning("%s: the function failed for %d of %d videos", out, failed, len(tasks))
    return table


def map_video(task: Task, *, work: _Work) -> Row:
    """Call the function for the clips of one video, or part; what goes wrong is returned.

    Raises:
        ResourceError: the machine lacks open files or the like, which ends the job.
    """
    number, item = task[:2]
    part: Part | None = task[2] if len(task) > 2 else None
    try:
        video_row = number if part is None else part.video
        index = None if work.dataset is None else work.dataset[video_row]
        of_video = {k: v for k, v in work.options.items() if k in StreamOptions.__annotations__}
        of_clip = {k: v for k, v in work.options.items() if k in FrameOptions.__annotations__}
        function = work.function
        if isinstance(function, bytes):
            function = _loaded(function)
        with Video(item, work.device, index, threads=1, **of_video) as video:  # type: ignore[arg-type]
            if work.clips is None:
                rows = as_rows(function(video), work.columns)
                return Row(item, None, {}, encode_rows(rows))
            rng = generator(work.seed, sample=number)
            within = None if part is None else part.frames(video.index)
            start, stop = within or (0, len(video))
            frames = sample_frames(work.clips, video.index, start=start, stop=stop, rng=rng)
            rows = []
            for each in np.atleast_2d(frames):
                clip = video.get_frames(each, within=within, **of_clip)  # type: ignore[arg-type]
                for row in as_rows(function(clip), work.columns):
                    if "frames" in row:
                        raise ArgumentError(
                            f"{item.name}: the function has a column 'frames', which map_clips has "
                            "too"
                        )
                    rows.append({"frames": clip.indices, **row})
            return Row(item, None, {}, encode_rows(rows))
    except Exception as error:  # noqa: BLE001  (costs this video, not the job)
        raise_shortage(error, item.name)
        kind = type(error).__name__
        text = str(error) if isinstance(error, VideoError) else f"{kind}: {error}"
        if _is_of_function(kind) and not text.startswith(item.name):
            text = f"{item.name}: {text}"
        return Row(item, None, {}, error=text, kind=kind)


def _check_options(options: MapOptions, clips: ClipSampler | None) -> None:
    if clips is not None:
        check_sampler("clips", clips)
    for name in options:
        if name not in MapOptions.__annotations__:
            raise ArgumentTypeError(f"map_clips() got an unexpected keyword argument {name!r}")
        if clips is None and name not in StreamOptions.__annotations__:
            raise ArgumentError(
                f"{name} is of clips; give clips=, or ask the video that the function gets for them"
            )


@functools.lru_cache(maxsize=1)
def _loaded(data: bytes) -> Function:
    """The function of the user, once for each worker, so that a model in it is loaded once."""
    torch.set_num_threads(1)  # there is a worker for each processor
    function: Function = pickle.loads(data)
    return function


def _name_of(function: Any, work: _Work) -> str:
    """The identity of a job among others with the same `out`: function, code and options."""
    given: tuple[Any, ...] = ()
    while isinstance(function, partial):
        given += (function.args, sorted(function.keywords.items()))
        function = function.func
    if not hasattr(function, "__qualname__"):
        function = type(function)
    if (code := getattr(function, "__code__", None)) is not None:
        constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
        ordered = [sorted(map(repr, c)) if isinstance(c, frozenset) else c for c in constants]
        given += (code.co_code, code.co_names, ordered)
    parts = (given, work.columns, work.clips, work.seed, sorted(work.options.items()))
    return f"{function.__module__}.{function.__qualname__} {_digest(*parts)}"


def _digest(*values: object) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for value in values:
        digest.update(re.sub(" at 0x[0-9a-f]+", "", repr(value)).encode())
    return digest.hexdigest()


def _job_of(path: str | os.PathLike[str]) -> str:
    """The job and the videos that a file of `map_clips` is of; empty if there is no such file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return ""
    return str(metadata.get(_JOB, b"").decode())


@dataclass(slots=True)
class _WarnOnce:
    """Warns of the first video for which the function of the user failed."""

    has_warned: bool = False

    def __call__(self, task: Task, row: Row) -> None:  # noqa: ARG002
        if _is_of_function(row.kind) and not self.has_warned:
            self.has_warned = True
            _log.warning(
                'the function failed, first for %s; the job goes on, on_error="raise" would end it',
                row.error,
            )


def _is_of_function(kind: str | None) -> bool:
    """Whether an error is of the function of the user, by its class; not that of a video."""
    if not kind or kind not in errors.__all__:
        return bool(kind)
    return issubclass(getattr(errors, kind), ArgumentError)
