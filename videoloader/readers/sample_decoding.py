"""The samples of a loader: which frames, how they are framed, and what is done when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.batch import BatchDecoder
from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.rules import Rules
from videoloader.errors import DecodeError, VideoError
from videoloader.readers.replacing import decode_replacing, failed_clips
from videoloader.readers.sample_requests import SampleRequests
from videoloader.readers.samples import taken
from videoloader.sources.faults import drop_frames

__all__ = ["DecodedSamples", "LoaderFailure", "SampleDecoder"]

_FAILURES = 10_000  # that are kept


@dataclass(frozen=True, slots=True)
class LoaderFailure:
    """A sample that could not be had.

    Attributes:
        sample: its row in the data set index, or place in the list.
        epoch: in which it was wanted.
        video: its path or URL.
        error: what went wrong.
    """

    sample: int
    epoch: int
    video: str
    error: VideoError


@dataclass(slots=True, eq=False)
class DecodedSamples:
    """A batch on its way: decoded, with the event behind what a GPU still computes."""

    clips: ClipBatch
    samples: NDArray[np.int64]
    epoch: int
    errors: list[str]
    shapes: set[tuple[int, ...]]  # of the frame numbers that the sampler gave
    ready: Any = None


@dataclass(slots=True, eq=False)
class SampleDecoder:
    """Decodes samples of a data set. What a sample holds depends on its number and epoch alone.

    Attributes:
        requests: what the samples are made of.
        output: form of the batches.
        rules: of decoding; `on_error` says what becomes of samples that fail.
        failures: what went wrong so far.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: Rules
    failures: list[LoaderFailure] = field(default_factory=list)

    def decode(
        self, decoder: BatchDecoder, samples: NDArray[np.int64], epoch: int
    ) -> DecodedSamples:
        """Decode the clips of some samples; failures are treated as `on_error` says."""
        chosen = samples.tolist()
        shapes: set[tuple[int, ...]] = set()
        errors = [""] * len(chosen)
        tries = [1] * len(chosen)

        def decode(places: Sequence[int]) -> ClipBatch:
            wanted = [chosen[at] for at in places]
            requests = [
                self.requests.request(sample, epoch, note_shape=shapes.add) for sample in wanted
            ]
            clips = decoder.run(requests, self.output, replace(self.rules, on_error="mask"))
            self._note(clips, wanted, epoch)
            return clips

        def choose(at: int, error: VideoError) -> None:
            if self.rules.on_error == "raise":
                raise error
            errors[at] = errors[at] or str(error)
            if tries[at] == len(self.requests.videos):
                raise DecodeError(
                    f"none of the {tries[at]} videos decodes; the last: {error}"
                ) from error
            tries[at] += 1
            chosen[at] = (chosen[at] + 1) % len(self.requests.videos)

        if self.rules.on_error in ("raise", "replace"):
            clips = decode_replacing(decode, len(chosen), choose)
        else:
            clips = decode(range(len(chosen)))
            failed = failed_clips(clips)
            errors = [str(failed.get(at, "")) for at in range(len(chosen))]
            if failed and self.rules.on_error == "skip":
                kept = [at for at in range(len(chosen)) if at not in failed]
                clips, chosen = taken(clips, kept), [chosen[at] for at in kept]
        return DecodedSamples(clips, np.array(chosen, dtype=np.int64), epoch, errors, shapes)

    def _note(self, clips: ClipBatch, samples: Sequence[int], epoch: int) -> None:
        """Keep the failures of a batch."""
        for at, error in failed_clips(clips).items():
            if self.rules.on_error != "raise":
                drop_frames(error)
            if len(self.failures) < _FAILURES:
                number = self.requests.video(samples[at])
                row, name = self.requests.videos.row(number), self.requests.videos.item(number).name
                self.failures.append(LoaderFailure(row, epoch, name, error))
