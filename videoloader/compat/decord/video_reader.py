"""decord's `VideoReader` over a `Video`."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike

from videoloader.compat.decord.base import (
    DECORDError,
    DECORDLimitReachedError,
    RefusedError,
    as_decord_errors,
    as_integer,
    as_source,
)
from videoloader.compat.decord.bridge import Frames, bridge_out
from videoloader.compat.decord.ndarray import DECORDContext, NDArray, as_context, cpu
from videoloader.compat.opening import ClosedWhenCollected, frame_rate, open_video
from videoloader.compat.single_frames import KeptFrames
from videoloader.errors import DecodeError, FrameRangeError
from videoloader.sampling.padding import frame_range_error
from videoloader.video import Video

__all__ = ["VideoReader"]

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_log = logging.getLogger(__name__)

_MOST_THREADS = 64
_SKIPPED = 4  # frames that are read and dropped rather than starting a new read


class _SeekError(FrameRangeError, RefusedError):
    """A seek to a frame outside the video."""


class VideoReader:
    """A video as decord gives it: uint8 RGB frames by number, in the type of the bridge.

    Frames are exact. Consecutive requests are decoded sequentially, others from the fewest packets.
    A GOP from which many single frames are requested is decoded once and kept, up to 256 MB. Not
    thread-safe.

    Args:
        uri: path or URL, or an open file, which is read to its end.
        ctx: `cpu(0)` or `gpu(n)`.
        width: of the frames; that of the video if -1.
        height: likewise.
        num_threads: decoder threads; 0 or less lets this library choose.
        fault_tol: most damaged frames that are replaced by the frame before; below 1 as a
            fraction of the video. With -1 a damaged frame is an error.

    Raises:
        DECORDError: the video cannot be read.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str] | bytes | BinaryIO,
        ctx: DECORDContext | None = None,
        width: int = -1,
        height: int = -1,
        num_threads: int = 0,
        fault_tol: float | str | None = -1,
    ) -> None:
        self.ctx = as_context(cpu(0) if ctx is None else ctx)
        source = as_source(uri)
        width, height = as_integer(width, "width"), as_integer(height, "height")
        fault_tol = -1 if fault_tol is None else float(fault_tol)
        threads = min(max(as_integer(num_threads, "num_threads"), 0), _MOST_THREADS) or None
        with as_decord_errors:
            self._video = open_video(source, device=self.ctx.device, threads=threads)
        if not len(self._video):
            raise DECORDError(f"{self._video.name}: the video has no frames")
        shown = self._video.size
        size = (height if height > 0 else shown[0], width if width > 0 else shown[1])
        self.height, self.width = size
        # Bicubic as in decord, for chroma too, except on a GPU, where it would run on the CPU.
        filter_ = "bicubic" if self.ctx.device == "cpu" else "triangular"
        self._resizing: dict[str, Any] = {"interpolation": filter_}
        if size != shown:
            self._resizing["size"] = size
        self._tolerant = None
        if fault_tol > 0:
            limit = fault_tol if fault_tol >= 1 else fault_tol * len(self._video)
            self._tolerant = _TolerantFrames(self._video, limit, self._resizing)
        self._closing = ClosedWhenCollected(self._video)
        self._frames = partial(_decode, self._video, self._resizing, self._tolerant)
        self._kept = None
        if self.ctx.device == "cpu":
            self._kept = KeptFrames(self._video.index, self._frames, (*size, 3))
        self._position = 0  # number of the frame that `next` gives
        self._last = -2  # number of the last single frame
        self._reading: Generator[torch.Tensor, None, None] | None = None  # gives frame `_position`

    def __len__(self) -> int:
        return len(self._video)

    def __getitem__(self, idx: int | slice) -> Frames:
        """A frame (H, W, 3), or the frames of a slice (N, H, W, 3)."""
        if isinstance(idx, slice):
            return self.get_batch(range(*idx.indices(len(self))))
        number = as_integer(idx, "a frame number")
        if not -len(self) <= number < len(self):
            raise frame_range_error(number, len(self), self._video.name)
        return bridge_out(self._frame(number % len(self)))

    def __iter__(self) -> Iterator[Frames]:
        """All frames from the first on."""
        return (self[number] for number in range(len(self)))

    def next(self) -> Frames:
        """The frame after the last one given.

        Raises:
            StopIteration: the last one was given.
        """
        if self._position >= len(self):
            raise StopIteration
        return bridge_out(self._frame(self._position))

    def get_batch(self, indices: ArrayLike | torch.Tensor | NDArray) -> Frames:
        """Frames (N, H, W, 3) by number; negative numbers count from the end.

        Floats are cut to integers.
        """
        numbers = self._numbers(indices).reshape(-1)
        if len(numbers):
            self._stop_reading()
            # As in decord, `next` continues after the last frame decoded; repeats do not count.
            self._last = int(numbers[np.unique(numbers, return_index=True)[1].max()])
            self._position = self._last + 1
        return bridge_out(self._frames(numbers))

    def get_frame_timestamp(self, idx: ArrayLike | slice) -> np.ndarray[Any, Any]:
        """(begin, end) of frames in seconds from the first frame: (N, 2), or (2,)."""
        if isinstance(idx, slice):
            idx = range(*idx.indices(len(self)))
        numbers = self._numbers(idx)
        boundaries = self._video.index.boundaries
        times = np.stack([boundaries[numbers], boundaries[numbers + 1]], axis=-1) - boundaries[0]
        found: np.ndarray[Any, Any] = times.astype(np.float32)
        return found

    def get_key_indices(self) -> list[int]:
        """Numbers of the keyframes."""
        return [int(number) for number in self._video.index.keyframes]

    def get_avg_fps(self) -> float:
        """Frames a second, as FFmpeg states it."""
        return frame_rate(self._video)

    def seek(self, pos: int) -> None:
        """Same as `seek_accurate`; decord's goes to a keyframe."""
        self.seek_accurate(pos)

    def seek_accurate(self, pos: int) -> None:
        """Make this frame the one that `next` gives."""
        pos = as_integer(pos, "a frame number")
        if not 0 <= pos < len(self):
            raise _SeekError(
                f"{self._video.name}: seek to frame {pos}, the video has {len(self)} frames"
            )
        if pos != self._position:
            self._stop_reading()
            self._position = pos

    def skip_frames(self, num: int = 1) -> None:
        """Skip the next frames."""
        num = as_integer(num, "a number of frames")
        if num < 1:
            raise RefusedError(f"the number of frames to skip is at least 1, got {num}")
        self._move(min(self._position + num, len(self)))

    def __repr__(self) -> str:
        return f"<VideoReader {self._video.name}: {len(self)} frames, {self.ctx}>"

    def _numbers(self, indices: Any) -> Numbers:
        """Frame numbers from 0, in the given shape; raises for numbers outside the video."""
        with np.errstate(invalid="ignore"):  # NaN becomes a number outside the video
            numbers = np.asarray(indices).astype(np.int64)
        outside = (numbers < -len(self)) | (numbers >= len(self))
        if outside.any():
            raise frame_range_error(int(numbers[outside][0]), len(self), self._video.name)
        return np.where(numbers < 0, numbers + len(self), numbers)

    def _frame(self, number: int) -> torch.Tensor:
        """One frame, from the current sequential read or decoded separately."""
        self._move(number)
        if self._reading is None and number == self._last + 1 and self._tolerant is None:
            self._reading = self._video.iterate(number, **self._resizing)
        if self._reading is None:
            kept = self._kept
            frame = self._frames(np.array([number]))[0] if kept is None else kept.frame(number)
        else:
            frame = self._read()
        self._last, self._position = number, number + 1
        return frame

    def _move(self, number: int) -> None:
        """Advance the sequential read to this frame, or stop it."""
        ahead = number - self._position
        if self._reading is not None and 0 <= ahead <= _SKIPPED:
            for _ in range(ahead):
                self._read()
        elif ahead:
            self._stop_reading()
        self._position = number

    def _read(self) -> torch.Tensor:
        """The next frame of the sequential read; an error ends it."""
        assert self._reading is not None
        try:
            with as_decord_errors:
                return next(self._reading)
        except BaseException:
            self._stop_reading()
            raise

    def _stop_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.close()


def _decode(
    video: Video, resizing: dict[str, Any], tolerant: _TolerantFrames | None, numbers: Numbers
) -> torch.Tensor:
    """Decode frames by number in one call."""
    with as_decord_errors:
        try:
            return video.get_frames(numbers, **resizing).frames
        except DecodeError:
            if tolerant is None:
                raise
            return tolerant.get(numbers)


class _TolerantFrames:
    """Replaces damaged frames of a video by the frame before, up to a limit.

    Args:
        video: to read.
        limit: most damaged frames; one more is an error.
        resizing: size and filter, as keywords of `Video.get_frames`.
    """

    def __init__(self, video: Video, limit: float, resizing: dict[str, Any]) -> None:
        self._video = video
        self._limit = limit
        self._resizing = resizing
        self._replacements: dict[int, int] = {}

    def get(self, numbers: Numbers) -> torch.Tensor:
        """Frames by number.

        Raises:
            DECORDLimitReachedError: more frames than the limit are damaged.
            DecodeError: no frame before a damaged one, or after it, decodes.
        """
        return torch.stack([self._frame(int(number)) for number in numbers])

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
