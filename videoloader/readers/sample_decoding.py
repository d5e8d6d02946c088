"""The samples of a loader or data set: decoded together, and what is done when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.batch import BatchDecoder
from videoloader.decoding.clip import ClipBatch, ClipFailure
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.rules import Rules
from videoloader.errors import DecodeError
from videoloader.readers.failures import Failures
from videoloader.readers.replacing import decode_replacing
from videoloader.readers.sample_requests import SampleRequests
from videoloader.readers.samples import taken
from videoloader.sources.faults import drop_frames

__all__ = ["DecodedSamples", "SampleDecoder", "SampleKey"]

SampleKey: TypeAlias = tuple[int, int, int]
"""Which drawing of a sample: its number, the epoch, and the draw within that."""


@dataclass(slots=True, eq=False)
class DecodedSamples:
    """A batch on its way: decoded, with the event behind what a GPU still computes.

    Attributes:
        clips: of the samples that are left.
        keys: of these samples; others than were asked for, where some were replaced.
        places: of these samples among those that were asked for.
        errors: for each of them what went wrong, or "".
        shapes: of the frame numbers that the sampler gave for each.
        ready: on a GPU, when the clips have been computed.
    """

    clips: ClipBatch
    keys: list[SampleKey]
    places: list[int]
    errors: list[str]
    shapes: list[tuple[int, ...]]
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
        rules: of decoding.
        failures: takes what goes wrong; its policy says what becomes of samples that fail.
        is_never_empty: with `skip`, where no sample of a batch decodes, give the next one that
            does.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: Rules
    failures: Failures = field(default_factory=Failures)
    is_never_empty: bool = False

    def decode(
        self, decoder: BatchDecoder, keys: Sequence[SampleKey], *, in_epochs: bool = True
    ) -> DecodedSamples:
        """Decode the clips of some samples; failures are treated as the policy says.

        Args:
            decoder: does it.
            keys: of the samples.
            in_epochs: whether the epochs of the keys mean something to the user.

        Raises:
            VideoError: of the first sample that fails, with `raise`.
            TooManyFailuresError: more failed so far than the policy allows.
            DecodeError: nothing of the data set decodes.
        """
        on_error = self.failures.policy.on_error
        videos, chosen = self.requests.videos, list(keys)
        shapes: dict[int, tuple[int, ...]] = {}
        errors, tries = [""] * len(chosen), [1] * len(chosen)
        left_out: set[int] = set()
        self.failures.ask(len(chosen))

        def decode(places: Sequence[int]) -> ClipBatch:
            requests = [
                self.requests.request(
                    *chosen[at],
                    note_shape=partial(shapes.__setitem__, at),
                    may_be_blank=on_error == "mask",
                )
                for at in places
            ]
            return decoder.run(requests, self.output, replace(self.rules, on_error="mask"))

        def choose(at: int, failure: ClipFailure) -> bool:
            sample, epoch, draw = chosen[at]
            video = self.requests.video(sample)
            if on_error != "raise":
                drop_frames(failure.error)
            self.failures.add(
                videos.item(video),
                failure.error,
                frame=failure.frame,
                sample=videos.row(video),
                epoch=epoch if in_epochs else None,
            )
            if on_error == "raise":
                raise failure.error
            errors[at] = errors[at] or str(failure.error)
            if on_error == "mask":
                return False
            if on_error == "skip":
                left_out.add(at)
                if len(left_out) < len(chosen) or not self.is_never_empty:
                    return False
                left_out.discard(at)
            if tries[at] == len(videos):
                raise DecodeError(
                    f"none of the {tries[at]} videos decodes; the last: {failure.error}"
                ) from failure.error
            tries[at] += 1
            chosen[at] = ((sample + 1) % len(videos), epoch, draw)
            return True

        clips = decode_replacing(decode, len(chosen), choose)
        places = [at for at in range(len(chosen)) if at not in left_out]
        if left_out:
            clips = taken(clips, places)
        blank = next(iter(shapes.values()), (clips.indices[0].size,) if len(clips) else ())
        return DecodedSamples(
            clips,
            [chosen[at] for at in places],
            places,
            [errors[at] for at in places],
            [shapes.get(at, blank) for at in places],
        )
