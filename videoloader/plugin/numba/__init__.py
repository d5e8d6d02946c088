"""Functions compiled by Numba in a pipeline, where DALI has them."""

from __future__ import annotations

from typing import Any

from videoloader import ops

__all__ = ["NumbaFunction"]

NumbaFunction: Any = vars(ops)["NumbaFunction"]
