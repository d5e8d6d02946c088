"""Python operators (+, <, ...) of data nodes, constants, tensors and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from videoloader.errors import ArgumentError, ArgumentTypeError


def _not_loaded(*operands: Any, **given: Any) -> Any:  # noqa: ARG001
    raise ArgumentError("operators compute once they are loaded: import videoloader.dali.fn first")


class Computable:
    """Base of values with arithmetic operators; `_expression(function, *operands)` computes them.

    `videoloader.dali.pipeline` sets `_expression` for graphs, `videoloader.dali.fn` for tensors.

    >>> from videoloader.dali.experimental import dynamic as ndd
    >>> tensor = ndd.tensor([3, 4])
    >>> isinstance(tensor, Computable), (tensor * 2 > 7).torch()
    (True, tensor([False,  True]))
    """

    __slots__ = ()
    __array_priority__ = 1000  # arrays leave operators to the other operand
    _expression: ClassVar[Callable[..., Any]] = staticmethod(_not_loaded)

    def __add__(self, other: Any) -> Any:
        return self._expression("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._expression("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._expression("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._expression("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._expression("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._expression("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._expression("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._expression("fdiv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._expression("div", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._expression("div", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._expression("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._expression("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._expression("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._expression("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return self._expression("bitand", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._expression("bitand", other, self)

    def __or__(self, other: Any) -> Any:
        return self._expression("bitor", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._expression("bitor", other, self)

    def __xor__(self, other: Any) -> Any:
        return self._expression("bitxor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._expression("bitxor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._expression("lshift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._expression("lshift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._expression("rshift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._expression("rshift", other, self)

    def __lt__(self, other: Any) -> Any:
        return self._expression("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._expression("leq", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._expression("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._expression("geq", self, other)

    def __neg__(self) -> Any:
        return self._expression("minus", self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self._expression("bitnot", self)

    def __abs__(self) -> Any:
        return self._expression("abs", self)


class Operand(Computable):
    """Operations of data nodes and constants; each adds an operator to a graph.

    >>> from videoloader.dali import Pipeline, fn
    >>> with Pipeline(batch_size=2):
    ...     data = fn.zeros(shape=[4])
    ...     isinstance(data, Operand), 1 - data / 2
    (True, DataNode('arithmetic_1', device='cpu'))
    """

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = object.__hash__
    _index: ClassVar[Callable[..., Any]] = staticmethod(_not_loaded)
    _describe: ClassVar[Callable[..., Any]] = staticmethod(_not_loaded)

    def __eq__(self, other: object) -> Any:
        return self._expression("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._expression("neq", self, other)

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            f"{self!r} has no value while the pipeline is defined, so it is neither "
            "true nor false; for `if`, `and`, `or` and `not` define the pipeline with "
            "enable_conditionals=True; & and | combine BOOL nodes"
        )

    __iter__ = None  # not iterable, though it has items

    def __getitem__(self, index: Any) -> Any:
        """Index every sample: `clips[::2]` has every second frame of each clip.

        Args:
            index: a position, a slice or `newaxis`, or a tuple of them. Positions and the parts of
                slices are integers, or data nodes with one for each sample.
        """
        return self._index(self, index)

    def shape(self, *, dtype: Any = None, device: str = "cpu") -> Any:
        """The sizes of every sample, as a 1-D tensor.

        Args:
            dtype: element type; INT64 by default.
            device: "cpu" or "gpu", where the result is.
        """
        given = {} if dtype is None else {"dtype": dtype}
        return self._describe("shapes", self, device, **given)

    def property(self, key: str, *, device: str = "cpu") -> Any:
        """A property of every sample, as the bytes of a string.

        Args:
            key: "source_info", where the sample comes from, such as its file; or "layout".
            device: "cpu" or "gpu", where the result is.
        """
        return self._describe("get_property", self, device, key=key)

    def source_info(self, *, device: str = "cpu") -> Any:
        """`property("source_info")`."""
        return self.property("source_info", device=device)
