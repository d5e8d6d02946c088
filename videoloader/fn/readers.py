"""Readers: sources that go through a set of files epoch after epoch."""

from videoloader.fn.names import public_functions

globals().update(public_functions("readers"))

__all__ = sorted(public_functions("readers"))
