"""What went wrong with samples without ending the run: recorded, counted, written to a log."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol, TypedDict, get_args

from videoloader import errors
from videoloader.decoding.rules import OnError
from videoloader.errors import ArgumentError, TooManyFailuresError, VideoError
from videoloader.operators.source import SourceContext
from videoloader.readers.failures.error_log import ErrorLog
from videoloader.readers.failures.known_bad import SkipKnown
from videoloader.sources.faults import raise_shortage
from videoloader.sources.items import Item
from videoloader.system.forking import ForkSafeLock
from videoloader.system.options import documented

__all__ = [
    "MOST_RECORDS",
    "ErrorPolicy",
    "FailureOptions",
    "Failures",
    "Records",
    "SampleFailure",
    "own_policy",
    "policy_of",
]

MOST_RECORDS = 10_000
"""Failures that are kept; later ones are counted, and written to the log."""

_LEAST_SAMPLES = 100  # from which a share of failures is told
_NAMED = 3  # failures that the error of too many names


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
class ErrorPolicy:
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

    def __init__(self, policy: ErrorPolicy | None = None, records: Records | None = None) -> None:
        self.policy = policy or ErrorPolicy()
        self._records = LocalRecords() if records is None else records
        log = self.policy.error_log
        self._log = None if log is None else ErrorLog(log)

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
            TooManyFailuresError: more did than the policy allows.
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
        )
        self._records.add(failure)
        if self._log is not None:
            self._log.write(failure.as_dict())
        asked, failed = self._records.counts()
        if not self.policy.allows(failed, asked):
            raise TooManyFailuresError(self._too_many(failure, asked, failed)) from error

    def _too_many(self, last: SampleFailure, asked: int, failed: int) -> str:
        reasons = list(dict.fromkeys(failure.reason for failure in self))[-_NAMED:]
        if last.reason not in reasons:
            reasons = [*reasons, last.reason][-_NAMED:]
        log = "" if self._log is None else f"; all are in {self._log.path}"
        return (
            f"{failed} of {asked} samples failed, more than max_errors={self.policy.max_errors} "
            f"allows{log}; the last: {'; '.join(reasons)}"
        )


def policy_of(context: SourceContext, arguments: Mapping[str, Any]) -> ErrorPolicy:
    """The policy of a reader: what its arguments do not say, its pipeline does.

    Args:
        context: of the reader.
        arguments: of the reader; those of `ErrorPolicy` among them, None where not given.
    """
    policy: ErrorPolicy = context.errors or ErrorPolicy()
    own = {f.name for f in fields(ErrorPolicy)}
    given = {key: v for key, v in arguments.items() if key in own and v is not None}
    if given.get("on_error") == "raise" and "max_errors" not in given:
        given["max_errors"] = None  # the pipeline's is for its other readers
    return replace(policy, **given)


def own_policy(policy: ErrorPolicy | None, *, may_skip: bool = True) -> ErrorPolicy:
    """What a decoder of given videos can do of a policy: it knows no other video to take."""
    policy = policy or ErrorPolicy()
    if policy.on_error == "replace" or (policy.on_error == "skip" and not may_skip):
        return replace(policy, on_error="raise", max_errors=None)
    return policy


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
