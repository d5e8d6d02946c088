"""Clips that are decoded together, though they are given out in different batches.

The first batch that has a clip of a group decodes those of later batches along with its own, so
that frames and runs of packets that they share are decoded once. They wait in a `SharedClip` each.
Whichever batch comes to a shared clip first decodes it, and the other waits for that one alone:
batches may be decoded at the same time, in any order, and some not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from videoloader.decoding.clip import ClipBatch

__all__ = ["Along", "Decoded", "SharedClip", "SharedDecoding"]


class Decoded(NamedTuple):
    """A clip: pictures, the outputs beside them, its file, the event behind a GPU's work on it."""

    frames: torch.Tensor
    others: list[torch.Tensor]
    origin: str
    ready: Any = None

    def taken(self) -> Decoded:
        """As the current stream may use it."""
        if self.ready is not None:
            stream = torch.cuda.current_stream(self.frames.device)
            stream.wait_event(self.ready)
            self.frames.record_stream(stream)
        return self


class SharedClip:
    """A clip that two batches may decode: the first to `claim` it does, and has to `give` it."""

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
        """Say what it is; None if it failed."""
        self._value = value
        self._given.set()

    def take(self) -> Decoded | None:
        """What it is, once it is known; only once."""
        self._given.wait()
        value, self._value = self._value, None
        return None if value is None else value.taken()


class Along(NamedTuple):
    """A clip of a later batch to decode along with one of this batch."""

    shared: SharedClip
    planned: Any  # a PlannedClip


@dataclass(slots=True)
class SharedDecoding:
    """What the clips of one batch share with others.

    Attributes:
        held: what was decoded before, by position in the batch.
        own: positions that this batch decodes.
        along: what is decoded along with them, each with the position that asks for it.
    """

    held: dict[int, SharedClip] = field(default_factory=dict)
    own: list[int] = field(default_factory=list)
    along: list[tuple[Along, int]] = field(default_factory=list)

    @classmethod
    def of(cls, clips: Sequence[Any]) -> SharedDecoding:
        """For the planned clips of a batch."""
        made = cls()
        for at, clip in enumerate(clips):
            if clip.shared is None or clip.shared.claim():
                made.own.append(at)
                made.along += [(each, at) for each in clip.along if each.shared.claim()]
            else:
                made.held[at] = clip.shared
        return made

    def keep(self, batch: ClipBatch, others: Sequence[list[torch.Tensor]], count: int) -> ClipBatch:
        """Put aside what was decoded along with the first `count` clips; gives those.

        Args:
            batch: the clips, then those of `along`.
            others: the outputs beside the pictures, of each of them.
            count: clips of this batch.
        """
        failed = batch.failed
        ready = None
        kept: list[Decoded | None] = []
        for at in range(count, count + len(self.along)):
            if at in failed:
                kept.append(None)  # its own batch tries again, and says what is wrong
                continue
            # A view would keep the memory of all clips.
            origin = str(self.along[at - count][0].planned)
            kept.append(Decoded(batch.frames[at].clone(), others[at], origin))
        if any(clip is not None and clip.frames.is_cuda for clip in kept):
            ready = torch.cuda.current_stream(batch.frames[0].device).record_event()
        for (each, _), clip in zip(self.along, kept, strict=True):
            each.shared.give(None if clip is None else clip._replace(ready=ready))
        self.along = []
        return batch.at(slice(count))

    def give_up(self) -> None:
        """Let other batches decode what this one has not."""
        for each, _ in self.along:
            each.shared.give(None)
        self.along = []
