"""Operators under the names that they had in DALI while they were experimental."""

from videoloader.fn.experimental import decoders, inputs, readers  # noqa: F401
from videoloader.fn.names import public_functions

globals().update(public_functions("experimental"))

__all__ = sorted([*public_functions("experimental"), "decoders", "inputs", "readers"])
