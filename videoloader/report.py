"""What a person looks at: tables of videos, and sheets of frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.index import VideoIndex

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["contact_sheet", "video_table", "write_png"]

_GAP = 4
_CAPTION = 18


def video_table(indexes: Iterable[VideoIndex], *, title: str | None = None) -> Table:
    """A table with a row of facts for each video.

    `keys` counts keyframes, `turn` is the rotation for display, anti-clockwise, and `from` says
    what the index was made from (`VideoIndex.exactness`). Codecs bear their bit depth over 8.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("video", overflow="fold", min_width=16)
    for name in ("codec", "size", "frames", "fps", "seconds", "keys", "turn", "from"):
        table.add_column(name, justify="right", no_wrap=True)
    for index in indexes:
        deep = f"/{index.bit_depth}" if (index.bit_depth or 8) > 8 else ""
        table.add_row(
            Text(Path(index.name).name),
            index.codec + deep,
            f"{index.width}x{index.height}",
            f"{index.num_frames:,}",
            f"{index.average_fps:.2f}",
            f"{index.duration:.2f}",
            f"{len(index.keyframes):,}",
            f"{index.rotation}°" if index.rotation else "",
            index.exactness,
        )
    return table


def contact_sheet(
    rows: Sequence[tuple[str, Sequence[NDArray[Any]]]], *, height: int = 96
) -> NDArray[np.uint8]:
    """One picture with a captioned row of thumbnails for each clip.

    Args:
        rows: caption and frames, each uint8 RGB (H, W, 3).
        height: of a thumbnail in pixels.
    """
    import cv2

    strips = []
    for caption, frames in rows:
        thumbnails = []
        for frame in frames:
            width = max(round(frame.shape[1] * height / frame.shape[0]), 1)
            small = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
            thumbnails.append(np.pad(small, ((0, 0), (0, _GAP), (0, 0))))
        strip = np.concatenate(thumbnails, axis=1) if thumbnails else np.zeros((height, 1, 3))
        strip = np.pad(strip.astype(np.uint8), ((_CAPTION, _GAP), (_GAP, 0), (0, 0)))
        place = (_GAP, _CAPTION - 5)
        cv2.putText(
            strip, caption, place, cv2.FONT_HERSHEY_SIMPLEX, 0.4, (230,) * 3, 1, cv2.LINE_AA
        )
        strips.append(strip)
    width = max(strip.shape[1] for strip in strips)
    return np.concatenate(
        [np.pad(strip, ((0, 0), (0, width - strip.shape[1]), (0, 0))) for strip in strips]
    )


def write_png(picture: NDArray[np.uint8], path: Path) -> None:
    """Write an RGB picture (H, W, 3)."""
    import cv2

    done, data = cv2.imencode(".png", np.ascontiguousarray(picture[:, :, ::-1]))
    assert done
    path.write_bytes(data.tobytes())
