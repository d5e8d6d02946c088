"""The samples of one batch, with failed ones raised, skipped, replaced or masked.

Whoever makes samples (loaders, data sets, readers, decoding operators, `decode_batch`) has an
`Attempts` for each batch. It says what to make, is told what failed, and applies the policy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.failures import Failures
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.request import ClipRequest
from videoloader.errors import DecodeError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.faults import drop_frames
from videoloader.sources.items import Item

Wanted = TypeVar("Wanted")
Named: TypeAlias = tuple[Item, int, int | None]
"""The names in a failure: file, sample (-1 for none), and the epoch if there are epochs."""


class Successors(Protocol[Wanted]):
    """Candidates that `replace` tries in place of a sample that fails."""

    def after(self, wanted: Wanted) -> Iterator[Wanted]:
        """Other samples, one after another."""

    def none_left(self, tries: int, error: VideoError) -> str:
        """The message for the case that every candidate failed; `error` is the last failure."""


class Attempts(Generic[Wanted]):
    """The samples of one batch, with failed ones raised, skipped, replaced or masked.

    Args:
        failures: takes what goes wrong; its policy decides.
        wanted: the sample of each place.
        successors: choose others for `replace`, and for `skip` where nothing of a batch is left.
            None: only other samples of the batch can stand in, see `chosen`; if all fail, the
            error is raised.
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
        """The places to make: first all, then the ones that got another sample.

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
        """Record that the sample of a place failed, and raise, skip, replace or mask it.

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

    def clips(
        self, decode: Callable[[Sequence[int]], ClipBatch], names: Callable[[Wanted], Named]
    ) -> ClipBatch:
        """The clips of `chosen`; failures are recorded as by `note_failure`.

        Args:
            decode: the clips of some places, those that fail masked.
            names: says what failures of a sample name.
        """
        batch: ClipBatch | None = None
        for places in self.rounds():
            more = decode(places)
            batch = more if batch is None else batch.replaced(places, more)
            for number, failure in more.failed.items():
                place, frame = places[number], failure.frame
                item, sample, epoch = names(self.wanted[place])
                self.note_failure(
                    place, item, failure.error, frame=frame, sample=sample, epoch=epoch
                )
        assert batch is not None
        return batch.at(self.chosen) if self.left_out else batch

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


def requests_for(
    videos: Sequence[OpenedVideo | VideoError], choose: Callable[[int, VideoIndex], ClipRequest]
) -> list[ClipRequest | VideoError]:
    """The request for each clip, or why there is none."""
    requests: list[ClipRequest | VideoError] = []
    for number, video in enumerate(videos):
        try:
            requests.append(video if isinstance(video, VideoError) else choose(number, video.index))
        except VideoError as error:
            requests.append(error)
    return requests
