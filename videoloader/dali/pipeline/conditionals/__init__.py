"""`if`, `and`, `or` and `not` on data nodes: definitions are rewritten so that both sides run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from videoloader.dali.pipeline.conditionals import branches
from videoloader.dali.pipeline.conditionals.convert import (
    NOT_A_DEFINITION,
    DefinitionConverter,
    do_not_convert,
)
from videoloader.dali.pipeline.graph.current import current_pipeline

__all__ = ["NOT_A_DEFINITION", "converted", "converted_callee", "do_not_convert"]

_CONVERTER = DefinitionConverter({name: getattr(branches, name) for name in branches.__all__})


def converted(definition: Callable[..., Any]) -> Callable[..., Any]:
    """The definition of a pipeline, with conditions that may be data nodes.

    Raises:
        ArgumentError: its source is not available.
    """
    return _CONVERTER.definition(definition)


def converted_callee(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that code of this package calls for a definition, converted as the definition is.

    As it was written where the pipeline that is being defined has no conditionals.
    """
    pipeline = current_pipeline()
    if pipeline is None or not pipeline.enable_conditionals:
        return function
    callee: Callable[..., Any] = _CONVERTER.callee(function)
    return callee
