"""Pipelines as iterators over dicts of JAX arrays."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.plugin.dense import dense
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.iteration import BatchIterator
from videoloader.dali.plugin.jax.arrays import (
    import_jax,
    joined,
    num_row_blocks,
    row_blocks,
    sharded,
    to_jax,
)
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.system.forking import in_turn

if TYPE_CHECKING:
    import jax

Arrays = dict[str, "jax.Array"]
_NUM_THREADS = 4  # of a pipeline, as in DALI


class GenericIterator(BatchIterator[Arrays]):
    """Iterates over pipelines that run in step, epoch by epoch.

    Each item is a dict from output name to a `jax.Array`. With one pipeline that is (N, ...) on the
    device of its output. Several give (pipelines, N, ...), sharded over their GPUs along the first
    dimension, or on the CPU if they are there; with `sharding` they give (all N, ...). On a GPU
    arrays share the memory of the pipeline's output.

    Args:
        pipelines: one, or several with the same batch size. With `sharding` one for each block of
            rows that this process has, in their order.
        last_batch_policy: PARTIAL, which DALI refuses, only with one pipeline and no `sharding`:
            shards of an array have one shape. A smaller batch makes JAX compile functions anew.
        sharding: a `jax.sharding.Sharding` that divides the first dimension over devices, of this
            process and others.
        output_map, size, reader_name, auto_reset, last_batch_padded, prepare_first_batch: as in
            `videoloader.dali.plugin.pytorch.GenericIterator`.

    Elements of 64 bits become 32 bits, unless JAX runs with `jax_enable_x64`.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: jax.sharding.Sharding | None = None,
    ) -> None:
        jax = import_jax()
        count = 1 if isinstance(pipelines, Pipeline) else len(pipelines)
        if sharding is not None and not isinstance(sharding, jax.sharding.Sharding):
            raise ArgumentError(f"sharding must be a jax.sharding.Sharding, got {sharding!r}")
        if sharding is not None and count != (blocks := len(row_blocks(sharding))):
            raise ArgumentError(
                f"the sharding has {blocks} blocks of rows in this process, for {count} pipelines; "
                "each pipeline gives one"
            )
        if last_batch_policy is LastBatchPolicy.PARTIAL and (count > 1 or sharding is not None):
            raise ArgumentError(
                "LastBatchPolicy.PARTIAL gives shards of several sizes, which make no array of "
                "JAX; use FILL or DROP"
            )
        self._sharding = sharding
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            last_batch_padded=last_batch_padded,
            last_batch_policy=last_batch_policy,
            prepare_first_batch=prepare_first_batch,
        )

    def _item(self, batches: Sequence[tuple[Sequence[TensorList], int]]) -> Arrays:
        return {
            name: self._array(name, [dense(name, outputs[at], count) for outputs, count in batches])
            for at, name in enumerate(self.output_map)
        }

    def _array(self, name: str, tensors: Sequence[Any]) -> jax.Array:
        if self._sharding is not None:
            return sharded(name, tensors, self._sharding)
        return to_jax(tensors[0]) if len(tensors) == 1 else joined(name, tensors)


class ClassificationIterator(GenericIterator):
    """`GenericIterator` over pipelines with two outputs, which it names "data" and "label"."""

    def __init__(
        self, pipelines: Pipeline | Sequence[Pipeline], *arguments: Any, **keywords: Any
    ) -> None:
        super().__init__(pipelines, ["data", "label"], *arguments, **keywords)


class PeekableIterator(GenericIterator):
    """`GenericIterator` that can show the next batch without taking it.

    Its outputs keep their shapes and element types; a batch that differs raises
    `UnsupportedError`. States of it do not count a batch that was only peeked at.

    The arguments are those of `GenericIterator`.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._peeked: Arrays | None = None
        self._spec: dict[str, jax.ShapeDtypeStruct] | None = None
        self._before: tuple[dict[str, Any], list[bytes]] | None = None
        self._thread: ThreadPoolExecutor | None = None

    @in_turn
    def peek(self) -> Arrays:
        """The next batch, which `next` gives too; raises StopIteration at the end of an epoch."""
        if self._peeked is None:
            self._before = None
            with contextlib.suppress(ArgumentError):  # the pipelines keep no states
                self._before = super().state_dict(), super().checkpoints()
            self._peeked = self._checked(super().__next__())
        return self._peeked

    @in_turn
    def peek_async(self) -> Future[Arrays]:
        """`peek` in a thread; the batch is the next one only if nothing asks for it before."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="videoloader-peek")
        return self._thread.submit(self.peek)

    @property
    def element_spec(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and element type of each output; this peeks at the first batch."""
        if self._spec is None:
            self.peek()
        assert self._spec is not None
        return dict(self._spec)

    @in_turn
    def __iter__(self) -> Self:
        return self if self._peeked is not None else super().__iter__()

    @in_turn
    def __next__(self) -> Arrays:
        if self._peeked is None:
            return self._checked(super().__next__())
        peeked, self._peeked, self._before = self._peeked, None, None
        return peeked

    @in_turn
    def reset(self) -> None:
        """Begin the next epoch; while a batch is peeked at, this warns and does nothing."""
        if self._peeked is None:
            super().reset()
        else:
            message = "reset() before the batch that was peeked at is taken does nothing"
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    @in_turn
    def state_dict(self) -> dict[str, Any]:
        """As in `GenericIterator`."""
        return super().state_dict() if self._before is None else self._before[0]

    @in_turn
    def checkpoints(self) -> list[bytes]:
        """As in `GenericIterator`."""
        return super().checkpoints() if self._before is None else self._before[1]

    @in_turn
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As in `GenericIterator`."""
        super().load_state_dict(state)
        self._peeked = self._before = None

    def close(self) -> None:
        """Close the pipelines."""
        if self._thread is not None:
            self._thread.shutdown()
        super().close()

    def _checked(self, arrays: Arrays) -> Arrays:
        struct = import_jax().ShapeDtypeStruct
        spec = {name: struct(array.shape, array.dtype) for name, array in arrays.items()}
        if self._spec is None:
            self._spec = spec
        for name, found in spec.items():
            if found != self._spec[name]:
                raise UnsupportedError(
                    f"output {name!r} is {found.dtype}{list(found.shape)}, the batches before it "
                    f"{self._spec[name].dtype}{list(self._spec[name].shape)}; a peekable iterator "
                    "needs outputs of one shape: resize or crop them in the pipeline"
                )
        return arrays


def data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    *,
    sharding: jax.sharding.Sharding | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> Any:
    """Make a function that defines a pipeline into one that makes a `GenericIterator`.

    The function that comes out takes the arguments of the definition and of `Pipeline`
    (`batch_size`, `num_threads`, `seed`, ...), and `checkpoints`, from `checkpoints()` of an
    iterator. With `sharding` or `devices` it makes a pipeline for each block of rows, or device;
    the definition then takes `shard_id` and `num_shards`, for its reader. `batch_size` is that of
    all of them together.

    Args:
        pipeline_fn: the definition, where the decorator has no other arguments.
        output_map: a name for each output.
        sharding: as in `GenericIterator`; arrays are (batch_size, ...).
        devices: give arrays (devices, batch_size / devices, ...), one pipeline each; not together
            with `sharding`.
        **options: the other arguments of `GenericIterator`.
    """
    return _decorator(GenericIterator, pipeline_fn, output_map, sharding, devices, options)


def peekable_data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    *,
    sharding: jax.sharding.Sharding | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> Any:
    """`data_iterator` that makes a `PeekableIterator`."""
    return _decorator(PeekableIterator, pipeline_fn, output_map, sharding, devices, options)


def _decorator(
    kind: type[GenericIterator],
    pipeline_fn: Callable[..., Any] | None,
    output_map: Sequence[str],
    sharding: Any,
    devices: Sequence[Any] | None,
    options: dict[str, Any],
) -> Any:
    if sharding is not None and devices is not None:
        raise ArgumentError("sharding excludes devices")

    def decorate(definition: Callable[..., Any]) -> Callable[..., GenericIterator]:
        @functools.wraps(definition)
        def make(
            *args: Any, checkpoints: Sequence[bytes | str] | None = None, **given: Any
        ) -> GenericIterator:
            places = _places(sharding, devices, given)
            if checkpoints is not None and len(checkpoints) != len(places):
                raise ArgumentError(f"{len(checkpoints)} checkpoints for {len(places)} pipelines")
            pipelines = []
            for number, place in enumerate(places):
                arguments = {"num_threads": _NUM_THREADS} | given | place
                if checkpoints is not None:
                    arguments["checkpoint"] = checkpoints[number]
                pipelines.append(pipeline_def(definition)(*args, **arguments))
            return kind(pipelines, output_map, sharding=sharding, **options)

        return make

    return decorate if pipeline_fn is None else decorate(pipeline_fn)


def _places(
    sharding: Any, devices: Sequence[Any] | None, given: dict[str, Any]
) -> list[dict[str, Any]]:
    """The arguments of each pipeline that say which part of a batch it makes, and where."""
    if sharding is None and devices is None:
        (device, *_) = import_jax().local_devices()
        return [{} if "device_id" in given else {"device_id": _gpu(device)}]
    if sharding is None:
        blocks = [(place, [device]) for place, device in enumerate(devices or ())]
        count = len(blocks)
    else:
        blocks, count = row_blocks(sharding), num_row_blocks(sharding)
    batch_size = given.get("batch_size", 0)
    if batch_size < 1 or batch_size % count:
        raise ArgumentError(
            f"batch_size is that of all {count} pipelines and must be a multiple of their number, "
            f"got {batch_size}"
        )
    return [
        {
            "batch_size": batch_size // count,
            "device_id": _gpu(holders[0]),
            "shard_id": block,
            "num_shards": count,
        }
        for block, holders in blocks
    ]


def _gpu(device: Any) -> int | None:
    """`device_id` of a pipeline for a device of JAX; None if that is no GPU."""
    return device.local_hardware_id if device.platform == "gpu" else None
