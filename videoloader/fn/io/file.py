"""Files whose paths are data."""

from videoloader.fn.names import public_functions

globals().update(public_functions("io.file"))

__all__ = sorted(public_functions("io.file"))
