"""Values that stand where a data node may: constants, numbers, lists, arrays, tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from videoloader.dali.operators.general.constant import CONSTANT
from videoloader.dali.pipeline.graph.current import current_eager
from videoloader.dali.pipeline.graph.nodes import DataNode, Outputs, add_node
from videoloader.dali.types import ArrayConstant, Constant, DataType, ScalarConstant
from videoloader.errors import ArgumentError, ArgumentTypeError


def promote(value: Any, what: str) -> DataNode:
    """The data node of a value; a data node is its own.

    Args:
        value: a data node, a constant of `videoloader.dali.types`, or what `types.Constant` takes.
        what: takes it, for the error.
    """
    if isinstance(value, DataNode):
        return value
    eager = current_eager()
    injected: DataNode | None = None if eager is None else eager.inject(value)
    if injected is not None:
        return injected
    if isinstance(value, ScalarConstant):
        return _constant(np.array(value.value), value.dtype, "", "cpu")
    if not isinstance(value, ArrayConstant):
        value = _array(value, what)
    return _constant(value.array, value.dtype, value.layout, value.device, **value.arguments)


def constant_node(value: Any) -> Any:
    """The data node of an array constant; any other value as it is.

    A constant that is an array, or has a device, is a data node in DALI, also where a number could
    stand: as a condition and in an index.
    """
    return promote(value, "a constant") if isinstance(value, ArrayConstant) else value


def returned(outputs: Any) -> tuple[Any, ...]:
    """The outputs of a definition: the tuple that it returns, or the outputs of one operator."""
    if outputs is None:
        return ()
    return tuple(outputs) if isinstance(outputs, tuple | Outputs) else (outputs,)


def _array(value: Any, what: str) -> ArrayConstant:
    if _has_nodes(value):
        raise ArgumentTypeError(
            f"{what} takes one data node, got a {type(value).__name__} with data nodes in it; "
            "* unpacks it"
        )
    try:
        constant = Constant(value, device="cpu")
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError) and not isinstance(error, ArgumentTypeError):
            raise  # a number that does not fit
        raise ArgumentTypeError(
            f"{what} takes data nodes, and numbers, lists, arrays and tensors as constants; "
            f"got {type(value).__name__}: {value!r}"
        ) from error
    assert isinstance(constant, ArrayConstant)
    return constant


def _has_nodes(value: Any) -> bool:
    """Whether there is a data node in a list or tuple, however deep."""
    if isinstance(value, list | tuple):
        return any(isinstance(item, DataNode) or _has_nodes(item) for item in value)
    return False


def _constant(
    array: np.ndarray[Any, Any],
    dtype: DataType,
    layout: str,
    device: str,
    *,
    name: str | None = None,
    **arguments: Any,
) -> DataNode:
    kind = dtype if dtype.is_numeric else DataType.INT32
    data = "fdata" if kind.is_floating_point or array.dtype.kind == "f" else "idata"
    given = {data: array, "shape": array.shape, "dtype": kind, "layout": layout, **arguments}
    return add_node(CONSTANT, (), CONSTANT.bind(given), {}, device, name)[0]
