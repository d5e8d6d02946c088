"""decord's `fault_tol`: damaged frames replaced by the frame before, up to a limit."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.decord.base import DECORDLimitReachedError
from videoloader.errors import DecodeError
from videoloader.video import Video

__all__ = ["TolerantFrames"]

_log = logging.getLogger(__name__)


class TolerantFrames:
    """The frames of a video some of which are damaged.

    Args:
        video: to read.
        limit: of damaged frames; one more is an error.
        resizing: the size of the frames and its filter, as `Video.get_frames` takes them.
    """

    def __init__(self, video: Video, limit: float, resizing: dict[str, Any]) -> None:
        self._video = video
        self._limit = limit
        self._resizing = resizing
        self._replacements: dict[int, int] = {}

    def get(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        """Frames by number.

        Raises:
            DECORDLimitReachedError: too many were damaged so far.
            DecodeError: no frame before a damaged one, or after it, decodes.
        """
        frames = [self._frame(int(number)) for number in numbers]
        return torch.stack(frames)

    def _frame(self, number: int) -> torch.Tensor:
        known = self._replacements.get(number)
        if known is not None:
            return self._decode(known)
        before, after = range(number - 1, -1, -1), range(number + 1, len(self._video))
        failure: DecodeError | None = None
        for place in (number, *before, *after):
            try:
                frame = self._decode(place)
            except DecodeError as error:
                failure = failure or error
                continue
            if place != number:
                self._replace(number, place, failure)
            return frame
        assert failure is not None
        raise failure

    def _decode(self, number: int) -> torch.Tensor:
        return self._video.get_frames([number], **self._resizing).frames[0]

    def _replace(self, number: int, place: int, failure: Any) -> None:
        self._replacements[number] = place
        _log.warning("%s; frame %d is given in its place", failure, place)
        if len(self._replacements) > self._limit:
            raise DECORDLimitReachedError(
                f"{self._video.name}: {len(self._replacements)} frames do not decode, fault_tol "
                f"allows {self._limit:g}; {failure}"
            )
