"""Decoders: from the bytes of a file, or its path, to frames."""

from videoloader.fn.function import Function

__all__ = ["video"]

video = Function("decoders.video")
