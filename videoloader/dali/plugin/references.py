"""References: placeholders in DataLoader workers for data that the main process makes.

A worker imports nothing else of this package, and no pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import get_worker_info
from torch.utils.data._utils.collate import default_collate_fn_map

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.training.shared_records import shared

_WORTH_SHARING = 1 << 18
"""Bytes of an input of a batch from which shared memory is cheaper than a pipe."""

_ALIGNED = 64


@dataclass(slots=True, eq=False)
class Call:
    """One call of a proxy: the inputs of the pipeline for one sample.

    Attributes:
        server: the key of the server whose proxy was called.
        inputs: by name.
        worker: number of the DataLoader worker that called; None for the main process.
    """

    server: str
    inputs: dict[str, Any]
    worker: int | None

    def value(self, name: str) -> Any:
        """An input, as it was given."""
        value = self.inputs[name]
        return value.array() if isinstance(value, _Row) else value


@dataclass(slots=True, eq=False)
class SampleReference:
    """Stands for one output of the pipeline for one sample, until a server puts a tensor there."""

    call: Call
    output: int

    def __repr__(self) -> str:
        return f"SampleReference(output {self.output}, not made yet: see Server.produce_data)"


@dataclass(slots=True, eq=False)
class BatchReference:
    """Stands for one output of the pipeline for several samples, as `SampleReference` for one."""

    calls: list[Call]
    output: int

    def __repr__(self) -> str:
        return (
            f"BatchReference({len(self.calls)} samples of output {self.output}, not made yet: see "
            "Server.produce_data)"
        )


class Proxy:
    """Stands for a pipeline in a data set: takes the inputs of a sample, gives references.

    It is small and goes into workers of any start method. The inputs are arrays, images of PIL,
    tensors (of workers on the CPU), bytes, numbers or paths. They are kept until the batch is sent,
    so they are not to be written to.
    """

    def __init__(self, server: str, inputs: Sequence[str], num_outputs: int) -> None:
        self._server = server
        self._inputs = tuple(inputs)
        self._num_outputs = num_outputs

    def __call__(self, *values: Any, **inputs: Any) -> Any:
        """The outputs of the pipeline for a sample, to be made later.

        Args:
            *values: the input, if the pipeline has one.
            **inputs: the inputs by name.

        Returns:
            A `SampleReference`, or a tuple with one for each output of the pipeline.
        """
        given = self._bound(values, inputs)
        info = get_worker_info()
        call = Call(self._server, given, None if info is None else info.id)
        references = tuple(SampleReference(call, output) for output in range(self._num_outputs))
        return references[0] if len(references) == 1 else references

    def __repr__(self) -> str:
        return f"Proxy({', '.join(self._inputs)}: {self._num_outputs} outputs)"

    def _bound(self, values: Sequence[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        if len(values) == 1 and len(self._inputs) == 1 and not inputs:
            inputs = {self._inputs[0]: values[0]}
        elif values or set(inputs) != set(self._inputs):
            got = [type(value).__name__ for value in values]
            got += [f"{name}={type(value).__name__}" for name, value in inputs.items()]
            wanted = ", ".join(f"{name}=..." for name in self._inputs)
            raise ArgumentTypeError(
                f"the proxy is called as proxy({wanted})"
                f"{' or proxy(...)' if len(self._inputs) == 1 else ''}, "
                f"got proxy({', '.join(got)})"
            )
        return {name: _plain(inputs[name]) for name in self._inputs}


def collate_references(
    samples: Sequence[SampleReference],
    *,
    collate_fn_map: Any = None,  # noqa: ARG001
) -> BatchReference:
    """The reference to a batch of samples; `default_collate` calls it.

    The samples are of one output, and of any calls of one proxy.
    """
    if not samples or not all(isinstance(sample, SampleReference) for sample in samples):
        kinds = sorted({type(sample).__name__ for sample in samples})
        raise ArgumentTypeError(
            f"a batch of references has references only, got {', '.join(kinds) or 'none'}"
        )
    if len({(sample.call.server, sample.output) for sample in samples}) > 1:
        raise ArgumentError("the references of a batch are of one proxy and of one of its outputs")
    calls = [sample.call for sample in samples]
    if get_worker_info() is not None:
        _share(calls)
    return BatchReference(calls, samples[0].output)


default_collate_fn_map[SampleReference] = collate_references


@dataclass(slots=True, eq=False)
class _Row:
    """An array in memory that the inputs of a batch share."""

    memory: torch.Tensor
    offset: int
    shape: tuple[int, ...]
    dtype: str

    def array(self) -> NDArray[Any]:
        return np.ndarray(self.shape, self.dtype, self.memory.numpy(), offset=self.offset)


def _plain(value: Any) -> Any:
    """Tensors and images as arrays, which need no shared memory each."""
    if isinstance(value, torch.Tensor) and value.is_cuda:  # of the main process, for its thread
        torch.cuda.current_stream(value.device).synchronize()
        return value
    if isinstance(value, torch.Tensor) and value.is_cpu and value.dtype is not torch.bfloat16:
        return value.detach().numpy()
    return np.asarray(value) if hasattr(value, "__array_interface__") else value


def _share(calls: Sequence[Call]) -> None:
    """Put large arrays of a batch into one block of shared memory for each input."""
    for name in calls[0].inputs:
        arrays = {id(call): call.inputs[name] for call in calls}  # a call may come twice
        if not all(isinstance(a, np.ndarray) and a.dtype.kind in "biufc" for a in arrays.values()):
            continue
        if sum(array.nbytes for array in arrays.values()) < _WORTH_SHARING:
            continue
        sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays.values()]
        memory = shared(torch.empty(sum(sizes), dtype=torch.uint8))
        offset, rows = 0, {}
        for (key, array), size in zip(arrays.items(), sizes, strict=True):
            rows[key] = _Row(memory, offset, array.shape, array.dtype.str)
            rows[key].array()[...] = array
            offset += size
        for call in calls:
            call.inputs[name] = rows[id(call)]
