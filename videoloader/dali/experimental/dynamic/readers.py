"""Readers of dynamic mode: classes whose objects are read epoch by epoch.

An object is a pipeline that has one reader and nothing else: orders, shards, prefetching and
failures are those of pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from videoloader.dali.experimental.dynamic.calls import runs_on
from videoloader.dali.experimental.dynamic.context import EvalContext
from videoloader.dali.experimental.dynamic.dtypes import DType, type_id
from videoloader.dali.experimental.dynamic.values import Batch, Tensor, wrapped
from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_functions
from videoloader.dali.ops.operator_class import class_name
from videoloader.dali.pipeline.pipeline import Pipeline
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.system.spelling import no_attribute

__all__ = ["Reader", "reader_classes"]


class Reader:
    """Goes through a set of files or records, epoch after epoch.

    Args:
        batch_size: of `next_epoch` without one; samples come singly if neither has one.
        name: of the reader in messages.
        device: "cpu" or "gpu".
        **given: arguments of the operator, see its documentation.

    The files are listed when the first epoch begins. A batch has always `batch_size` samples: where
    they do not divide the epoch, the last batch goes on with the first samples of the next one, or
    repeats its last sample with `pad_last_batch`.

    >>> from videoloader.dali.experimental import dynamic as ndd
    >>> reader = ndd.readers.File(file_root="videos/", file_filters=["*.mp4"])
    >>> for files, labels in reader.next_epoch(batch_size=2):  # bytes of files, and their classes
    ...     print(files.ndim, labels.torch().flatten().tolist())
    1 [0, 0]
    1 [1, 1]
    """

    _function: ClassVar[Function]

    def __init__(
        self,
        batch_size: int | None = None,
        name: str | None = None,
        device: Any = None,
        **given: Any,
    ) -> None:
        operator = self._function.operator
        if given.pop("enable_checkpointing", False):
            raise UnsupportedError(
                f"{operator.name}: readers of dynamic mode have no checkpoints; a Pipeline has"
            )
        self.batch_size, self.name = batch_size, name or operator.name
        self._place, kind = runs_on(operator, device)
        self._device = self._function.device_for(kind, ())
        given = operator.current({key: _constant(value) for key, value in given.items()})
        operator.bind(given)
        self._given = given
        self._pipeline: Pipeline | None = None
        self._size: int | None = None  # of the batches that the pipeline makes
        self._num_ended = 0  # epochs
        self._names: tuple[str, ...] | None = None

    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: bool = False
    ) -> Iterator[Any]:
        """The next epoch: tuples of `Batch`, or of `Tensor` where there is no batch size.

        Readers whose outputs have names, such as `TFRecord`, give dictionaries. An iterator that
        was left before its end has used up what it gave: the next epoch begins behind that.

        Args:
            batch_size: the same in each epoch.
            ctx: whose threads and device the reader uses from its first epoch on.
            capture: not supported.

        Raises:
            UnsupportedError: with `capture=True`; use a `Pipeline`.
            ArgumentError: another batch size than before.
        """
        if capture:
            raise UnsupportedError(
                f"{self.name}: capture=True is not supported; a Pipeline runs operators ahead"
            )
        size = self.batch_size if batch_size is None else batch_size
        return self._epoch(self._running(size, ctx), size)

    def get_metadata(self, batch_size: int | None = None) -> dict[str, Any]:
        """Size and sharding of the reader, with DALI's keys."""
        if self._pipeline is None:
            self._running(self.batch_size if batch_size is None else batch_size, None)
        assert self._pipeline is not None
        return self._pipeline.reader_meta(self.name)

    def close(self) -> None:
        """End the threads of the reader; its next epoch then begins at the first sample."""
        if self._pipeline is not None:
            self._pipeline.close()
        self._pipeline, self._num_ended = None, 0

    def _running(self, size: int | None, context: EvalContext | None) -> Pipeline:
        if self._pipeline is not None:
            if size != self._size:
                raise ArgumentError(
                    f"{self.name}: batch_size is {self._size} since its first epoch, got {size}; "
                    "a second reader can have another"
                )
            return self._pipeline
        context = context or EvalContext.current()
        place = context if self._place.device_type == "cpu" else self._place
        pipeline = Pipeline(
            batch_size=1 if size is None else size,
            num_threads=context.num_threads,
            device_id=None if self._device == "cpu" else place.device_id,
        )
        with pipeline:
            made = self._function.call(device=self._device, name=self.name, **self._given)
            self._names = tuple(made) if isinstance(made, dict) else None
            outputs = tuple(made.values()) if isinstance(made, dict) else made
            pipeline.set_outputs(*(outputs if isinstance(outputs, list | tuple) else (outputs,)))
        pipeline.build()
        self._pipeline, self._size = pipeline, size
        return pipeline

    def _epoch(self, pipeline: Pipeline, size: int | None) -> Iterator[Any]:
        epochs = pipeline.reader_epochs(self.name)
        count = epochs.batches(self._num_ended)
        if not epochs.pad_last_batch:
            count = -(-len(epochs.shard(self._num_ended)) // epochs.batch_size)
        for _ in range(count):
            outputs = tuple(map(wrapped, pipeline.run()))
            if size is None:
                outputs = tuple(batch.select(0) for batch in outputs)
            yield outputs if self._names is None else dict(zip(self._names, outputs, strict=True))
        self._num_ended += 1


def _constant(value: Any) -> Any:
    """An argument of a reader, which is the same in each epoch."""
    if isinstance(value, Batch):
        raise ArgumentError("a reader takes no batches as arguments")
    if isinstance(value, Tensor):
        return value.torch().tolist()
    return type_id(value) if isinstance(value, DType) else value


def reader_classes(module: str) -> dict[str, type[Reader]]:
    """The readers of a module below `fn`, such as "readers", by the names of their classes."""
    return {
        class_name(name): type(
            class_name(name),
            (Reader,),
            {"_function": function, "__doc__": function.__doc__, "__module__": __name__},
        )
        for name, function in public_functions(module).items()
        if not function.instead and function.operator.kind == "source"
    }


globals().update(reader_classes("readers"))
__all__ += sorted(reader_classes("readers"))


def __getattr__(name: str) -> Any:
    raise no_attribute(__name__, name, __all__)
