"""Alias: the older DALI name `plugin.numba.experimental.NumbaFunction`."""

from __future__ import annotations

from videoloader.dali.plugin.numba import NumbaFunction

__all__ = ["NumbaFunction"]
