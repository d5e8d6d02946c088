"""`NumbaFunction` under its DALI name: a function compiled by Numba in a pipeline."""

from __future__ import annotations

from typing import Any

from videoloader.dali import ops

__all__ = ["NumbaFunction"]

NumbaFunction: Any = vars(ops)["NumbaFunction"]
