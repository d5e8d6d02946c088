"""`fn.external_source`: samples from Python code."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.operators.arguments import ANY, BOOL, DTYPE, INT, Argument, Kind
from videoloader.operators.operator import Sample, SourceContext, declare
from videoloader.sources.items import Item
from videoloader.tensors import TensorList, saturate

__all__ = ["BatchInfo", "ExternalSource", "SampleInfo", "external_source"]


@dataclass(frozen=True, slots=True)
class SampleInfo:
    """What a callable with `batch=False` is told of the sample that it makes."""

    idx_in_epoch: int
    idx_in_batch: int
    iteration: int
    epoch_idx: int


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """What a callable with `batch_info=True` is told of the batch that it makes."""

    iteration: int
    epoch_idx: int


class ExternalSource:
    """Source that asks Python code, in one thread and in order, for samples or batches."""

    def __init__(self, context: SourceContext, arguments: Mapping[str, Any]) -> None:
        self._name = context.name
        self._batch_size = context.batch_size
        self._source = arguments["source"]
        self._cycle = arguments["cycle"]
        self._by_batch = arguments["batch"]
        self._batch_info = arguments["batch_info"]
        self._outputs: int | None = arguments["num_outputs"]
        self._layout = arguments["layout"]
        self._dtype = arguments["dtype"]
        self._ndim = arguments["ndim"]
        self._fed: deque[Any] = deque()
        self.num_fed = 0
        """Batches that were fed so far."""
        self._epoch = 0
        self._first = 0
        self._iterator: Iterator[Any] | None = None
        self._call = self._caller(self._source)

    @property
    def is_fed(self) -> bool:
        """Whether its data comes from `Pipeline.feed_input`."""
        return self._source is None

    def feed(self, batch: Any) -> None:
        """Queue a batch."""
        if not self.is_fed:
            raise ArgumentError(f"{self._name} has a source of its own, it cannot be fed")
        self._fed.append(batch)
        self.num_fed += 1

    @property
    def has_state(self) -> bool:
        """Whether it has a place of its own to go on from, which nobody but itself knows."""
        return not self.is_fed and not (self._is_function and _takes_argument(self._source))

    def resume(self, epoch: int, first: int) -> None:
        """Go on in an epoch that began with batch `first`."""
        self._epoch, self._first = epoch, first

    def plan(self, iteration: int) -> list[tuple[Sample, ...]]:
        """The samples of the next batch."""
        return [self._read(item) for item in self._batch(iteration)]

    def _batch(self, iteration: int) -> list[tuple[Any, ...]]:
        if self.is_fed:
            if not self._fed:
                raise ArgumentError(f"no data: call feed_input({self._name!r}, ...) before run()")
            return self._samples(self._fed.popleft())
        if self._by_batch:
            return self._samples(self._next_batch(iteration))
        return [self._values(self._next_sample(iteration, at)) for at in range(self._batch_size)]

    def _read(self, item: tuple[Any, ...]) -> tuple[Sample, ...]:
        """The values of a sample as tensors."""
        layouts = self._layout or ("",)
        layouts = layouts if len(layouts) == len(item) else layouts * len(item)
        return tuple(
            self._tensor(value, layout) for value, layout in zip(item, layouts, strict=True)
        )

    def reset(self) -> None:
        """Begin the next epoch."""
        self._epoch += 1
        self._first = -1
        if self._cycle == "raise":
            self._iterator = None

    def meta(self) -> None:
        """Nothing is known of its epochs."""

    def _next_batch(self, iteration: int) -> Any:
        iteration = self._in_epoch(iteration)
        return self._call(BatchInfo(iteration, self._epoch) if self._batch_info else iteration)

    def _next_sample(self, iteration: int, at: int) -> Any:
        iteration = self._in_epoch(iteration)
        info = SampleInfo(iteration * self._batch_size + at, at, iteration, self._epoch)
        return self._call(info)

    def _in_epoch(self, iteration: int) -> int:
        if self._first < 0:
            self._first = iteration
        return iteration - self._first

    @property
    def _is_function(self) -> bool:
        return callable(self._source) and not inspect.isgeneratorfunction(self._source)

    def _caller(self, source: Any) -> Callable[[Any], Any]:
        """A function of one argument that gives the next item."""
        if self._is_function:
            if _takes_argument(source):
                function: Callable[[Any], Any] = source
                return function
            return lambda info: source()  # noqa: ARG005
        return lambda info: self._step()  # noqa: ARG005

    def _step(self) -> Any:
        if self._iterator is None:
            self._iterator = self._iterate()
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle != "quiet":
                raise
        self._iterator = self._iterate()
        return next(self._iterator)

    def _iterate(self) -> Iterator[Any]:
        source = self._source
        return iter(source() if callable(source) else source)

    def _samples(self, batch: Any) -> list[tuple[Any, ...]]:
        """Samples of a batch, which is a tensor, a TensorList or a sequence of samples."""
        columns = [self._column(part) for part in self._values(batch)]
        if len({len(column) for column in columns}) != 1 or not columns[0]:
            raise ArgumentError(
                f"{self._name}: its outputs must have the same number of samples, at least 1; "
                f"got {[len(column) for column in columns]}"
            )
        if len(columns[0]) > self._batch_size:
            raise ArgumentError(
                f"{self._name}: {len(columns[0])} samples for a batch of {self._batch_size}"
            )
        return list(zip(*columns, strict=True))

    def _column(self, part: Any) -> list[Any]:
        if isinstance(part, str | bytes | Path) or not isinstance(
            part, torch.Tensor | np.ndarray | TensorList | Sequence
        ):
            raise ArgumentError(
                f"{self._name}: a batch is a tensor, an array or a list of samples, "
                f"got {type(part).__name__}; for one sample at a time use batch=False"
            )
        return list(part)

    def _values(self, item: Any) -> tuple[Any, ...]:
        if self._outputs is None:
            return (item,)
        if not isinstance(item, tuple | list) or len(item) != self._outputs:
            raise ArgumentError(
                f"{self._name}: num_outputs={self._outputs}, so its source gives as many values "
                f"in a tuple, got {type(item).__name__}"
            )
        return tuple(item)

    def _tensor(self, value: Any, layout: str) -> Sample:
        if isinstance(value, str | Path | Item):
            return Sample(value if isinstance(value, Item) else str(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return Sample(torch.frombuffer(bytearray(value), dtype=torch.uint8))
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            value = value.copy()
        tensor = torch.as_tensor(value)
        if isinstance(value, float) or (
            isinstance(value, list | tuple) and tensor.dtype == torch.float64
        ):
            tensor = tensor.float()
        if self._dtype is not None:
            tensor = saturate(tensor, self._dtype)
        for what, wanted in (("ndim", self._ndim), ("layout", len(layout) or None)):
            if wanted is not None and tensor.ndim != wanted:
                raise ArgumentError(
                    f"{self._name}: a sample has shape {tuple(tensor.shape)}, "
                    f"which does not fit {what}={layout if what == 'layout' else wanted!r}"
                )
        known = getattr(value, "source_info", None)
        return Sample(tensor, layout, known() if callable(known) else "")


def _cycle(value: Any) -> str:
    names = {None: "no", False: "no", True: "quiet"}
    return str(names.get(value, value))


def _layouts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return arguments["num_outputs"] or 1


@declare(
    "external_source",
    kind="source",
    positional=("source", "num_outputs"),
    arguments=(
        Argument("source", ANY, None, "a callable, an iterable, or none: see `feed_input`"),
        Argument("num_outputs", INT, None, "the source gives a tuple of as many values", least=1),
        Argument(
            "cycle",
            Kind("str", _cycle),
            "no",
            "an iterable that ends: `no`, `quiet` (begin again), `raise` (begin again after reset)",
            choices=("no", "quiet", "raise"),
        ),
        Argument("layout", Kind("str or list of str", _layouts), None, 'such as "FHWC"'),
        Argument("dtype", DTYPE, None, "element type of the output; the data's by default"),
        Argument("ndim", INT, None, "number of dimensions, checked", least=0),
        Argument(
            "batch", BOOL, default=True, doc="whether the source gives batches, or single samples"
        ),
        Argument(
            "batch_info", BOOL, default=False, doc="pass a `BatchInfo` in place of the iteration"
        ),
    ),
    num_outputs=_num_outputs,
    absent={"parallel": False, "repeat_last": False, "cuda_stream": None},
    unused=("no_copy", "use_copy_kernel", "blocking", "prefetch_queue_depth"),
)
def external_source(context: SourceContext, **arguments: Any) -> ExternalSource:
    """Take samples from Python code.

    `source` is called or advanced once a batch, or once a sample with `batch=False`, in the
    pipeline's thread. A callable that takes an argument gets the number of the iteration, or a
    `SampleInfo`. StopIteration ends the epoch: `Pipeline.run` raises it, and `Pipeline.reset`
    begins the next one. A batch may be smaller than the pipeline's. Bytes become 1-D uint8; a
    path or an `Item` of a data set stays what it is, for `fn.decoders.video`.
    """
    source = arguments["source"]
    if source is not None and not callable(source) and not isinstance(source, Iterable):
        raise ArgumentError(
            f"fn.external_source: source must be callable or iterable, got {type(source).__name__}"
        )
    if callable(source) and arguments["cycle"] != "no" and not inspect.isgeneratorfunction(source):
        raise UnsupportedError("fn.external_source: a callable has no end to cycle from")
    return ExternalSource(context, arguments)


def _takes_argument(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [p for p in parameters if p.default is p.empty]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(parameter.kind in positional for parameter in required)
