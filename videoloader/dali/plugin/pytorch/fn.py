"""Operators on PyTorch tensors, where DALI has them; they are in `videoloader.dali.fn` too."""

from __future__ import annotations

from typing import Any

from videoloader.dali import fn

__all__ = ["torch_python_function"]

torch_python_function: Any = vars(fn)["torch_python_function"]
