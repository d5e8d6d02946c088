"""Affine transforms of points, as matrices."""

from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
