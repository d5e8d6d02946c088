"""Branches: the samples of a batch for which a predicate is true, or false.

A data node in a branch has values for the samples of that branch only. Branches nest: the predicate
of an inner one is itself in the outer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    from videoloader.pipeline.graph.nodes import DataNode

__all__ = ["Branch", "check_within", "current_branch", "deepest", "inside", "path_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One side of a condition.

    Attributes:
        predicate: a bool for each sample of the branch around this one.
        outcome: what the predicate is for the samples of this branch.
    """

    predicate: DataNode
    outcome: bool

    @property
    def parent(self) -> Branch | None:
        """The branch around this one; None for all samples."""
        return self.predicate.branch

    @property
    def path(self) -> tuple[Branch, ...]:
        """The branches around it, the outermost first, and itself."""
        return (*(self.parent.path if self.parent else ()), self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return f"`{'if' if self.outcome else 'else'}` of {self.predicate.node.where}"

    @property
    def _key(self) -> tuple[object, ...]:
        # Data nodes of one output are equal here; `==` of them is an operator.
        return (self.predicate.node, self.predicate.output, self.outcome, self.parent)


_CURRENT: ContextVar[Branch | None] = ContextVar("videoloader_branch", default=None)


def current_branch() -> Branch | None:
    """The branch that a definition is in."""
    return _CURRENT.get()


@contextmanager
def inside(branch: Branch | None) -> Iterator[None]:
    """Let operators that are called in the block run on the samples of a branch."""
    token = _CURRENT.set(branch)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def path_of(branch: Branch | None) -> tuple[Branch, ...]:
    """The branches around a branch, the outermost first, and itself; none for all samples."""
    return branch.path if branch else ()


def deepest(branches: Iterable[Branch | None], what: str) -> Branch | None:
    """The innermost of some branches, which have to lie within one another.

    Args:
        branches: of what an operator takes.
        what: takes it, for the error.
    """
    inner = max(branches, key=lambda each: len(path_of(each)), default=None)
    for each in branches:
        check_within(each, inner, what)
    return inner


def check_within(outer: Branch | None, inner: Branch | None, what: str) -> None:
    """Fail if a branch does not contain another one."""
    path = path_of(outer)
    if path_of(inner)[: len(path)] != path:
        raise ArgumentError(
            f"{what} takes data of different branches ({outer}; {inner or 'all samples'}): they "
            "have different samples; merge them first"
        )
