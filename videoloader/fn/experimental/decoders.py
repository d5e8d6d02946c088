"""Decoders of images under their experimental names."""

from videoloader.fn.names import public_functions

globals().update(public_functions("experimental.decoders"))

__all__ = sorted(public_functions("experimental.decoders"))
