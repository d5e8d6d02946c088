"""The name that DALI's function has had first."""

from __future__ import annotations

from videoloader.plugin.numba.fn import numba_function

__all__ = ["numba_function"]
