"""Inputs: sources that are fed with whole files."""

from videoloader.fn.names import public_functions

globals().update(public_functions("inputs"))

__all__ = sorted(public_functions("inputs"))
