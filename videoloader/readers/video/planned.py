"""What a reader puts into a batch: clips before their videos are open, or samples it has read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.failures import Failures, Successors
from videoloader.indexing.index import VideoIndex
from videoloader.operators.batch import Sample
from videoloader.readers.video.sharing import Along, SharedClip
from videoloader.sources.address import shown
from videoloader.sources.items import Item

__all__ = [
    "Identity",
    "Numbered",
    "PlannedClip",
    "ReadError",
    "ReadSample",
    "Selection",
    "public_name",
]


class Identity(NamedTuple):
    """Which sample this is, wherever and whenever it is made: what its random draws depend on."""

    sample: int
    epoch: int = 0


class Numbered(Sequence[Identity]):
    """Samples numbered as they come: `count` of them from `first` on, made when asked for."""

    def __init__(self, first: int, count: int) -> None:
        self._numbers = range(first, first + count)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, position: int) -> Identity: ...

    @overload
    def __getitem__(self, position: slice) -> list[Identity]: ...

    def __getitem__(self, position: int | slice) -> Identity | list[Identity]:
        if isinstance(position, slice):
            return [Identity(number) for number in self._numbers[position]]
        return Identity(self._numbers[position])


class ReadError(Exception):
    """A sample that cannot be read: its position in the batch, where it comes from, and why."""

    def __init__(self, position: int, origin: str, error: Exception) -> None:
        super().__init__(position, origin, error)
        self.position = position
        self.origin = origin
        self.error = error


class ReadSample(NamedTuple):
    """A sample that a reader has read: a value for each output, and where it comes from.

    One that `is_left_out` could not be read: its outputs are those of another, and the batch is to
    go on without it.
    """

    outputs: tuple[Sample, ...]
    identity: Identity
    origin: str = ""
    is_left_out: bool = False


class Selection(Protocol):
    """What a clip shows of its video, told by the index once the video is open."""

    def frames(self, index: VideoIndex) -> NDArray[np.int64]:
        """The frames wanted: numbers inside the video, or `FILLED`."""

    def outputs(self, index: VideoIndex | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        """The outputs beside the pictures.

        Args:
            index: of the video; None where it does not open.
            frames: of the clip; those that do not decode are `FILLED`.
        """


@dataclass(frozen=True, slots=True, eq=False)
class PlannedClip:
    """One clip, as a reader or a decoding operator asks for it.

    Attributes:
        source: path, URL, bytes or an item of a data set.
        selection: the frames wanted of it, and the outputs beside the pictures.
        identity: of the sample.
        index: of the video, where it is known.
        length: frames of the clip, as far as is known before its video is open.
        failures: take what goes wrong; their policy says what becomes of the clip. None raises.
        item: the file that failures name; goes with `failures`.
        epoch: that they name, if there are epochs.
        successors: choose another clip where the policy asks for one.
        shared: where the clip is, if an earlier batch may decode it along with its own.
        along: clips of later batches to decode along with this one.
    """

    source: Any
    selection: Selection
    identity: Identity | None = None
    index: Any = None
    length: int = 0
    failures: Failures | None = None
    item: Item | None = None
    epoch: int | None = None
    successors: Successors[PlannedClip] | None = None
    shared: SharedClip | None = None
    along: tuple[Along, ...] = ()

    def __str__(self) -> str:
        return public_name(self.source)


def public_name(source: object) -> str:
    """The file that outputs say they come from; "" for bytes."""
    if isinstance(source, str | Path):
        return shown(str(source))
    return str(getattr(source, "name", ""))
