"""Plans the clips of each batch; a batch depends on its number alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.request import SoundSpan
from videoloader.dali.readers.video.clips import Clips
from videoloader.dali.readers.video.decoder import frame_outputs
from videoloader.dali.readers.video.planned import Companion, Identity, PlannedClip, SharedClip
from videoloader.dali.readers.video.scopes import Scopes
from videoloader.decoding.failures import Failures
from videoloader.decoding.sound_spans import sound_spans
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import generator, pad_frames
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.several_clips import usual_shape


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

    Clips that are to be decoded together (`SampleOrder.group`) are planned as such: the first of
    them that comes takes the later ones along. Batches are planned in order, in one thread.
    """

    scopes: Scopes
    clips: Clips
    order: ReaderOrder
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
            self._sharing(place, self._planned(place, number))
            for place, number in self.order.batch(iteration)
        ]
        self.failures.ask(len(clips))
        return clips

    def _sharing(self, place: Place, planned: PlannedClip) -> PlannedClip:
        """A clip with the later clips of its group as companions, or as such a companion."""
        shared = self._waiting.pop(place, None)
        if shared is not None:
            return replace(planned, shared=shared)
        companions = []
        for other in self.order.mates(place):
            shared = self._waiting[other] = SharedClip()
            companions.append(Companion(shared, self._planned(other)))
        return replace(planned, companions=tuple(companions)) if companions else planned

    def go_on(self, epochs: Epochs) -> None:
        """Continue with other epochs."""
        self.order = replace(self.order, epochs=epochs)
        self._waiting.clear()

    def reset(self) -> None:
        """Does nothing: a reader never ends."""

    def meta(self) -> dict[str, int]:
        """The values that `Pipeline.reader_meta` returns."""
        return self.order.epochs.meta()

    def after(self, clip: PlannedClip) -> Iterator[PlannedClip]:
        """The clips after one in its shard, continuing at the start, up to the one before it."""
        assert isinstance(clip.selection, _Clip)
        return map(self._planned, self.order.behind(clip.selection.place))

    def none_left(self, tries: int, error: Exception) -> str:  # noqa: ARG002
        """The message if no clip of the shard decodes."""
        return f"none of the {tries} clips of the shard decodes"

    def _planned(self, place: Place, number: int | None = None) -> PlannedClip:
        """The clip at a place of the order."""
        number = self.order.number(place) if number is None else number
        video = self.clips.video(number)
        item, policy = self.scopes.item(video), self.failures.policy
        return PlannedClip(
            item,
            _Clip(self, place, number),
            Identity(number, place.epoch),
            self.scopes.index(video),
            usual_shape(self.clips.sampler)[-1] if policy.on_error == "mask" else 0,
            self.failures,
            item,
            place.epoch,
            self,
        )


@dataclass(frozen=True, slots=True)
class _Clip:
    """The clip of a reader that is at a place of its order."""

    reader: ClipReader
    place: Place
    number: int

    def frames(self, index: VideoIndex) -> NDArray[np.int64]:
        """The frames wanted; padding stays in the range of a file list."""
        wanted, (start, stop), name = self._wanted(index)
        mode = self.reader.pad_mode
        frames, _ = pad_frames(wanted, index.num_frames, mode, start=start, stop=stop, name=name)
        return frames

    def keyframes(self, index: VideoIndex) -> NDArray[np.int64]:
        """The keyframes in the range of a file list or segment."""
        start, stop = self.reader.scopes.scope(self.reader.clips.video(self.number), index)
        return index.keyframes[(index.keyframes >= start) & (index.keyframes < stop)]

    def sound(self, index: VideoIndex) -> tuple[SoundSpan, ...]:
        """The spans that are heard with the frames."""
        wanted, (start, stop), _ = self._wanted(index)
        return sound_spans(index, wanted, self.reader.pad_mode, start=start, stop=stop)

    def _wanted(self, index: VideoIndex) -> tuple[NDArray[np.int64], tuple[int, int], str]:
        """The frames before padding, the range that they are padded in, and the video's name."""
        clips, scopes, order = self.reader.clips, self.reader.scopes, self.reader.order
        video = clips.video(self.number)
        scope = scopes.scope(video, index)
        # Sample 0 of an epoch is its permutation.
        rng = generator(
            order.seed, stage=order.stage, sample=1 + self.number, epoch=self.place.epoch
        )
        wanted = clips.frames(self.number, index, scope, rng)
        return wanted, scope, scopes.item(video).name

    def outputs(self, index: VideoIndex | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        """Label, frame numbers and times, as far as they are wanted."""
        reader, labels = self.reader, self.reader.scopes.labels
        beside = frame_outputs(index, frames, reader.frame_num, reader.timestamps)
        if labels is None:
            return beside
        return [labels.at([reader.clips.video(self.number)]).reshape(-1), *beside]
