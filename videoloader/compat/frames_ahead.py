"""Frames that are asked for one at a time, each behind the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from videoloader.errors import VideoError

__all__ = ["FramesAhead"]

_PATIENCE = 4  # frames in a row, after which more are decoded than asked for
_AHEAD = 4  # frames decoded at a time


class FramesAhead:
    """Decodes a few frames at a time for callers that go through a video frame by frame.

    A request for one frame costs as much of Python as one for several. What is decoded for nothing
    is less than what was asked for before. Threads may share it.

    Args:
        count: frames of the video.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._state: tuple[int, int, tuple[torch.Tensor, ...]] = (0, 0, ())
        """The frame behind the last one, how many were asked for in a row, and those ahead."""

    def __reduce__(self) -> tuple[Any, ...]:
        return FramesAhead, (self._count,)

    def frame(self, number: int, decode: Callable[[Sequence[int]], torch.Tensor]) -> torch.Tensor:
        """A frame by number; `decode` gives several."""
        position, row, ahead = self._state  # read and written at once, for threads
        if number != position:
            row, ahead = 0, ()
        if not ahead and row >= _PATIENCE:
            with suppress(VideoError):  # a later frame may be damaged
                ahead = decode(range(number, min(number + _AHEAD, self._count))).unbind()
        if not ahead:
            ahead = decode([number]).unbind()
        self._state = number + 1, row + 1, ahead[1:]
        return ahead[0]
