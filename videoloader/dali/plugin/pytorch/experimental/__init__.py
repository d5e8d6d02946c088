"""Alias: the DALI name `plugin.pytorch.experimental.proxy` of `plugin.pytorch.proxy`."""

from videoloader.dali.plugin.pytorch.experimental import proxy

__all__ = ["proxy"]
