"""`fn.readers.video_resize`: `fn.readers.video` and `fn.resize` in one call."""

from __future__ import annotations

from typing import Any

from videoloader.operators.geometry.resize import RESIZE
from videoloader.operators.operator import declare
from videoloader.operators.source import SourceContext
from videoloader.readers.video.reader import READ_VIDEO

__all__ = ["read_video_resized"]

_RESIZING = tuple(each for each in RESIZE.arguments if each.name != "save_attrs")
_TAKEN = {argument.name for argument in _RESIZING}


@declare(
    "readers.video_resize",
    kind="source",
    arguments=(*(each for each in READ_VIDEO.arguments if each.name not in _TAKEN), *_RESIZING),
    num_outputs=READ_VIDEO.num_outputs,
    parts=(READ_VIDEO.name, RESIZE.name),
    unused=tuple({*READ_VIDEO.unused, *RESIZE.unused} - {"image_type"}),
)
def read_video_resized(_: SourceContext, **arguments: Any) -> Any:  # noqa: ARG001
    """Read clips of videos, and resize them: `fn.readers.video` with `fn.resize` on its clips.

    It takes the arguments of both and becomes these two nodes; `name` is that of the reader. The
    decoder resizes by itself where it can, see `fn.resize`.
    """
    raise AssertionError("it runs as its parts")
