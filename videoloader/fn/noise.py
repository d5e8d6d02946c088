"""Noise: what a camera or a bad channel adds to pictures, and to any other data."""

from videoloader.fn.names import public_functions

globals().update(public_functions("noise"))

__all__ = sorted(public_functions("noise"))
