"""What a reader puts into a batch: clips before their videos are open, or samples it has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import torch
from numpy.typing import NDArray

from videoloader.decoding.clip import ClipFailure
from videoloader.decoding.rules import OnError
from videoloader.operators.batch import Sample
from videoloader.readers.video.media import Index
from videoloader.readers.video.sharing import Along, SharedClip
from videoloader.sources.address import shown

__all__ = ["Identity", "Numbered", "PlannedClip", "ReadError", "ReadSample"]


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


@dataclass(frozen=True, slots=True, eq=False)
class PlannedClip:
    """One clip, as a reader or a decoding operator asks for it.

    Attributes:
        source: path, URL, bytes or an item of a data set.
        select: the frames wanted of a video, by its index: those inside it, or `FILLED`.
        others: the outputs beside the pictures, by the index and the frames of `select`; frames
            that do not decode are `FILLED`, and the index is None where the video does not open.
        identity: of the sample.
        index: of the video, where it is known.
        length: frames of the clip, as far as is known before its video is open.
        on_error: what to do when it fails.
        note: is told that it failed, and may end the batch by an error.
        instead: the clip to take in place of this one when it fails, by what went wrong.
        shared: where the clip is, if an earlier batch may decode it along with its own.
        along: clips of later batches to decode along with this one.
    """

    source: Any
    select: Callable[[Index], NDArray[Any]]
    others: Callable[[Index | None, NDArray[Any]], list[torch.Tensor]]
    identity: Identity | None = None
    index: Any = None
    length: int = 0
    on_error: OnError = "raise"
    note: Callable[[ClipFailure], object] | None = None
    instead: Callable[[Exception], PlannedClip] | None = None
    shared: SharedClip | None = None
    along: tuple[Along, ...] = ()

    def __str__(self) -> str:
        if isinstance(self.source, str | Path):
            return shown(str(self.source))
        return str(getattr(self.source, "name", ""))
