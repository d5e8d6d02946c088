"""Operators: what they are, and the kernels that do the work. `videoloader.fn` offers them."""

from videoloader.operators import color, convert, geometry, random, resize, subscript
from videoloader.operators.operator import OPERATORS, Operator, Sample, declare

__all__ = [
    "OPERATORS",
    "Operator",
    "Sample",
    "color",
    "convert",
    "declare",
    "geometry",
    "random",
    "resize",
    "subscript",
]
