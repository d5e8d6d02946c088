"""Clips for batches, epoch after epoch: what is in a batch is a function of its number alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip import ClipFailure
from videoloader.decoding.failures import Failures
from videoloader.errors import DecodeError
from videoloader.readers.video.clips import Clips, usual_length
from videoloader.readers.video.decoder import frame_outputs
from videoloader.readers.video.media import Index
from videoloader.readers.video.planned import Identity, PlannedClip
from videoloader.readers.video.scopes import Scopes
from videoloader.readers.video.sharing import Along, SharedClip
from videoloader.sampling import generator, pad_frames
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import Order

__all__ = ["ClipReader"]


@dataclass(slots=True)
class ClipReader:
    """Plans the clips of a data set. Its draws depend on the clip and the epoch alone.

    Args:
        scopes: the videos.
        clips: all clips of them.
        order: of the clips in the batches; its seed and stage are those of random clips too.
        pad_mode: what stands outside a scope.
        frame_num: "none", "scalar" or "sequence": the output of frame numbers.
        timestamps: whether there is an output of times.
        failures: takes what goes wrong; its policy says what becomes of clips that fail.

    Clips that are to be decoded together (`Order.group`) are planned as such: the first of them
    that comes takes the later ones along. Batches are planned in order, in one thread.
    """

    scopes: Scopes
    clips: Clips
    order: Order
    pad_mode: str
    frame_num: str
    timestamps: bool
    failures: Failures = field(default_factory=Failures)
    _waiting: dict[Place, SharedClip] = field(default_factory=dict)
    _next: int = 0

    def plan(self, iteration: int) -> list[PlannedClip]:
        """The clips of a batch."""
        if iteration != self._next:
            self._waiting.clear()
        self._next = iteration + 1
        clips = [
            self._sharing(
                place, self._planned(place, number, len(self.order.epochs.shard(place.epoch)))
            )
            for place, number in self.order.batch(iteration)
        ]
        self.failures.ask(len(clips))
        return clips

    def _sharing(self, place: Place, planned: PlannedClip) -> PlannedClip:
        """A clip with those of its group that come later, or as one of them."""
        shared = self._waiting.pop(place, None)
        if shared is not None:
            return replace(planned, shared=shared)
        along = []
        for other in self.order.mates(place):
            shared = self._waiting[other] = SharedClip()
            along.append(Along(shared, self._planned(other, self.order.number(other), tries=1)))
        return replace(planned, along=tuple(along)) if along else planned

    def go_on(self, epochs: Epochs) -> None:
        """Read what these epochs say from now on."""
        self.order = replace(self.order, epochs=epochs)
        self._waiting.clear()

    def reset(self) -> None:
        """Nothing to do: a reader never ends."""

    def meta(self) -> dict[str, object]:
        """What `Pipeline.reader_meta` gives."""
        return self.order.epochs.meta()

    def _planned(self, place: Place, number: int, tries: int) -> PlannedClip:
        """A clip of a shard, and how many others may be tried in its place."""
        epoch = place.epoch
        video = self.clips.video(number)
        on_error = self.failures.policy.on_error
        return PlannedClip(
            self.scopes.item(video),
            partial(self._select, number, epoch),
            partial(self._others, video),
            Identity(number, epoch),
            self.scopes.index(video),
            usual_length(self.clips.sampler) if on_error == "mask" else 0,
            on_error,
            partial(self._note, number, epoch),
            None if on_error == "raise" else partial(self._instead, place, tries),
        )

    def _note(self, number: int, epoch: int, failure: ClipFailure) -> None:
        item = self.scopes.item(self.clips.video(number))
        self.failures.add(item, failure.error, frame=failure.frame, sample=number, epoch=epoch)

    def _select(self, number: int, epoch: int, index: Index) -> NDArray[np.int64]:
        video = self.clips.video(number)
        scope = self.scopes.scope(video, index)
        # Sample 0 of an epoch is its permutation.
        rng = generator(self.order.seed, stage=self.order.stage, sample=1 + number, epoch=epoch)
        frames, _ = pad_frames(
            self.clips.frames(number, index, scope, rng),
            index.num_frames,
            self.pad_mode,
            start=scope[0],
            stop=scope[1],
            name=self.scopes.item(video).name,
        )
        return frames

    def _others(
        self, video: int, index: Index | None, frames: NDArray[np.int64]
    ) -> list[torch.Tensor]:
        known = self.scopes.labels
        labels = [] if known is None else [known.at([video]).reshape(-1)]
        return labels + frame_outputs(index, frames, self.frame_num, self.timestamps)

    def _instead(self, place: Place, tries: int, error: Exception) -> PlannedClip:
        count = len(self.order.epochs.shard(place.epoch))
        if tries <= 1:
            raise DecodeError(f"none of the {count} clips of the shard decodes") from error
        other = Place(place.epoch, (place.position + 1) % count)
        return self._planned(other, self.order.number(other), tries - 1)
