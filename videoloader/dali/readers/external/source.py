"""`fn.external_source`: samples from Python code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from videoloader.dali.operators.arguments import ANY, BOOL, INT, Argument, Kind
from videoloader.dali.operators.batch_source import Columns, SourceContext
from videoloader.dali.operators.operator import declare
from videoloader.dali.readers.external.data import Output, outputs_of
from videoloader.dali.readers.external.feeding import FedSource
from videoloader.dali.readers.external.origin import Origin
from videoloader.dali.readers.external.parallel import ParallelSource
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import to_torch
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.eager_calls import eager
from videoloader.machinery.workers.python_jobs import BatchJob, Job, SampleJob
from videoloader.machinery.workers.python_pool import PythonPool
from videoloader.machinery.workers.sample_info import BatchInfo, SampleInfo


class ExternalSource(FedSource):
    """Source that asks Python code, one call at a time and in order, for samples or batches.

    With `parallel=True` worker processes do, several at a time.
    """

    gives_what_is_fed = True

    def __init__(self, context: SourceContext, arguments: Mapping[str, Any]) -> None:
        super().__init__(context.name, context.device)
        self._batch_size = context.batch_size
        self._by_batch: bool = arguments["batch"] is not False
        self._is_told_epoch = bool(arguments["batch_info"])
        self._num_outputs: int | None = arguments["num_outputs"]
        self._cuda_stream = arguments["cuda_stream"]
        self.repeats_last = bool(arguments["repeat_last"])
        self.is_blocking = bool(arguments["blocking"])
        source = arguments["source"]
        self._origin = None if source is None else Origin.of(source, arguments["cycle"] or "no")
        self.is_fed = self._origin is None
        self.has_state = self._origin is not None and not self._origin.takes_argument
        self._outputs: list[Output] = outputs_of(
            context.name, self._num_outputs or 1, context.batch_size, context.device, arguments
        )
        self._fed: deque[Batch] = deque()
        self._last: Columns | None = None
        self._epoch = self._next = 0
        self._resumed: int | None = None
        self._give = self._caller()
        if arguments["parallel"]:
            self.parallel = self._in_workers(context.python_pool, arguments)
        self.calls_user = not self.is_fed and self.parallel is None

    def resume(self, epoch: int, first: int) -> None:
        """Go on in an epoch that began with batch `first`."""
        self._epoch, self._resumed = epoch, first

    def prepared(self, data: Any, layout: str | None = None, cuda_stream: Any = None) -> Batch:
        """A batch as users give it, on its device."""
        if not self.is_fed:
            raise ArgumentError(
                f"{self._name} has a source of its own ({self._origin}), it cannot be fed"
            )
        stream = self._cuda_stream if cuda_stream is None else cuda_stream
        return self._outputs[0].column(data, layout=layout, cuda_stream=stream)

    def queue(self, prepared: Batch) -> None:
        """Queue a batch."""
        self._fed.append(prepared)
        self.num_fed += 1

    def plan(self, iteration: int) -> Columns:
        """The next batch."""
        if self._resumed is not None:
            self._next, self._resumed = iteration - self._resumed, None
            if self.parallel is not None:
                self.parallel.resume(self._epoch, self._next)
        if self.is_fed:
            return self._next_fed()
        number, self._next = self._next, self._next + 1
        parts: Sequence[Any]
        if self.parallel is not None:
            parts = self.parallel.next()
        else:
            try:
                with eager():
                    parts = self._parts(number)
            except (KeyboardInterrupt, SystemExit):  # the batch is asked for again
                self._next = number
                raise
        pairs = zip(self._outputs, parts, strict=True)
        return Columns(
            tuple(out.column(part, cuda_stream=self._cuda_stream) for out, part in pairs)
        )

    def reset(self) -> None:
        """Begin the next epoch."""
        self._epoch += 1
        self._next = 0
        if self.parallel is not None:
            self.parallel.reset()

    def _next_fed(self) -> Columns:
        if self._fed:
            batch = self._fed.popleft()
            if not self.repeats_last:
                return Columns((batch,))
            self._last = Columns((batch,), tuple(batch.addresses()))
        if self._last is None:
            raise self._nothing_fed()
        return self._last

    def _parts(self, number: int) -> Sequence[Any]:
        """The data of the source for each output of a batch."""
        if self._by_batch:
            return self._values(self._give(BatchInfo(number, self._epoch)))
        first = number * self._batch_size
        rows = [
            self._values(self._give(SampleInfo(first + at, at, number, self._epoch)))
            for at in range(self._batch_size)
        ]
        return [list(column) for column in zip(*rows, strict=True)]

    def _caller(self) -> Callable[[Any], Any]:
        """A function of one argument that gives the next item."""
        origin = self._origin
        if origin is None or origin.kind != "callable":
            advance = None if origin is None else origin.iterable_job(None).advance
            return lambda _: advance() if advance else None
        source = origin.source
        if not origin.takes_argument:
            return lambda _: source()
        if self._by_batch and not self._is_told_epoch:
            return lambda info: source(info.iteration)
        return lambda info: source(info)

    def _values(self, item: Any) -> Sequence[Any]:
        """The outputs that a source gave at once; DALI lets it give more than are asked for."""
        count = self._num_outputs
        if count is None:
            return (item,)
        if isinstance(item, Mapping):
            names = ", ".join(map(str, item))
            raise ArgumentTypeError(
                f"{self._name}: the source gave a dictionary with {names}; give the {count} values "
                "of the outputs as a tuple, from a generator function"
            )
        if not hasattr(item, "__getitem__") or len(item) < count:
            raise ArgumentTypeError(
                f"{self._name}: num_outputs={count}, so its source gives as many values "
                f"in a tuple, got {type(item).__name__}"
                + (f" of {len(item)}" if hasattr(item, "__len__") else "")
            )
        return [item[number] for number in range(count)]

    def _in_workers(self, pool: PythonPool | None, arguments: Mapping[str, Any]) -> ParallelSource:
        origin, outputs = self._origin, self._num_outputs
        if pool is None or origin is None:
            raise ArgumentError(
                f"{self._name}: parallel=True needs a source and Python workers; "
                "py_num_workers of the pipeline must be at least 1"
            )
        job: Job
        if origin.kind != "callable":
            job = origin.iterable_job(outputs)
        elif self._by_batch:
            job = BatchJob(origin.source, outputs, self._is_told_epoch)
        else:
            job = SampleJob(origin.source, outputs)
        for output in self._outputs:
            output.is_copied = False  # shared memory is reused once nothing refers to it
        return ParallelSource(
            pool,
            job,
            name=self._name,
            batch_size=self._batch_size,
            depth=arguments["prefetch_queue_depth"] or 1,
            size_hint=arguments["bytes_per_sample_hint"],
        )


def _cycle(value: Any) -> str:
    names = {False: "no", True: "quiet"}
    return str(names.get(value, value))


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Converts one value for all outputs, or a list with one for each."""

    def convert_all(value: Any) -> Any:
        is_list = isinstance(value, list | tuple)
        return tuple(map(convert, value)) if is_list else convert(value)

    return convert_all


def _ndim(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or int(value) != value or value < 0:
        raise ValueError
    return int(value)


def _dtype(value: Any) -> torch.dtype | None:
    is_unknown = value is None or getattr(value, "name", "") == "NO_TYPE"
    return None if is_unknown else to_torch(value)


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return arguments["num_outputs"] or 1


def _each_fed(given: Mapping[str, Any], name: str | None) -> Sequence[Mapping[str, Any]] | None:
    """The arguments of each node, where `num_outputs` makes several that are fed, or None."""
    if given.get("source") is not None or given.get("num_outputs") is None:
        return None
    if name is not None:
        raise ArgumentError(
            f"fn.external_source: name={name!r} is of one source, num_outputs makes several; "
            "feed_input takes their data nodes"
        )
    count = int(given["num_outputs"])
    each: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, value in given.items():
        is_listed = key in ("layout", "dtype", "ndim") and isinstance(value, list | tuple)
        if is_listed and len(value) != count:
            raise ArgumentError(
                f"fn.external_source: {key} has {len(value)} values for {count} outputs"
            )
        for number, own in enumerate(each):
            if key != "num_outputs":
                own[key] = value[number] if is_listed else value
    return each


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    """Check the arguments together."""
    source, is_parallel = arguments["source"], arguments["parallel"]
    if source is None:
        for name in ("cycle", "parallel"):
            if arguments[name] not in (None, False, "no"):
                raise ArgumentError(f"fn.external_source: {name} goes with a source")
        return
    origin = Origin.of(source, arguments["cycle"] or "no")
    if arguments["repeat_last"]:
        raise ArgumentError("fn.external_source: repeat_last is for data that is fed")
    if not is_parallel:
        for name in ("prefetch_queue_depth", "bytes_per_sample_hint"):
            if name in given:
                raise ArgumentError(f"fn.external_source: {name} goes with parallel=True")
        return
    if arguments["no_copy"] is False:
        raise ArgumentError("fn.external_source: a parallel source is never copied (no_copy=False)")
    if origin.kind == "callable" and not origin.takes_argument:
        raise ArgumentTypeError(
            "fn.external_source: a parallel callable takes one argument, a SampleInfo or the "
            "number of the batch, so that workers can share the work; this one takes none"
        )
    if origin.kind != "callable" and arguments["batch"] is False:
        raise ArgumentTypeError(
            f"fn.external_source: a parallel {origin.kind} gives whole batches; use batch=True"
        )


@declare(
    "external_source",
    kind="source",
    positional=("source", "num_outputs"),
    arguments=(
        Argument("source", ANY, None, "a callable, an iterable, or none: see `feed_input`"),
        Argument(
            "num_outputs",
            INT,
            None,
            "the source gives a tuple of as many values; "
            "without a source as many are fed, each by its data node",
            least=1,
        ),
        Argument(
            "cycle",
            Kind("str", _cycle),
            None,
            "an iterable that ends: `no`, `quiet` (begin again), `raise` (begin again after reset)",
            choices=("no", "quiet", "raise"),
        ),
        Argument(
            "layout",
            Kind("str or list of str", _each(str)),
            None,
            'such as "FHWC"; a list has one for each output',
        ),
        Argument(
            "dtype",
            Kind("element type or list of them", _each(_dtype)),
            None,
            "element type that the data must have; Python numbers are converted",
        ),
        Argument(
            "ndim",
            Kind("int or list of int", _each(_ndim)),
            None,
            "number of dimensions that samples must have",
        ),
        Argument("cuda_stream", ANY, None, "on which data on a GPU is ready; the current one"),
        Argument("batch", BOOL, None, "0: the source gives single samples, else batches"),
        Argument("batch_info", BOOL, None, "pass a `BatchInfo` in place of the iteration"),
        Argument(
            "no_copy",
            BOOL,
            None,
            "use the memory of the data, which then must not change until its batch has come out",
        ),
        Argument("parallel", BOOL, None, "run the source in worker processes, see above"),
        Argument(
            "prefetch_queue_depth",
            INT,
            None,
            "batches that workers make ahead; 1 by default",
            least=1,
        ),
        Argument(
            "bytes_per_sample_hint",
            INT,
            None,
            "shared memory for a sample of a parallel source; found out by default",
            least=1,
        ),
        Argument("repeat_last", BOOL, None, "give the last batch that was fed again"),
        Argument("blocking", BOOL, None, "let `run` wait until data was fed, by another thread"),
    ),
    num_outputs=_num_outputs,
    check=_check,
    several=_each_fed,
    unused=("seed", "use_copy_kernel"),
)
def external_source(context: SourceContext, **arguments: Any) -> ExternalSource:
    """Take samples from Python code.

    `source` is called or advanced once a batch, or once a sample with `batch=False`: in the thread
    that calls `Pipeline.run`, one call at a time and in order, up to `prefetch_queue_depth` batches
    ahead. A callable that takes an argument gets the
    number of the batch in its epoch, or a `BatchInfo` or `SampleInfo`. StopIteration ends the
    epoch: `Pipeline.run` raises it, and `Pipeline.reset` begins the next one. A batch is an array
    (N, ...), a `TensorList` or a list of samples, and may be smaller than the pipeline's. Samples
    are arrays and tensors of any library, and numbers; bytes become 1-D uint8; a path or an `Item`
    of a data set stays what it is, for `fn.decoders.video`. Data is copied at once, so the source
    may use its memory again.

    With `parallel=True` the `py_num_workers` processes of the pipeline run it. A callable takes an
    argument then, and depends on nothing else: the samples of a batch are shared by the workers,
    and further batches are asked for past the end, where it raises StopIteration again. An iterable
    or a generator function gives batches and stays in one worker.
    """
    return ExternalSource(context, arguments)
