"""decord's reader of frames with their audio, which is not here yet."""

from __future__ import annotations

from typing import Any

from videoloader.errors import UnsupportedError

__all__ = ["AVReader"]


class AVReader:
    """Refused: audio is not read through this interface.

    Raises:
        UnsupportedError: always.
    """

    def __init__(self, uri: Any, *_: Any, **__: Any) -> None:
        raise UnsupportedError(
            f"{uri!s:.200}: AVReader is not part of videoloader.compat.decord, as audio is not; "
            "VideoReader gives the frames"
        )
