"""The operators behind expressions of data nodes, such as `a + 1`, `a < b` or `math.sqrt(a)`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from videoloader.dali.operators.arguments import REQUIRED, TEXT, Argument, Kind
from videoloader.dali.operators.arithmetic.expression import Expression
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.operator import OPERATORS, Operator, declare
from videoloader.dali.tensors.batch import Batch, Shape, Spec, parts
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError

_MOST_INPUTS = 3
_EXPRESSION = Kind(
    TEXT.name, lambda value: value if isinstance(value, Expression) else TEXT.convert(value)
)
_LOOP = 64
"""Elements of an innermost loop beside which its overhead is small."""


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape of the result: dimensions meet from the last on, where 1 fits any other size."""
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        distinct = set(sizes) - {1}
        if len(distinct) > 1:
            raise ArgumentError(f"shapes {', '.join(map(str, shapes))} do not fit each other")
        result.append(distinct.pop() if distinct else 1)
    return tuple(result)


def common_layout(layouts: Sequence[str], ndim: int) -> str:
    """The longest layout, if the others are ends of it and it has a letter for each dimension."""
    longest = max(layouts, key=len)
    for layout in layouts:
        if not longest.endswith(layout):
            raise ArgumentError(
                f"layouts {longest} and {layout} do not fit: they must be equal, or one the end "
                "of the other"
            )
    return longest if len(longest) == ndim else ""


class _Computing(NamedTuple):
    """Plan of arithmetic: an expression, and the element types of its operands."""

    expression: Expression
    kinds: tuple[DataType, ...]


def _infer(context: Context, *inputs: Spec, expression: str | Expression) -> Planned:
    parsed = Expression.parse(expression) if isinstance(expression, str) else expression
    kinds = parsed.kinds(tuple([DataType.of(spec.dtype) for spec in inputs]))
    kind = parsed.function.result(*kinds)
    shapes = once_for_equal(broadcast_shape, *(spec.shapes for spec in inputs))
    ndim = len(shapes[0]) if shapes else 0
    layout = common_layout([spec.layout for spec in inputs], ndim)
    out = Spec(tuple(shapes), kind.torch, layout, inputs[0].device)
    return Planned((out,), _Computing(parsed, kinds))


def _run(context: Context, *inputs: Batch, plan: _Computing) -> Batch:
    out = context.empty()
    for at in parts(*inputs) if len(out) else ():
        target = out.part(at)
        operands = [_aligned(batch.part(at), target.ndim) for batch in inputs]
        thick = [_thickened(each, target.shape) for each in operands]
        plan.expression.apply(plan.kinds, thick, target)
    return out


def _aligned(values: torch.Tensor, ndim: int) -> torch.Tensor:
    """Samples (n, ...) with new dimensions behind the first one, `ndim` in all; a view."""
    return values[(slice(None), *(None,) * (ndim - values.ndim))]


def _thickened(values: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Values that broadcast, repeated until torch's innermost loop is long enough.

    The three numbers of a colour beside an image make a loop of three elements for each pixel.
    """
    if values.device.type != "cpu" or values.shape == shape:
        return values
    axis = values.ndim - 1
    while axis > 0 and values.shape[axis] == shape[axis]:
        axis -= 1
    length = math.prod(values.shape[axis + 1 :])
    if axis == 0 or not 1 < length < _LOOP or values.shape[axis] != 1:
        return values
    return values.expand(*values.shape[:axis], *shape[axis:]).contiguous()


def _declared(count: int) -> Operator:
    @declare(
        f"arithmetic_{count}",
        inputs=("a", "b", "c")[:count],
        arguments=(Argument("expression", _EXPRESSION, REQUIRED, "the function and its operands"),),
        infer=_infer,
    )
    def arithmetic(context: Context, *inputs: Batch, plan: _Computing) -> Any:
        """Compute a function of samples, element by element."""
        return _run(context, *inputs, plan=plan)

    return OPERATORS[f"arithmetic_{count}"]


ARITHMETIC = {count: _declared(count) for count in range(1, _MOST_INPUTS + 1)}
"""The operators by number of inputs."""
