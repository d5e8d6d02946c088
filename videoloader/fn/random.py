"""Random numbers, one draw a sample."""

from videoloader.fn.names import public_functions

globals().update(public_functions("random"))

__all__ = sorted(public_functions("random"))
