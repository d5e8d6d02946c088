"""`if`, `and`, `or` and `not` on data nodes: definitions are rewritten so that both sides run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from videoloader.pipeline.conditionals import branches
from videoloader.pipeline.conditionals.convert import Converter, do_not_convert

__all__ = ["converted", "do_not_convert"]

_CONVERTER = Converter({name: getattr(branches, name) for name in branches.__all__})


def converted(definition: Callable[..., Any]) -> Callable[..., Any]:
    """The definition of a pipeline, with conditions that may be data nodes.

    Raises:
        ArgumentError: its source is not available.
    """
    return _CONVERTER.definition(definition)
