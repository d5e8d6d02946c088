"""`data_iterator`: pipelines for all devices and their iterator from one function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.jax.arrays import import_jax, num_row_blocks, row_blocks
from videoloader.dali.plugin.jax.iterator import GenericIterator, PeekableIterator
from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    import jax

_NUM_THREADS = 4  # of a pipeline, as in DALI


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
