"""The items of a reader's batch: clips whose videos are not open yet, or samples it has read.

Clips of different batches may be decoded together, so that frames and runs of packets that they
share are decoded once. The first batch that has a clip of such a group decodes those of later
batches along with its own; each of these waits in a `SharedClip`. Whichever batch comes to a shared
clip first decodes it, and the other waits for that clip alone: batches may be decoded at the same
time, in any order, and some not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.request import SoundSpan
from videoloader.dali.operators.context import Sample
from videoloader.decoding.attempts import Successors
from videoloader.decoding.failures import Failures
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import shown
from videoloader.sources.items import Item


class Identity(NamedTuple):
    """The number and epoch of a sample; its random draws depend on nothing else."""

    sample: int
    epoch: int = 0


class Numbered(Sequence[Identity]):
    """The identities of `count` samples, numbered from `first`; made when asked for."""

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

    A sample that `is_left_out` could not be read: it has the outputs of another one, and is removed
    from the batch.
    """

    outputs: tuple[Sample, ...]
    identity: Identity
    origin: str = ""
    is_left_out: bool = False


class Selection(Protocol):
    """Chooses the frames of a clip, once its video is open and the index is known."""

    def frames(self, index: VideoIndex) -> NDArray[np.int64]:
        """The frames wanted: numbers inside the video, or `FILLED`."""

    def keyframes(self, index: VideoIndex) -> NDArray[np.int64]:
        """Numbers of the keyframes that `snap` may give, ascending."""

    def sound(self, index: VideoIndex) -> Sequence[SoundSpan] | None:
        """Time spans of the sound, if decoding gives sound; None for the spans of the frames."""

    def outputs(self, index: VideoIndex | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        """The outputs in addition to the pictures, without decoded sound.

        Args:
            index: of the video; None where it does not open.
            frames: of the clip; those that do not decode are `FILLED`.
        """


class Decoded(NamedTuple):
    """A decoded clip: frames, other outputs, its file, and the event after the GPU's work on it."""

    frames: torch.Tensor
    others: list[torch.Tensor]
    origin: str
    ready: Any = None

    def synchronized(self) -> Decoded:
        """The same clip, safe to use on the current stream."""
        if self.ready is not None:
            stream = torch.cuda.current_stream(self.frames.device)
            stream.wait_event(self.ready)
            self.frames.record_stream(stream)
        return self


class SharedClip:
    """A clip that two batches may decode. The first to `claim` it must decode and `give` it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_claimed = False
        self._given = threading.Event()
        self._value: Decoded | None = None

    def claim(self) -> bool:
        """Whether the caller has to decode it."""
        with self._lock:
            is_first, self._is_claimed = not self._is_claimed, True
            return is_first

    def give(self, value: Decoded | None) -> None:
        """Store the decoded clip; None if it failed."""
        self._value = value
        self._given.set()

    def take(self) -> Decoded | None:
        """Wait for the decoded clip; None if it failed. Call this once."""
        self._given.wait()
        value, self._value = self._value, None
        return None if value is None else value.synchronized()


class Companion(NamedTuple):
    """A clip of a later batch to decode along with one of this batch."""

    shared: SharedClip
    planned: PlannedClip


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
        companions: clips of later batches to decode along with this one.
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
    companions: tuple[Companion, ...] = ()

    def __str__(self) -> str:
        return public_name(self.source)


def public_name(source: object) -> str:
    """The name of a file as `source_info` of outputs; "" for bytes."""
    if isinstance(source, str | Path):
        return shown(str(source))
    return str(getattr(source, "name", ""))
