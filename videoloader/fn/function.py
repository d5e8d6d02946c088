"""From a declared operator to a public function: eager on tensors, a node in a definition."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import REQUIRED, Argument, PerSample
from videoloader.operators.operator import FRAMES, OPERATORS, Operator, Sample
from videoloader.pipeline.graph import DataNode, current_graph, is_defining
from videoloader.readers import media
from videoloader.readers.clip_decoding import SampleError, decode_planned
from videoloader.readers.decoder import LIMITS
from videoloader.sampling import generator
from videoloader.tensors import TensorList

__all__ = ["Function"]

_MOST_CHANNELS = 4  # of a picture whose layout is told by its shape


class Function:
    """A public operator: checks its arguments, then runs at once or becomes a node of a graph."""

    def __init__(self, name: str) -> None:
        self._operator = OPERATORS[name]
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = f"fn.{name}"
        self.__doc__ = documentation(self._operator)
        self.__signature__ = _signature(self._operator)

    def __call__(
        self,
        *values: Any,
        device: str | None = None,
        name: str | None = None,
        layout: str | None = None,
        **given: Any,
    ) -> Any:
        """See the documentation of the operator."""
        operator = self._operator
        inputs, positional = operator.split(values)
        given = {**positional, **given}
        if layout is not None and operator.declares("layout"):
            given["layout"], layout = layout, None
        device = _device(operator, device, inputs)
        if is_defining():
            if layout is not None:
                raise ArgumentError(
                    f"fn.{operator.name}: layout is for eager calls; in a pipeline data has its own"
                )
            return _add_node(operator, inputs, device, name, given)
        if operator.kind == "source":
            raise ArgumentError(
                f"fn.{operator.name} belongs in the definition of a pipeline (@pipeline_def)"
            )
        if any(isinstance(value, DataNode) for value in (*inputs, *given.values())):
            raise ArgumentError(f"fn.{operator.name}: data nodes have no values outside a pipeline")
        bound = operator.bind(given)
        if operator.kind == "draw":
            return _draw(operator, bound)
        return _map(operator, inputs, bound, device, layout)

    def __repr__(self) -> str:
        return f"<operator {self.__qualname__}>"


def documentation(operator: Operator) -> str:
    """Docstring of an operator: what it does, and every argument."""
    lines = [inspect.cleandoc(operator.doc), ""]
    if operator.inputs:
        layouts = f" ({', '.join(operator.layouts)})" if operator.layouts else ""
        lines += ["Inputs:", *(f"    {name}{layouts}" for name in operator.inputs), ""]
    lines.append("Args:")
    lines += [_describe(argument) for argument in operator.arguments]
    lines.append(f"    device: {' or '.join(map(repr, operator.devices))}.")
    lines.append("    name: of the operator in its pipeline, for errors and `reader_meta`.")
    if operator.layouts:
        text = (
            "layout: of tensors in an eager call, such as FCHW; by default the one that fits "
            "their shape, if only one does (1 to 4 channels)."
        )
        lines.append(textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8))
    if operator.absent:
        lines += [
            "",
            textwrap.fill(f"Not supported yet: {', '.join(sorted(operator.absent))}.", 96),
        ]
    if operator.unused:
        lines += ["", textwrap.fill(f"Taken, no effect: {', '.join(sorted(operator.unused))}.", 96)]
    return "\n".join(lines)


def _describe(argument: Argument) -> str:
    facts = [argument.describe()]
    if argument.default is REQUIRED:
        facts.append("required")
    elif argument.default is not None:
        facts.append(f"default {argument.default!r}")
    if argument.per_sample:
        facts.append("may be per sample")
    text = f"{argument.name}: {argument.doc} ({'; '.join(facts)})."
    return textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)


def _signature(operator: Operator) -> inspect.Signature:
    kinds = inspect.Parameter
    positional = [kinds(name, kinds.POSITIONAL_ONLY) for name in operator.inputs]
    keywords = [
        kinds(
            argument.name,
            kinds.POSITIONAL_OR_KEYWORD
            if argument.name in operator.positional
            else kinds.KEYWORD_ONLY,
            default=kinds.empty if argument.default is REQUIRED else argument.default,
        )
        for argument in operator.arguments
    ]
    names = ("device", "name", "layout") if operator.layouts else ("device", "name")
    common = [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in names]
    return inspect.Signature([*positional, *keywords, *common])


def _device(operator: Operator, device: str | None, inputs: tuple[Any, ...]) -> str:
    """Where an operator runs: as told, else where its data is."""
    if device is not None:
        if device not in operator.devices:
            raise ArgumentError(
                f"fn.{operator.name}: device must be one of "
                f"{', '.join(map(repr, operator.devices))}, got {device!r}"
            )
        return device
    on_gpu = any(getattr(data, "device", "cpu") == "gpu" for data in inputs)
    return "gpu" if on_gpu and "gpu" in operator.devices else operator.devices[0]


def _add_node(
    operator: Operator,
    inputs: tuple[Any, ...],
    device: str,
    name: str | None,
    given: Mapping[str, Any],
) -> Any:
    for data in inputs:
        if not isinstance(data, DataNode):
            raise ArgumentError(
                f"fn.{operator.name}: inside a pipeline inputs are data nodes, got "
                f"{type(data).__name__}; fn.external_source brings data in"
            )
        if data.device == "gpu" and device != "gpu":
            raise ArgumentError(
                f"fn.{operator.name} on the CPU cannot take {data.name} from the GPU; "
                "use .cpu() first"
            )
    varying = {key: value for key, value in given.items() if isinstance(value, DataNode)}
    fixed = {key: value for key, value in given.items() if key not in varying}
    constants = operator.bind(fixed, later=varying)
    if device == "gpu":
        inputs = tuple(data.gpu() for data in inputs)
    outputs = current_graph().add(operator, inputs, constants, varying, device, name)
    several = len(outputs) > 1 or constants.get("num_outputs") is not None
    return outputs if several else outputs[0]


def _draw(operator: Operator, bound: dict[str, Any]) -> torch.Tensor:
    seed = bound.pop("seed")
    if seed in (None, -1):
        raise ArgumentError(f"fn.{operator.name} outside a pipeline needs a seed")
    drawn: torch.Tensor = operator.run(generator(seed), **bound)
    return drawn


def _map(
    operator: Operator,
    inputs: tuple[Any, ...],
    bound: dict[str, Any],
    device: str,
    layout: str | None,
) -> Any:
    """Run on one sample, or on every sample of batches."""
    batches = [isinstance(data, TensorList | list | tuple) for data in inputs]
    if any(batches) and not all(batches):
        raise ArgumentError(f"fn.{operator.name}: its inputs must all be batches or all samples")
    if not batches[0]:
        if any(isinstance(value, PerSample) for value in bound.values()):
            raise ArgumentError(f"fn.{operator.name}: a value per sample needs a TensorList")
        first, *rest = inputs
        samples = [Sample(first, _layout(operator, first, layout)), *map(Sample, rest)]
        outputs = _run(operator, samples, bound, device)
        values = tuple(output.value for output in outputs)
        return values if len(values) > 1 else values[0]
    count = len(inputs[0])
    lengths = {len(data) for data in inputs}
    lengths |= {len(value) for value in bound.values() if isinstance(value, PerSample)}
    if lengths != {count}:
        raise ArgumentError(
            f"fn.{operator.name}: inputs and per-sample arguments have different numbers of "
            f"samples: {sorted(lengths)}"
        )
    rows = [
        _run(
            operator,
            [_sample(operator, data, position, layout) for data in inputs],
            {
                key: value[position] if isinstance(value, PerSample) else value
                for key, value in bound.items()
            },
            device,
        )
        for position in range(count)
    ]
    columns = tuple(
        TensorList([sample.value for sample in column], column[0].layout)
        for column in zip(*rows, strict=True)
    )
    return columns if len(columns) > 1 else columns[0]


def _sample(operator: Operator, data: Any, position: int, layout: str | None) -> Sample:
    own = data.layout() if isinstance(data, TensorList) else ""
    return Sample(data[position], own or _layout(operator, data[position], layout))


def _layout(operator: Operator, value: Any, given: str | None) -> str:
    """The layout of a tensor that does not carry one: as given, or the only one that fits."""
    if not operator.layouts or not isinstance(value, torch.Tensor) or value.ndim not in (3, 4):
        return given or ""
    if given is not None:
        if len(given) != value.ndim:
            raise ArgumentError(
                f"fn.{operator.name}: layout={given!r} does not fit shape {tuple(value.shape)}"
            )
        return given
    fitting = [
        layout
        for layout in FRAMES
        if len(layout) == value.ndim and 1 <= value.shape[layout.index("C")] <= _MOST_CHANNELS
    ]
    if operator.is_elementwise:
        return fitting[0] if fitting else ""
    if len(fitting) != 1:
        raise ArgumentError(
            f"fn.{operator.name}: a tensor of shape {tuple(value.shape)} may be "
            f"{' or '.join(fitting) or 'anything'}; say which with layout="
        )
    return fitting[0]


def _run(
    operator: Operator, inputs: list[Sample], arguments: Mapping[str, Any], device: str
) -> tuple[Sample, ...]:
    if device != "cpu":
        media.check_gpu(f"fn.{operator.name} with device={device!r}")
    if operator.kind == "decode":
        return _decode(operator, inputs, arguments, device)
    if device == "gpu":
        inputs = [Sample(value.to("cuda"), layout) for value, layout in inputs]
    context: dict[str, Any] = {"device": "cpu" if device == "cpu" else "cuda", "empty": torch.empty}
    wanted = {name: context[name] for name in operator.context}
    return operator.apply(inputs, arguments, wanted)


def _decode(
    operator: Operator, inputs: list[Sample], arguments: Mapping[str, Any], device: str
) -> tuple[Sample, ...]:
    own = {k: v for k, v in arguments.items() if k not in operator.decoding}
    clip = operator.run(*(sample.value for sample in inputs), **own)
    limits = {name: arguments[name] for name in LIMITS}
    decoder = media.clip_decoder("cpu" if device == "cpu" else "cuda", **limits)
    try:
        clips = decode_planned([clip], decoder, [arguments])
    except SampleError as error:
        raise error.error from None
    return (Sample(clips.frames[0], clips.layout), *map(Sample, clips.others[0]))
