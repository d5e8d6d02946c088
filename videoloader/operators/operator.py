"""The one way to declare an operator; its calls, checks and documentation all come from here.

An operator is a plain function on one sample and a description of it::

    @declare(
        "flip",
        inputs=("frames",),
        layouts=FRAMES,
        arguments=(Argument("horizontal", BOOL, 1, "swap left and right", per_sample=True),),
    )
    def flip(frames: torch.Tensor, *, horizontal: bool) -> torch.Tensor:
        \"\"\"Mirror frames.\"\"\"

`videoloader.fn` makes the public function from it. A *map* turns samples into samples; a *draw*
takes a random generator in place of inputs; a *source* opens a `Source`, which feeds a pipeline;
a *decode* turns a sample into a `PlannedClip`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import torch

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.operators.arguments import REQUIRED, Argument
from videoloader.operators.decoded import DecodedForm

__all__ = [
    "FRAMES",
    "OPERATORS",
    "Operator",
    "Sample",
    "Source",
    "SourceContext",
    "declare",
]

FRAMES = ("HWC", "FHWC", "CHW", "FCHW")
"""Layouts of an image and of a clip. Kernels see channels last: (..., H, W, C)."""

IGNORED = ("bytes_per_sample_hint", "preserve")
"""Arguments of every DALI operator that have no meaning here; they are taken and not used."""

_UNNAMED = {3: "HWC", 4: "FHWC"}

Function = TypeVar("Function", bound=Callable[..., Any])


class Sample(NamedTuple):
    """One value on its way through a graph: a tensor with its layout, or a path."""

    value: Any
    layout: str = ""


class Source(Protocol):
    """Feeds a pipeline: `plan` decides what is in a batch."""

    def plan(self, iteration: int) -> Sequence[Any]:
        """The samples of batch `iteration`; StopIteration when there is no more.

        Called in one thread, in order. A sample is a `PlannedClip`, or a tuple with a `Sample` for
        each output.
        """
        ...

    def reset(self) -> None:
        """Begin again, after `plan` has raised StopIteration."""
        ...

    def meta(self) -> dict[str, Any] | None:
        """What a reader tells of its epochs, None for other sources."""
        ...


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source may know of the pipeline that it feeds."""

    name: str
    stage: int
    seed: int
    batch_size: int
    num_threads: int


def _one(arguments: Mapping[str, Any]) -> int:  # noqa: ARG001  (the signature of num_outputs)
    return 1


def _no_check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Operator:
    """A declared operator.

    Args:
        name: public name below `videoloader.fn`, such as "readers.video".
        run: the kernel: `run(*inputs, **arguments)` for a map or a decode, `run(generator,
            **arguments)` for a draw, `run(context, **arguments)` for a source. Kernels of maps that
            declare layouts take (..., H, W, C), whatever stands in front: one frame, a clip, or a
            batch of clips.
        doc: documentation, without the arguments.
        kind: what it is.
        inputs: names of the positional inputs.
        positional: arguments that may be given by position, for operators without inputs.
        layouts: layouts that the first input may have; none: anything goes.
        arguments: keyword arguments.
        devices: values of `device`; the first is the default.
        num_outputs: number of outputs for given arguments.
        result_layout: layout of the outputs for the layout of the first input; by default the
            same. Where given, the kernel sees the input as it is.
        context: further keywords that the kernel takes: "device" (a torch device string) and
            "empty" (allocates the result, as `torch.empty`; the pipeline hands out memory
            of the batch).
        absorb: the form of clips behind the operator, of the form before it and the arguments;
            None where a decoder cannot give it. Operators without this are never done by a decoder.
        absorbed_per_sample: arguments that may differ between the samples of an absorbed operator.
        is_elementwise: whether `run` takes tensors of any dimensions and keeps their shape.
        decoding: arguments that say how clips are decoded, which `run` does not take. What has any
            gives clips: `PlannedClip`s become its outputs, the pictures first.
        check: looks at the arguments together; gets the names given and the bound values.
        absent: arguments of DALI's that are not there yet, with the one value that is harmless.
        unused: arguments of DALI's that have no meaning here; they are taken and not used.
    """

    name: str
    run: Callable[..., Any]
    doc: str
    kind: Literal["map", "draw", "source", "decode"] = "map"
    inputs: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    devices: tuple[str, ...] = ("cpu", "gpu")
    num_outputs: Callable[[Mapping[str, Any]], int] = _one
    result_layout: Callable[[str, Mapping[str, Any]], str] | None = None
    context: tuple[str, ...] = ()
    absorb: Callable[[DecodedForm, Mapping[str, Any]], DecodedForm | None] | None = None
    absorbed_per_sample: tuple[str, ...] = ()
    is_elementwise: bool = False
    decoding: tuple[str, ...] = ()
    check: Callable[[Collection[str], Mapping[str, Any]], None] = _no_check
    absent: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    unused: tuple[str, ...] = ()

    @property
    def takes_batches(self) -> bool:
        """Whether one call may take the samples of a batch together, if their arguments agree."""
        return self.kind == "map" and (bool(self.layouts) or self.is_elementwise)

    def declares(self, name: str) -> bool:
        """Whether it has an argument of this name."""
        return any(argument.name == name for argument in self.arguments)

    def argument(self, name: str) -> Argument:
        """The declaration of an argument; an error that helps if there is none."""
        known = {argument.name: argument for argument in self.arguments}
        if name in known:
            return known[name]
        if name in self.absent:
            raise UnsupportedError(f"fn.{self.name}: {name} is not supported yet")
        close = difflib.get_close_matches(name, [*known, "device", "name"], n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"it takes {', '.join(known)}"
        raise ArgumentError(f"fn.{self.name} has no argument {name!r}; {hint}")

    def bind(self, given: Mapping[str, Any], later: Collection[str] = ()) -> dict[str, Any]:
        """Check and convert arguments, and add the defaults of the others.

        Args:
            given: values by name.
            later: names whose values are known only when the graph runs.

        Returns:
            Converted values and `PerSample`s by name, without those of `later`.
        """
        bound: dict[str, Any] = {}
        for name, value in given.items():
            if name in self.unused or name in IGNORED or self._is_harmless(name, value):
                continue
            bound[name] = self.argument(name).bind(value, self.name)
        for name in later:
            if not self.argument(name).per_sample:
                raise ArgumentError(
                    f"fn.{self.name}: {name} is one for all samples, it cannot be a data node"
                )
        names = {*bound, *later}
        for argument in self.arguments:
            if argument.name not in names:
                if argument.default is REQUIRED:
                    raise ArgumentError(f"fn.{self.name} needs {argument.name}: {argument.doc}")
                bound[argument.name] = argument.default
        self.check({name for name in names if bound.get(name, self) is not None}, bound)
        return bound

    def apply(
        self,
        inputs: Sequence[Sample],
        arguments: Mapping[str, Any],
        context: Mapping[str, Any],
        leading: int = 0,
    ) -> tuple[Sample, ...]:
        """Run a map on one sample, or on samples of one shape that lie in one tensor.

        Args:
            inputs: one sample an input.
            arguments: a converted value for every argument.
            context: a value for each name of `self.context`.
            leading: dimensions in front of those of a sample, with `takes_batches`.
        """
        layout, first = inputs[0].layout, inputs[0].value
        rest = [sample.value for sample in inputs[1:]]
        if self.layouts:
            layout = self._check_layout(first, layout, leading)
            if self.result_layout is None:
                first = _channels_last(first, layout)
        results = self.run(first, *rest, **arguments, **context)
        results = results if isinstance(results, tuple) else (results,)
        if self.result_layout is not None:
            layout = self.result_layout(layout, arguments)
        elif self.layouts:
            results = tuple(_channels_back(result, layout) for result in results)
        return tuple(
            Sample(result, layout if len(layout) == getattr(result, "ndim", -1) - leading else "")
            for result in results
        )

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs among values given by position, and the arguments."""
        if not len(self.inputs) <= len(values) <= len(self.inputs) + len(self.positional):
            wanted = ", ".join(self.inputs) or "no input"
            raise ArgumentError(f"fn.{self.name} takes {wanted}; {len(values)} were given")
        rest = values[len(self.inputs) :]
        return tuple(values[: len(self.inputs)]), dict(zip(self.positional, rest, strict=False))

    def _is_harmless(self, name: str, value: Any) -> bool:
        return name in self.absent and (value is None or value == self.absent[name])

    def _check_layout(self, value: Any, layout: str, leading: int) -> str:
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(f"fn.{self.name} takes tensors, got a {type(value).__name__}")
        layout = layout or _UNNAMED.get(value.ndim - leading, "")
        if layout not in self.layouts:
            raise ArgumentError(
                f"fn.{self.name} takes layouts {', '.join(self.layouts)}; got "
                f"{layout or 'no layout'} with shape {tuple(value.shape)}"
            )
        return layout


OPERATORS: dict[str, Operator] = {}
"""Every declared operator by name."""


def declare(name: str, **description: Any) -> Callable[[Function], Function]:
    """Declare the decorated kernel an operator; its docstring is the operator's.

    Args:
        name: public name below `videoloader.fn`.
        **description: fields of `Operator`.
    """

    def register(run: Function) -> Function:
        if name in OPERATORS:
            raise ArgumentError(f"operator {name} is declared twice")
        OPERATORS[name] = Operator(name=name, run=run, doc=run.__doc__ or "", **description)
        return run

    return register


def _channels_last(value: torch.Tensor, layout: str) -> torch.Tensor:
    return value.movedim(-3, -1) if layout.endswith("CHW") else value


def _channels_back(value: torch.Tensor, layout: str) -> torch.Tensor:
    return value.movedim(-1, -3) if layout.endswith("CHW") else value
