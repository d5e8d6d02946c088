"""Readers: sources that go through a set of files epoch after epoch."""

from videoloader.fn.function import Function

__all__ = ["video"]

video = Function("readers.video")
