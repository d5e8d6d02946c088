"""Operators under the names that they had in DALI while they were experimental."""

from videoloader.dali.fn.experimental import decoders, inputs, readers  # noqa: F401
from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
