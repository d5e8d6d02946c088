"""decord's `AudioReader` over an `Audio`."""

from __future__ import annotations

import operator
import os
import sys
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import ArrayLike

from videoloader.audio import Audio
from videoloader.compat.decord.base import as_decord_errors, as_source
from videoloader.compat.decord.bridge import Frames, bridge_out
from videoloader.compat.decord.ndarray import DECORDContext, NDArray, as_context, cpu
from videoloader.compat.opening import ClosedWhenCollected, open_sound
from videoloader.errors import FrameRangeError
from videoloader.machinery.system.forking import cached_property

__all__ = ["AudioReader"]


class AudioReader:
    """The sound of a file as decord gives it: float32 (channels, samples), in the bridge's type.

    All samples are decoded on the first access to any of them or to their number.

    Args:
        uri: path or URL, or an open file, which is read to its end.
        ctx: `cpu(0)`; with `gpu(n)` samples still come on the CPU.
        sample_rate: to resample to; that of the file if -1.
        mono: mix to one channel with the weights of FFmpeg's resampler.

    Raises:
        DECORDError: the file cannot be read, or has no sound.

    Attributes:
        sample_rate: of the samples.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str] | bytes | BinaryIO,
        ctx: DECORDContext | None = None,
        sample_rate: int = -1,
        mono: bool = True,
    ) -> None:
        as_context(cpu(0) if ctx is None else ctx)
        source = as_source(uri)
        options: dict[str, Any] = {
            "sample_rate": sample_rate if sample_rate > 0 else None,
            "num_channels": 1 if mono else None,
            "mix": "plain",
        }
        with as_decord_errors:
            audio = open_sound(source, **options)
            # `Audio` raises the error that there is no sound.
            self._audio = Audio(source, **options) if audio is None else audio
        self._closing = ClosedWhenCollected(self._audio)
        self.sample_rate = self._audio.sample_rate
        self._padding = 0

    @cached_property
    def _array(self) -> torch.Tensor:
        with as_decord_errors, self._audio as audio:
            return audio.get_samples()

    def __len__(self) -> int:
        """The number of channels."""
        return self._audio.num_channels

    @property
    def shape(self) -> tuple[int, int]:
        """Channels, and samples of each."""
        channels, samples = self._array.shape
        return channels, samples

    def __getitem__(self, idx: int | slice) -> Frames:
        """A sample (channels,), or the samples of a slice (channels, n)."""
        if isinstance(idx, slice):
            return bridge_out(self._array[:, np.arange(self.shape[1])[idx]])
        number = operator.index(idx)
        self._check(np.array([number]))
        return bridge_out(self._array[:, number].clone())

    def get_batch(self, indices: ArrayLike | torch.Tensor | NDArray) -> Frames:
        """Samples (channels, n) by number; negative numbers count from the end."""
        numbers = np.asarray(indices).reshape(-1).astype(np.int64)
        self._check(numbers)
        return bridge_out(self._array[:, numbers])

    def duration(self) -> float:
        """Seconds of sound."""
        return self.shape[1] / self.sample_rate

    def add_padding(self) -> int:
        """Prepend silence so that the sound begins at time 0; returns its number of samples."""
        if self._padding == 0:
            count = max(round(self._audio.begin_seconds * self.sample_rate), 0)
            self._array = torch.nn.functional.pad(self._array, (count, 0))
            self._padding = count
        return self._padding

    def get_info(self) -> None:
        """Print the properties of the stream."""
        header = self._audio.header
        lines = (
            f"audio stream [{header.stream}]: {header.codec}",
            f"start time: {self._audio.begin_seconds:g}",
            f"duration: {self._audio.duration:g}",
            f"original sample rate: {header.sample_rate}",
            f"target sample rate: {self.sample_rate}",
            f"number of channels: {len(self)}",
        )
        sys.stdout.write("\n".join(lines) + "\n")

    def _check(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        count = self.shape[1]
        outside = (numbers < -count) | (numbers >= count)
        if outside.any():
            raise FrameRangeError(
                f"{self._audio.name}: sample {numbers[outside][0]} requested, the sound has {count}"
            )

    def __repr__(self) -> str:
        return f"<AudioReader {self._audio!r}>"
