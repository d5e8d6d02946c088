"""The pipeline that is being defined, if any: a stack for each thread."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    from videoloader.pipeline.pipeline import Pipeline

__all__ = ["current_pipeline", "is_defining", "pop_current", "push_current"]

_STACK: ContextVar[tuple[Pipeline, ...]] = ContextVar("videoloader_pipelines", default=())


def current_pipeline() -> Pipeline | None:
    """The innermost pipeline whose definition is running; None outside of definitions."""
    stack = _STACK.get()
    return stack[-1] if stack else None


def is_defining() -> bool:
    """Whether a pipeline that is not built yet is being defined."""
    pipeline = current_pipeline()
    return pipeline is not None and not pipeline.is_built


def push_current(pipeline: Pipeline) -> None:
    """Make a pipeline the current one until `pop_current`."""
    _STACK.set((*_STACK.get(), pipeline))


def pop_current() -> None:
    """Make the pipeline current that was current before the last `push_current`."""
    stack = _STACK.get()
    if not stack:
        raise ArgumentError("no pipeline is current: pop_current without push_current")
    _STACK.set(stack[:-1])
