"""Differences between PyAV's versions, 15 to 19, where this package uses it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from av import VideoFrame
    from av.filter import Graph
    from av.video.reformatter import VideoReformatter

_THREADS_SINCE = 17  # the first version that lets a graph or a conversion have threads, or one
_BT2020 = 9  # AVCOL_SPC_BT2020_NCL


def new_graph() -> Graph:
    """A graph of filters that runs in the thread of the caller.

    Before PyAV 17 FFmpeg gives it as many threads as there are processors, of which those of a
    batch take time from each other.
    """
    from av.filter import Graph

    graph = Graph()
    if _has_threads():
        graph.threads = 1
    return graph


def reformat(reformatter: VideoReformatter, frame: VideoFrame, **options: Any) -> VideoFrame:
    """Convert a frame in the thread of the caller; options as of `VideoReformatter.reformat`.

    PyAV 17 takes the matrix of BT.2020 for that of BT.601 unless the frame itself is tagged so.
    """
    if _version() == 17 and options.get("src_colorspace") == _BT2020:
        frame.colorspace = options.pop("src_colorspace")
    if _has_threads():
        options["threads"] = 1
    return reformatter.reformat(frame, **options)


def _has_threads() -> bool:
    return _version() >= _THREADS_SINCE


@cache
def _version() -> int:
    import av

    return int(av.__version__.partition(".")[0])
