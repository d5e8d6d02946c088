"""Expressions of data nodes: arithmetic, comparisons, indexing, shapes and properties."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.operators.arithmetic.expression import write_expression
from videoloader.operators.operator import Operator
from videoloader.operators.properties import GET_PROPERTY, SHAPES
from videoloader.operators.subscript import DIM_CHECK, EXPAND_DIMS, MOST_SUBSCRIPTS, SUBSCRIPT
from videoloader.types import ArrayConstant, Constant, ScalarConstant

if TYPE_CHECKING:
    from videoloader.pipeline.graph import DataNode, Node

__all__ = ["Expressions", "NewAxis", "expression", "newaxis"]

_NUMBERS = (bool, int, float, np.generic, ScalarConstant)
_ARRAYS = (np.ndarray, torch.Tensor, list, tuple, ArrayConstant)


class NewAxis:
    """A new dimension of size 1 in an index; `newaxis("C")` gives it a letter in the layout."""

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


class Expressions:
    """What makes a data node usable in expressions; every one of them adds an operator."""

    __slots__ = ()
    __array_ufunc__ = None  # arrays leave operators to the node
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> DataNode:
        return expression("add", self, other)

    def __radd__(self, other: Any) -> DataNode:
        return expression("add", other, self)

    def __sub__(self, other: Any) -> DataNode:
        return expression("sub", self, other)

    def __rsub__(self, other: Any) -> DataNode:
        return expression("sub", other, self)

    def __mul__(self, other: Any) -> DataNode:
        return expression("mul", self, other)

    def __rmul__(self, other: Any) -> DataNode:
        return expression("mul", other, self)

    def __truediv__(self, other: Any) -> DataNode:
        return expression("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> DataNode:
        return expression("fdiv", other, self)

    def __floordiv__(self, other: Any) -> DataNode:
        return expression("div", self, other)

    def __rfloordiv__(self, other: Any) -> DataNode:
        return expression("div", other, self)

    def __mod__(self, other: Any) -> DataNode:
        return expression("mod", self, other)

    def __rmod__(self, other: Any) -> DataNode:
        return expression("mod", other, self)

    def __pow__(self, other: Any) -> DataNode:
        return expression("pow", self, other)

    def __rpow__(self, other: Any) -> DataNode:
        return expression("pow", other, self)

    def __and__(self, other: Any) -> DataNode:
        return expression("bitand", self, other)

    def __rand__(self, other: Any) -> DataNode:
        return expression("bitand", other, self)

    def __or__(self, other: Any) -> DataNode:
        return expression("bitor", self, other)

    def __ror__(self, other: Any) -> DataNode:
        return expression("bitor", other, self)

    def __xor__(self, other: Any) -> DataNode:
        return expression("bitxor", self, other)

    def __rxor__(self, other: Any) -> DataNode:
        return expression("bitxor", other, self)

    def __lshift__(self, other: Any) -> DataNode:
        return expression("lshift", self, other)

    def __rlshift__(self, other: Any) -> DataNode:
        return expression("lshift", other, self)

    def __rshift__(self, other: Any) -> DataNode:
        return expression("rshift", self, other)

    def __rrshift__(self, other: Any) -> DataNode:
        return expression("rshift", other, self)

    def __eq__(self, other: object) -> DataNode:  # type: ignore[override]
        return expression("eq", self, other)

    def __ne__(self, other: object) -> DataNode:  # type: ignore[override]
        return expression("neq", self, other)

    def __lt__(self, other: Any) -> DataNode:
        return expression("lt", self, other)

    def __le__(self, other: Any) -> DataNode:
        return expression("leq", self, other)

    def __gt__(self, other: Any) -> DataNode:
        return expression("gt", self, other)

    def __ge__(self, other: Any) -> DataNode:
        return expression("geq", self, other)

    def __neg__(self) -> DataNode:
        return expression("minus", self)

    def __pos__(self) -> DataNode:
        return _node(self)

    def __invert__(self) -> DataNode:
        return expression("bitnot", self)

    def __abs__(self) -> DataNode:
        return expression("abs", self)

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            f"{_node(self).name} has no value while the pipeline is defined, so it is neither "
            "true nor false; for `if`, `and`, `or` and `not` define the pipeline with "
            "enable_conditionals=True; & and | combine BOOL nodes"
        )

    def __iter__(self) -> Iterator[DataNode]:
        raise ArgumentTypeError(f"{_node(self).name} is one data node, it cannot be unpacked")

    def __getitem__(self, index: Any) -> DataNode:
        """Index every sample: `clips[::2]` has every second frame of each clip.

        Args:
            index: a position, a slice or `newaxis`, or a tuple of them. Positions and the parts of
                slices are integers, or data nodes with one for each sample.
        """
        items = index if isinstance(index, tuple) else (index,)
        taken = [item for item in items if not isinstance(item, NewAxis)]
        given = _subscripts(taken)
        data = _node(self)
        if given:
            data = _call(SUBSCRIPT, data, num_subscripts=len(taken), **given)
        elif taken:
            data = _call(DIM_CHECK, data, num_subscripts=len(taken))
        return _with_new_axes(data, items)

    @builtins.property
    def source(self) -> Node:
        """The operator whose output this is."""
        return _node(self).node

    def shape(self, *, dtype: Any = None, device: str = "cpu") -> DataNode:
        """The sizes of every sample, as a 1-D tensor.

        Args:
            dtype: element type; INT64 by default.
            device: "cpu" or "gpu", where the result is.
        """
        given = {} if dtype is None else {"dtype": dtype}
        return _placed(_call(SHAPES, _node(self), device="cpu", **given), device)

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """What is known of every sample beside its data, as the bytes of a text.

        Args:
            key: "source_info", where the sample comes from, such as its file; or "layout".
            device: "cpu" or "gpu", where the result is.
        """
        return _placed(_call(GET_PROPERTY, _node(self), device="cpu", key=key), device)

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """`property("source_info")`."""
        return self.property("source_info", device=device)


def expression(function: str, *operands: Any) -> DataNode:
    """A data node for a function of data nodes, numbers and arrays, one of them a node at least.

    Args:
        function: name in `operators.arithmetic.functions`, such as "add".
        *operands: numbers are constants of the type that `ScalarConstant` gives them; arrays
            become `fn.constant`.
    """
    values = [_operand(function, each) for each in operands]
    nodes = [each for each in values if isinstance(each, Expressions)]
    device = "gpu" if any(_node(each).device == "gpu" for each in nodes) else "cpu"
    inputs: list[DataNode] = []
    described: list[int | ScalarConstant] = []
    for value in values:
        if isinstance(value, ScalarConstant):
            described.append(value)
            continue
        described.append(len(inputs))
        inputs.append(_promoted(value, device))
    text = write_expression(function, tuple(described))
    return _call(ARITHMETIC[len(inputs)], *inputs, expression=text)


def _operand(function: str, value: Any) -> Any:
    """A constant for a number; a node or an array as it is."""
    if isinstance(value, ScalarConstant | Expressions):
        return value
    is_scalar = isinstance(value, np.ndarray | torch.Tensor) and value.ndim == 0
    if is_scalar or isinstance(value, _NUMBERS):
        return Constant(value)
    if isinstance(value, _ARRAYS):
        return value
    raise ArgumentTypeError(
        f"{function} takes data nodes, numbers and arrays, got {type(value).__name__}: {value!r}"
    )


def _promoted(value: Any, device: str) -> DataNode:
    """A node on a device, or the constant for an array."""
    from videoloader.pipeline.promotion import promote

    data = promote(value, "an expression")
    return data.gpu() if device == "gpu" else data


def _subscripts(items: Sequence[Any]) -> dict[str, Any]:
    """The arguments of the operator that indexes, without those of full slices."""
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
    if isinstance(value, Expressions):
        return value
    if isinstance(value, ScalarConstant):
        value = value.value
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


def _placed(data: DataNode, device: str) -> DataNode:
    if device not in ("cpu", "gpu"):
        raise ArgumentError(f"device must be 'cpu' or 'gpu', got {device!r}")
    return data.gpu() if device == "gpu" else data


def _node(value: Expressions) -> DataNode:
    return cast("DataNode", value)


def _call(operator: Operator, *inputs: DataNode, device: str = "", **given: Any) -> DataNode:
    """Add an operator to the graph; by default where its first input is."""
    from videoloader.pipeline.graph import DataNode, add_node

    varying = {name: value for name, value in given.items() if isinstance(value, DataNode)}
    fixed = {name: value for name, value in given.items() if name not in varying}
    bound = operator.bind(fixed, later=varying)
    return add_node(operator, inputs, bound, varying, device or inputs[0].device)[0]
