"""A LeRobotDataset (v3.0) as a destination of `transcode`: one camera, an episode a video.

The format: `meta/info.json` has the rate and the features, `meta/episodes` a row an episode with
the place of its frames, `data` a row a frame, `videos/CAMERA` the pictures. Videos have no actions
and states, so the features are the camera and the five columns that each such data set has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.machinery.system.writing import written_whole
from videoloader.sources.items import Item
from videoloader.video import Video

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1000  # files in a folder, and episodes in a file of `data`
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
_DATA = f"data/{_FILE}.parquet"
_VIDEO = f"videos/{{video_key}}/{_FILE}.mp4"
_EPISODES = Path("meta/episodes/chunk-000/file-000.parquet")
_INFO, _STATS, _TASKS = (Path("meta", n) for n in ("info.json", "stats.json", "tasks.parquet"))
_COLUMNS = {"timestamp": "float32"} | dict.fromkeys(
    ("frame_index", "episode_index", "index", "task_index"), "int64"
)
_TOLERANCE = 5e-5  # seconds; LeRobot takes no frame further than 1e-4 from its time
_SAMPLED = 16  # frames of a video whose pixels are in the statistics
_MOST_DENOMINATOR = 1001  # of a rate


def form_of_video(index: VideoIndex) -> dict[str, Any]:
    """Facts that all videos of a data set share: frames a second, and size as displayed."""
    rate = Fraction(index.average_fps).limit_denominator(_MOST_DENOMINATOR)
    height, width = index.orientation.displayed((index.height, index.width))
    return {"fps": str(rate), "width": width, "height": height}


def check_form(index: VideoIndex, form: dict[str, Any]) -> None:
    """Check that a video fits into the data set.

    Raises:
        UnsupportedError: its rate or size is another, or its frames are not evenly spaced.
    """
    found = form_of_video(index)
    if found != form:
        forms = ["{fps} frames/s and {width}x{height}".format(**each) for each in (found, form)]
        raise UnsupportedError(
            f"{index.name}: has {forms[0]}, the first video {forms[1]}; a LeRobot data set has one "
            "rate and size, so write another one of the videos of each kind"
        )
    times = (index.pts - index.pts[0]) * float(index.time_base)
    off = np.abs(times - np.arange(len(times)) / float(Fraction(form["fps"])))
    if off.max() > _TOLERANCE:
        frame = int(off.argmax())
        raise UnsupportedError(
            f"{index.name}: frame {frame} is at {times[frame]:.6f} s, {off[frame]:.6f} s from its "
            f"place at {form['fps']} frames/s; LeRobot needs evenly spaced frames"
        )


def picture_sums(path: Path) -> dict[str, list[float]]:
    """Sums over the pixels of some frames by channel, of values from 0 to 1: for statistics."""
    with Video(path, threads=1) as video:
        numbers = np.unique(np.linspace(0, len(video) - 1, _SAMPLED).round().astype(int))
        frames = video.get_frames(numbers).frames.numpy() / 255
    return _Moments.of(frames.reshape(-1, 3), count=len(numbers)).as_dict()


class LeRobot:
    """A folder that LeRobot reads, once all videos are finished.

    A video of number n is the file n of its camera; those that failed leave a gap, which readers do
    not see. What describes the data set is written at the end, from the journal, `meta/info.json`
    last. It is deleted at the begin, so that no data set is there that is half another one.

    Args:
        out: the folder.
        items: the videos.
        camera: name of the feature, such as `observation.images.top`.
        form: of all videos, see `form_of_video`; as they will be written.
        is_new: whether no job has written to the folder yet.

    Raises:
        ArgumentError: the camera has no name that LeRobot takes, or the folder has a data set of
            somebody else.
    """

    def __init__(
        self, out: Path, items: Sequence[Item], camera: str, form: dict[str, Any], *, is_new: bool
    ) -> None:
        if not camera or "/" in camera or camera in (*_COLUMNS, ".", ".."):
            raise ArgumentError(
                f"lerobot is the name of a camera, such as observation.images.top, got {camera!r}"
            )
        if is_new and (out / _INFO).exists():
            raise ArgumentError(f"{out}: has a data set already; name another folder")
        (out / _INFO).unlink(missing_ok=True)
        self._out, self._items, self._camera = out, items, camera
        self._rate = Fraction(form["fps"])

    def path(self, number: int) -> Path:
        """The file of a video."""
        return self._out / _VIDEO.format(video_key=self._camera, **_place(number))

    def is_packed(self, number: int) -> bool:  # noqa: ARG002
        """Whether a video is in an archive already."""
        return False

    def pack(self, number: int, rows: Sequence[Row | None]) -> None:
        """Nothing is left to do when a video is finished; see `finish`."""

    def finish(self, rows: Sequence[Row | None]) -> None:
        """Describe the videos that did not fail."""
        good = [number for number, row in enumerate(rows) if row is not None and not row.error]
        if not good:
            return
        facts = [rows[number].facts["video"] for number in good]  # type: ignore[union-attr]
        lengths = [each["num_frames"] for each in facts]
        sums = dict.fromkeys(_COLUMNS, _Moments.of(np.zeros((0, 1))))
        for file, table in enumerate(_frames(lengths, float(self._rate))):
            self._write_table(Path(_DATA.format(**_place(file))), table)
            for name in _COLUMNS:
                sums[name] = sums[name].plus(_Moments.of(table[name].to_numpy()[:, None]))
        file = -(-len(good) // _CHUNK)
        while (stale := self._out / _DATA.format(**_place(file))).exists():
            stale.unlink()
            file += 1
        self._write_table(_EPISODES, self._episodes(good, lengths))
        self._write_table(_TASKS, _tasks())
        pictures = _Moments.of(np.zeros((0, 3)))
        for each in facts:
            pictures = pictures.plus(_Moments(**each["pictures"]))
        stats = {name: each.statistics((-1,)) for name, each in sums.items()}
        self._write_json(_STATS, stats | {self._camera: pictures.statistics((3, 1, 1))})
        self._write_json(_INFO, self._info(index_video(self.path(good[0])), lengths))

    def _episodes(self, good: list[int], lengths: list[int]) -> pa.Table:
        import pyarrow as pa

        ends = np.cumsum(lengths)
        places = [_place(number) for number in good]
        data = [_place(episode // _CHUNK) for episode in range(len(good))]
        zeros = np.zeros(len(good), np.int64)
        seconds = np.array(lengths) / float(self._rate)
        camera = f"videos/{self._camera}"
        return pa.table(
            {
                "episode_index": np.arange(len(good)),
                "tasks": [[""]] * len(good),
                "length": np.array(lengths, np.int64),
                "data/chunk_index": [each["chunk_index"] for each in data],
                "data/file_index": [each["file_index"] for each in data],
                "dataset_from_index": ends - lengths,
                "dataset_to_index": ends,
                f"{camera}/chunk_index": [each["chunk_index"] for each in places],
                f"{camera}/file_index": [each["file_index"] for each in places],
                f"{camera}/from_timestamp": np.zeros(len(good)),
                f"{camera}/to_timestamp": seconds,
                "meta/episodes/chunk_index": zeros,
                "meta/episodes/file_index": zeros,
                "source": [self._items[number].key for number in good],
            }
        )

    def _info(self, index: VideoIndex, lengths: list[int]) -> dict[str, Any]:
        """The content of `meta/info.json`; `index` is that of any of the files."""
        rate = float(self._rate)
        fps = int(rate) if rate.is_integer() else rate
        camera = {
            "dtype": "video",
            "shape": [index.height, index.width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": index.height,
                "video.width": index.width,
                "video.codec": index.codec,
                "video.pix_fmt": index.pixel_format,
                "video.is_depth_map": False,
                "video.fps": fps,
                "video.channels": 3,
                "has_audio": False,
            },
        }
        own = {
            name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _COLUMNS.items()
        }
        return {
            "codebase_version": "v3.0",
            "robot_type": None,
            "total_episodes": len(lengths),
            "total_frames": sum(lengths),
            "total_tasks": 1,
            "chunks_size": _CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": fps,
            "splits": {"train": f"0:{len(lengths)}"},
            "data_path": _DATA,
            "video_path": _VIDEO,
            "features": {self._camera: camera} | own,
        }

    def _write_table(self, name: Path, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        with written_whole(self._out / name) as partial:
            pq.write_table(table, partial)

    def _write_json(self, name: Path, value: dict[str, Any]) -> None:
        with written_whole(self._out / name) as partial:
            partial.write_text(json.dumps(value, indent=4), encoding="utf-8")


class _Moments:
    """Sums over values by channel, from which statistics follow; `count` is of samples."""

    def __init__(
        self, *, least: Any, most: Any, total: Any, squares: Any, values: int, count: int
    ) -> None:
        self.least, self.most, self.total, self.squares = map(
            np.array, (least, most, total, squares)
        )
        self.values, self.count = values, count

    @classmethod
    def of(cls, values: NDArray[Any], count: int | None = None) -> _Moments:
        """Statistics of values (n, channels)."""
        values = values.astype(np.float64)
        return cls(
            least=values.min(axis=0, initial=np.inf),
            most=values.max(axis=0, initial=-np.inf),
            total=values.sum(axis=0),
            squares=(values**2).sum(axis=0),
            values=len(values),
            count=len(values) if count is None else count,
        )

    def plus(self, other: _Moments) -> _Moments:
        """Statistics of the values of both together."""
        return _Moments(
            least=np.minimum(self.least, other.least),
            most=np.maximum(self.most, other.most),
            total=self.total + other.total,
            squares=self.squares + other.squares,
            values=self.values + other.values,
            count=self.count + other.count,
        )

    def as_dict(self) -> dict[str, Any]:
        """As `_Moments(**...)` takes it, for JSON."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }

    def statistics(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """As LeRobot stores them, each of a shape but `count`."""
        mean = self.total / self.values
        spread = np.sqrt(np.maximum(self.squares / self.values - mean**2, 0))
        found = {"min": self.least, "max": self.most, "mean": mean, "std": spread}
        return {name: each.reshape(shape).tolist() for name, each in found.items()} | {
            "count": [self.count]
        }


def _place(number: int) -> dict[str, int]:
    return {"chunk_index": number // _CHUNK, "file_index": number % _CHUNK}


def _frames(lengths: list[int], rate: float) -> Iterator[pa.Table]:
    """The rows of each file of `data`."""
    import pyarrow as pa

    begin = 0
    for first in range(0, len(lengths), _CHUNK):
        part = lengths[first : first + _CHUNK]
        total = sum(part)
        frames = np.arange(total) - np.repeat(np.cumsum(part) - part, part)
        yield pa.table(
            {
                "timestamp": (frames / rate).astype(np.float32),
                "frame_index": frames,
                "episode_index": np.repeat(np.arange(first, first + len(part)), part),
                "index": np.arange(begin, begin + total),
                "task_index": np.zeros(total, np.int64),
            }
        )
        begin += total


def _tasks() -> pa.Table:
    """One task without a text, as pandas writes a frame whose index is the texts."""
    import pyarrow as pa

    name = "__index_level_0__"
    column: dict[str, Any] = {"metadata": None}
    text = {"pandas_type": "unicode", "numpy_type": "object"}
    columns = [
        column
        | {
            "name": "task_index",
            "field_name": "task_index",
            "pandas_type": "int64",
            "numpy_type": "int64",
        },
        column | {"name": None, "field_name": name} | text,
    ]
    heads = [{"name": None, "field_name": None, "metadata": {"encoding": "UTF-8"}} | text]
    metadata = {"index_columns": [name], "column_indexes": heads, "columns": columns}
    table = pa.table({"task_index": np.zeros(1, np.int64), name: [""]})
    return table.replace_schema_metadata({"pandas": json.dumps(metadata)})
