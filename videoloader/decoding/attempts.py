"""The samples of one batch: what becomes of those that fail, and the loop that decodes clips.

Whoever makes samples (loaders, data sets, readers, decoding operators, `decode_batch`) has an
`Attempts` for each batch. It says what to make, is told what failed, and applies the policy of its
`Failures`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.failures import Failures
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.decoding.rules import DecodingRules
from videoloader.errors import DecodeError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.faults import drop_frames
from videoloader.sources.items import Item

if TYPE_CHECKING:
    from videoloader.decoding.batch_decoder import BatchDecoder
    from videoloader.decoding.clip_cache import ClipCache
    from videoloader.decoding.opening.videos import OpenedVideo

Wanted = TypeVar("Wanted")


class Successors(Protocol[Wanted]):
    """The choice of `replace`: what may stand for a sample that fails."""

    def after(self, wanted: Wanted) -> Iterator[Wanted]:
        """Other samples, one after another."""

    def none_left(self, tries: int, error: VideoError) -> str:
        """Says that all of them failed, the one that was asked for included, and the last so."""


class Attempts(Generic[Wanted]):
    """The samples of one batch, and what becomes of those that fail.

    Args:
        failures: takes what goes wrong; its policy decides.
        wanted: the sample of each place.
        successors: choose others for `replace`, and for `skip` where nothing of a batch is left.
            None: there are none but the samples of the batch, see `chosen`; the error is raised
            where nothing is left.
        may_be_empty: all samples may be left out.

    Attributes:
        wanted: the sample that is made at each place in the end.
        left_out: the places that stay without one.
        masked: those of which some or all is to be filled.
        errors: by place, what went wrong with the sample that was asked for.
        ended_by: the place whose failure `note_failure` raised.

    >>> from videoloader.decoding.failures import FailurePolicy
    >>> attempts = Attempts(Failures(FailurePolicy("skip")), ["a", "b"])
    >>> for places in attempts.rounds():
    ...     for place in places:
    ...         if attempts.wanted[place] == "b":
    ...             attempts.note_failure(place, Item("b.mp4"), DecodeError("b.mp4: broken"))
    >>> attempts.left_out
    {1}
    """

    def __init__(
        self,
        failures: Failures,
        wanted: Sequence[Wanted],
        successors: Successors[Wanted] | None = None,
        *,
        may_be_empty: bool = False,
    ) -> None:
        self.wanted = list(wanted)
        self.left_out: set[int] = set()
        self.masked: set[int] = set()
        self.errors: dict[int, str] = {}
        self._failures = failures
        self._successors = successors
        self._may_be_empty = may_be_empty
        policy = failures.policy.on_error
        self._leaves_out = policy == "skip" or (policy == "replace" and successors is None)
        self.ended_by: int | None = None
        self._others: dict[int, tuple[Iterator[Wanted], int]] = {}  # with what was tried of them
        self._again: list[int] = []

    @property
    def kept(self) -> list[int]:
        """The places that are not left out, ascending."""
        return [place for place in range(len(self.wanted)) if place not in self.left_out]

    @property
    def chosen(self) -> list[int]:
        """The places of the samples that make up the batch.

        These are the ones that are kept. But with `replace`, and no successors, each sample that
        failed has the next one of the batch in its place that did not.
        """
        kept = self.kept
        if self._successors is not None or self._failures.policy.on_error != "replace" or not kept:
            return kept
        return [kept[bisect_left(kept, place) % len(kept)] for place in range(len(self.wanted))]

    def rounds(self) -> Iterator[Sequence[int]]:
        """The places to make: all of them first, then those that got another sample.

        The caller passes each sample that fails to `note_failure`, in ascending order of places,
        before it asks for the next round.
        """
        yield range(len(self.wanted))
        while self._again:
            places, self._again = self._again, []
            yield places

    def note_failure(
        self,
        place: int,
        item: Item,
        error: VideoError,
        *,
        frame: int | None = None,
        sample: int = -1,
        epoch: int | None = None,
    ) -> None:
        """Record that the sample of a place failed, and decide what becomes of it.

        Args:
            place: of the batch.
            item: its file.
            error: what went wrong.
            frame: the first that does not decode, None where the file cannot be opened.
            sample: its number, see `SampleFailure`.
            epoch: in which it is wanted, if there are epochs.

        Raises:
            VideoError: this one, with `raise`, and where there is nothing to stand for the sample.
            TooManyFailuresError: more failed than the policy allows.
            ResourceError: it is not the sample that failed, but what the machine lacks.
            DecodeError: all that may stand for the sample failed too.
        """
        self.ended_by = place  # unless this returns
        self._failures.add(item, error, frame=frame, sample=sample, epoch=epoch)
        if self._failures.policy.on_error == "mask":
            self.masked.add(place)
        elif self._leaves_out and self._may_leave_out(place):
            self.left_out.add(place)
        else:
            self.wanted[place] = self._next(place, error)
            self._again.append(place)
        self.errors.setdefault(place, str(error))
        drop_frames(error)
        self.ended_by = None

    def _may_leave_out(self, place: int) -> bool:
        return self._may_be_empty or len(self.left_out | {place}) < len(self.wanted)

    def _next(self, place: int, error: VideoError) -> Wanted:
        if self._successors is None:
            raise error
        others, tries = self._others.get(place) or (self._successors.after(self.wanted[place]), 1)
        following = next(others, None)
        if following is None:
            raise DecodeError(self._successors.none_left(tries, error)) from error
        self._others[place] = others, tries + 1
        return following


@dataclass(frozen=True, slots=True, eq=False)
class WantedClip:
    """A clip to decode, whose video is not open yet.

    Attributes:
        source: of the video.
        index: of the video, where it is known.
        request: makes the request, once the video is open; its `VideoError` fails the clip.
        blank: the form of the clip where it fails.
        item: the file that failures name.
        sample: its number, see `SampleFailure`.
        epoch: in which it is wanted, if there are epochs.
    """

    source: Any
    index: VideoIndex | None
    request: Callable[[VideoIndex], ClipRequest]
    blank: Blank
    item: Item
    sample: int = -1
    epoch: int | None = None


def decode_attempts(
    decoder: BatchDecoder,
    attempts: Attempts[Any],
    clips_at: Callable[[Sequence[int]], Sequence[WantedClip]],
    output: OutputFormat,
    rules: DecodingRules,
    *,
    take: Callable[[ClipBatch], ClipBatch] | None = None,
    cache: ClipCache | None = None,
) -> ClipBatch:
    """Decode the clips of a batch, and those that take the place of clips that fail.

    Args:
        decoder: does it.
        attempts: at the samples of the batch.
        clips_at: the clip of each of some places, as `attempts.wanted` has them then. More may
            follow, which `take` removes.
        output: form of the clips.
        rules: how videos are treated.
        take: gets the clips of each round, and gives those of its places.
        cache: gives the clips that it has, and keeps the others.

    Returns:
        The clips of `attempts.chosen`; those of `attempts.masked` are masked.

    Raises:
        Exception: see `Attempts.note_failure`; `attempts.ended_by` is the place.
    """
    batch: ClipBatch | None = None
    for places in attempts.rounds():
        clips = clips_at(places)
        more = _decode(decoder, clips, output, rules, cache)
        more = more if take is None else take(more)
        batch = more if batch is None else batch.replaced(places, more)
        for number, failure in more.failed.items():
            clip = clips[number]
            attempts.note_failure(
                places[number],
                clip.item,
                failure.error,
                frame=failure.frame,
                sample=clip.sample,
                epoch=clip.epoch,
            )
    assert batch is not None
    return batch.at(attempts.chosen) if attempts.left_out else batch


def requests_for(
    videos: Sequence[OpenedVideo | VideoError],
    makers: Sequence[Callable[[VideoIndex], ClipRequest]],
) -> list[ClipRequest | VideoError]:
    """The request for each clip, or why there is none.

    Args:
        videos: as `BatchDecoder.open` gives them.
        makers: make the request for each, with the index of its video.
    """
    requests: list[ClipRequest | VideoError] = []
    for video, make in zip(videos, makers, strict=True):
        try:
            requests.append(video if isinstance(video, VideoError) else make(video.index))
        except VideoError as error:
            requests.append(error)
    return requests


def _decode(
    decoder: BatchDecoder,
    clips: Sequence[WantedClip],
    output: OutputFormat,
    rules: DecodingRules,
    cache: ClipCache | None,
) -> ClipBatch:
    """Clips, those that fail masked."""
    sources, indexes = [clip.source for clip in clips], [clip.index for clip in clips]
    with decoder.open(sources, indexes) as videos:
        requests = requests_for(videos, [clip.request for clip in clips])
        blanks = [clip.blank for clip in clips]
        begun = decoder.begin(requests, videos, output, rules, blanks=blanks, cache=cache)
        return begun.finish()
