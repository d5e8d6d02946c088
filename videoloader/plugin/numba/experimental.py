"""The place that DALI's class has had first."""

from __future__ import annotations

from videoloader.plugin.numba import NumbaFunction

__all__ = ["NumbaFunction"]
