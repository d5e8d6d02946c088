"""Statistics of loaders, pipelines, iterators and decoders: the values that `stats()` returns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

_COUNTED = ("batches", "samples", "first_samples", "seconds", "waited", "work", "errors")
"""Attributes of `RunStats` that count from the beginning of a run."""


_MUCH = 0.1  # of the time of the consumer that an operator takes, from which it is told
_FULL = 85  # percent; NVDEC engines that are busy for more of the time are the limit


@dataclass(frozen=True, slots=True)
class Work:
    """Work of decoders for some clips. Work that ended in an error is not counted.

    Attributes:
        packets: fed to decoders.
        bytes: of these packets.
        decoded: frames that the decoders gave.
        used: distinct frames of them that were requested; the others were discarded.
        decode_seconds: that decoders were busy with them, the sum over all processes and sessions;
            reading included, and on a GPU the conversion, which overlaps with decoding there.
        convert_seconds: that conversion to RGB, resizing and copying took on CPUs.
        cache_hits: clips that the clip cache had, so that nothing was decoded.
        cache_misses: clips that it did not have.
    """

    packets: int = 0
    bytes: int = 0
    decoded: int = 0
    used: int = 0
    decode_seconds: float = 0.0
    convert_seconds: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0

    @property
    def discarded(self) -> int:
        """Frames that were decoded only because requested frames refer to them."""
        return self.decoded - self.used

    @property
    def limit(self) -> str:
        """What takes longest: `convert`, `decode`, or `unused frames` if most are discarded."""
        if self.convert_seconds > self.decode_seconds:
            return "convert"
        return "unused frames" if self.discarded > self.used else "decode"

    def __add__(self, other: Work) -> Work:
        return Work(*map(operator.add, _work_counts(self), _work_counts(other)))

    def __sub__(self, other: Work) -> Work:
        return Work(*map(operator.sub, _work_counts(self), _work_counts(other)))


_work_counts = operator.attrgetter(*Work.__slots__)

NO_WORK = Work()

NoteWork: TypeAlias = Callable[[Work], object]
"""Called with work that is done."""


@dataclass(frozen=True, slots=True)
class StageStats:
    """Statistics of a stage: items, and seconds its threads spent working or waiting.

    `queued` items of it wait for the next stage or the consumer now; `room` is the most that may.
    """

    name: str
    items: int
    busy: float
    waiting_for_input: float
    waiting_for_room: float
    queued: int = 0
    room: int = 0


@dataclass(frozen=True, slots=True)
class OperatorStats:
    """One operator of a pipeline.

    `seconds` is the sum over all threads, so two busy threads make two seconds a second.
    `failures` are (file, what went wrong) of samples that failed: each of them once, however often
    it happened, and the first 10,000; `Pipeline.failures` has more of them. With `is_callers` it
    runs in the thread of the consumer, which does nothing else meanwhile.
    """

    samples: int = 0
    seconds: float = 0.0
    failures: tuple[tuple[str, str], ...] = ()
    is_callers: bool = False


@dataclass(frozen=True, eq=False)
class RunStats(Mapping[str, OperatorStats]):
    """Statistics of a run: a mapping from the names of operators to their statistics.

    `str()` of it says in one line whether the consumer waits, and for what. `as_dict()` has all
    numbers for a logger.

    Attributes:
        operators: by name.
        batches: that the consumer took.
        samples: in these batches.
        first_samples: in the first of them, which was there when `seconds` began.
        seconds: from the first batch to the last.
        waited: seconds that the consumer waited for all of them but the first.
        stages: how long each stage worked, waited for input and waited for room, and how many
            batches wait behind it now.
        work: of the decoders: packets, bytes, frames decoded and discarded, seconds. It counts the
            batches made ahead, too.
        engines: of the decoders, as they are now: worker processes and how many of them were
            replaced, NVDEC sessions and how busy the engines are, runs that the CPU took over.
            Loaders and pipelines of one process with the same device and limits share decoders.
        errors: samples that failed.
    """

    operators: Mapping[str, OperatorStats] = field(default_factory=dict)
    batches: int = 0
    samples: int = 0
    first_samples: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    stages: tuple[StageStats, ...] = ()
    work: Work = NO_WORK
    engines: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0

    @classmethod
    def merged(cls, parts: Sequence[RunStats]) -> RunStats:
        """Statistics of pipelines that run one after another in each step of their consumer.

        The names of operators and stages begin with the number of the pipeline, if there are
        several: "0/Reader".
        """
        if len(parts) == 1:
            return parts[0]
        return cls(
            operators={
                f"{number}/{name}": one
                for number, part in enumerate(parts)
                for name, one in part.operators.items()
            },
            batches=max(part.batches for part in parts),
            samples=sum(part.samples for part in parts),
            first_samples=sum(part.first_samples for part in parts),
            seconds=max(part.seconds for part in parts),
            waited=sum(part.waited for part in parts),
            stages=tuple(
                replace(stage, name=f"{number}/{stage.name}")
                for number, part in enumerate(parts)
                for stage in part.stages
            ),
            work=sum((part.work for part in parts), NO_WORK),
            engines={
                f"{number}/{name}": count
                for number, part in enumerate(parts)
                for name, count in part.engines.items()
            },
            errors=sum(part.errors for part in parts),
        )

    def since(self, earlier: RunStats) -> RunStats:
        """The difference to earlier statistics of the run; queues and engines as they are now."""
        before = {stage.name: stage for stage in earlier.stages}
        return RunStats(
            operators={
                name: replace(
                    one,
                    samples=one.samples - earlier.operators[name].samples,
                    seconds=one.seconds - earlier.operators[name].seconds,
                )
                if name in earlier.operators
                else one
                for name, one in self.operators.items()
            },
            stages=tuple(_since(stage, before.get(stage.name)) for stage in self.stages),
            engines=self.engines,
            **{name: getattr(self, name) - getattr(earlier, name) for name in _COUNTED},
        )

    def __getitem__(self, name: str) -> OperatorStats:
        return self.operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.operators)

    def __len__(self) -> int:
        return len(self.operators)

    def __bool__(self) -> bool:
        return True

    @property
    def samples_per_second(self) -> float:
        """Samples, which are clips or sets of clips, that the consumer took a second."""
        timed = self.samples - self.first_samples
        return timed / self.seconds if self.seconds > 0 else 0.0

    @property
    def waited_share(self) -> float:
        """Share of the time that the consumer waited, from 0 to 1."""
        return self.waited / self.seconds if self.seconds > 0 else 0.0

    @property
    def slowest(self) -> str:
        """The stage that the consumer waits for, if it waits: the one whose threads are busiest."""
        return max(self.stages, key=lambda stage: stage.busy).name if self.stages else ""

    @property
    def limit(self) -> str:
        """What bounds the rate if the consumer waits: a stage, or what of decoding takes longest.

        `NVDEC`: its engines work all the time; `unused frames`: most frames are decoded only
        because others refer to them; `convert`: to RGB, resizing and copying; else `decode`.
        """
        if self.slowest != "decode":
            return self.slowest
        return "NVDEC" if self.engines.get("nvdec_percent", 0) >= _FULL else self.work.limit

    def as_dict(self) -> dict[str, float]:
        """All numbers under flat names, for `add_scalar` or `wandb.log`.

        Names of stages, operators and engines stand between slashes: `stage/decode/queued`.
        """
        numbers: dict[str, float] = {
            "batches": self.batches,
            "samples": self.samples,
            "seconds": self.seconds,
            "samples_per_second": self.samples_per_second,
            "waited_seconds": self.waited,
            "waited_share": self.waited_share,
            "errors": self.errors,
            "packets": self.work.packets,
            "bytes_read": self.work.bytes,
            "frames_decoded": self.work.decoded,
            "frames_discarded": self.work.discarded,
            "decode_seconds": self.work.decode_seconds,
            "convert_seconds": self.work.convert_seconds,
            "cache_hits": self.work.cache_hits,
            "cache_misses": self.work.cache_misses,
        }
        for stage in self.stages:
            name = f"stage/{stage.name}"
            numbers[f"{name}/batches"] = stage.items
            numbers[f"{name}/busy_seconds"] = stage.busy
            numbers[f"{name}/waiting_for_input_seconds"] = stage.waiting_for_input
            numbers[f"{name}/waiting_for_room_seconds"] = stage.waiting_for_room
            numbers[f"{name}/queued"] = stage.queued
            numbers[f"{name}/room"] = stage.room
        for name, one in self.operators.items():
            numbers[f"operator/{name}/samples"] = one.samples
            numbers[f"operator/{name}/seconds"] = one.seconds
        numbers |= {f"engine/{name}": count for name, count in self.engines.items()}
        return numbers

    def __str__(self) -> str:
        """One line: whether the consumer waits and for which stage; the rate; failures."""
        line = self._waiting()
        if self.batches > 1:
            line += f"; {self.samples_per_second:.4g} samples/s"
        if self.errors:
            line += f"{',' if self.batches > 1 else ';'} {self.errors} failed"
        return line

    def _waiting(self) -> str:
        """Text: whether the consumer waits, for which stage, and which operators take its time."""
        if self.batches < 2:
            return "who waits is known from the second batch on"
        if self.waited_share < 0.01:
            line = f"the consumer does not wait ({self.waited_share:.1%} of {self.seconds:.1f} s)"
        else:
            slowest = max(self.stages, key=lambda stage: stage.busy)
            why = "" if self.limit == slowest.name else f": {self.limit}"
            line = (
                f"the consumer waited {self.waited:.1f} of {self.seconds:.1f} s "
                f"({self.waited_share:.0%}), for {slowest.name} (busy {slowest.busy:.1f} s{why})"
            )
        for name, one in self.operators.items():
            share = one.seconds / self.seconds if one.is_callers and self.seconds > 0 else 0.0
            if share >= _MUCH:
                line += f"; {name} took {one.seconds:.1f} s ({min(share, 1):.0%}) in its thread"
        return line

    def __repr__(self) -> str:
        return f"<RunStats: {self}>"


class WorkerRunStats(RunStats):
    """Statistics of processes that do not know whether the loop waits for them."""

    def __str__(self) -> str:
        """One line: how busy the processes are; the rate; failures."""
        busy = self["decode"].seconds
        line = f"decoding took {busy:.1f} s, the sum over processes, in {self.seconds:.1f} s"
        if self.batches > 1:
            line += f"; {self.samples_per_second:.4g} samples/s"
        return line + (f", {self.errors} failed" if self.errors else "")


def _since(stage: StageStats, before: StageStats | None) -> StageStats:
    if before is None:
        return stage
    counted = ("items", "busy", "waiting_for_input", "waiting_for_room")
    return replace(
        stage, **{name: getattr(stage, name) - getattr(before, name) for name in counted}
    )
