"""The samples of a loader: which frames, how they are framed, and what is done when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.batch import BatchDecoder
from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import ClipRequest
from videoloader.decoding.rules import Rules
from videoloader.errors import DecodeError, VideoError
from videoloader.readers.replacing import decode_replacing, failed_clips
from videoloader.readers.sample_columns import SampleColumns
from videoloader.readers.sample_requests import SampleRequests
from videoloader.readers.samples import taken
from videoloader.readers.shaped_batches import ShapedBatches
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
    columns: dict[str, Any] = field(default_factory=dict)
    packed: dict[str, Any] | None = None  # what stands for the frames in a pack
    ready: Any = None


@dataclass(slots=True, eq=False)
class SampleDecoder:
    """Decodes samples of a data set. What a sample holds depends on its number and epoch alone.

    Attributes:
        requests: what the samples are made of.
        output: form of the batches.
        rules: of decoding; `on_error` says what becomes of samples that fail.
        columns: that go along with the samples.
        batches: the shapes of clips that differ from sample to sample.
        failures: what went wrong so far.
    """

    requests: SampleRequests
    output: OutputFormat
    rules: Rules
    columns: SampleColumns | None = None
    batches: ShapedBatches | None = None
    failures: list[LoaderFailure] = field(default_factory=list)

    def decode(
        self, decoder: BatchDecoder, samples: NDArray[np.int64], epoch: int
    ) -> DecodedSamples:
        """Decode the clips of some samples; failures are treated as `on_error` says."""
        chosen = samples.tolist()
        shapes: set[tuple[int, ...]] = set()
        errors = [""] * len(chosen)
        tries = [1] * len(chosen)
        beside: dict[int, dict[str, Any]] = {}

        def decode(places: Sequence[int]) -> ClipBatch:
            wanted = [chosen[at] for at in places]
            requests = [
                self.requests.request(sample, epoch, note_shape=shapes.add) for sample in wanted
            ]
            if self.columns is not None:
                files = self.columns.beside([self.requests.video(sample) for sample in wanted])
                requests = _with_files(requests, places, files, beside)
            clips = decoder.run(requests, self.output, replace(self.rules, on_error="mask"))
            self._note(clips, wanted, epoch)
            return clips

        def choose(at: int, error: VideoError) -> None:
            if self.rules.on_error == "raise":
                raise error
            errors[at] = errors[at] or str(error)
            following, count = self._next(chosen[at])
            if tries[at] == count:
                raise DecodeError(
                    f"none of the {tries[at]} videos decodes; the last: {error}"
                ) from error
            tries[at] += 1
            chosen[at] = following

        kept = list(range(len(chosen)))
        if self.rules.on_error in ("raise", "replace"):
            clips = decode_replacing(decode, len(chosen), choose)
        else:
            clips = decode(range(len(chosen)))
            failed = failed_clips(clips)
            errors = [str(failed.get(at, "")) for at in range(len(chosen))]
            if failed and self.rules.on_error == "skip":
                kept = [at for at in range(len(chosen)) if at not in failed]
                clips, chosen = taken(clips, kept), [chosen[at] for at in kept]
        decoded = DecodedSamples(clips, np.array(chosen, dtype=np.int64), epoch, errors, shapes)
        videos = [self.requests.video(sample) for sample in chosen]
        if self.columns is not None:
            decoded.columns = self.columns.values(videos, [beside[at] for at in kept])
        if self.batches is not None:
            clips, decoded.packed = self.batches.pack(clips, videos, self.output.layout)
            decoded.clips = clips
        return decoded

    def _next(self, sample: int) -> tuple[int, int]:
        """What replaces a sample that fails, and how many samples there are to choose from."""
        if self.batches is None:
            return (sample + 1) % len(self.requests.videos), len(self.requests.videos)
        video = self.requests.video(sample)
        alike = self.batches.plan.alike(video)
        following = int(alike[(np.searchsorted(alike, video) + 1) % len(alike)])
        return sample - video + following, len(alike)

    def _note(self, clips: ClipBatch, samples: Sequence[int], epoch: int) -> None:
        """Keep the failures of a batch."""
        for at, error in failed_clips(clips).items():
            if self.rules.on_error != "raise":
                drop_frames(error)
            if len(self.failures) < _FAILURES:
                number = self.requests.video(samples[at])
                row, name = self.requests.videos.row(number), self.requests.videos.item(number).name
                self.failures.append(LoaderFailure(row, epoch, name, error))


def _with_files(
    requests: Sequence[ClipRequest],
    places: Sequence[int],
    files: Sequence[dict[str, Any] | VideoError],
    found: dict[int, dict[str, Any]],
) -> list[ClipRequest]:
    """The requests, of which those fail whose files beside the clip cannot be read.

    Args:
        requests: of some places of a batch.
        places: these.
        files: what lies beside their clips.
        found: is given that by place, nothing where it cannot be read.
    """
    result = list(requests)
    for at, (place, values) in enumerate(zip(places, files, strict=True)):
        if isinstance(values, VideoError):
            result[at] = replace(requests[at], resolve=partial(_fail, values))
            values = {}
        found[place] = values
    return result


def _fail(error: VideoError, _: Any) -> NoReturn:
    raise error
