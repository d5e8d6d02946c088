"""Operators: what they are, and the kernels that do the work. `videoloader.fn` offers them."""

from videoloader.ops import (
    color,
    convert,
    decode,
    external,
    geometry,
    random,
    reader,
    resize,
    subscript,
)
from videoloader.ops.operator import OPERATORS, Operator, Sample, declare

__all__ = [
    "OPERATORS",
    "Operator",
    "Sample",
    "color",
    "convert",
    "declare",
    "decode",
    "external",
    "geometry",
    "random",
    "reader",
    "resize",
    "subscript",
]
