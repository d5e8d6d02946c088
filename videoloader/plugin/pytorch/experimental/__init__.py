"""Where DALI has its proxy."""

from videoloader.plugin.pytorch.experimental import proxy

__all__ = ["proxy"]
