"""Failures of samples: the policy that handles them, their records, counts and log.

Whoever makes samples (loaders, data sets, readers, decoding operators) has one `Failures`. The
policy is applied in `attempts.py`.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict, get_args

from videoloader import errors
from videoloader.decoding.options import OnError
from videoloader.errors import ArgumentError, TooManyFailuresError, VideoError
from videoloader.machinery.system.address import absolute
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.faults import drop_frames, raise_shortage
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.machinery.system.options import documented
from videoloader.machinery.system.writing import written
from videoloader.sources.items import Item

_log = logging.getLogger(__name__)

SkipKnown: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A file of `videoloader check` (`.parquet`), a log of failures (JSON lines), or several files."""

MOST_RECORDS = 10_000
"""Failures that are kept; later ones are counted, and written to the log."""

_LEAST_SAMPLES = 100  # the fewest samples that a share (`max_errors=0.01`) is taken of
_CHOICES = (
    'on_error="raise" is the default; "skip" leaves out a sample that fails, "replace" takes the '
    'next one that decodes, "mask" fills frames that do not decode; failures lists what went wrong'
)
_NAMED = 3  # failures that `TooManyFailuresError` names


@dataclass(frozen=True, slots=True)
class SampleFailure:
    """A sample that failed, and how it was handled.

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

    >>> import videoloader as vl
    >>> sources, clips = ["clip.mp4", "missing.mp4"], vl.UniformClip(4)
    >>> with vl.Loader(sources, clips, batch_size=1, on_error="skip") as loader:
    ...     _ = list(loader)
    >>> [(each.sample, each.kind, each.action) for each in loader.failures]
    [(1, 'SourceError', 'skip')]
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
        """All attributes, as they are in the log."""
        return asdict(self)


class FailureOptions(TypedDict, total=False):
    """The policy for samples that fail, and how many end the run; see docs/training/failures.md.

    Attributes:
        on_error: what happens where a sample fails. `raise`: the error is raised; the loop may go
            on with the next batch. `skip`: the batch is smaller, but never empty; its last sample
            is replaced, so that all ranks have as many batches. `replace`: the next sample of the
            data set that decodes takes its place. `mask`: frames that fail are filled. Errors of a
            sampler or transform of your own are always raised. `failures` lists what went wrong.
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
    """The policy for samples that fail, and how many end the run."""

    on_error: OnError = "raise"
    max_errors: int | float | None = None
    error_log: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        one_of("on_error", self.on_error, get_args(OnError))
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
        """The policy of a reader: its arguments, and this policy of its pipeline for the others.

        Args:
            arguments: of the reader; those of a policy among them, None where not given.
        """
        own = {f.name for f in fields(FailurePolicy)}
        given = {key: v for key, v in arguments.items() if key in own and v is not None}
        if given.get("on_error") == "raise" and "max_errors" not in given:
            given["max_errors"] = None  # the pipeline's is for its other readers
        return replace(self, **given)

    def as_dict(self) -> dict[str, Any]:
        """The arguments, as text and numbers."""
        log = None if self.error_log is None else os.fspath(self.error_log)
        return {"on_error": self.on_error, "max_errors": self.max_errors, "error_log": log}

    def allows(self, failed: int, asked: int) -> bool:
        """Whether this number of failures is allowed after this number of samples."""
        most = self.max_errors
        if isinstance(most, float):
            return failed <= most * max(asked, _LEAST_SAMPLES)
        return most is None or failed <= most


def name_choices(error: Exception) -> None:
    """Add a note to an error that names the other choices of `on_error`."""
    if _CHOICES not in getattr(error, "__notes__", ()):
        error.add_note(_CHOICES)


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
    """Failures of this process. A fork continues with a copy."""

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
        """(video, reason), each once: a bad file fails again in every epoch."""
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
        """Record that a sample failed. All records are made here.

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
            name_choices(error)
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
