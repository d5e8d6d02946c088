"""Decoders: from the bytes of a file, or its path, to frames."""

from videoloader.fn.names import public_functions

globals().update(public_functions("decoders"))

__all__ = sorted(public_functions("decoders"))
