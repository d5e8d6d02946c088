"""Merges what two branches leave in a place: data nodes, constants, and containers of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from videoloader.dali.pipeline.graph.merging import merge
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.dali.types import ArrayConstant, ScalarConstant
from videoloader.errors import ArgumentTypeError, VideoError

_NUMBERS = bool | int | float | np.number | np.bool_


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = _Nothing()
"""Marks a place without a value."""


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
