"""Clips for batches, epoch after epoch: what is in a batch is arithmetic, `read` is the hands."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import DecodeError, VideoError
from videoloader.indexing.address import shown
from videoloader.ops import media
from videoloader.ops.clips import Clips
from videoloader.ops.decode import decoded, frame_outputs
from videoloader.ops.epochs import Epochs
from videoloader.ops.failures import Failures
from videoloader.ops.operator import Sample
from videoloader.sampling import generator, pad_frames

__all__ = ["ClipReader", "Request"]


class Request(NamedTuple):
    """A clip that a batch wants."""

    epoch: int
    clip: int
    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(slots=True)
class ClipReader:
    """A `Source` of clips.

    Args:
        clips: all clips of the data set.
        epochs: which of them make up the batches.
        seed: of the permutations, and of random clips.
        stage: of both, in the pipeline.
        device: torch device of the frames.
        shuffle: permute the shard in every epoch.
        pad_mode: what stands outside a scope.
        fill_value: colour of filled frames.
        frame_num: "none", "scalar" or "sequence": the output of frame numbers.
        timestamps: whether there is an output of times.
        options: `resolution_change`, `matrix`, `color_range` and `max_pixels`, see `Video`.
        replaces: take the next clip of the shard for one that fails, instead of failing.
        failures: what was replaced or left out.
    """

    clips: Clips
    epochs: Epochs
    seed: int
    stage: int
    device: str
    shuffle: bool
    pad_mode: str
    fill_value: tuple[int, ...]
    frame_num: str
    timestamps: bool
    options: Mapping[str, Any]
    replaces: bool = False
    failures: Failures = field(default_factory=Failures)
    _order: tuple[int, NDArray[np.int64]] | None = None

    def plan(self, iteration: int) -> list[Request]:
        """The clips of a batch: a function of the iteration alone."""
        requests = []
        for epoch, position in self.epochs.batch(iteration):
            clip = int(self._epoch(epoch)[position])
            requests.append(Request(epoch, clip, self.clips.scope(clip).entry.path))
        return requests

    def read(self, request: Request) -> tuple[Sample, ...]:
        """Decode a clip, or, when it fails and that is wanted, the next one that does not."""
        if not self.replaces:
            return self._decode(request)
        shard = self.epochs.shard(request.epoch)
        for step in range(len(shard)):
            clip = shard.start + (request.clip - shard.start + step) % len(shard)
            path = self.clips.scope(clip).entry.path
            try:
                return self._decode(Request(request.epoch, clip, path))
            except VideoError as error:
                self.failures.add(path, str(error))
        raise DecodeError(f"none of the {len(shard)} clips of the shard decodes")

    def _decode(self, request: Request) -> tuple[Sample, ...]:
        scope = self.clips.scope(request.clip)
        # Sample 0 of an epoch is its permutation.
        rng = generator(self.seed, stage=self.stage, sample=1 + request.clip, epoch=request.epoch)
        frames, _ = pad_frames(
            self.clips.frames(request.clip, rng),
            scope.index.num_frames,
            self.pad_mode,
            start=scope.start,
            stop=scope.stop,
            name=shown(request.path),
        )
        opened = media.open_video(request.path, self.device, scope.index, **self.options)
        with closing(opened) as video:
            outputs = [Sample(decoded(video, frames, self.fill_value), "FHWC")]
        if scope.entry.label is not None:
            outputs.append(Sample(torch.tensor([scope.entry.label], dtype=torch.int32)))
        more = frame_outputs(scope.index, frames, self.frame_num, self.timestamps)
        return (*outputs, *map(Sample, more))

    def reset(self) -> None:
        """Nothing to do: a reader never ends."""

    def meta(self) -> dict[str, Any]:
        """What `Pipeline.reader_meta` gives."""
        return self.epochs.meta()

    def _epoch(self, epoch: int) -> NDArray[np.int64]:
        if self._order is None or self._order[0] != epoch:
            shard = self.epochs.shard(epoch)
            clips = np.arange(shard.start, shard.stop)
            if self.shuffle:
                rng = generator(self.seed, stage=self.stage, sample=0, epoch=epoch)
                clips = rng.permutation(clips)
            self._order = (epoch, clips)
        return self._order[1]
