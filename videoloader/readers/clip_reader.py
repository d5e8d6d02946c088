"""Clips for batches, epoch after epoch: what is in a batch is a function of its number alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import DecodeError
from videoloader.readers.clips import Clips
from videoloader.readers.decoder import frame_outputs
from videoloader.readers.epochs import Epochs
from videoloader.readers.failures import Failures
from videoloader.readers.media import Index
from videoloader.readers.planned import Identity, PlannedClip
from videoloader.readers.scopes import Scopes
from videoloader.sampling import generator, pad_frames
from videoloader.sampling.permutation import Permutation

__all__ = ["ClipReader"]


@dataclass(slots=True)
class ClipReader:
    """Plans the clips of a data set. Its draws depend on the clip and the epoch alone.

    Args:
        scopes: the videos.
        clips: all clips of them.
        epochs: which places in the order of an epoch make up the batches.
        seed: of the permutations, and of random clips.
        stage: of both, in the pipeline.
        shuffle: permute all clips in every epoch, before they are divided into shards.
        pad_mode: what stands outside a scope.
        frame_num: "none", "scalar" or "sequence": the output of frame numbers.
        timestamps: whether there is an output of times.
        replaces: take the next clip of the shard for one that fails, instead of failing.
        failures: what was replaced or left out.
    """

    scopes: Scopes
    clips: Clips
    epochs: Epochs
    seed: int
    stage: int
    shuffle: bool
    pad_mode: str
    frame_num: str
    timestamps: bool
    replaces: bool = False
    failures: Failures = field(default_factory=Failures)

    def plan(self, iteration: int) -> list[PlannedClip]:
        """The clips of a batch."""
        return [
            self._planned(place.epoch, place.position, tries=len(self.epochs.shard(place.epoch)))
            for place in self.epochs.batch(iteration)
        ]

    def reset(self) -> None:
        """Nothing to do: a reader never ends."""

    def meta(self) -> dict[str, object]:
        """What `Pipeline.reader_meta` gives."""
        return self.epochs.meta()

    def _planned(self, epoch: int, position: int, tries: int) -> PlannedClip:
        """A clip of a shard, and how many others may be tried in its place."""
        shard = self.epochs.shard(epoch)
        number = self._number(epoch, shard[position])
        video = self.clips.video(number)
        return PlannedClip(
            self.scopes.item(video),
            partial(self._select, number, epoch),
            partial(self._others, video),
            Identity(number, epoch),
            self.scopes.index(video),
            partial(self._instead, epoch, position, tries) if self.replaces else None,
        )

    def _number(self, epoch: int, place: int) -> int:
        if not self.shuffle:
            return place
        return int(_permutation(len(self.clips), self.seed, self.stage, epoch)[place])

    def _select(self, number: int, epoch: int, index: Index) -> NDArray[np.int64]:
        video = self.clips.video(number)
        scope = self.scopes.scope(video, index)
        # Sample 0 of an epoch is its permutation.
        rng = generator(self.seed, stage=self.stage, sample=1 + number, epoch=epoch)
        frames, _ = pad_frames(
            self.clips.frames(number, index, scope, rng),
            index.num_frames,
            self.pad_mode,
            start=scope[0],
            stop=scope[1],
            name=self.scopes.item(video).name,
        )
        return frames

    def _others(self, video: int, index: Index, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        known = self.scopes.labels
        labels = [] if known is None else [torch.tensor([known[video]], dtype=torch.int32)]
        return labels + frame_outputs(index, frames, self.frame_num, self.timestamps)

    def _instead(self, epoch: int, position: int, tries: int, error: Exception) -> PlannedClip:
        shard = self.epochs.shard(epoch)
        video = self.clips.video(self._number(epoch, shard[position]))
        self.failures.add(self.scopes.item(video).name, str(error))
        if tries <= 1:
            raise DecodeError(f"none of the {len(shard)} clips of the shard decodes")
        return self._planned(epoch, (position + 1) % len(shard), tries - 1)


@lru_cache(maxsize=64)
def _permutation(size: int, seed: int, stage: int, epoch: int) -> Permutation:
    return Permutation(size, seed=seed, stage=stage, epoch=epoch)
