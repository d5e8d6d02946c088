"""The reader of stored samples: batches of what a data set has at the places of an order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import wraps
from operator import itemgetter
from typing import Any, Protocol, runtime_checkable

from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.operators.arguments import BOOL, INT, TEXT, Argument
from videoloader.operators.batch import Sample
from videoloader.operators.operator import declare
from videoloader.operators.random.random import SEED
from videoloader.operators.source import SourceContext
from videoloader.readers.failures.failures import Failures, policy_of
from videoloader.readers.ranks import find_order, shard_arguments
from videoloader.readers.video.planned import Identity, ReadError, ReadSample
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item

__all__ = [
    "ORDER",
    "JointSamples",
    "SampleReader",
    "StoredSamples",
    "declare_reader",
    "open_reader",
]

_LEAST_THREADS = 4  # reading waits for disks and networks more than for processors

_AT_ONCE = 5e-4
"""Seconds a sample that is read without waiting: threads would only wait for each other."""

_PATIENCE = 5e-3
"""Seconds beyond that until the samples of a batch are shared by threads."""

_FEW = 3
"""Samples that take longer than `_AT_ONCE` because this thread has to wait for a processor."""

_SHARED = 16
"""Batches that threads then share, until one is tried without them again."""

AFTER_EPOCH = (
    Argument(
        "shuffle_after_epoch",
        BOOL,
        default=False,
        doc="a new order in every epoch but the first, the same for all shards",
    ),
    Argument("shuffle_after_epoch_seed", INT, None, "of that order; a fixed one by default"),
)

ORDER = (
    Argument(
        "random_shuffle",
        BOOL,
        default=False,
        doc="a new permutation of all samples every epoch, before they are divided into shards",
    ),
    *AFTER_EPOCH,
    *shard_arguments("sample"),
    Argument(
        "on_error",
        TEXT,
        None,
        "what to do with a sample that cannot be read: `raise`; `replace` it by the next one; "
        "`skip` it, so that the batch has fewer samples, but one at least. By default what the "
        "pipeline says, `mask` being `replace` here",
        choices=("raise", "replace", "skip"),
    ),
    SEED,
)
"""Arguments of every reader of stored samples."""

ORDER_UNUSED = (
    "dont_use_mmap",
    "initial_fill",
    "lazy_init",
    "prefetch_queue_depth",
    "read_ahead",
    "skip_cached_images",
    "tensor_init_bytes",
    "use_o_direct",
)
"""What DALI's readers take beside them, which has no meaning here."""


class StoredSamples(Protocol):
    """A data set whose samples are read one by one, in any order and by several threads."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> tuple[Sample, ...]:
        """A value for each output."""
        ...

    def name(self, number: int) -> str:
        """Where a sample comes from, for errors."""
        ...


@runtime_checkable
class JointSamples(StoredSamples, Protocol):
    """A data set whose samples are made a whole batch at a time, since worker processes do it."""

    def read_all(self, numbers: Sequence[int]) -> list[tuple[Sample, ...] | Exception]:
        """What `read` gives or raises for each of some samples."""
        ...


class SampleReader:
    """Reads the samples of each batch: in a few threads where they have to be waited for.

    What is in a batch is a function of its number, so there is no state to keep or restore.
    """

    def __init__(
        self,
        samples: StoredSamples,
        order: ReaderOrder,
        num_threads: int,
        failures: Failures,
    ) -> None:
        self._samples = samples
        self.order = order
        """What is read, and in which order."""
        self.failures = failures
        """Takes what goes wrong; by its policy samples that cannot be read are replaced, or not."""
        self._num_threads = max(num_threads, _LEAST_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._shared = 0  # batches that threads will share

    def plan(self, iteration: int) -> list[ReadSample]:
        """The samples of a batch.

        Raises:
            ReadError: one of them cannot be read.
        """
        places = [
            (position, place, number)
            for position, (place, number) in enumerate(self.order.batch(iteration))
        ]
        self.failures.ask(len(places))
        samples: list[ReadSample | None] = []
        if isinstance(self._samples, JointSamples):
            found = self._samples.read_all([number for _, _, number in places])
            samples += map(self._read, places, found)
        elif self._shared:
            self._shared -= 1
        else:
            samples = self._read_at_once(places)
        if len(samples) < len(places):
            samples += self._read_in_threads(places[len(samples) :])
        return self._without_holes(samples, places)

    def _without_holes(
        self, samples: list[ReadSample | None], places: Sequence[tuple[int, Place, int]]
    ) -> list[ReadSample]:
        """A sample for each place: where one is left out, that of another stands, marked."""
        if all(sample is None for sample in samples):  # a batch has one sample at least
            samples[-1] = self._read(places[-1], is_left_out=True)
        other = next(sample for sample in samples if sample is not None)
        return [sample or other._replace(is_left_out=True) for sample in samples]

    def _read_at_once(self, places: Sequence[tuple[int, Place, int]]) -> list[ReadSample | None]:
        """The first samples of a batch, as many as this thread reads without waiting long."""
        samples: list[ReadSample | None] = []
        slow, most = 0, min(_FEW, len(places) - 1)
        now = begin = time.perf_counter()
        for at, wanted in enumerate(places, 1):
            samples.append(self._read(wanted))
            before, now = now, time.perf_counter()
            slow += now - before > _AT_ONCE
            is_late = now - begin > _PATIENCE + at * _AT_ONCE
            if is_late and slow > most and 4 * slow > at:
                self._shared = _SHARED
                break
        return samples

    def _read_in_threads(self, places: Sequence[tuple[int, Place, int]]) -> list[ReadSample | None]:
        """Samples by several threads, each of which takes the next one until none is left."""
        if self._pool is None:  # its threads end when this reader is dropped
            self._pool = ThreadPoolExecutor(self._num_threads, "videoloader-read")
        left = deque(enumerate(places))
        samples: list[ReadSample | None] = [None] * len(places)
        errors: list[tuple[int, BaseException]] = []

        def work() -> None:
            while left and not errors:
                try:
                    at, wanted = left.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    samples[at] = self._read(wanted)
                except BaseException as error:  # noqa: BLE001  (raised below)
                    errors.append((at, error))

        wait([self._pool.submit(work) for _ in range(min(self._num_threads, len(places)))])
        if errors:
            raise min(errors, key=itemgetter(0))[1]
        return samples

    def go_on(self, epochs: Epochs) -> None:
        """Read what these epochs say from now on."""
        self.order = replace(self.order, epochs=epochs)

    def reset(self) -> None:
        """Nothing to do: a reader never ends."""

    def meta(self) -> dict[str, Any]:
        """What `Pipeline.reader_meta` gives."""
        return self.order.epochs.meta()

    def _read(
        self,
        wanted: tuple[int, Place, int],
        found: tuple[Sample, ...] | Exception | None = None,
        *,
        is_left_out: bool = False,
    ) -> ReadSample | None:
        """A sample, or the next that can be read; None if it is skipped.

        Args:
            wanted: its position in the batch, its place in the order, its number.
            found: what it is, if that is known.
            is_left_out: begin with the one after it.
        """
        position, place, number = wanted
        step = int(is_left_out)
        while True:
            if step:
                shard = max(len(self.order.epochs.shard(place.epoch)), 1)
                if step >= shard:
                    none = DecodeError(f"none of the {shard} samples of the shard can be read")
                    raise ReadError(position, "", none)
                at = Place(place.epoch, (place.position + step) % shard)
                number = self.order.number(at)
            name = self._samples.name(number)
            try:
                with blamed_on(name):
                    made, found = found, None
                    if isinstance(made, Exception):
                        raise made
                    outputs = self._samples.read(number) if made is None else made
            except Exception as error:
                if not isinstance(error, VideoError):
                    raise ReadError(position, name, error) from error
                self._note(position, Item(name), error, number, place.epoch)
                if not is_left_out and self.failures.policy.on_error == "skip":
                    return None
                step += 1
            else:
                return ReadSample(outputs, Identity(number, place.epoch), name)

    def _note(self, position: int, item: Item, error: VideoError, number: int, epoch: int) -> None:
        """Record a failure, which ends the batch unless samples are replaced."""
        try:
            self.failures.add(item, error, sample=number, epoch=epoch)
            if self.failures.policy.on_error == "raise":
                raise error
        except VideoError as last:
            raise ReadError(position, item.name, last) from last


def declare_reader(
    name: str,
    *,
    arguments: Sequence[Argument],
    check: Callable[[Mapping[str, Any]], None] | None = None,
    by_files: bool = False,
    after_epoch: bool = True,
    unused: Sequence[str] = (),
    **description: Any,
) -> Callable[[Callable[..., StoredSamples]], Callable[..., SampleReader]]:
    """Declare an operator that reads the data set which the decorated function opens.

    The function is called with all arguments, and `num_threads` of the pipeline. A data set of
    several files may say in `ends` where each ends: `shuffle_after_epoch` then permutes the files.

    Args:
        name: of the operator.
        arguments: of the operator, without those in `ORDER`.
        check: looks at all arguments together.
        by_files: samples may be shuffled beside `shuffle_after_epoch`.
        after_epoch: whether there is a `shuffle_after_epoch`.
        unused: DALI's arguments without a meaning here, beside `ORDER_UNUSED`.
        **description: see `declare`.
    """
    order = ORDER if after_epoch else tuple(each for each in ORDER if each not in AFTER_EPOCH)

    def check_all(given: Collection[str], arguments: Mapping[str, Any]) -> None:  # noqa: ARG001
        if after_epoch:
            _check_order(arguments, by_files=by_files)
        if check is not None:
            check(arguments)

    def register(open_samples: Callable[..., StoredSamples]) -> Callable[..., SampleReader]:
        @wraps(open_samples)
        def read(context: SourceContext, **arguments: Any) -> SampleReader:
            samples = open_samples(**arguments, num_threads=context.num_threads)
            return open_reader(context, samples, arguments)

        return declare(
            name,
            kind="source",
            devices=("cpu",),
            arguments=(*arguments, *order),
            check=check_all,
            unused=(*ORDER_UNUSED, *unused),
            **description,
        )(read)

    return register


def _check_order(arguments: Mapping[str, Any], *, by_files: bool) -> None:
    for other in ("stick_to_shard",) if by_files else ("random_shuffle", "stick_to_shard"):
        if arguments["shuffle_after_epoch"] and arguments[other]:
            raise ArgumentError(f"shuffle_after_epoch and {other} cannot both be used")


def open_reader(
    context: SourceContext, samples: StoredSamples, arguments: Mapping[str, Any]
) -> SampleReader:
    """The reader of a data set; the arguments in `ORDER` are among those of the operator."""
    policy = policy_of(context, {"on_error": arguments["on_error"]})
    order = find_order(context, arguments, len(samples), files=getattr(samples, "ends", None))
    return SampleReader(
        samples,
        order,
        context.num_threads,
        Failures(replace(policy, on_error="replace") if policy.on_error == "mask" else policy),
    )
