"""`videoloader report`: a data set as one HTML page that needs no server and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.audio.audio import Audio
from videoloader.datasets.report.changes import find_changes
from videoloader.datasets.report.columns import page_columns
from videoloader.datasets.report.segments import Timelines
from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing.containers.registry import container_of
from videoloader.indexing.dataset import DatasetIndex, Item
from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.dataset.video_job import (
    Progress,
    Task,
    VideoJob,
    states_of,
    write_results,
)
from videoloader.machinery.system.address import is_url, local_path
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.views import contact_sheet, image_uri, jpeg_uri, timeline_svg, wave_svg
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.training.segments.segments import Segments
from videoloader.video import Video

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 500_000
_MOST_GONE = 1000  # that are named
_SHEET = (3, 5)  # rows and columns of frames
_STRIP, _STRIP_COLUMNS = 64, 8  # frames
_STRIP_SIZE = 120  # pixels of the shorter side
_TIME_LIMIT = 600.0  # seconds for the sheet of a video
_PEAKS = 600  # of a sound
WAVE_SECONDS = 600.0
"""The longest sound that is decoded for its peaks: the page waits some seconds for it."""

_SCRIPTS = ("data", "filter", "charts", "table", "video", "export", "start")
_CHARTS = (
    *("duration", "fps", "height", "width", "codec", "container", "mean_gop", "bit_rate", "size"),
    *("num_frames", "max_gap", "audio_codec", "pixel_format", "color_transfer", "exactness"),
    *("error_kind", "damaged_frames", "segments", "change"),
)
_FLAGS = (
    ("cannot be read", "error!=none"),
    ("damaged", "damaged_frames!=none"),
    ("with warnings", "warnings!=none"),
    ("variable frame rate", "variable_rate:yes"),
    ("open GOPs", "open_gops>0"),
    ("interlaced", "interlaced:yes"),
    ("HDR", "is_hdr:yes"),
    ("without sound", "has_audio:no"),
    ("rotated", "rotation!=0"),
    ("times not in tables", "exactness!=tables exactness!=none"),
    ("above 8 bits", "bit_depth>8"),
)


def write_report(
    dataset: DatasetIndex,
    folder: Path,
    *,
    pictures: int = 200,
    damage: pa.Table | None = None,
    segments: Segments | None = None,
    before: DatasetIndex | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write `index.html` into a folder: totals, distributions, a table of all videos, pictures.

    A job that may be interrupted: the same call goes on from a journal beside the page. A video
    that crashes its worker process, or takes longer than ten minutes, costs its own pictures.

    Args:
        dataset: what the page is about.
        folder: made if it is not there.
        pictures: videos that get a sheet of frames and a timeline: all if there are no more, else
            this many evenly spread over the data set.
        damage: what `check_dataset` gave, for a column of damaged frames.
        segments: of videos of the data set, which is their `index`, for timelines and a column of
            their numbers.
        before: an earlier index of the data set, for a column of what has changed since then.
        workers: processes that make the sheets; as many as this process may use processors by
            default, 0 for none.
        progress: is told how far the sheets are.

    Returns:
        The path of the page.

    Raises:
        ArgumentError: the data set has more than 500,000 rows, or the segments are of no data set
            index.
        SourceError: the page cannot be written.
    """
    _check_size(dataset)
    timelines = None if segments is None else Timelines(segments)
    rows = dataset.videos.rows
    if len(rows) > pictures:
        rows = rows[np.linspace(0, len(rows) - 1, pictures).round().astype(int)] if pictures else []
    tasks = [(row, dataset.item(row)) for row in map(int, rows)]
    job = VideoJob(
        function=f"{__name__}:video_pictures",
        arguments={"dataset": dataset.without_sign(), "threads": 1},
        as_row=_as_row,
        workers=workers,
        time_limit=_TIME_LIMIT,
        is_failed=lambda row: "failure" in row.facts["pictures"],
        progress=progress,
    )

    def write(target: Path, found: Callable[[Item], Row]) -> None:
        made = {row: found(item).facts["pictures"] for row, item in tasks}
        if timelines is not None:
            made = {
                row: each | {"segments": timelines.of(dataset, row)} for row, each in made.items()
            }
        page = render_page(
            dataset, pictures=made, damage=damage, timelines=timelines, before=before
        )
        target.write_text(page, encoding="utf-8")

    path = folder / "index.html"
    write_results(job, tasks, path, write, name="pictures", state=states_of(dataset))
    return path


def video_pictures(
    task: tuple[int, Item], *, dataset: DatasetIndex, threads: int | None = None
) -> dict[str, str]:
    """The timeline of a video and a sheet of its frames as image addresses, and what failed."""
    row, item = task
    found: dict[str, str] = {}
    try:
        index = dataset[row]
        sizes = index.packets["size"][index.frame_packets]
        found["timeline"] = image_uri(timeline_svg(sizes, index.keyframes).encode(), "svg+xml")
        with Video(item, index=index, threads=threads) as video:
            found["sheet"] = _sheet(video)
    except Exception as error:  # noqa: BLE001  (one video must not end the report of the others)
        raise_shortage(error, item.name)
        text = str(error) if isinstance(error, VideoError) else f"{type(error).__name__}: {error}"
        found["failure"] = text
    return found


def video_strip(
    task: tuple[int, Item], *, dataset: DatasetIndex, threads: int | None = None
) -> dict[str, Any]:
    """Many small frames of a video for a pointer that moves along it.

    Returns:
        `strip`, the address of a picture of 8 frames a row, and of them `rows`, the numbers
        `frames`, and `aspect`, the width of one by its height.
    """
    row, item = task
    with Video(item, index=dataset[row], threads=threads) as video:
        numbers = _spread(video, _STRIP)
        frames = video.get_frames(numbers, resize_shorter=_STRIP_SIZE).frames.numpy()
    rows = -(-len(frames) // _STRIP_COLUMNS)
    height, width = frames.shape[1:3]
    grid = np.zeros((rows * _STRIP_COLUMNS, height, width, 3), np.uint8)
    grid[: len(frames)] = frames
    grid = grid.reshape(rows, _STRIP_COLUMNS, height, width, 3).swapaxes(1, 2)
    picture = jpeg_uri(grid.reshape(rows * height, _STRIP_COLUMNS * width, 3))
    aspect = width / height
    return {"strip": picture, "rows": rows, "frames": numbers.tolist(), "aspect": aspect}


def video_wave(task: tuple[int, Item], *, dataset: DatasetIndex, **_: Any) -> dict[str, str]:
    """The peaks of a video's sound while its frames are shown.

    Returns:
        `wave`, an image address, or a `note` that says why there is none.
    """
    row, item = task
    index = dataset[row]
    begin, end = index.boundaries[[0, -1]].tolist()
    if end - begin > WAVE_SECONDS:
        return {"note": f"sound of more than {WAVE_SECONDS / 60:g} minutes is not drawn"}
    if is_url(local_path(item.path)):  # in most containers it is all of the file
        return {"note": "sound of remote files is not drawn"}
    edges = np.linspace(begin, end, _PEAKS + 1).tolist()
    with item.open() as source:
        index.check(source)
        with Audio(source) as sound:
            spans = (sound.read_seconds(*span, pad=True) for span in pairwise(edges))
            peaks = np.array([np.abs(samples).max(initial=0) for samples in spans])
    return {"wave": image_uri(wave_svg(peaks).encode(), "svg+xml")}


def _as_row(task: Task, result: dict[str, str] | TaskFailure) -> Row:
    item = task[1]
    if isinstance(result, TaskFailure):
        result = {"failure": f"{item.name}: {result.reason}"}
    return Row(item, None, {"pictures": result})


def _spread(video: Video, most: int) -> NDArray[np.int64]:
    """Frames at equal distances; keyframes, where there are enough of them."""
    total, keys = len(video), video.index.keyframes
    of = keys if len(keys) >= most else np.arange(total)
    chosen = np.linspace(0, len(of) - 1, min(most, total)).round().astype(int)
    numbers: NDArray[np.int64] = of[chosen]
    return numbers


def _sheet(video: Video) -> str:
    rows, columns = _SHEET
    numbers = _spread(video, rows * columns)
    clip = video.get_frames(numbers)
    frames, times = clip.frames.numpy(), clip.times.tolist()
    lines = []
    for start in range(0, len(numbers), columns):
        part = slice(start, start + columns)
        shown = zip(numbers[part].tolist(), times[part], strict=True)
        caption = "   ".join(f"{number}: {time:.2f} s" for number, time in shown)
        lines.append((caption, list(frames[part])))
    return jpeg_uri(contact_sheet(lines))


def render_page(
    dataset: DatasetIndex,
    *,
    pictures: dict[int, dict[str, Any]],
    damage: pa.Table | None = None,
    timelines: Timelines | None = None,
    before: DatasetIndex | None = None,
    is_live: bool = False,
) -> str:
    """The page as text.

    Args:
        dataset: what it is about.
        pictures: by row, see `video_pictures`; `segments` are those of `Timelines`.
        damage: as for `write_report`.
        timelines: segments of the videos.
        before: as for `write_report`.
        is_live: whether the page asks its server for the pictures of other rows.

    Raises:
        ArgumentError: the data set has more than 500,000 rows.
    """
    _check_size(dataset)
    table, changes = dataset.table, None
    gone: list[str] = []
    if before is not None:
        changes, gone = find_changes(table, before.table)
    columns = page_columns(table, damage, timelines, changes)
    names = {column["name"] for column in columns}
    data = {
        "title": dataset.path.name,
        "about": "Click a bar or draw over several to filter, a heading to sort, a row to look at "
        "a video.",
        "rows": len(dataset),
        "columns": columns,
        "charts": _CHARTS,
        "flags": [flag for flag in _FLAGS if re.split("[!:>]", flag[1])[0] in names],
        "totals": _totals(table),
        "skipped": {"text": str(dataset.skipped), "paths": [*dataset.skipped]},
        "gone": {"count": len(gone), "keys": gone[:_MOST_GONE]},
        "pictures": pictures,
        "played": _played(table["container"]) if is_live else None,
        "without": f"This page has pictures of {len(pictures):,} of the videos; `videoloader "
        f"browse {dataset.path.name}` shows those of all.",
    }
    folder = files("videoloader.datasets.report")
    parts = (folder.joinpath(f"page.{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    script = "\n".join(parts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    connect = "connect-src 'self'; media-src 'self'; " if is_live else ""
    policy = (
        f"default-src 'none'; {connect}img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    return Template(folder.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        policy=policy, title="videoloader report", data=_as_script(data), script=script
    )


def _played(containers: pa.ChunkedArray) -> list[str]:
    """Those of some containers that browsers may play."""
    names = containers.drop_null().unique().to_pylist()
    return [name for name in names if container_of(name).media_type]


def _check_size(dataset: DatasetIndex) -> None:
    if len(dataset) > _MOST_ROWS:
        raise ArgumentError(
            f"{dataset.path}: a page holds {_MOST_ROWS:,} rows, the data set has {len(dataset):,}; "
            "choose some, as `videoloader query` does"
        )


def _as_script(data: Any) -> str:
    """JSON that no HTML parser takes for the end of a script."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII
    return text.replace("<", "\\u003c")


def _totals(table: pa.Table) -> Sequence[tuple[str, str]]:
    import pyarrow.compute as pc

    failed = len(table) - table["error"].null_count
    hours = (pc.sum(table["duration"]).as_py() or 0) / 3600
    return (
        ("videos", f"{len(table) - failed:,}"),
        ("hours", f"{hours:,.2f}"),
        ("frames", f"{pc.sum(table['num_frames']).as_py() or 0:,}"),
        ("GB", f"{(pc.sum(table['size']).as_py() or 0) / 1e9:,.3f}"),
        ("codecs", f"{pc.count_distinct(table['codec']).as_py():,}"),
        ("files that cannot be read", f"{failed:,}"),
    )
