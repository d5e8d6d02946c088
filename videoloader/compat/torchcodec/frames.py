"""Decoded frames and samples with their times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from videoloader.compat.torchcodec.metadata import Described


@dataclass(repr=False)
class Frame(Described):
    """One frame. It unpacks: `data, pts_seconds, duration_seconds = frame`.

    Attributes:
        data: (C, H, W), or (H, W, C).
        pts_seconds: presentation time.
        duration_seconds: display duration.
    """

    data: torch.Tensor
    pts_seconds: float
    duration_seconds: float

    def __post_init__(self) -> None:
        if self.data.ndim != 3:
            raise ValueError(f"data must be 3-dimensional, got shape {tuple(self.data.shape)}")
        self.pts_seconds = float(self.pts_seconds)
        self.duration_seconds = float(self.duration_seconds)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.pts_seconds, self.duration_seconds))


@dataclass(repr=False)
class FrameBatch(Described):
    """Several frames, or clips of frames. Indexing and iteration give batches.

    Attributes:
        data: (..., C, H, W), or (..., H, W, C), with one or two leading dimensions.
        pts_seconds: float64, in the shape of the leading dimensions; on the CPU.
        duration_seconds: likewise.
    """

    data: torch.Tensor
    pts_seconds: torch.Tensor
    duration_seconds: torch.Tensor

    def __post_init__(self) -> None:
        if self.data.ndim < 3:
            raise ValueError(
                f"data must be at least 3-dimensional, got shape {tuple(self.data.shape)}"
            )
        leading = self.data.shape[:-3]
        for name in ("pts_seconds", "duration_seconds"):
            shape = getattr(self, name).shape
            if shape != leading:
                raise ValueError(
                    f"the leading dimensions of the inputs do not match: data has "
                    f"{tuple(leading)}, {name} has {tuple(shape)}"
                )

    def __iter__(self) -> Iterator[FrameBatch]:
        for parts in zip(self.data, self.pts_seconds, self.duration_seconds, strict=True):
            yield FrameBatch(*parts)

    def __getitem__(self, key: Any) -> FrameBatch:
        return FrameBatch(self.data[key], self.pts_seconds[key], self.duration_seconds[key])

    def __len__(self) -> int:
        return len(self.data)


@dataclass(repr=False)
class AudioSamples(Described):
    """Samples of sound; they unpack like a `Frame`.

    Attributes:
        data: float32 (channels, samples), from -1 to 1.
        pts_seconds: time of the first sample.
        duration_seconds: of all samples.
        sample_rate: samples a second.
    """

    data: torch.Tensor
    pts_seconds: float
    duration_seconds: float
    sample_rate: int

    def __post_init__(self) -> None:
        if self.data.ndim != 2:
            raise ValueError(f"data must be 2-dimensional, got shape {tuple(self.data.shape)}")
        self.pts_seconds = float(self.pts_seconds)
        self.sample_rate = int(self.sample_rate)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.pts_seconds, self.duration_seconds, self.sample_rate))
