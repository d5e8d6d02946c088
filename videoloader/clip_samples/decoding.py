"""Decodes the samples of a loader or data set, and applies the failure policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.clip_samples.columns import SampleColumns
from videoloader.clip_samples.requests import SampleKey, SampleRequests
from videoloader.clip_samples.shaped_batches import ShapedBatches
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.failures import Attempts, Failures
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.decoding.rules import DecodingRules
from videoloader.errors import VideoError

__all__ = ["DecodedSamples", "SampleDecoder"]


@dataclass(slots=True, eq=False)
class DecodedSamples:
    """A decoded batch. On a GPU it may still be computed; `ready` is the event to wait for.

    Attributes:
        clips: of the samples that are left.
        keys: of these samples; others than were asked for, where some were replaced.
        places: of these samples among those that were asked for.
        errors: for each of them what went wrong, or "".
        shapes: of the frame numbers that the sampler gave for each.
        columns: that go along with them.
        packed: the tensors of a pack, in place of the frames.
        ready: on a GPU, when the clips have been computed.
    """

    clips: ClipBatch
    keys: list[SampleKey]
    places: list[int]
    errors: list[str]
    shapes: list[tuple[int, ...]]
    columns: dict[str, Any] = field(default_factory=dict)
    packed: dict[str, Any] | None = None
    ready: Any = None

    @property
    def samples(self) -> NDArray[np.int64]:
        """The numbers of the samples."""
        return np.array([sample for sample, _, _ in self.keys], dtype=np.int64)

    @property
    def epoch(self) -> int:
        """The epoch of the samples."""
        return self.keys[0][1]


@dataclass(slots=True, eq=False)
class SampleDecoder:
    """Decodes samples of a data set. What a sample holds depends on its key alone.

    Attributes:
        requests: what the samples are made of.
        output: form of the batches.
        rules: of decoding; clips that fail are masked, and then treated as the policy says.
        failures: takes what goes wrong; its policy says what becomes of samples that fail.
        columns: that go along with the samples.
        batches: the shapes of clips that differ from sample to sample.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: DecodingRules
    failures: Failures = field(default_factory=Failures)
    columns: SampleColumns | None = None
    batches: ShapedBatches | None = None

    def __post_init__(self) -> None:
        self.rules = replace(self.rules, on_error="mask")

    def decode(
        self, decoder: BatchDecoder, keys: Sequence[SampleKey], *, in_epochs: bool = True
    ) -> DecodedSamples:
        """Decode the clips of some samples; failures are treated as the policy says.

        With `skip`, where no sample of a batch decodes, the next one that does is given: all ranks
        have as many batches.

        Args:
            decoder: does it.
            keys: of the samples.
            in_epochs: whether the epochs of the keys mean something to the user.

        Raises:
            VideoError: of the first sample that fails, with `raise`.
            TooManyFailuresError: more failed so far than the policy allows.
            DecodeError: nothing of the data set decodes.
        """
        self.failures.ask(len(keys))
        attempts = Attempts(self.failures, keys, self)
        found: dict[int, _Found] = {}
        clips: ClipBatch | None = None
        for places in attempts.rounds():
            more, asked = self._decode(decoder, [attempts.wanted[at] for at in places])
            clips = more if clips is None else clips.replaced(places, more)
            found.update(zip(places, asked, strict=True))
            for number, failure in more.failed.items():
                sample, epoch, _ = attempts.wanted[places[number]]
                video = self.requests.video(sample)
                attempts.failed(
                    places[number],
                    self.requests.videos.item(video),
                    failure.error,
                    frame=failure.frame,
                    sample=self.requests.videos.row(video),
                    epoch=epoch if in_epochs else None,
                )
        assert clips is not None
        places = attempts.kept
        if attempts.left_out:
            clips = clips.at(places)
        decoded = DecodedSamples(
            clips,
            [attempts.wanted[at] for at in places],
            places,
            [attempts.errors.get(at, "") for at in places],
            [
                self.requests.shape_of(clips.indices[place].size, found[at].shape)
                for place, at in enumerate(places)
            ],
        )
        numbers = [self.requests.video(sample) for sample in decoded.samples.tolist()]
        if self.columns is not None:
            decoded.columns = self.columns.values(numbers, [found[at].beside for at in places])
        if self.batches is not None:
            decoded.clips, decoded.packed = self.batches.pack(clips, numbers, self.output.layout)
        return decoded

    def _blank(self, sample: int) -> Blank:
        """The form of a masked clip; unspecified for clips that are not kept."""
        is_kept = self.failures.policy.on_error == "mask" or self.batches is not None
        return self.requests.blank(sample) if is_kept else Blank()

    def _decode(
        self, decoder: BatchDecoder, keys: Sequence[SampleKey]
    ) -> tuple[ClipBatch, list[_Found]]:
        """The clips of some samples, those that fail masked, and what else was found of them."""
        videos, numbers = self.requests.videos, [self.requests.video(key[0]) for key in keys]
        files = [{}] * len(keys) if self.columns is None else self.columns.beside(numbers)
        items, indexes = map(videos.item, numbers), map(videos.index, numbers)
        blanks = [self._blank(key[0]) for key in keys]
        requests: list[ClipRequest | VideoError] = []
        found: list[_Found] = []
        with decoder.open([*items], [*indexes]) as opened:
            for key, video, beside in zip(keys, opened, files, strict=True):
                shape = None
                try:
                    if isinstance(video, VideoError):
                        raise video
                    if isinstance(beside, VideoError):
                        raise beside
                    request, shape = self.requests.request(key, video.index)
                    requests.append(request)
                except VideoError as error:
                    requests.append(error)
                found.append(_Found(shape, beside))
            batch = decoder.run(requests, opened, self.output, self.rules, blanks=blanks)
        return batch, found

    def after(self, wanted: SampleKey) -> Iterator[SampleKey]:
        """Replacements for a sample that fails, in order; with shapes, those of its shape.

        Where a batch would become empty, clips of other shapes follow.
        """
        sample, epoch, draw = wanted
        for other in self._others(sample):
            yield other, epoch, draw

    def none_left(self, tries: int, error: VideoError) -> str:
        """Says that no video decodes."""
        return f"none of the {tries} videos decodes; the last: {error}"

    def _others(self, sample: int) -> Iterator[int]:
        count, video = len(self.requests.videos), self.requests.video(sample)
        if self.batches is None:
            yield from (sample - video + (video + step) % count for step in range(1, count))
            return
        plan = self.batches.plan
        alike = plan.alike(video)
        groups = [alike[alike != video]]
        if self.failures.policy.on_error == "skip":
            groups.append(np.setdiff1d(np.arange(count), np.union1d(plan.unfit, alike)))
        for group in groups:
            begin = int(np.searchsorted(group, video))
            yield from (sample - video + np.roll(group, -begin)).tolist()


class _Found(NamedTuple):
    """The shape of the frame numbers of a sample, and the files beside its clip."""

    shape: tuple[int, ...] | None
    beside: dict[str, Any] | VideoError
