"""Finds and replaces values in nested data: lists, tuples, mappings, dataclasses, objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

_LEAVES = (
    *(str, bytes, bytearray, memoryview, int, float, complex, type(None), type),
    *(torch.Tensor, torch.device, torch.dtype, np.ndarray, np.generic, np.dtype, range),
    *(ModuleType, FunctionType, BuiltinFunctionType, MethodType),
)


def found(data: Any, kinds: tuple[type, ...]) -> list[Any]:
    """The values of some types in nested data, each once, in their order."""
    values: list[Any] = []
    seen: dict[int, Any] = {}  # with the objects, so that no other gets their address
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _LEAVES) or id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, kinds):
            values.append(each)
        else:
            waiting += reversed([*_parts(each)])
    return values


def replaced(data: Any, kinds: tuple[type, ...], value_of: Callable[[Any], Any]) -> Any:
    """The data with the values of some types replaced.

    Lists, mappings and objects are changed in place, tuples made anew where something changes.
    """
    done: dict[int, tuple[Any, Any]] = {}

    def visit(each: Any) -> Any:
        if isinstance(each, _LEAVES):
            return each
        if id(each) in done:
            return done[id(each)][1]
        if isinstance(each, kinds):
            result = value_of(each)
        else:
            done[id(each)] = each, each  # for data that contains itself
            result = _rebuilt(each, visit)
        done[id(each)] = each, result
        return result

    return visit(data)


def _parts(data: Any) -> Iterable[Any]:
    if isinstance(data, Mapping):
        yield from data.values()
    elif isinstance(data, list | tuple):
        yield from data
    yield from (value for _, value in _attributes(data))


def _attributes(data: Any) -> list[tuple[str, Any]]:
    """Attributes of an object, also of a dataclass without a dictionary."""
    values = dict(getattr(data, "__dict__", ()))
    if dataclasses.is_dataclass(data):
        fields = [field.name for field in dataclasses.fields(data) if hasattr(data, field.name)]
        values |= {name: getattr(data, name) for name in fields}
    return [*values.items()]


def _rebuilt(data: Any, visit: Callable[[Any], Any]) -> Any:
    if isinstance(data, tuple):
        parts = [visit(part) for part in data]
        if all(new is old for new, old in zip(parts, data, strict=True)):
            return data
        return type(data)(*parts) if hasattr(data, "_fields") else type(data)(parts)
    if isinstance(data, list):
        data[:] = [visit(part) for part in data]
    elif isinstance(data, MutableMapping):
        for key, value in [*data.items()]:
            if (new := visit(value)) is not value:
                data[key] = new
    elif isinstance(data, Mapping):
        mapped = {key: visit(value) for key, value in data.items()}
        if any(mapped[key] is not value for key, value in data.items()):
            return type(data)(mapped)  # type: ignore[call-arg]
        return data
    for name, value in _attributes(data):
        if (new := visit(value)) is not value:
            object.__setattr__(data, name, new)  # of a frozen dataclass too
    return data
