"""`transcode`: the videos of a data set made quick to train on; may be killed and goes on."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from videoloader.datasets.destinations import Folder, Shards, remove_partial
from videoloader.datasets.lerobot import LeRobot, check_form, form_of_video, picture_sums
from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.indexing.dataset import DatasetIndex, Videos, find_items, open_dataset
from videoloader.indexing.dataset.journal import Journal
from videoloader.indexing.dataset.rows import Row, state_of
from videoloader.indexing.dataset.video_job import Progress, VideoJob, returned_row
from videoloader.indexing.video import index_video
from videoloader.machinery.system.checks import real_number, whole_number
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.system.spelling import suggests_names
from videoloader.machinery.system.writing import written, written_whole
from videoloader.machinery.workers.processors import usable_processors
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.sampling import ClipSampler
from videoloader.sampling.sampler import check_sampler
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint
from videoloader.training.segments.part import Part
from videoloader.training.segments.segments import Segments
from videoloader.training.sources import ClipSources
from videoloader.writing.encoding import Encoding, Quality
from videoloader.writing.formats import muxer_of
from videoloader.writing.gain import Gain, GainWatch
from videoloader.writing.reencoding import encode_part


class _Task(NamedTuple):
    """A file to write.

    Attributes:
        number: of the video or segment.
        item: the video.
        path: of the file.
        part: a segment; None for a whole video.
    """

    number: int
    item: Item
    path: str
    part: Part | None


_JOURNAL = "transcode.journal"
_ANY_SIDE = 1 << 30


class TranscodeFailure(NamedTuple):
    """A video, or part of one, that was not transcoded: its name, the kind of error, the error."""

    name: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Transcoded:
    """The result of a job.

    Attributes:
        out: folder that holds the results.
        written: videos, or segments, that this call transcoded.
        kept: those that an earlier call had transcoded.
        failures: of this call.
        bytes_before: size of the sources of what was written.
        bytes_after: size of what was written.
        gain: packets a clip, if a sampler was given.
    """

    out: Path
    written: int
    kept: int
    failures: tuple[TranscodeFailure, ...]
    bytes_before: int
    bytes_after: int
    gain: Gain | None


@suggests_names
def transcode(
    sources: ClipSources | Segments,
    out: str | os.PathLike[str],
    *,
    codec: str | None = None,
    quality: Quality = None,
    gop: int | None = 16,
    resize_shorter: int | None = None,
    audio: bool = True,
    options: Mapping[str, str] | None = None,
    suffix: str = ".mp4",
    videos_per_shard: int | None = None,
    lerobot: str | None = None,
    sampler: ClipSampler | None = None,
    workers: int | None = None,
    time_limit: float = 24 * 3600.0,
    ray: bool | str = False,
    progress: Progress | None = None,
    on_gain: Callable[[Gain], None] | None = None,
) -> Transcoded:
    """Encode all videos of a data set again, with short groups of pictures and at a smaller size.

    The job may be interrupted at any moment, also by SIGKILL: a journal in `out` keeps what is
    done, and the same call goes on from there. A later call does only what is new or has changed,
    what has failed, or all if it is called with other settings. No file is there under its name
    before it is complete. Frames keep their numbers, and their times counted from the
    first, which is at 0; rotated videos become upright.

    Args:
        sources: folders, globs, text lists, tar archives, videos or URLs, as for `index_dataset`;
            or a data set index or its path (.parquet), or videos of one (`dataset.filter(...)`).
            Of `Segments` each becomes a file of its own, with the row of the table in its name:
            `long_000002.mp4`.
        out: folder to write to, not one of the sources.
        codec: `h264`, `hevc`, `av1`, `vp9` or `ffv1`; H.264 by default, VP9 in WebM.
        quality: as for `write_video`.
        gop: most frames from one keyframe to the next.
        resize_shorter: length of the shorter side; smaller videos keep their size. Sides become
            even where the encoder needs that.
        audio: keep the sound.
        options: of FFmpeg's encoder.
        suffix: of the files; chooses the container.
        videos_per_shard: write tar archives of so many videos each, for WebDataset and
            `index_dataset`, in place of files. Archives are not made again for videos in them that
            failed, unless these change.
        lerobot: write a LeRobotDataset (v3.0) with an episode for each video and one camera of
            this name, such as `observation.images.top`; without states, actions, tasks and sound.
            Videos fail whose rate or size is not that of the first, or whose frames are further
            than 0.05 ms from their even places.
        sampler: of the clips that will be trained on; the packets that they take are counted
            before and after, for up to 32 of the videos. Not for segments.
        workers: processes; one per usable processor by default, 0 for none.
        time_limit: seconds that one video may take in a worker.
        ray: work on a Ray cluster instead of in processes here, see `index_dataset`; `out` is then
            a folder that all nodes share.
        progress: is called with (videos done, all videos, failed videos).
        on_gain: is called with the predicted gain before the first video.

    Raises:
        ArgumentError: a setting has no meaning, or another suffix than those that can be written;
            or two videos would have one name.
        SourceError: sources do not exist, or `out` cannot be written.

    >>> made = transcode("videos/", "small", gop=8, resize_shorter=32)
    >>> made.written, made.failures
    (4, ())
    """
    target = Path(out)
    muxer = muxer_of(Path(f"video{suffix}"))
    codec = codec or muxer.codec
    encoding = Encoding(codec=codec, quality=quality, gop=gop, options=options or {})
    encoding.encoder()  # rather found missing now than in every worker
    if videos_per_shard is not None:
        whole_number("videos_per_shard", videos_per_shard, least=1)
    if resize_shorter is not None:
        whole_number("resize_shorter", resize_shorter, least=2)
    if sampler is not None:
        check_sampler("sampler", sampler)
    real_number("time_limit", time_limit, above=0, most=math.inf)
    if lerobot is not None and (videos_per_shard is not None or suffix != ".mp4"):
        raise ArgumentError(
            "lerobot= writes .mp4 files, and no archives; leave out suffix= and videos_per_shard="
        )
    segments = sources if isinstance(sources, Segments) else None
    if segments is not None and sampler is not None:
        raise ArgumentError("sampler= is for whole videos, not Segments")
    items = _items(sources, target)
    parts: list[Part | None] = [None] * len(items)
    if segments is not None:
        parts = [*map(segments.part, range(len(items)))]
    form = None if lerobot is None else _first_form(items)
    settings: dict[str, Any] = {
        "codec": codec,
        "quality": quality,
        "gop": gop,
        "options": dict(options or {}),
        "resize_shorter": resize_shorter,
        "audio": audio and lerobot is None,
        "suffix": suffix,
        "form": form,
    }
    with written(target):
        target.mkdir(parents=True, exist_ok=True)
    watch = None if sampler is None else GainWatch(sampler, items, gop)
    if watch is not None and on_gain is not None and watch.predicted is not None:
        on_gain(watch.predicted)
    is_new = not (target / _JOURNAL).exists()
    with Journal(target / _JOURNAL) as journal:
        remove_partial(target, suffix)
        states = [state_of(item) for item in items]
        destination: Folder | Shards | LeRobot
        if lerobot is not None and form is not None:
            destination = LeRobot(target, items, lerobot, form, is_new=is_new)
        elif videos_per_shard is None:
            destination = Folder(target, items, suffix, parts)
        else:
            destination = Shards(
                target,
                items,
                suffix,
                size=videos_per_shard,
                journal=journal,
                settings=settings,
                states=states,
                parts=parts,
            )
        tasks = [
            _Task(number, item, str(destination.path(number)), parts[number])
            for number, item in enumerate(items)
        ]
        rows = [journal.get(task.item, task.part and task.part.row) for task in tasks]
        for task, row, state in zip(tasks, rows, states, strict=True):
            if not _is_done(row, state, settings, task):
                rows[task.number] = None
        # Archives that a killed job did not get to.
        for number in range(0, len(items), videos_per_shard or len(items)):
            destination.pack(number, rows)
        missing = [
            number
            for number, row in enumerate(rows)
            if row is None and not destination.is_packed(number)
        ]
        count = usable_processors() if workers is None else whole_number("workers", workers)
        threads = max(usable_processors() // max(min(count, len(missing)), 1), 1)

        def note(task: _Task, row: Row) -> None:
            if watch is not None and not row.error:
                watch.note(task.number, task.path)
            rows[task.number] = row
            destination.pack(task.number, rows)

        job = VideoJob(
            function=f"{__name__}:transcode_video",
            arguments={"settings": settings, "threads": 1 if ray else threads},
            as_row=_as_row,
            workers=count,
            time_limit=time_limit,
            ray=ray,
            note=note,
            progress=progress,
        )
        job.run([tasks[number] for number in missing], journal, total=len(items))
        destination.finish(rows)
    new = [row for number in missing if (row := rows[number]) is not None]
    videos = [row.facts["video"] for row in new if not row.error]
    sizes = {row.item: row.facts["video"]["bytes_before"] for row in new if not row.error}
    return Transcoded(
        out=target,
        written=len(videos),
        kept=len(items) - len(missing),
        failures=tuple(TranscodeFailure(r.item.name, r.kind, r.error) for r in new if r.error),
        bytes_before=sum(sizes.values()),
        bytes_after=sum(video["bytes"] for video in videos),
        gain=None if watch is None else watch.result(),
    )


def _is_done(
    row: Row | None, state: Fingerprint | None, settings: Mapping[str, Any], task: _Task
) -> bool:
    """Whether the file of a row is there, made so of the video as it is now."""
    path = Path(task.path)
    if row is None or row.error or row.state is None or row.state != state:
        return False
    if row.facts["settings"] != settings or not path.exists():
        return False
    if row.facts.get("place") != _place_of(path):
        return False  # its number has changed
    if row.facts.get("span") != _span(task):
        return False
    size: int = row.facts["video"]["bytes"]
    return path.stat().st_size == size


def _span(task: _Task) -> str | None:
    """What tells a segment from another one that had its row."""
    return None if task.part is None else repr(task.part)


def _as_row(task: _Task, result: Row | TaskFailure) -> Row:
    row = returned_row(task, result)
    if task.part is None:
        return row
    return replace(row, facts=row.facts | {"part": task.part.row, "span": _span(task)})


def _place_of(path: Path) -> str:
    """The part of a path that is unique to its video in the folder."""
    return "/".join(path.parts[-2:])


def _first_form(items: list[Item]) -> dict[str, Any]:
    """The form of the first video that can be read.

    Raises:
        FormatError: none can be read.
    """
    for item in items:
        with suppress(VideoError), item.open() as source:
            return form_of_video(index_video(source))
    raise FormatError(f"{items[0].name}: neither this nor a later video can be read")


def transcode_video(task: _Task, *, settings: Mapping[str, Any], threads: int) -> Row:
    """Transcode one video or segment; a failure becomes a row with its error.

    For worker processes.

    Args:
        task: what to write.
        settings: of the job.
        threads: of the decoder and the encoder.
    """
    item, target = task.item, Path(task.path)
    encoding = Encoding(
        codec=settings["codec"],
        quality=settings["quality"],
        gop=settings["gop"],
        options={"threads": str(threads), **settings["options"]},
    )
    try:
        with item.open() as source:
            index = index_video(source)
            if settings["form"] is not None:
                check_form(index, settings["form"])
            start, stop = 0, index.num_frames
            if task.part is not None:
                start, stop = task.part.frames(index)
            with written_whole(target) as partial:
                encode_part(
                    index,
                    source,
                    start,
                    stop,
                    partial,
                    target,
                    encoding=encoding,
                    audio=settings["audio"],
                    resize_shorter=settings["resize_shorter"] or _ANY_SIDE,
                    threads=threads,
                )
            state = source.fingerprint
    except VideoError as error:
        raise_shortage(error, item.name)
        return Row(item, None, {}, error=str(error), kind=type(error).__name__)
    video: dict[str, Any] = {
        "num_frames": stop - start,
        "fps": index.average_fps,
        "bytes": target.stat().st_size,
        "bytes_before": state.size,
    }
    if settings["form"] is not None:
        video["pictures"] = picture_sums(target)
    if task.part is not None:
        video |= {"row": task.part.row, "frames": [start, stop]}
    facts = {"settings": dict(settings), "place": _place_of(target), "video": video}
    return Row(item, state, facts)


def _items(sources: ClipSources | Segments, out: Path) -> list[Item]:
    """The videos, in order; those below `out` are no sources."""
    if isinstance(sources, str | os.PathLike) and os.fspath(sources).endswith(".parquet"):
        with open_dataset(os.fspath(sources)) as dataset:
            return _items(dataset, out)
    if isinstance(sources, Segments):
        return [sources.item(number) for number in range(len(sources))]
    if isinstance(sources, DatasetIndex | Videos):
        videos = sources.videos
        return [videos.item(video) for video in range(len(videos))]
    own = os.path.abspath(out) + os.sep
    items = [item for item in find_items(sources) if not item.path.startswith(own)]
    if not items:
        raise ArgumentError(f"{out}: all sources lie in the folder to write to; name another one")
    return items
