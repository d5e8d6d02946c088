"""Decodes the samples of a loader or data set, and applies the failure policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.attempts import Attempts, Named, requests_for
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.clip_cache import ClipCache
from videoloader.decoding.failures import Failures
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.errors import VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Draw
from videoloader.training.labels.table_columns import SampleColumns
from videoloader.training.requests import SampleRequests
from videoloader.training.shaped_batches import ShapedBatches


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
    keys: list[Draw]
    places: list[int]
    errors: list[str]
    shapes: list[tuple[int, ...]]
    columns: dict[str, Any] = field(default_factory=dict)
    packed: dict[str, Any] | None = None
    ready: Any = None

    @property
    def samples(self) -> NDArray[np.int64]:
        """The numbers of the samples."""
        return np.array([key.sample for key in self.keys], dtype=np.int64)

    @property
    def epoch(self) -> int:
        """The epoch of the samples."""
        return self.keys[0].epoch


@dataclass(slots=True, eq=False)
class SampleDecoder:
    """Decodes samples of a data set. The content of a sample depends on its key alone.

    Attributes:
        requests: what the samples are made of.
        output: form of the batches.
        rules: of decoding.
        failures: takes what goes wrong; its policy says what becomes of samples that fail.
        columns: that go along with the samples.
        batches: the shapes of clips that differ from sample to sample.
        cache: of decoded clips.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: DecodingRules
    failures: Failures = field(default_factory=Failures)
    columns: SampleColumns | None = None
    batches: ShapedBatches | None = None
    cache: ClipCache | None = None

    def decode(
        self, decoder: BatchDecoder, keys: Sequence[Draw], *, in_epochs: bool = True
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
        names = partial(self._names, in_epochs=in_epochs)

        def decode(places: Sequence[int]) -> ClipBatch:
            wanted = [attempts.wanted[at] for at in places]
            return self._decode(decoder, wanted, places, found)

        clips, places = attempts.clips(decode, names), attempts.kept
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

    def _decode(
        self,
        decoder: BatchDecoder,
        keys: Sequence[Draw],
        places: Sequence[int],
        found: dict[int, _Found],
    ) -> ClipBatch:
        """The clips of samples, masked if they fail; `found` is by place."""
        videos = self.requests.videos
        numbers = [self.requests.video(key.sample) for key in keys]
        files: Sequence[dict[str, Any] | VideoError] = [{}] * len(keys)
        if self.columns is not None:
            files = self.columns.beside(numbers)
        found.update(zip(places, map(_Found, files), strict=True))

        def choose(number: int, index: VideoIndex) -> ClipRequest:
            at = found[places[number]]
            if isinstance(at.beside, VideoError):
                raise at.beside
            clip, at.shape = self.requests.request(keys[number], index)
            return clip

        # The form of a masked clip; unspecified for clips that are not kept.
        is_kept = self.failures.policy.on_error == "mask" or self.batches is not None
        blanks = [self.requests.blank(key.sample) if is_kept else Blank() for key in keys]
        items, indexes = [*map(videos.item, numbers)], [*map(videos.index, numbers)]
        with decoder.open(items, indexes) as opened:
            requests = requests_for(opened, choose)
            return decoder.begin(
                requests, opened, self.output, self.rules, blanks=blanks, cache=self.cache
            ).finish()

    def _names(self, key: Draw, *, in_epochs: bool) -> Named:
        videos, video = self.requests.videos, self.requests.video(key.sample)
        return videos.item(video), videos.row(video), key.epoch if in_epochs else None

    def after(self, wanted: Draw) -> Iterator[Draw]:
        """Replacements for a sample that fails, in order; with shapes, only of the same shape.

        Where a batch would become empty, clips of other shapes follow.
        """
        for other in self._others(wanted.sample):
            yield wanted._replace(sample=other)

    def none_left(self, tries: int, error: VideoError) -> str:
        """The message if no video decodes."""
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


@dataclass(slots=True)
class _Found:
    """The files that belong to a sample's clip, and the shape of its frame numbers, once known."""

    beside: dict[str, Any] | VideoError
    shape: tuple[int, ...] | None = None
