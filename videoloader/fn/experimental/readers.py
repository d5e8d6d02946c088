"""`fn.readers.video` under its experimental name."""

from videoloader.fn.names import public_functions

globals().update(public_functions("experimental.readers"))

__all__ = sorted(public_functions("experimental.readers"))
