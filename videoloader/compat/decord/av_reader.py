"""decord's `AVReader`: frames, each with the sound played while it is shown."""

from __future__ import annotations

import math
import operator
import os
from typing import BinaryIO

import numpy as np
import torch
from numpy.typing import ArrayLike

from videoloader.compat.decord.audio_reader import AudioReader
from videoloader.compat.decord.base import as_source
from videoloader.compat.decord.bridge import Frames, bridge_out
from videoloader.compat.decord.ndarray import DECORDContext, NDArray
from videoloader.compat.decord.video_reader import VideoReader

__all__ = ["AVReader"]

_ROUNDING = 1e-3  # samples


class AVReader:
    """A video with its sound: each frame comes with the samples up to the next frame.

    Frames before the sound begins get silence, frames after its end fewer samples or none. The
    samples of consecutive frames are contiguous.

    Args:
        uri: path or URL, or an open file, which is read to its end.
        ctx: `cpu(0)` or `gpu(n)`, for the frames.
        sample_rate: to resample to; that of the file if -1.
        mono: mix to one channel with the weights of FFmpeg's resampler.
        width: as in `VideoReader`, like the other arguments.
        height: likewise.
        num_threads: likewise.
        fault_tol: likewise.

    Raises:
        DECORDError: the file cannot be read, or has no frames or no sound.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str] | bytes | BinaryIO,
        ctx: DECORDContext | None = None,
        sample_rate: int = 44100,
        mono: bool = True,
        width: int = -1,
        height: int = -1,
        num_threads: int = 0,
        fault_tol: float = -1,
    ) -> None:
        source = as_source(uri)
        self._video = VideoReader(source, ctx, width, height, num_threads, fault_tol)
        self._audio = AudioReader(source, None, sample_rate, mono)

    def __len__(self) -> int:
        """The number of frames."""
        return len(self._video)

    def __getitem__(self, idx: int | slice) -> tuple[Frames | list[Frames], Frames]:
        """The samples (channels, n) and the frame (H, W, 3) of a number; of a slice `get_batch`."""
        if isinstance(idx, slice):
            return self.get_batch(range(*idx.indices(len(self))))
        number = operator.index(idx)
        frame = self._video[number]
        return self._sound(number % len(self)), frame

    def get_batch(self, indices: ArrayLike | torch.Tensor | NDArray) -> tuple[list[Frames], Frames]:
        """A list of samples (channels, n), one for each frame, and the frames (N, H, W, 3)."""
        frames = self._video.get_batch(indices)
        numbers = np.asarray(indices).reshape(-1).astype(np.int64) % len(self)
        return [self._sound(number) for number in numbers.tolist()], frames

    def _sound(self, number: int) -> Frames:
        """The samples played while a frame is shown."""
        audio = self._audio._audio
        times = self._video._video.index.boundaries[number : number + 2] - audio.begin_seconds
        start, stop = (
            math.ceil(seconds * audio.sample_rate - _ROUNDING) for seconds in times.tolist()
        )
        inside = self._audio._array[:, max(start, 0) : max(stop, 0)]
        before = min(max(-start, 0), stop - start)
        return bridge_out(torch.nn.functional.pad(inside, (before, 0)))

    def __repr__(self) -> str:
        return f"<AVReader {self._video!r}, {self._audio._audio!r}>"
