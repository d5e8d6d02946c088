"""How expressions of data nodes become operators of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.dali.operators.arithmetic.expression import Expression
from videoloader.dali.operators.arithmetic.functions import FUNCTIONS
from videoloader.dali.operators.general.subscript import (
    DIM_CHECK,
    EXPAND_DIMS,
    MOST_SUBSCRIPTS,
    SUBSCRIPT,
)
from videoloader.dali.operators.operator import OPERATORS, Operator
from videoloader.dali.pipeline.graph.nodes import DataNode, add_node
from videoloader.dali.pipeline.graph.promotion import constant_node, promote
from videoloader.dali.types import Constant, Operand, ScalarConstant
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import one_of


class NewAxis:
    """A new dimension of size 1 in an index; `newaxis("C")` gives it a letter in the layout.

    >>> from videoloader.dali import Pipeline, fn
    >>> with Pipeline(batch_size=2) as pipe:
    ...     image = fn.zeros(shape=[4, 6], layout="HW")
    ...     pipe.set_outputs(image[newaxis], image[:, :, newaxis("C")])
    >>> with pipe:
    ...     [output.shape() for output in pipe.run()]
    [[(1, 4, 6), (1, 4, 6)], [(4, 6, 1), (4, 6, 1)]]
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"the name of a new axis is a letter, got {name!r}")
        if name is not None and len(name) != 1:
            raise ArgumentError(f"the name of a new axis is one letter, got {name!r}")
        self.name = name

    def __call__(self, name: str | None = None) -> NewAxis:
        """A new dimension with a letter."""
        return NewAxis(name)

    def __repr__(self) -> str:
        return "newaxis" if self.name is None else f"newaxis({self.name!r})"


newaxis = NewAxis()
"""A new dimension of size 1 in an index, as in numpy: `images[newaxis]`."""


def expression(function: str, *operands: Any) -> DataNode:
    """A data node for a function of data nodes, numbers and arrays, not numbers only.

    Args:
        function: name in `operators.arithmetic.functions`, such as "add".
        *operands: numbers are constants of the type that `ScalarConstant` gives them; arrays
            become `fn.constant`.
    """
    values = [_operand(function, each) for each in operands]
    on_gpu = any(isinstance(each, DataNode) and each.device == "gpu" for each in values)
    inputs: list[DataNode] = []
    described: list[int | ScalarConstant] = []
    for value in values:
        if isinstance(value, ScalarConstant):
            described.append(value)
            continue
        described.append(len(inputs))
        inputs.append(value.gpu() if on_gpu else value)
    text = Expression(FUNCTIONS[function], tuple(described)).text
    return _call(ARITHMETIC[len(inputs)], *inputs, expression=text)


def _operand(function: str, value: Any) -> DataNode | ScalarConstant:
    """A constant for a number; a node for an array."""
    if isinstance(value, ScalarConstant):
        return value
    is_scalar = isinstance(value, np.ndarray | torch.Tensor) and value.ndim == 0
    if is_scalar or isinstance(value, bool | int | float | np.generic):
        constant = Constant(value)
        assert isinstance(constant, ScalarConstant)
        return constant
    if isinstance(value, Operand | np.ndarray | torch.Tensor | list | tuple):
        return promote(value, "an expression")
    raise ArgumentTypeError(
        f"{function} takes data nodes, numbers and arrays, got {type(value).__name__}: {value!r}"
    )


def _indexed(operand: Operand, index: Any) -> DataNode:
    data = promote(operand, "an index")
    items = index if isinstance(index, tuple) else (index,)
    taken = [item for item in items if not isinstance(item, NewAxis)]
    given = _subscripts(taken)
    if given:
        data = _call(SUBSCRIPT, data, num_subscripts=len(taken), **given)
    elif taken:
        data = _call(DIM_CHECK, data, num_subscripts=len(taken))
    return _with_new_axes(data, items)


def _subscripts(items: Sequence[Any]) -> dict[str, Any]:
    """The arguments of the operator that indexes, without full slices."""
    if len(items) > MOST_SUBSCRIPTS:
        raise ArgumentError(f"an index has at most {MOST_SUBSCRIPTS} dimensions, got {len(items)}")
    given: dict[str, Any] = {}
    for axis, item in enumerate(items):
        if isinstance(item, slice):
            for name, part in (("lo", item.start), ("hi", item.stop), ("step", item.step)):
                if part is not None:
                    given[f"{name}_{axis}"] = _position(part)
        elif item is not None:
            given[f"at_{axis}"] = _position(item)
    return given


def _position(value: Any) -> Any:
    """An integer or a node in an index."""
    value = constant_node(value)
    if isinstance(value, DataNode):
        return value
    if isinstance(value, ScalarConstant):
        value = value.value
    if isinstance(value, np.ndarray | np.bool_) and value.size == 1 and value.dtype.kind in "iub":
        return int(value.item())
    if value is Ellipsis:
        raise ArgumentTypeError("... is no index of a data node; write : for each dimension")
    try:
        return int(value.__index__())
    except (AttributeError, TypeError) as error:
        raise ArgumentTypeError(
            "an index is made of integers, slices, data nodes and newaxis, "
            f"got {type(value).__name__}: {value!r}"
        ) from error


def _with_new_axes(data: DataNode, items: Sequence[Any]) -> DataNode:
    """The data with a dimension wherever `newaxis` stands in an index."""
    axes, names, position = [], [], 0
    for item in items:
        if isinstance(item, NewAxis):
            axes.append(position)
            names.append(item.name)
        position += item is None or isinstance(item, slice | NewAxis)
    known = [name for name in names if name is not None]
    if known and len(known) < len(names):
        raise ArgumentError("either all new axes of an index have names, or none")
    if not axes:
        return data
    return _call(EXPAND_DIMS, data, axes=axes, new_axis_names="".join(known) or None)


def _described(name: str, operand: Operand, device: str, **given: Any) -> DataNode:
    """Call an operator that inspects samples on any device, with its output on one."""
    one_of("device", device, ("cpu", "gpu"))
    data = promote(operand, name)
    known = _call(OPERATORS[name], data, device="cpu", **given)
    return known.gpu() if device == "gpu" else known


def _call(operator: Operator, *inputs: DataNode, device: str = "", **given: Any) -> DataNode:
    """Add an operator to the graph; by default where its first input is."""
    varying = {name: value for name, value in given.items() if isinstance(value, DataNode)}
    fixed = {name: value for name, value in given.items() if name not in varying}
    bound = operator.bind(fixed, later=varying)
    return add_node(operator, inputs, bound, varying, device or inputs[0].device)[0]


Operand._expression = staticmethod(expression)
Operand._index = staticmethod(_indexed)
Operand._describe = staticmethod(_described)
