"""Input and output of files."""

from videoloader.fn.io import file

__all__ = ["file"]
