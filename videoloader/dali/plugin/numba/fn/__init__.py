"""Operators that Numba compiles; they are in `videoloader.dali.fn` too."""

from __future__ import annotations

from typing import Any

from videoloader.dali import fn

__all__ = ["numba_function"]

numba_function: Any = vars(fn)["numba_function"]
