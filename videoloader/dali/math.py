"""Mathematical functions of data nodes, numbers and arrays, as in `nvidia.dali.math`.

The result has the type of floating point operands, FLOAT for integers; `abs`, `min`, `max`, `clamp`
and `pow` keep the type in which their operands meet.

>>> import torch
>>> from videoloader.dali import math
>>> values = torch.tensor([0.0, 0.25, 1.0])
>>> math.sqrt(values), math.ceil(values), math.floor(values)
(tensor([0.0000, 0.5000, 1.0000]), tensor([0., 1., 1.]), tensor([0., 0., 1.]))
>>> math.abs(-3).item(), math.fabs(-3).item(), math.clamp(7, 0, 5).item()
(3, 3.0, 5)
>>> math.min(2, 3).item(), math.max(2, 3).item(), math.pow(2, 3).item(), math.fpow(4, 0.5).item()
(2, 3, 8, 2.0)
>>> math.rsqrt(4.0).item(), math.cbrt(8.0).item(), math.log2(8.0).item(), math.log10(1.0).item()
(0.5, 2.0, 3.0, 0.0)
>>> [f(1.0).item() for f in (math.log, math.acos, math.acosh)]
[0.0, 0.0, 0.0]
>>> [f(0.0).item() for f in (math.exp, math.cos, math.cosh)]
[1.0, 1.0, 1.0]
>>> [f(0.0).item() for f in (math.sin, math.tan, math.asin, math.atan)]
[0.0, 0.0, 0.0, 0.0]
>>> [f(0.0).item() for f in (math.sinh, math.tanh, math.asinh, math.atanh)]
[0.0, 0.0, 0.0, 0.0]
>>> math.atan2(0.0, 1.0).item()
0.0
"""

from __future__ import annotations

from typing import Any

from videoloader.dali.fn.eager_math import compute_now
from videoloader.dali.pipeline.graph.expressions import expression
from videoloader.dali.types import Operand

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "exp",
    "fabs",
    "floor",
    "fpow",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


def abs(input: Any) -> Any:  # noqa: A001, A002
    """The value without its sign, in its own type."""
    return _compute("abs", input)


def acos(input: Any) -> Any:  # noqa: A002
    """The angle of a cosine."""
    return _compute("acos", input)


def acosh(input: Any) -> Any:  # noqa: A002
    """The inverse hyperbolic cosine."""
    return _compute("acosh", input)


def asin(input: Any) -> Any:  # noqa: A002
    """The angle of a sine."""
    return _compute("asin", input)


def asinh(input: Any) -> Any:  # noqa: A002
    """The inverse hyperbolic sine."""
    return _compute("asinh", input)


def atan(input: Any) -> Any:  # noqa: A002
    """The angle of a tangent."""
    return _compute("atan", input)


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point with ordinate `x` and abscissa `y`, as `numpy.arctan2(x, y)`."""
    return _compute("atan2", x, y)


def atanh(input: Any) -> Any:  # noqa: A002
    """The inverse hyperbolic tangent."""
    return _compute("atanh", input)


def cbrt(input: Any) -> Any:  # noqa: A002
    """The cube root."""
    return _compute("cbrt", input)


def ceil(input: Any) -> Any:  # noqa: A002
    """The smallest whole number that is not below, as floating point."""
    return _compute("ceil", input)


def clamp(value: Any, lo: Any, hi: Any) -> Any:
    """The value, or the limit that it is beyond."""
    return _compute("clamp", value, lo, hi)


def cos(input: Any) -> Any:  # noqa: A002
    """The cosine of an angle in radians."""
    return _compute("cos", input)


def cosh(input: Any) -> Any:  # noqa: A002
    """The hyperbolic cosine."""
    return _compute("cosh", input)


def exp(input: Any) -> Any:  # noqa: A002
    """The exponential function."""
    return _compute("exp", input)


def fabs(input: Any) -> Any:  # noqa: A002
    """The value without its sign, as floating point."""
    return _compute("fabs", input)


def floor(input: Any) -> Any:  # noqa: A002
    """The largest whole number that is not above, as floating point."""
    return _compute("floor", input)


def fpow(base: Any, exponent: Any) -> Any:
    """A power, as floating point."""
    return _compute("fpow", base, exponent)


def log(input: Any) -> Any:  # noqa: A002
    """The natural logarithm."""
    return _compute("log", input)


def log10(input: Any) -> Any:  # noqa: A002
    """The logarithm to base 10."""
    return _compute("log10", input)


def log2(input: Any) -> Any:  # noqa: A002
    """The logarithm to base 2."""
    return _compute("log2", input)


def max(left: Any, right: Any) -> Any:  # noqa: A001
    """The greater value."""
    return _compute("max", left, right)


def min(left: Any, right: Any) -> Any:  # noqa: A001
    """The lesser value."""
    return _compute("min", left, right)


def pow(base: Any, exponent: Any) -> Any:  # noqa: A001
    """A power, in the type in which the operands meet; negative powers of integers are 0."""
    return _compute("pow", base, exponent)


def rsqrt(input: Any) -> Any:  # noqa: A002
    """One over the square root."""
    return _compute("rsqrt", input)


def sin(input: Any) -> Any:  # noqa: A002
    """The sine of an angle in radians."""
    return _compute("sin", input)


def sinh(input: Any) -> Any:  # noqa: A002
    """The hyperbolic sine."""
    return _compute("sinh", input)


def sqrt(input: Any) -> Any:  # noqa: A002
    """The square root."""
    return _compute("sqrt", input)


def tan(input: Any) -> Any:  # noqa: A002
    """The tangent of an angle in radians."""
    return _compute("tan", input)


def tanh(input: Any) -> Any:  # noqa: A002
    """The hyperbolic tangent."""
    return _compute("tanh", input)


def _compute(function: str, *operands: Any) -> Any:
    if any(isinstance(each, Operand) for each in operands):
        return expression(function, *operands)
    return compute_now(function, *operands)
