"""The public function of a declared operator: eager on tensors, else a node of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from videoloader.dali.fn.docstring import documentation, signature
from videoloader.dali.fn.eager import run_eagerly
from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.color.color_matrix import COLOR_SPACE_CONVERSION
from videoloader.dali.operators.context import Inferred
from videoloader.dali.operators.general.constant import CONSTANT
from videoloader.dali.operators.operator import OPERATORS, Operator, Part
from videoloader.dali.pipeline.graph.current import current_pipeline, is_defining
from videoloader.dali.pipeline.graph.nodes import DataNode, Outputs, make_node
from videoloader.dali.pipeline.graph.promotion import promote
from videoloader.dali.types import (
    ArrayConstant,
    DALIDataType,
    ImageType,
    InterpType,
    Operand,
    ScalarConstant,
)
from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from videoloader.machinery.system.callers import warn_deprecated
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.eager_calls import check_not_drawn, is_eager

_MOST_KNOWN = 16
"""Argument sets of eager calls that a function remembers."""

_PLAIN = {bool, int, float, str, type(None), torch.dtype, DALIDataType, ImageType, InterpType}
"""Types whose `repr` identifies the value."""


class Function:
    """A public operator: checks its arguments, then runs at once or becomes a node of a graph.

    Args:
        name: of the operator.
        public: its name below `fn`, if that is another one.
        instead: what to use in its place, if this name is deprecated.
    """

    def __init__(self, name: str, public: str = "", instead: str = "") -> None:
        self._operator = OPERATORS[name]
        self.instead = instead
        self._known: dict[tuple[str, str], tuple[dict[str, Any], dict[int, Inferred]]] = {}
        """Eager calls: converted arguments and `Context.inferred`, by device and arguments."""
        public = public or name
        self.__name__ = public.rpartition(".")[2]
        self.__qualname__ = f"fn.{public}"
        self.__doc__ = documentation(self._operator, instead)
        self.__signature__ = signature(self._operator)

    @property
    def operator(self) -> Operator:
        """The declaration that it was made from."""
        return self._operator

    def device_for(self, device: str | None, inputs: tuple[Any, ...]) -> str:
        """Where it runs: as told, else where its data is."""
        return _device(self._operator, device, inputs)

    def __call__(self, *values: Any, **given: Any) -> Any:
        """See the documentation of the operator."""
        return self.call(*values, **self._operator.current(given))

    def call(self, *values: Any, **given: Any) -> Any:
        """The same, with arguments under their current names: see `Operator.current`."""
        if self.instead:
            warn_deprecated(f"{self.__qualname__} is deprecated; use {self.instead}")
        return self._call(*values, **given)

    def _call(
        self,
        *values: Any,
        device: str | None = None,
        name: str | None = None,
        layout: str | None = None,
        **given: Any,
    ) -> Any:
        operator = self._operator
        if any(map(_is_input_set, values)):
            if operator.has_effects:
                raise ArgumentTypeError(
                    f"fn.{operator.name}: calls of a Python function do not take sets of inputs"
                )
            common = {**given, "device": device, "layout": layout}
            return _each_input_set(self, values, name, common)
        inputs, positional = operator.split(values)
        twice = sorted(positional.keys() & given.keys())
        if twice:
            raise ArgumentError(f"fn.{operator.name}: {', '.join(twice)} was given twice")
        given = {**positional, **given}
        if layout is not None and operator.declares("layout"):
            given["layout"], layout = layout, None
        device = _device(operator, device, inputs)
        values = (*inputs, *given.values())
        has_nodes = any(isinstance(value, DataNode) for value in values)
        is_source = operator.kind == "source" or operator is CONSTANT
        is_at_once = is_eager() or _has_data(operator, inputs)
        if operator.pair is not None:
            varying = {key for key, value in given.items() if isinstance(value, DataNode)}
            pair = operator.pair(given, varying)
            if pair is not None:
                operator.convert({key: given[key] for key in given if key not in varying})
                return _add_pair(*pair, device, name)
        each = None if operator.several is None else operator.several(given, name)
        if each is not None:
            return Outputs(_add_node(operator, inputs, device, None, own) for own in each)
        if has_nodes or is_source or is_defining() or not is_at_once:
            if layout is not None:
                raise ArgumentError(
                    f"fn.{operator.name}: layout is for eager calls; in a pipeline data has its own"
                )
            return _add_node(operator, inputs, device, name, given)
        return self.run_now(inputs, given, device, layout)

    def run_now(
        self,
        inputs: tuple[Any, ...],
        given: Mapping[str, Any],
        device: str,
        layout: str | None = None,
        count: int | None = None,
    ) -> Any:
        """Run at once; see `run_eagerly`.

        Args:
            inputs: samples or batches.
            given: arguments by their current names.
            device: one of the operator's.
            layout: of inputs that carry none.
            count: samples of the batch that a call without inputs makes.
        """
        bound, inferred = self._bound(given, device)
        return run_eagerly(self._operator, inputs, bound, device, layout, inferred, count)

    def _bound(
        self, given: Mapping[str, Any], device: str
    ) -> tuple[Mapping[str, Any], dict[int, Inferred] | None]:
        """The converted arguments of an eager call, and the state kept for calls with them."""
        operator = self._operator
        key = None if operator.draws or operator.kind != "map" else _text_of(given)
        if key is None:
            return operator.bind(given), None
        known = self._known.get((device, key))
        if known is None:
            bound = operator.bind(given)
            if any(isinstance(value, PerSample) for value in bound.values()):
                return bound, None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[device, key] = bound, {}
        return known

    def __repr__(self) -> str:
        return f"<operator {self.__qualname__}>"


def _text_of(given: Mapping[str, Any]) -> str | None:
    """Arguments as text, in which 1, 1.0 and True differ; None unless all are plain values."""
    for value in given.values():
        kinds = {*map(type, value)} if type(value) in (list, tuple) else {type(value)}
        if not kinds <= _PLAIN:
            return None
    return repr(given)


def _has_data(operator: Operator, inputs: tuple[Any, ...]) -> bool:
    """Whether a call has inputs to run on; numbers that an operator draws from do not count."""
    return any(not (operator.draws and _are_numbers(data)) for data in inputs)


def _are_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_are_numbers, value))
    return isinstance(value, bool | int | float | np.generic | Operand | ScalarConstant)


def _is_input_set(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, DataNode) for each in value)


def _each_input_set(
    function: Function, values: tuple[Any, ...], name: str | None, common: dict[str, Any]
) -> Any:
    """A node for each set of inputs, which lists of data nodes give; lists of their outputs."""
    counts = {len(value) for value in values if _is_input_set(value)}
    if len(counts) > 1:
        raise ArgumentError(
            f"{function.__qualname__}: lists of data nodes have different lengths: {sorted(counts)}"
        )
    (count,) = counts
    results = [
        function._call(
            *(value[number] if _is_input_set(value) else value for value in values),
            name=None if name is None else f"{name}_{number}",
            **common,
        )
        for number in range(count)
    ]
    if isinstance(results[0], list):
        return tuple(list(outputs) for outputs in zip(*results, strict=True))
    return results


def _device(operator: Operator, device: str | None, inputs: tuple[Any, ...]) -> str:
    """Where an operator runs: as told, else where its data is."""
    on_gpu = any(getattr(data, "device", "cpu") == "gpu" for data in inputs)
    wanted = device or ("gpu" if on_gpu else "cpu")
    if wanted in operator.absent_devices:
        raise UnsupportedError(
            f"fn.{operator.name} does not run on the {wanted.upper()}: "
            f"{operator.absent_devices[wanted]}"
        )
    if device is not None:
        return one_of(f"fn.{operator.name}: device", device, operator.devices)
    return "gpu" if on_gpu and "gpu" in operator.devices else operator.devices[0]


def _add_node(
    operator: Operator,
    inputs: tuple[Any, ...],
    device: str,
    name: str | None,
    given: Mapping[str, Any],
) -> Any:
    inputs = tuple(promote(data, f"fn.{operator.name}") for data in inputs)
    for data in inputs:
        if data.device == "gpu" and device != "gpu":
            raise ArgumentError(
                f"fn.{operator.name} on the CPU cannot take {data.name} from the GPU; "
                "use .cpu() first"
            )
    is_kept = given.get("preserve") or operator.has_effects
    given = {key: _argument(value) for key, value in given.items()}
    for key in operator.positional:  # as in DALI, these may be on the GPU beside data there
        if device == "gpu" and isinstance(given.get(key), DataNode):
            given[key] = given[key].cpu()
    varying = {key: value for key, value in given.items() if isinstance(value, DataNode)}
    fixed = {key: value for key, value in given.items() if key not in varying}
    constants = operator.bind(fixed, later=varying)
    declared = operator.inputs_for(len(inputs))
    for each, data in zip(declared, inputs, strict=True):
        if each.on_cpu and data.device != "cpu":
            raise ArgumentError(f"fn.{operator.name}: {each.name} comes from the CPU")
    if device == "gpu":
        inputs = tuple(
            data if each.on_cpu else data.gpu() for each, data in zip(declared, inputs, strict=True)
        )
    color = constants.get(operator.color, ImageType.RGB)
    if color is not ImageType.RGB:
        constants[operator.color] = ImageType.RGB
    node = make_node(operator, inputs, constants, varying, device, name)
    outputs = node.outputs
    if color is not ImageType.RGB:
        outputs = (_add_color(outputs[0], color), *outputs[1:])
    if is_kept:
        pipeline = current_pipeline()
        if pipeline is None:
            raise ArgumentError(
                f"fn.{operator.name} runs for its effects: call it in the definition of a pipeline"
            )
        pipeline.add_sink(node)
    if operator.output_names is not None:
        return dict(zip(operator.output_names(constants), outputs, strict=True))
    is_list = operator.kind == "source" and constants.get("num_outputs") is not None
    several = is_list or len(outputs) != 1
    return Outputs(outputs) if several else outputs[0]


def _add_color(frames: DataNode, color: ImageType) -> Any:
    """A node that makes another colour space of RGB."""
    types = {"image_type": ImageType.RGB, "output_type": color}
    return _add_node(COLOR_SPACE_CONVERSION, (frames,), frames.device, None, types)


def _add_pair(first: Part, second: Part, device: str, name: str | None) -> Any:
    """The nodes of two operators, the second on the first output of the first."""
    outputs = _add_node(OPERATORS[first[0]], (), device, name, first[1])
    behind, own = OPERATORS[second[0]], second[1]
    if not isinstance(outputs, Outputs):
        return _add_node(behind, (outputs,), device, None, own)
    return Outputs((_add_node(behind, (outputs[0],), device, None, own), *outputs[1:]))


def _argument(value: Any) -> Any:
    """An argument of a node, constants as their values."""
    check_not_drawn(value)
    if isinstance(value, ScalarConstant):
        return value.value
    return promote(value, "an argument") if isinstance(value, ArrayConstant) else value
