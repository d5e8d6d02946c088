"""The pipeline that is being defined, if any: a stack for each thread."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from videoloader.errors import ArgumentError


class Definer(Protocol):
    """A pipeline, as far as its definition knows it."""

    enable_conditionals: bool

    @property
    def is_built(self) -> bool:
        """Whether its graph is fixed."""

    def add_sink(self, data_node: Any) -> None:
        """Run the operator of a data node, or a node, though no output needs it."""


class Eager(Protocol):
    """Runs operators when a definition calls them, as debug mode does."""

    def node_made(self, node: Any) -> None:
        """Called with every `Node` that the definition makes."""

    def inject(self, value: Any) -> Any:
        """The data node of a batch that the definition has at hand; None for other values."""


_STACK: ContextVar[tuple[tuple[Definer, Eager | None], ...]] = ContextVar(
    "videoloader_pipelines", default=()
)


def current_pipeline() -> Definer | None:
    """The innermost pipeline whose definition is running; None outside of definitions."""
    stack = _STACK.get()
    return stack[-1][0] if stack else None


def current_eager() -> Eager | None:
    """The runner of operators that the definition calls; None if they become a graph."""
    stack = _STACK.get()
    return stack[-1][1] if stack else None


def is_defining() -> bool:
    """Whether a pipeline that is not built yet is being defined."""
    pipeline = current_pipeline()
    return pipeline is not None and (current_eager() is not None or not pipeline.is_built)


def push_current(pipeline: Definer, eager: Eager | None = None) -> None:
    """Make a pipeline the current one until `pop_current`."""
    _STACK.set((*_STACK.get(), (pipeline, eager)))


def pop_current() -> None:
    """Make the pipeline current that was current before the last `push_current`."""
    stack = _STACK.get()
    if not stack:
        raise ArgumentError("no pipeline is current: pop_current without push_current")
    _STACK.set(stack[:-1])
