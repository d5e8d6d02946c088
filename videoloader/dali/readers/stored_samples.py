"""The reader of stored samples: batches of a data set's samples in a given order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, runtime_checkable

from videoloader.dali.operators.arguments import BOOL, INT, TEXT, Argument
from videoloader.dali.operators.batch_source import SourceContext
from videoloader.dali.operators.context import Sample
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.readers.ranks import find_order, shard_arguments
from videoloader.dali.readers.video.planned import Identity, ReadError, ReadSample
from videoloader.decoding.attempts import Attempts
from videoloader.decoding.failures import Failures
from videoloader.errors import ArgumentError, VideoError
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sources.items import Item

_LEAST_THREADS = 4  # reading waits for disks and networks more than for processors

_AT_ONCE = 5e-4
"""Seconds per sample below which reading does not wait, so that threads would not help."""

PATIENCE = 5e-3
"""Seconds beyond that before threads share the rest of the batch."""

_FEW = 3
"""Samples of a batch that may take longer without meaning that reading waits."""

_SHARED = 16
"""Batches read by threads before one is read without them again."""

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
"""Arguments of DALI's readers that have no effect here."""


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
        """The result or the error of `read` for each of some samples."""
        ...


class SampleReader:
    """Reads the samples of each batch: in a few threads where they have to be waited for.

    A batch depends on its number alone, so there is no state to keep or restore.
    """

    def __init__(
        self, samples: StoredSamples, order: ReaderOrder, num_threads: int, failures: Failures
    ) -> None:
        self._samples = samples
        self._joint = samples if isinstance(samples, JointSamples) else None
        self.order = order
        """The order of the samples in batches."""
        self.failures = failures
        """Records failures; its policy says what becomes of samples that cannot be read."""
        self._num_threads = max(num_threads, _LEAST_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._shared = 0  # batches that threads will share

    def plan(self, iteration: int) -> list[ReadSample]:
        """The samples of a batch.

        Raises:
            ReadError: one of them cannot be read.
        """
        attempts = Attempts(self.failures, self.order.batch(iteration), self)
        self.failures.ask(len(attempts.wanted))
        found: dict[int, ReadSample] = {}
        for positions in attempts.rounds():
            wanted = [attempts.wanted[position] for position in positions]
            for position, read in zip(positions, self._read_all(wanted), strict=True):
                if isinstance(read, ReadSample):
                    found[position] = read
                else:
                    self._failed(attempts, position, read)
        # A sample that is left out is represented by another one, marked as left out.
        other = next(iter(found.values()))._replace(is_left_out=True)
        return [found.get(position, other) for position in range(len(attempts.wanted))]

    def after(self, wanted: tuple[Place, int]) -> Iterator[tuple[Place, int]]:
        """Replacements for a sample that cannot be read: the following samples of its shard."""
        return ((place, self.order.number(place)) for place in self.order.behind(wanted[0]))

    def none_left(self, tries: int, error: VideoError) -> str:  # noqa: ARG002
        """Raise an error: no sample of the shard can be read."""
        return f"none of the {tries} samples of the shard can be read"

    def _failed(
        self, attempts: Attempts[tuple[Place, int]], position: int, error: BaseException
    ) -> None:
        """Have the policy decide on a sample that cannot be read; other errors end the batch."""
        place, number = attempts.wanted[position]
        name = self._samples.name(number)
        if not isinstance(error, Exception):
            raise error
        if not isinstance(error, VideoError):
            raise ReadError(position, name, error) from error
        try:
            attempts.note_failure(position, Item(name), error, sample=number, epoch=place.epoch)
        except VideoError as last:
            raise ReadError(position, name if last is error else "", last) from last

    def _read_all(self, wanted: Sequence[tuple[Place, int]]) -> list[ReadSample | BaseException]:
        """The samples at some places, or why they cannot be read."""
        if self._joint is not None:
            found = self._joint.read_all([number for _, number in wanted])
            return list(map(self._read, wanted, found))
        samples: list[ReadSample | BaseException] = []
        if self._shared:
            self._shared -= 1
        else:
            samples = self._read_at_once(wanted)
        return samples + self._read_in_threads(wanted[len(samples) :])

    def _read_at_once(
        self, wanted: Sequence[tuple[Place, int]]
    ) -> list[ReadSample | BaseException]:
        """The first samples of a batch, as many as this thread reads without waiting long."""
        samples: list[ReadSample | BaseException] = []
        slow, most = 0, min(_FEW, len(wanted) - 1)
        now = begin = time.perf_counter()
        for at, each in enumerate(wanted, 1):
            samples.append(self._read(each))
            before, now = now, time.perf_counter()
            slow += now - before > _AT_ONCE
            is_late = now - begin > PATIENCE + at * _AT_ONCE
            if is_late and slow > most and 4 * slow > at:
                self._shared = _SHARED
                break
        return samples

    def _read_in_threads(
        self, wanted: Sequence[tuple[Place, int]]
    ) -> list[ReadSample | BaseException]:
        """Samples by several threads, each of which takes the next one until none is left."""
        if not wanted:
            return []
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._num_threads, "videoloader-read")
        left = deque(enumerate(wanted))
        samples: list[Any] = [None] * len(wanted)

        def work() -> None:
            while left:
                try:
                    at, each = left.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    samples[at] = self._read(each)
                except BaseException as error:  # noqa: BLE001  (raised by `plan`)
                    samples[at] = error

        wait([self._pool.submit(work) for _ in range(min(self._num_threads, len(wanted)))])
        return samples

    def close(self) -> None:
        """End the threads; they are made again where samples are read."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def go_on(self, epochs: Epochs) -> None:
        """Continue with other epochs."""
        self.order = replace(self.order, epochs=epochs)

    def reset(self) -> None:
        """Does nothing: a reader never ends."""

    def meta(self) -> dict[str, Any]:
        """The result of `Pipeline.reader_meta`."""
        return self.order.epochs.meta()

    def _read(
        self, wanted: tuple[Place, int], found: tuple[Sample, ...] | Exception | None = None
    ) -> ReadSample | Exception:
        """A sample, or why it cannot be read; `found` is its identity, if that is known."""
        place, number = wanted
        name = self._samples.name(number)
        try:
            with blamed_on(name):
                if isinstance(found, Exception):
                    raise found
                outputs = self._samples.read(number) if found is None else found
        except Exception as error:  # noqa: BLE001  (raised or recorded by `plan`)
            return error
        return ReadSample(outputs, Identity(number, place.epoch), name)


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

    def check_all(given: Collection[str], arguments: Mapping[str, Any]) -> None:
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
    """The reader of a data set; the operator's arguments include the ones in `ORDER`."""
    policy = context.errors.with_arguments({"on_error": arguments["on_error"]})
    if policy.on_error == "mask":
        policy = replace(policy, on_error="replace")
    order = find_order(context, arguments, len(samples), files=getattr(samples, "ends", None))
    return SampleReader(samples, order, context.num_threads, Failures(policy))
