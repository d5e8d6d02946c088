"""Alias: the older DALI name `plugin.numba.fn.experimental.numba_function`."""

from __future__ import annotations

from videoloader.dali.plugin.numba.fn import numba_function

__all__ = ["numba_function"]
