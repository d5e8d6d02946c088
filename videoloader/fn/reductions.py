"""Sums, means, deviations and extremes along dimensions of samples."""

from videoloader.fn.names import public_functions

globals().update(public_functions("reductions"))

__all__ = sorted(public_functions("reductions"))
