"""Tensors of PyTorch as arrays of JAX, by DLPack: shared, joined, sharded over devices.

Memory on a GPU needs care at the end of its life. JAX gives shared memory back as soon as nothing
in Python refers to the array, while computations that it has queued may still read it; PyTorch
would then use it for the next batch. So each tensor that JAX shares is kept by a `_Lent`, which
hears when JAX has given the memory back, and `_collect` frees it only after everything that JAX had
queued on that GPU by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from videoloader.errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    import jax


def import_jax() -> Any:
    """JAX; an error that says how to install it where it is absent."""
    try:
        import jax
        import jax.dlpack
    except ImportError as error:
        raise UnsupportedError(
            'videoloader.dali.plugin.jax needs JAX: pip install jax, or "jax[cuda13]" for a GPU'
        ) from error
    return jax


def to_jax(tensor: torch.Tensor) -> jax.Array:
    """An array with the memory of a tensor, on its device.

    JAX without `jax_enable_x64` makes 32 bits of elements of 64, in memory of its own; on the CPU
    it also copies memory that is not aligned to 64 bytes.
    """
    jax = import_jax()
    if not tensor.is_cuda:
        return jax.dlpack.from_dlpack(tensor.contiguous())
    _gpu(tensor.device.index)
    _collect()
    return jax.dlpack.from_dlpack(_lend(tensor.contiguous()))


def joined(name: str, tensors: Sequence[torch.Tensor]) -> jax.Array:
    """The batches of several pipelines as one array (pipelines, N, ...).

    Where each is on a GPU of its own, the array is sharded over them along its first dimension;
    nothing is copied then.
    """
    jax = import_jax()
    _check_shapes(name, tensors)
    shards = [to_jax(tensor.unsqueeze(0)) for tensor in tensors]
    devices = [_device(shard) for shard in shards]
    if len(set(devices)) == 1:
        return jax.numpy.concatenate(shards)
    if len(set(devices)) < len(devices):
        raise ArgumentError(
            f"output {name!r}: the pipelines are on {', '.join(map(str, devices))}; each needs a "
            "device of its own, or all the same one"
        )
    mesh = jax.sharding.Mesh(np.array(devices), ("pipeline",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("pipeline"))
    shape = (len(shards), *tensors[0].shape)
    return jax.make_array_from_single_device_arrays(shape, sharding, shards)


def sharded(name: str, tensors: Sequence[torch.Tensor], sharding: Any) -> jax.Array:
    """The batches of the pipelines of this process as rows of one array over all processes.

    Pipeline i gives the i-th block of rows that this process has. A block that several devices
    hold, as in a mesh that also divides the model, is copied to the others.

    Args:
        name: of the output, for errors.
        tensors: of one shape (N, ...).
        sharding: `jax.sharding.Sharding` that divides the first dimension only.
    """
    jax = import_jax()
    _check_shapes(name, tensors)
    shards = [to_jax(tensor) for tensor in tensors]
    num_rows, *rest = tensors[0].shape
    shape = (num_rows * num_row_blocks(sharding), *rest)
    parts = [
        shards[place] if _device(shards[place]) == device else jax.device_put(shards[place], device)
        for place, (_, devices) in enumerate(row_blocks(sharding))
        for device in devices
    ]
    return jax.make_array_from_single_device_arrays(shape, sharding, parts)


def num_row_blocks(sharding: Any) -> int:
    """Into how many blocks a sharding divides the first dimension, over all processes."""
    try:
        rows_of_devices = sharding.devices_indices_map(_probe(sharding))
    except (ValueError, IndexError) as error:  # it needs more dimensions than the first
        raise ArgumentError(
            f"a sharding of batches names the first dimension only, got {sharding}"
        ) from error
    return len({_start(rows) for rows in rows_of_devices.values()})


def row_blocks(sharding: Any) -> list[tuple[int, list[Any]]]:
    """Blocks of rows with devices in this process: their number, and the devices, in order."""
    shape = _probe(sharding)
    height = shape[0] // num_row_blocks(sharding)
    blocks: dict[int, list[Any]] = {}
    for device, rows in sharding.addressable_devices_indices_map(shape).items():
        blocks.setdefault(_start(rows) // height, []).append(device)
    return sorted(
        (block, sorted(devices, key=lambda device: device.id)) for block, devices in blocks.items()
    )


def _probe(sharding: Any) -> tuple[int]:
    """A shape whose rows any sharding of so many devices divides evenly."""
    return (len(sharding.device_set),)


def _start(rows: tuple[slice, ...]) -> int:
    return rows[0].start or 0


def _device(array: jax.Array) -> Any:
    (device,) = array.devices()
    return device


def _gpu(number: int) -> Any:
    """The device of JAX for a GPU, by its number for CUDA."""
    try:
        gpus = import_jax().local_devices(backend="gpu")
    except RuntimeError as error:
        raise UnsupportedError(
            'the batch is on a GPU, and this JAX has none: pip install "jax[cuda13]"'
        ) from error
    for gpu in gpus:
        if gpu.local_hardware_id == number:
            return gpu
    raise UnsupportedError(f"the batch is on GPU {number}, JAX has {', '.join(map(str, gpus))}")


def _check_shapes(name: str, tensors: Sequence[torch.Tensor]) -> None:
    shapes = sorted({tuple(tensor.shape) for tensor in tensors})
    if len(shapes) > 1:
        raise UnsupportedError(
            f"output {name!r}: the pipelines gave batches of shapes {', '.join(map(str, shapes))}, "
            "which make no array; give samples one shape, and use LastBatchPolicy.FILL or DROP"
        )


_given_back: deque[torch.Tensor] = deque()
_waiting: deque[tuple[torch.Tensor, jax.Array]] = deque()


class _Lent:
    """Owns a view of a tensor for JAX, and says when JAX has given it back.

    Finalizers run in any thread at any line, so this one does no more than to append to a deque.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.view(torch.uint8).__cuda_array_interface__

    def __del__(self) -> None:
        _given_back.append(self.tensor)


def _lend(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor with the memory of another, on a GPU, whose owner is a `_Lent`."""
    if tensor.numel() == 0:
        return tensor
    flat = tensor.reshape(-1)
    return torch.as_tensor(_Lent(flat), device=tensor.device).view(tensor.dtype).view(tensor.shape)


def _collect() -> None:
    """Free tensors that JAX gave back, once the GPU has finished earlier work.

    JAX runs the computations of a GPU in order: a small one that is queued now and done then says
    that those before are done too.
    """
    jax = import_jax()
    markers: dict[int, Any] = {}
    while _given_back:
        tensor = _given_back.popleft()
        number = tensor.device.index
        if number not in markers:
            with jax.default_device(_gpu(number)):
                markers[number] = jax.numpy.zeros(()) + 1
        _waiting.append((tensor, markers[number]))
    while _waiting and _waiting[0][1].is_ready():
        _waiting.popleft()
