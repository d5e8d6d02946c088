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

from typing import Any, Protocol

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


class _OfOne(Protocol):
    """A function of one operand."""

    def __call__(self, input: Any) -> Any: ...  # noqa: A002


def _compute(function: str, *operands: Any) -> Any:
    if any(isinstance(each, Operand) for each in operands):
        return expression(function, *operands)
    return compute_now(function, *operands)


def _of_one(name: str, doc: str) -> _OfOne:
    """Make a function of one operand, from its name in `operators.arithmetic.functions`."""

    def compute(input: Any) -> Any:  # noqa: A002
        return _compute(name, input)

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = doc
    return compute


abs = _of_one("abs", "The value without its sign, in its own type.")  # noqa: A001
acos = _of_one("acos", "The angle of a cosine.")
acosh = _of_one("acosh", "The inverse hyperbolic cosine.")
asin = _of_one("asin", "The angle of a sine.")
asinh = _of_one("asinh", "The inverse hyperbolic sine.")
atan = _of_one("atan", "The angle of a tangent.")
atanh = _of_one("atanh", "The inverse hyperbolic tangent.")
cbrt = _of_one("cbrt", "The cube root.")
ceil = _of_one("ceil", "The smallest whole number that is not below, as floating point.")
cos = _of_one("cos", "The cosine of an angle in radians.")
cosh = _of_one("cosh", "The hyperbolic cosine.")
exp = _of_one("exp", "The exponential function.")
fabs = _of_one("fabs", "The value without its sign, as floating point.")
floor = _of_one("floor", "The largest whole number that is not above, as floating point.")
log = _of_one("log", "The natural logarithm.")
log10 = _of_one("log10", "The logarithm to base 10.")
log2 = _of_one("log2", "The logarithm to base 2.")
rsqrt = _of_one("rsqrt", "One over the square root.")
sin = _of_one("sin", "The sine of an angle in radians.")
sinh = _of_one("sinh", "The hyperbolic sine.")
sqrt = _of_one("sqrt", "The square root.")
tan = _of_one("tan", "The tangent of an angle in radians.")
tanh = _of_one("tanh", "The hyperbolic tangent.")


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point with ordinate `x` and abscissa `y`, as `numpy.arctan2(x, y)`."""
    return _compute("atan2", x, y)


def clamp(value: Any, lo: Any, hi: Any) -> Any:
    """The value, or the limit that it is beyond."""
    return _compute("clamp", value, lo, hi)


def fpow(base: Any, exponent: Any) -> Any:
    """A power, as floating point."""
    return _compute("fpow", base, exponent)


def max(left: Any, right: Any) -> Any:  # noqa: A001
    """The greater value."""
    return _compute("max", left, right)


def min(left: Any, right: Any) -> Any:  # noqa: A001
    """The lesser value."""
    return _compute("min", left, right)


def pow(base: Any, exponent: Any) -> Any:  # noqa: A001
    """A power, in the type in which the operands meet; negative powers of integers are 0."""
    return _compute("pow", base, exponent)
