"""`eager`: operators called without data run at once; marks the random tensors they return."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from videoloader.errors import ArgumentError

_EAGER: ContextVar[bool] = ContextVar("videoloader_eager", default=False)


@contextmanager
def eager() -> Iterator[None]:
    """Let operators that are called without data run at once, outside of definitions.

    A call such as `fn.random.uniform()` makes a node of a graph otherwise, as in DALI. Operators
    that are called with tensors, arrays or bytes run at once in any case. Transforms of `Loader`
    and `ClipDataset`, and what a pipeline calls of Python, are in such a block already.

    Use it in a `with` statement, or as a decorator of a function such as `__getitem__`. It holds
    for the thread that enters it. What a pipeline's definition calls makes nodes in it as well.

    >>> from videoloader.dali import fn
    >>> with eager():
    ...     fn.random.coin_flip(probability=1)
    tensor(1, dtype=torch.int32)
    >>> fn.random.uniform(name="chance")
    DataNode('chance', device='cpu')
    """
    token = _EAGER.set(True)
    try:
        yield
    finally:
        _EAGER.reset(token)


def is_eager() -> bool:
    """Whether this thread is in a block of `eager`."""
    return _EAGER.get()


def mark_drawn(tensor: Any, operator: str) -> None:
    """Mark a tensor with the operator that drew it at once."""
    tensor._videoloader_drawn_by = operator
    if tensor._base is not None:  # its views have the same base
        tensor._base._videoloader_drawn_by = operator


def check_not_drawn(value: Any) -> None:
    """Fail if a value for a graph, or a member of a list or tuple, was drawn at once.

    Raises:
        ArgumentError: names the operator, and how it becomes a node.
    """
    operator = _drawn_by(value)
    if operator is not None:
        raise ArgumentError(
            f"fn.{operator} ran at once, so what it drew would be the same for every sample of "
            "every batch: call it outside of videoloader.dali.eager(), with data as "
            "types.Constant(data), and it makes a node; for a constant that is meant, pass "
            "value.clone()"
        )


def _drawn_by(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return next(filter(None, map(_drawn_by, value)), None)
    own: str | None = getattr(value, "_videoloader_drawn_by", None)
    if own is None:
        own = getattr(getattr(value, "_base", None), "_videoloader_drawn_by", None)
    return own
