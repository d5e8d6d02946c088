"""The one way to declare an operator; its checks and documentation come from here.

An operator is a function on a batch and a description of it::

    def _infer(context: Context, frames: Spec, *, angle: PerSample) -> Spec:
        return frames

    @declare(
        "turn",
        inputs=(Input("frames", FRAMES),),
        arguments=(Argument("angle", FLOAT, 0.0, "in degrees", per_sample=True),),
        infer=_infer,
    )
    def turn(context: Context, frames: Batch, *, angle: PerSample) -> Batch:
        \"\"\"Turn frames.\"\"\"

`infer` says what the outputs will be: shapes, which may be ragged, element type, layout, device.
It may also return a plan (`Planned`): values that are computed once from specs and arguments. The
function and the kernels get the plan, which is used again for equal batches. The function makes
the outputs in plain torch on any device: it is the reference. `kernels` may do the same faster on
one device. `videoloader.dali.fn` makes the public function from the declaration.

A *map* turns batches into batches, and may draw random numbers; a *source* opens a `Source`, which
feeds a pipeline; a *decode* turns a sample into a `PlannedClip`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.deprecated import NO_SEED, Deprecated
from videoloader.dali.operators.inputs import Input
from videoloader.dali.tensors.batch import Spec
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.spelling import did_you_mean

IGNORED = ("bytes_per_sample_hint", "preserve")
"""Arguments that every DALI operator takes; those that do not declare them have no use for them."""

Arguments = Mapping[str, Any]
"""Arguments by name."""

Part = tuple[str, Arguments]
"""Name and arguments of an operator that another one becomes."""

Check = Callable[[Collection[str], Mapping[str, Any]], None]
"""Looks at arguments together: gets the names given and the bound values."""

Function = TypeVar("Function", bound=Callable[..., Any])


def _same(context: Context, first: Spec, *others: Spec, **arguments: Any) -> Spec:
    return first


def _common_origins(infos: Sequence[Sequence[str]], arguments: Mapping[str, Any]) -> Sequence[str]:
    """The origin of each sample on which all inputs that know one agree; "" where they differ."""
    known = [info for info in infos if info]
    if len(known) == 1:
        return known[0]
    each = (set(filter(None, own)) for own in zip(*known, strict=True))
    return ["".join(own) if len(own) == 1 else "" for own in each]


def _no_check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Operator:
    """A declared operator.

    Args:
        name: public name below `videoloader.dali.fn`, such as "readers.video".
        run: for a map `run(context, *inputs, **arguments)` with a `Context` and a `Batch` for each
            input; gives a `Batch`, or a tuple of them. Arguments that may be per sample are
            `PerSample`s. It never writes to its inputs; views of them are fine. A source gets a
            `SourceContext` and its arguments, a decode the value of a sample and its arguments.
        doc: documentation, without the arguments.
        kind: what it is.
        inputs: the positional inputs.
        positional: arguments that may be given by position, behind the inputs.
        arguments: keyword arguments.
        devices: values of `device`; the first is the default.
        num_outputs: number of outputs without those of optional inputs, or a function that gives it
            for arguments.
        optional_outputs: whether an optional input that is given has an output of its own.
        output_names: names of the outputs for given arguments; a node then gives a dict of them.
        infer: for a map `infer(context, *specs, **arguments)`: the spec of the output, or a tuple
            of specs; by default that of the first input. Or `Planned`, which gives `run` and the
            kernels a plan in the place of the arguments: `run(context, *inputs, plan)`. None:
            nothing is known before it runs.
        kernels: in place of `run` by device type ("cpu", "cuda"), with the same signature. One
            may give a `Launch`, or NotImplemented, which leaves the batch to `run`.
        is_color_stage: whether it is a line or a matrix on colours, so that several in a row
            become one CUDA launch. Its plan has a `stage`, a `ColorStage`.
        draws: whether it draws random numbers (`Context.random`); it then takes a `seed`.
        absorb: gives the form of clips after the operator, for the form before it and arguments;
            None where a decoder cannot produce it. Decoders do not absorb operators without it.
        absorbed_per_sample: arguments that may differ between the samples of an absorbed operator.
        has_effects: whether it runs though no output of the pipeline needs it, and never twice for
            one sample.
        whole_batch: whether a sample of the output depends on others of the batch, so that threads
            cannot share it; or a function that says so for given arguments.
        in_workers: whether worker processes do its work on the CPU; the threads of a pipeline then
            do not share its batches.
        notes_failures: whether it has the failure policy of a pipeline decide on samples that
            fail, see `Context.note_failure`. Its batches are not shared by threads.
        owns_outputs: whether nothing else refers to the memory of its outputs, so that a pipeline
            may hand it to the user.
        is_elementwise: whether it gives the same values whatever the layout is.
        by_frames: whether it treats each frame of a clip as a sample if an argument, or an input
            after the first, has a value for each frame; else `run` takes `PerFrame`s.
        decoding: arguments that say how clips are decoded; `run` does not take them. An operator
            with any gives `PlannedClip`s, which become its outputs, the pictures first.
        color: name of the argument for the colour space of decoded pictures. The decoder gives RGB;
            `color_space_conversion` converts it afterwards.
        exclusive: groups of arguments; a call may give one of each group.
        check: looks at the arguments together; gets the names given and the bound values.
        unused: arguments of DALI's that have no meaning here; they are taken and not used.
        deprecated: deprecated arguments; `seed` is one of them where nothing is drawn.
        absent_devices: devices of DALI's operator that this one does not run on, and what to do.
        origins: gives the `source_info` of the outputs, for that of each input, which may be empty,
            and the arguments; by default what the inputs have in common.
        several: gives the arguments of each node of a call, for the given arguments and the name;
            None if the call makes one node.
        pair: gives two operators that a call becomes, with the arguments of each, for the given
            arguments and the names of those that are data nodes; the second runs on the first
            output of the first. None if the call becomes one node.
        returns_channels: whether the outputs have their channels where the first input has them;
            else last.
    """

    name: str
    run: Callable[..., Any]
    doc: str
    kind: Literal["map", "source", "decode"] = "map"
    inputs: tuple[Input, ...] = ()
    positional: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    devices: tuple[str, ...] = ("cpu", "gpu")
    num_outputs: int | Callable[[Mapping[str, Any]], int] = 1
    optional_outputs: bool = False
    output_names: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    infer: Callable[..., Spec | tuple[Spec, ...] | Planned] | None = _same
    kernels: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: MappingProxyType({}))
    is_color_stage: bool = False
    draws: bool = False
    absorb: Callable[[DecodedForm, Mapping[str, Any]], DecodedForm | None] | None = None
    absorbed_per_sample: tuple[str, ...] = ()
    has_effects: bool = False
    whole_batch: bool | Callable[[Mapping[str, Any]], bool] = False
    in_workers: bool = False
    notes_failures: bool = False
    owns_outputs: bool = False
    is_elementwise: bool = False
    by_frames: bool = False
    decoding: tuple[str, ...] = ()
    color: str = ""
    exclusive: tuple[tuple[str, ...], ...] = ()
    check: Check = _no_check
    unused: tuple[str, ...] = ()
    deprecated: tuple[Deprecated, ...] = ()
    absent_devices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    origins: Callable[[Sequence[Sequence[str]], Arguments], Sequence[str]] = _common_origins
    several: Callable[[Arguments, str | None], Sequence[Arguments] | None] | None = None
    pair: Callable[[Arguments, Set[str]], tuple[Part, Part] | None] | None = None
    returns_channels: bool = True

    per_sample: tuple[str, ...] = field(init=False)
    """Names of the arguments that may be per sample."""

    def __post_init__(self) -> None:
        names = tuple(each.name for each in self.arguments if each.per_sample)
        object.__setattr__(self, "per_sample", names)
        if not self.declares("seed") and "seed" not in self.unused:
            object.__setattr__(self, "deprecated", (*self.deprecated, NO_SEED))

    @property
    def shown(self) -> tuple[Argument, ...]:
        """The arguments of its signature: all but the deprecated ones."""
        old = {each.name for each in self.deprecated}
        return tuple(each for each in self.arguments if each.name not in old)

    @property
    def layouts(self) -> tuple[str, ...]:
        """Layouts of the first input."""
        return self.inputs[0].layouts if self.inputs else ()

    @property
    def has_draws(self) -> bool:
        """Whether its place among the operators that draw is part of the key of its draws."""
        return self.draws or self.kind != "map"

    def takes_whole_batch(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a sample of the output depends on others, with these arguments."""
        if callable(self.whole_batch):
            return self.whole_batch(arguments)
        return self.whole_batch

    def declares(self, name: str) -> bool:
        """Whether it has an argument of this name."""
        return any(argument.name == name for argument in self.arguments)

    def argument(self, name: str) -> Argument:
        """The declaration of an argument; an error that helps if there is none."""
        known = {argument.name: argument for argument in self.arguments}
        if name in known:
            return known[name]
        hint = did_you_mean([*known, "device", "name"], name) or f"it takes {', '.join(known)}"
        raise ArgumentError(f"fn.{self.name} has no argument {name!r}; {hint}")

    def current(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments under their current names; a DeprecationWarning for each deprecated one.

        A value of None counts as not given. Fails if an argument has both its old and its new name.
        """
        deprecated = {each.name: each for each in self.deprecated}
        if given.keys().isdisjoint(deprecated):
            return dict(given)
        taken = {name: value for name, value in given.items() if name not in deprecated}
        for name, value in given.items():
            if value is None or name not in deprecated:
                continue
            old = deprecated[name]
            new = old.renamed_to or name
            if taken.get(new) is not None:
                raise ArgumentTypeError(
                    f"fn.{self.name}: {name} is the old name of {new}; give {new}"
                )
            is_used = bool(old.renamed_to) or self.declares(name)
            old.warn(self.name, is_used=is_used)
            if is_used:
                taken[new] = value
        return taken

    def convert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check and convert arguments one by one, without the ones that have no effect."""
        taken = {
            name: (self.argument(name), value)
            for name, value in given.items()
            if name not in self.unused
            if name not in IGNORED or self.declares(name)
        }
        return {
            name: argument.bind(value, self.name)
            for name, (argument, value) in taken.items()
            if value is not None  # as if it was not given
        }

    def check_varying(self, names: Collection[str]) -> None:
        """Fail if an argument that is one for all samples is given by a data node."""
        for name in names:
            if not self.argument(name).per_sample:
                raise ArgumentTypeError(
                    f"fn.{self.name}: {name} is one for all samples, it cannot be a data node"
                )

    def bind(self, given: Mapping[str, Any], later: Collection[str] = ()) -> dict[str, Any]:
        """Check and convert arguments, and add the defaults of the others.

        Args:
            given: values by name.
            later: names whose values are known only when the graph runs.

        Returns:
            Converted values and `PerSample`s by name, without those of `later`.
        """
        bound = self.convert(given)
        self.check_varying(later)
        names = {*bound, *later}
        for argument in self.arguments:
            if argument.name not in names:
                if argument.default is REQUIRED:
                    raise ArgumentError(f"fn.{self.name} needs {argument.name}: {argument.doc}")
                bound[argument.name] = argument.default
        told = {name for name in names if bound.get(name, self) is not None}
        for group in self.exclusive:
            several = [name for name in group if name in told]
            if len(several) > 1:
                raise ArgumentError(f"fn.{self.name}: give {' or '.join(several)}, not both")
        self.check(told, bound)
        return bound

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs among values given by position, and the arguments."""
        is_open = any(each.is_repeated for each in self.inputs)
        most = max(len(values), len(self.inputs)) if is_open else len(self.inputs)
        least = sum(not each.is_optional for each in self.inputs)
        if not least <= len(values) <= most + len(self.positional):
            wanted = ", ".join(declared.name for declared in self.inputs) or "no input"
            raise ArgumentError(f"fn.{self.name} takes {wanted}; {len(values)} were given")
        return tuple(values[:most]), dict(zip(self.positional, values[most:], strict=False))

    def count_outputs(self, arguments: Mapping[str, Any], num_inputs: int) -> int:
        """Number of outputs for given arguments and a number of inputs."""
        optional = num_inputs - sum(not each.is_optional for each in self.inputs)
        count = self.num_outputs(arguments) if callable(self.num_outputs) else self.num_outputs
        return count + (optional if self.optional_outputs else 0)

    def inputs_for(self, count: int) -> tuple[Input, ...]:
        """The declarations of `count` inputs that were given."""
        last = self.inputs[-1:]
        if last and last[0].is_repeated and count > len(self.inputs):
            return self.inputs + last * (count - len(self.inputs))
        return self.inputs[:count]


OPERATORS: dict[str, Operator] = {}
"""Every declared operator by name."""


def declare(name: str, **description: Any) -> Callable[[Function], Function]:
    """Declare the decorated function an operator; its docstring is the operator's.

    Args:
        name: public name below `videoloader.dali.fn`.
        **description: fields of `Operator`; an input that is only a name takes any layout.
    """

    def register(run: Function) -> Function:
        if name in OPERATORS:
            raise ArgumentError(f"operator {name} is declared twice")
        inputs = tuple(
            Input(each) if isinstance(each, str) else each for each in description.pop("inputs", ())
        )
        OPERATORS[name] = Operator(
            name=name, run=run, doc=run.__doc__ or "", inputs=inputs, **description
        )
        return run

    return register
