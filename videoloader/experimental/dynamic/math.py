"""Mathematical functions of `Tensor`s and `Batch`es, as in `videoloader.math`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from videoloader import math
from videoloader.experimental.dynamic.values import compute

__all__ = list(math.__all__)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no function {name!r}")
    return partial(compute, name)
