"""The context of an operator's call, and the plan that a node keeps of its last call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from videoloader.dali.operators.launches import Launches
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, VideoError

T = TypeVar("T")


class SampleError(Exception):
    """A sample of a batch failed."""

    def __init__(self, position: int, error: Exception) -> None:
        super().__init__(position, error)
        self.position = position
        self.error = error


class Sample(NamedTuple):
    """One element of a batch that a source gives: a tensor with its layout, or a path.

    `source_info` says where it comes from, such as its file; "" when unknown.
    """

    value: Any
    layout: str = ""
    source_info: str = ""


def _no_generator(position: int, into: Any = None) -> np.random.Generator:
    raise ArgumentError(f"no random numbers for sample {position}: the operator does not draw")


def _raise_failure(position: int, error: VideoError) -> None:
    """Have a sample that fails end the batch."""
    raise SampleError(position, error) from error


def allocate(output: int, spec: Spec) -> Batch:
    """Memory of its own for an output."""
    return Batch.empty(spec)


@dataclass(frozen=True, slots=True)
class Planned:
    """Result of `infer`: the specs and a plan.

    Attributes:
        outputs: the specs of the outputs.
        plan: what follows from specs and arguments, such as axes, windows, matrices or tables.
            `run` and the kernels get it in the place of the arguments, as `plan`.
    """

    outputs: tuple[Spec, ...]
    plan: Any


def once_for_equal(function: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
    """The function of each row of some columns; equal rows share one call and its result."""
    rows = list(zip(*columns, strict=True))
    made = {row: function(*row) for row in dict.fromkeys(rows)}
    return [made[row] for row in rows]


@dataclass(slots=True)
class Inferred:
    """Result of `infer` for a call. A node keeps the last one for each number of samples.

    Attributes:
        inputs: what went in.
        outputs: the specs of the outputs.
        arguments: with a `PerSample` for each that may be one.
        taken: what `run` and the kernels take: the plan, or the arguments without one.
        launches: those of a GPU, where they can be repeated.
    """

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    arguments: Mapping[str, Any]
    taken: Mapping[str, Any]
    launches: Launches | None = None


@dataclass(slots=True)
class Context:
    """The context of an operator's call: all but its inputs and arguments.

    Attributes:
        count: samples in the batch.
        device: torch device that the operator runs on, such as "cpu" or "cuda:0".
        random: gives the random generator of a sample, by its position; for operators that draw. A
            second argument is a generator to reuse, see `sampling.generator`.
        allocate: gives uninitialised memory for an output of a spec, such as a part of the
            memory that the pipeline hands out.
        outputs: what `infer` said of the outputs; set before `run`.
        workers: processes that decode on the CPU, if that is given.
        inferred: what is known from earlier calls with the same arguments, by the number of
            samples; None where arguments may differ.
        note_failure: takes the position and the error of a sample that fails. It raises a
            `SampleError`, unless the failure policy of a pipeline goes on: the operator then gives
            a blank for this sample. For operators that declare `notes_failures`.
    """

    count: int
    device: str = "cpu"
    random: Callable[..., np.random.Generator] = _no_generator
    allocate: Callable[[int, Spec], Batch] = allocate
    outputs: tuple[Spec, ...] = ()
    workers: int | None = None
    inferred: dict[int, Inferred] | None = None
    note_failure: Callable[[int, VideoError], None] = _raise_failure

    def empty(self, output: int = 0) -> Batch:
        """Uninitialised memory for an output; one block unless its shapes are ragged."""
        return self.allocate(output, self.outputs[output])

    def draws(self) -> Iterator[np.random.Generator]:
        """The random generator of each sample, good until the next one is asked for."""
        rng: np.random.Generator | None = None
        for position in range(self.count):
            rng = self.random(position, rng)
            yield rng

    @property
    def stream(self) -> Any:
        """The CUDA stream that the work of the operator belongs on; None on the CPU."""
        return torch.cuda.current_stream(self.device) if self.device.startswith("cuda") else None
