"""What becomes of samples that fail: a policy, applied, counted and logged in one place.

Whoever makes samples (loaders, data sets, readers, decoding operators) has one `Failures`, and for
each batch an `Attempts`, which says what to make, and is told what failed. They have batches
decoded with `on_error="mask"`, which reports all failures. `decode_batch` has no data set to take
another sample from and counts nothing: `Assembly.finish` applies its `on_error`.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, get_args

from videoloader import errors
from videoloader.decoding.rules import OnError
from videoloader.errors import ArgumentError, DecodeError, TooManyFailuresError, VideoError
from videoloader.sources.address import absolute
from videoloader.sources.faults import drop_frames, raise_shortage
from videoloader.sources.items import Item
from videoloader.system.forking import ForkSafeLock
from videoloader.system.options import documented
from videoloader.system.writing import written

__all__ = [
    "MOST_RECORDS",
    "Attempts",
    "FailureOptions",
    "FailurePolicy",
    "Failures",
    "Records",
    "SampleFailure",
    "SkipKnown",
    "Successors",
]

_log = logging.getLogger(__name__)

Wanted = TypeVar("Wanted")

SkipKnown: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""What `videoloader check` wrote (`.parquet`), or a log of failures (JSON lines), or several."""

MOST_RECORDS = 10_000
"""Failures that are kept; later ones are counted, and written to the log."""

_LEAST_SAMPLES = 100  # the fewest samples that a share (`max_errors=0.01`) is taken of
_NAMED = 3  # failures that `TooManyFailuresError` names


@dataclass(frozen=True, slots=True)
class SampleFailure:
    """A sample that could not be had, and what was done about it.

    Attributes:
        video: its name in messages.
        path: path or URL of the video, or of the archive that it is in; no secrets of a URL.
        member: its name in the archive.
        frame: the first frame that does not decode, None where the video cannot be opened.
        kind: class of the error, such as "DecodeError".
        reason: what went wrong; names the file, and the frame or packet.
        sample: row of the video in the data set index, or place in the list; of a reader of
            several clips a video the number of the clip.
        epoch: in which it was wanted; None where there are no epochs.
        action: "raise", "skip", "replace" or "mask".
        time: seconds since 1970.
        process: that met it.
        key: of the video in a data set index with a root, below which it is; "" elsewhere. It stays
            the same where the data set is moved.
    """

    video: str
    path: str
    member: str
    frame: int | None
    kind: str
    reason: str
    sample: int
    epoch: int | None
    action: OnError
    time: float = field(default_factory=time.time)
    process: int = field(default_factory=os.getpid)
    key: str = ""

    @property
    def error(self) -> VideoError:
        """An error of the same class and text."""
        return _class_of(self.kind)(self.reason)

    def as_dict(self) -> dict[str, Any]:
        """All attributes: what the log has of it."""
        return asdict(self)


class FailureOptions(TypedDict, total=False):
    """What becomes of samples that fail, and from when on they end the run; see docs/failures.md.

    Attributes:
        on_error: `raise` what goes wrong with a sample, behind which the next batch follows; `skip`
            it, which makes the batch smaller, but never empty: its last sample is then replaced, so
            that all ranks have as many batches; `replace` it by the next of the data set that
            decodes; `mask` the frames concerned. Errors of a sampler or transform of your own are
            raised in any case. `failures` lists what went wrong.
        max_errors: failures, in all workers together, from which on the run ends with
            `TooManyFailuresError`: a number, or a share of the samples that were asked for (of 100
            at least), between 0 and 1. Any by default.
        error_log: a file to which each failure is appended as a line of JSON, by all workers.
        skip_known: what `videoloader check` wrote, or an `error_log`, or a list of such files:
            videos that they name are left out of the data set, and not opened.
    """

    on_error: OnError
    max_errors: int | float | None
    error_log: str | os.PathLike[str] | None
    skip_known: SkipKnown | None


@documented(FailureOptions)
@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What becomes of samples that fail, and from when on they end the run."""

    on_error: OnError = "raise"
    max_errors: int | float | None = None
    error_log: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            choices = ", ".join(f'"{choice}"' for choice in get_args(OnError))
            raise ArgumentError(f"on_error must be one of {choices}, got {self.on_error!r}")
        most = self.max_errors
        if most is None:
            return
        is_share = isinstance(most, float) and 0 <= most <= 1
        is_count = isinstance(most, int) and not isinstance(most, bool) and most >= 0
        if not (is_share or is_count):
            raise ArgumentError(
                "max_errors is a number of failures (int, at least 0) or their share (float, 0 to "
                f"1), got {most!r}"
            )
        if self.on_error == "raise":
            raise ArgumentError(
                'on_error="raise" ends with the first failure; max_errors goes with "skip", '
                '"replace" or "mask"'
            )

    def with_arguments(self, arguments: Mapping[str, Any]) -> FailurePolicy:
        """The policy of a reader: what its arguments do not say, this one of its pipeline does.

        Args:
            arguments: of the reader; those of a policy among them, None where not given.
        """
        own = {f.name for f in fields(FailurePolicy)}
        given = {key: v for key, v in arguments.items() if key in own and v is not None}
        if given.get("on_error") == "raise" and "max_errors" not in given:
            given["max_errors"] = None  # the pipeline's is for its other readers
        return replace(self, **given)

    def of_decoder(self, *, may_skip: bool = True) -> FailurePolicy:
        """What a decoder of given videos can do: it knows no other video to take."""
        if self.on_error == "replace" or (self.on_error == "skip" and not may_skip):
            return replace(self, on_error="raise", max_errors=None)
        return self

    def as_dict(self) -> dict[str, Any]:
        """The arguments, as text and numbers."""
        log = None if self.error_log is None else os.fspath(self.error_log)
        return {"on_error": self.on_error, "max_errors": self.max_errors, "error_log": log}

    def allows(self, failed: int, asked: int) -> bool:
        """Whether a run of so many samples may have so many failures."""
        most = self.max_errors
        if isinstance(most, float):
            return failed <= most * max(asked, _LEAST_SAMPLES)
        return most is None or failed <= most


class Records(Protocol):
    """Where failures are kept and counted."""

    def ask(self, count: int) -> None:
        """Count samples that are asked for."""

    def add(self, failure: SampleFailure) -> None:
        """Count a failure, and keep it if there is room."""

    def counts(self) -> tuple[int, int]:
        """Samples asked for, and failures."""

    def __iter__(self) -> Iterator[SampleFailure]: ...


class LocalRecords:
    """Failures of this process. A fork goes on with a copy."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._kept: list[SampleFailure] = []
        self._asked = self._failed = 0

    def ask(self, count: int) -> None:
        """Count samples that are asked for."""
        with self._lock:
            self._asked += count

    def add(self, failure: SampleFailure) -> None:
        """Count a failure, and keep it if there is room."""
        with self._lock:
            self._failed += 1
            if len(self._kept) < MOST_RECORDS:
                self._kept.append(failure)

    def counts(self) -> tuple[int, int]:
        """Samples asked for, and failures."""
        with self._lock:
            return self._asked, self._failed

    def __iter__(self) -> Iterator[SampleFailure]:
        with self._lock:
            return iter(tuple(self._kept))


class Failures:
    """Takes the failures of a loader, reader or data set, and ends the run if there are too many.

    Threads may share it. Iterating gives the first 10,000 failures of one moment; `count` is that
    of all.

    Args:
        policy: what is done about failures.
        records: where they are kept; in this process by default.
    """

    def __init__(self, policy: FailurePolicy | None = None, records: Records | None = None) -> None:
        self.policy = policy or FailurePolicy()
        self._records = LocalRecords() if records is None else records
        log = self.policy.error_log
        self._log = None if log is None else _ErrorLog(log)

    @property
    def count(self) -> int:
        """Failures so far."""
        return self._records.counts()[1]

    def __iter__(self) -> Iterator[SampleFailure]:
        return iter(self._records)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(video, what went wrong), each once: a bad file fails again in every epoch."""
        return tuple(dict.fromkeys((failure.video, failure.reason) for failure in self))

    def ask(self, count: int) -> None:
        """Count samples that are asked for."""
        self._records.ask(count)

    def add(
        self,
        item: Item,
        error: Exception,
        *,
        frame: int | None = None,
        sample: int = -1,
        epoch: int | None = None,
    ) -> None:
        """Record that a sample failed.

        Raises:
            Exception: this error, where the policy is to raise it.
            TooManyFailuresError: more failed than the policy allows.
            ResourceError: it is not the sample that failed, but what the machine lacks.
        """
        raise_shortage(error, item.name)
        failure = SampleFailure(
            video=item.name,
            path=item.path,
            member=item.member,
            frame=frame,
            kind=type(error).__name__,
            reason=str(error),
            sample=sample,
            epoch=epoch,
            action=self.policy.on_error,
            key=item.key_below,
        )
        self._records.add(failure)
        if self._log is not None:
            self._log.write(failure)
        asked, failed = self._records.counts()
        if not self.policy.allows(failed, asked):
            drop_frames(error)
            raise TooManyFailuresError(self._too_many(failure, asked, failed)) from error
        if self.policy.on_error == "raise":
            raise error

    def _too_many(self, last: SampleFailure, asked: int, failed: int) -> str:
        reasons = list(dict.fromkeys(failure.reason for failure in self))[-_NAMED:]
        if last.reason not in reasons:
            reasons = [*reasons, last.reason][-_NAMED:]
        log = "" if self._log is None else f"; all are in {self._log.path}"
        return (
            f"{failed} of {asked} samples failed, more than max_errors={self.policy.max_errors} "
            f"allows{log}; the last: {'; '.join(reasons)}"
        )


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
        successors: choose others for `replace`, and for `skip` where nothing of a batch is left;
            None: there are no others, so the error is raised then.
        may_be_empty: with `skip`, all samples may be left out.

    Attributes:
        wanted: the sample that is made at each place in the end.
        left_out: the places that stay without one.
        masked: those of which some or all is to be filled.
        errors: by place, what went wrong with the sample that was asked for.

    >>> attempts = Attempts(Failures(FailurePolicy("skip")), ["a", "b"])
    >>> for places in attempts.rounds():
    ...     for place in places:
    ...         if attempts.wanted[place] == "b":
    ...             attempts.failed(place, Item("b.mp4"), DecodeError("b.mp4: broken"))
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
        self._others: dict[int, tuple[Iterator[Wanted], int]] = {}  # with what was tried of them
        self._again: list[int] = []

    @property
    def kept(self) -> list[int]:
        """The places that are not left out, ascending."""
        return [place for place in range(len(self.wanted)) if place not in self.left_out]

    def rounds(self) -> Iterator[Sequence[int]]:
        """The places to make: all of them first, then those that got another sample.

        The caller passes each sample that fails to `failed`, in ascending order of places, before
        it asks for the next round.
        """
        yield range(len(self.wanted))
        while self._again:
            places, self._again = self._again, []
            yield places

    def failed(
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
        self._failures.add(item, error, frame=frame, sample=sample, epoch=epoch)
        on_error = self._failures.policy.on_error
        if on_error == "mask":
            self.masked.add(place)
        elif on_error == "skip" and self._may_leave_out(place):
            self.left_out.add(place)
        else:
            self.wanted[place] = self._next(place, error)
            self._again.append(place)
        self.errors.setdefault(place, str(error))
        drop_frames(error)

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


class _ErrorLog:
    """Appends failures to a file, a line of JSON each; many processes may.

    A line is written by one call to the system with nothing buffered, so lines of several
    processes do not mix, and what a killed process had written is there. It pickles. A log that
    can no longer be written does not end the run: it is told once.

    Args:
        path: the file; it is made, and its folder too.

    Raises:
        SourceError: it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        with written(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        self._has_warned = False

    def write(self, failure: SampleFailure) -> None:
        """Append a failure; the path of a file becomes absolute."""
        line = json.dumps(failure.as_dict() | {"path": absolute(failure.path)}) + "\n"
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._has_warned:
                _log.warning("%s: failures are no longer logged (%s)", self.path, error.strerror)
            self._has_warned = True


def _class_of(kind: str) -> type[VideoError]:
    """The class of errors of a name; `VideoError` where it is not known here."""
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, VideoError):
        return found
    waiting = [VideoError]
    while waiting:
        each = waiting.pop()
        if each.__name__ == kind:
            return each
        waiting += each.__subclasses__()
    return VideoError
