"""Functions that rewritten definitions call, on plain values or data nodes.

A condition that is a data node has a value for each sample. Both branches then run, one after the
other: what they call runs on the samples of their branch. Afterwards each place that a branch
assigned has the merged values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import torch

from videoloader.dali.pipeline.graph.merging import merge, negation, predicate_node
from videoloader.dali.pipeline.graph.nodes import Branch, DataNode, inside
from videoloader.dali.pipeline.graph.promotion import constant_node, promote
from videoloader.dali.types import ArrayConstant, ScalarConstant
from videoloader.errors import ArgumentError, ArgumentTypeError, VideoError

__all__ = ["Branches", "and_", "compare", "if_expression", "not_", "or_", "read", "refuse"]

_RETURNED = "the value that it returns"
_NUMBERS = bool | int | float | np.number | np.bool_


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = _Nothing()
"""Marks a place without a value."""


class Branches:
    """An `if` statement; see `rewrite.py`.

    Args:
        test: the condition, a plain value or a data node.
        texts: the places that its branches may assign.
        readers: give the values of these places.

    Attributes:
        splits: whether the condition is a data node.
        runs_body: whether the first branch runs.
        runs_orelse: whether the other one does.
        gives: whether a branch has given a value that the function returns.
    """

    def __init__(
        self, test: Any, texts: Sequence[str], readers: Sequence[Callable[[], Any]]
    ) -> None:
        test = constant_node(test)
        self.splits = isinstance(test, DataNode)
        self.runs_body = self.splits or bool(test)
        self.runs_orelse = self.splits or not self.runs_body
        self._texts = texts
        self._readers = readers
        self._values: list[Any] = []
        self._body: list[Any] = []
        self._given: dict[bool, Any] = {}
        self._outcome = self.runs_body
        self._scope = ExitStack()
        if self.splits:
            self._predicate = predicate_node(test, "the condition of an `if`")
            self._values = self._read()

    def __enter__(self) -> Branches:
        if self.splits:
            self._scope.enter_context(inside(Branch(self._predicate, outcome=True)))
        return self

    def __exit__(self, *_: object) -> None:
        self._scope.close()

    def end_body(self) -> None:
        """Change to the other branch, where variables have their values from before the first."""
        self._body = self._read()
        self._scope.close()
        self._outcome = False
        self._scope.enter_context(inside(Branch(self._predicate, outcome=False)))

    def end_orelse(self) -> None:
        """Leave the last branch; variables then have the merged values of both branches."""
        orelse = self._read()
        self._scope.close()
        self._values = [
            self._merged(text, *pair)
            for text, *pair in zip(self._texts, self._body, orelse, self._values, strict=True)
        ]

    def value(self, number: int) -> Any:
        """The value to assign to a place."""
        return self._values[number]

    def has(self, number: int) -> bool:
        """Whether a place has a value, or had one in a branch."""
        return self._values[number] is not NOTHING

    def lacks(self, number: int) -> bool:
        """Whether a place has a value that it has to lose."""
        return not self.has(number) and self._read_one(number) is not NOTHING

    def give(self, value: Any) -> None:
        """Take a value that the function returns in the branch that runs."""
        self._given[self._outcome] = value

    @property
    def gives(self) -> bool:
        """Whether a branch gave a value that the function returns."""
        return bool(self._given)

    def result(self) -> Any:
        """The value that the function returns."""
        if not self.splits:
            (value,) = self._given.values()
            return value
        if len(self._given) == 1:
            side, other = ("if", "else") if True in self._given else ("else", "if")
            raise ArgumentError(
                f"the `{side}` branch returns a value and the `{other}` branch does not: the "
                "condition is a data node, so both have to return"
            )
        return read(self._merged(_RETURNED, self._given[True], self._given[False]))

    def _merged(self, text: str, body: Any, orelse: Any, before: Any = NOTHING) -> Any:
        return merge_values(self._predicate, text, body, orelse, before)

    def _read(self) -> list[Any]:
        return [self._read_one(number) for number in range(len(self._readers))]

    def _read_one(self, number: int) -> Any:
        try:
            return self._readers[number]()
        except (NameError, AttributeError, LookupError, TypeError):
            return NOTHING


def read(value: Any) -> Any:
    """A value that an `if` may not have given in both branches; an error if it has not."""
    if value is NOTHING:
        raise ArgumentError("a variable is used that has no value: no branch has assigned it")
    if isinstance(value, Lacking):
        raise value.error
    return value


def refuse(word: str, *branches: Branches) -> None:
    """Fail if a `return`, `break` or `continue` depends on a data node."""
    if any(each.splits for each in branches):
        what = (
            "possible only where both branches of an `if` return at the end of the function"
            if word == "return"
            else "not possible"
        )
        raise ArgumentError(
            f"`{word}` under a condition that is a data node is {what}: the condition has a value "
            "for each sample"
        )


def not_(value: Any) -> Any:
    """`not value`: of a data node a data node."""
    value = constant_node(value)
    if not isinstance(value, DataNode):
        return not value
    return negation(value)


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first and other and ...`: each operand runs on the samples for which all before are true."""
    return _logical("and", first, others)


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first or other or ...`: each operand runs on the samples for which all before are false."""
    return _logical("or", first, others)


def _logical(word: Literal["and", "or"], first: Any, others: Sequence[Callable[[], Any]]) -> Any:
    goes_on = word == "and"  # where the left side is so, the right one decides
    first = constant_node(first)
    if not others:
        return first
    if not isinstance(first, DataNode):
        return first if bool(first) != goes_on else _logical(word, others[0](), others[1:])
    left = predicate_node(first, f"the left side of `{word}`", only_bool=True)
    what = f"the right side of `{word}`"
    with inside(Branch(left, goes_on)):
        right = _logical(word, others[0](), others[1:])
        if isinstance(right, ScalarConstant | ArrayConstant | np.ndarray | np.bool_):
            right = promote(right, what)
        if isinstance(right, DataNode):
            right = predicate_node(right, what, only_bool=True)
        elif not isinstance(right, bool):
            raise ArgumentTypeError(
                f"{what} must be a data node or a bool, for the left side is a data node; got "
                f"{type(right).__name__}"
            )
    return merge(left, right, left) if goes_on else merge(left, left, right)


def if_expression(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`body if test else orelse`, with values for all samples if `test` is a data node."""
    test = constant_node(test)
    if not isinstance(test, DataNode):
        return body() if test else orelse()
    predicate = predicate_node(test, "the condition of an `if` expression")
    values = []
    for outcome, evaluate in ((True, body), (False, orelse)):
        with inside(Branch(predicate, outcome)):
            values.append(evaluate())
    return read(merge_values(predicate, "the value of an `if` expression", *values))


def compare(left: Any, *links: Any) -> Any:
    """A chain such as `a < b < c`, which means `a < b and b < c`.

    Args:
        left: the first value.
        *links: names of operators, each followed by the value on its right: the first as it is, the
            others as functions.
    """
    name, right, *others = links
    result = _COMPARISONS[name](left, right)
    if not others:
        return result
    name, value, *others = others
    return and_(result, lambda: compare(right, name, value(), *others))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda item, items: item in items,
    "NotIn": lambda item, items: item not in items,
}


@dataclass(frozen=True, slots=True)
class Lacking:
    """Marks a place whose values in two branches cannot be merged; reading it raises `error`."""

    error: VideoError


def merge_values(
    predicate: DataNode, text: str, body: Any, orelse: Any, before: Any = NOTHING
) -> Any:
    """The merged value of a place, or a `Lacking`: only who uses it gets the error.

    Args:
        predicate: the condition.
        text: the place, for the error.
        body: what the `if` branch leaves there.
        orelse: what the `else` branch leaves there.
        before: what was there before; a plain number that is still there stays as it is.
    """
    for side, value in (("if", body), ("else", orelse)):
        if isinstance(value, Lacking):
            return value
        other = orelse if side == "if" else body
        if value is NOTHING and other is not NOTHING:
            return Lacking(
                ArgumentTypeError(
                    f"{text} has no value in the `{side}` branch, and its condition is a data "
                    "node: assign it in both branches, or before the `if`"
                )
            )
    try:
        return _merged(predicate, text, body, orelse, before)
    except VideoError as error:
        return Lacking(error)


def _merged(predicate: DataNode, text: str, body: Any, orelse: Any, before: Any) -> Any:
    if body is orelse and (body is before or not isinstance(body, _NUMBERS)):
        return body
    if isinstance(body, dict) and type(body) is type(orelse):
        if body.keys() != orelse.keys():
            raise _unlike(text, f"keys {sorted(map(str, body))}", sorted(map(str, orelse)))
        return type(body)(
            (key, _merged(predicate, f"{text}[{key!r}]", body[key], orelse[key], NOTHING))
            for key in body
        )
    if isinstance(body, list | tuple) and type(body) is type(orelse):
        if len(body) != len(orelse):
            raise _unlike(text, f"{len(body)} items", len(orelse))
        items = [
            _merged(predicate, f"{text}[{place}]", *pair, NOTHING)
            for place, pair in enumerate(zip(body, orelse, strict=True))
        ]
        return type(body)(*items) if hasattr(body, "_fields") else type(body)(items)
    for value in (body, orelse):
        if not isinstance(value, DataNode | _NUMBERS | np.ndarray | torch.Tensor) and not (
            isinstance(value, ScalarConstant | ArrayConstant)
        ):
            if type(body) is type(orelse) is str and body == orelse:
                return body
            raise _unlike(text, type(body).__name__, type(orelse).__name__)
    return merge(predicate, body, orelse)


def _unlike(text: str, body: Any, orelse: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{text} cannot be merged: {body} in the `if` branch, {orelse} in the `else` branch. "
        "Their condition is a data node, so both have to leave data nodes or numbers, or lists, "
        "tuples and dicts of one form"
    )
