"""Tables of videos for a terminal, plots of frame sizes, and PNG files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import escaped
from videoloader.machinery.system.writing import written_whole

if TYPE_CHECKING:
    from rich.table import Table

_BLOCKS = " ▁▂▃▄▅▆▇█"


def video_table(indexes: Iterable[VideoIndex], *, title: str | None = None) -> Table:
    """A table with one row for each video.

    `keys` is the number of keyframes, `rotated` the rotation for display, counter-clockwise, `from`
    is `VideoIndex.exactness`. The codec shows bit depths above 8.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("codec", "size", "frames", "fps", "seconds", "keys", "rotated", "from"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("video", overflow="fold", min_width=16)
    for index in indexes:
        deep = f"/{index.bit_depth}" if (index.bit_depth or 8) > 8 else ""
        table.add_row(
            index.codec + deep,
            f"{index.width}x{index.height}",
            f"{index.num_frames:,}",
            f"{index.average_fps:.2f}",
            f"{index.duration:.2f}",
            f"{len(index.keyframes):,}",
            f"{index.rotation}°" if index.rotation else "",
            index.exactness,
            Text(Path(index.name).name),
        )
    return table


def plain_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of rows of a data set: empty columns are left out, numbers are rounded."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    for name in names:
        is_text = any(isinstance(row[name], str) for row in rows)
        justify: Any = "left" if is_text else "right"
        table.add_column(name, overflow="fold", justify=justify, no_wrap=not is_text)
    for row in rows:
        table.add_row(*(Text(_as_text(row[name])) for name in names))
    return table


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 0.1 else f"{value:,.2f}"
    return escaped(str(value))


def gop_table(index: VideoIndex, *, most: int, width: int) -> Table:
    """A row for each group of pictures: frames, bytes, disposable share, and sizes as bars.

    Args:
        index: indexed with `headers=True`.
        most: maximum number of rows; a last row states how many are omitted.
        width: characters for the bars.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("group", "frames", "bytes", "droppable"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("frame sizes, in presentation order", no_wrap=True)
    sizes = index.packets["size"][index.frame_packets].astype(np.int64)
    droppable = index.disposable[index.frame_packets] if index.disposable is not None else sizes < 0
    edges = [*index.keyframes.tolist(), index.num_frames]
    if edges[0] != 0:
        edges.insert(0, 0)
    tallest = int(sizes.max(initial=1))
    for number, (start, stop) in enumerate(pairwise(edges)):
        if number == most:
            table.add_row("", f"and {len(edges) - 1 - most} more")
            break
        inside = sizes[start:stop]
        table.add_row(
            f"{number}",
            f"{start}-{stop - 1}",
            f"{inside.sum():,}",
            f"{droppable[start:stop].mean():.0%}",
            _bars(inside, tallest, width),
        )
    return table


def _bars(sizes: NDArray[np.int64], tallest: int, width: int) -> str:
    """Sizes as a line of blocks; a block of several frames shows the largest."""
    parts = np.array_split(sizes, min(width, len(sizes)))
    heights = [int(np.ceil((len(_BLOCKS) - 1) * (part.max() / tallest) ** 0.5)) for part in parts]
    return "".join(_BLOCKS[height] for height in heights)


def draw_timeline(index: VideoIndex, path: Path) -> None:
    """Draw the size of every frame over time, by kind, with its groups of pictures.

    The folder of `path` is created.

    Raises:
        UnsupportedError: matplotlib is not installed.
        SourceError: the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnsupportedError(
            'drawing a timeline needs matplotlib; pip install "videoloader[plot]"'
        ) from error
    times = index.seconds(np.arange(index.num_frames))
    sizes = index.packets["size"][index.frame_packets] / 1024
    is_key = np.isin(np.arange(index.num_frames), index.keyframes)
    disposable = np.zeros(index.num_frames, dtype=np.bool_)
    if index.disposable is not None:
        disposable = index.disposable[index.frame_packets] & ~is_key
    kinds = {
        "keyframe": (is_key, "#d1495b"),
        "referred to": (~is_key & ~disposable, "#30638e"),
        "disposable": (disposable, "#9bc1bc"),
    }
    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, (chosen, color) in kinds.items():
        if chosen.any():
            label = f"{name} ({chosen.sum():,})"
            axes.vlines(times[chosen], 0, sizes[chosen], color=color, label=label, linewidth=1.2)
    for time in times[is_key]:
        axes.axvline(time, color="#d1495b", alpha=0.25, linewidth=0.8, zorder=0)
    axes.set(
        xlabel="seconds",
        ylabel="KiB",
        ylim=(0, None),
        title=f"{Path(index.name).name}: {index.num_frames:,} frames, {index.codec} "
        f"{index.width}x{index.height}, {len(index.keyframes):,} keyframes",
    )
    figure.legend(loc="outside lower center", ncols=len(kinds))
    with written_whole(path) as partial:
        figure.savefig(partial, dpi=110, format="png")


def write_png(picture: NDArray[np.uint8], path: Path) -> None:
    """Write an RGB picture (H, W, 3), and its folder if there is none.

    Raises:
        SourceError: the file cannot be written.
    """
    import cv2

    done, data = cv2.imencode(".png", np.ascontiguousarray(picture[:, :, ::-1]))
    assert done
    with written_whole(path) as partial:
        partial.write_bytes(data.tobytes())
