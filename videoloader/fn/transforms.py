"""Affine transforms of points, as matrices."""

from videoloader.fn.names import public_functions

globals().update(public_functions("transforms"))

__all__ = sorted(public_functions("transforms"))
