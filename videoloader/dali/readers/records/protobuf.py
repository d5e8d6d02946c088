"""Messages of protocol buffers: their fields, without a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError

_WIDTHS = {1: 8, 5: 4}  # bytes of the fixed wire types
_VARINT, _BYTES = 0, 2


class Field(NamedTuple):
    """A field of a message: its number, and an unsigned integer or bytes."""

    number: int
    value: int | memoryview


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in its order.

    Raises:
        FormatError: it is none, or is cut off.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield Field(key >> 3, value)
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _WIDTHS:
            size = _WIDTHS[kind]
        else:
            raise FormatError(f"a message with a field of wire type {kind}")
        if size > len(message) - at:
            raise FormatError("a message that ends inside a field")
        yield Field(key >> 3, message[at : at + size])
        at += size


def integers(value: int | memoryview) -> list[int]:
    """The signed integers of a repeated field: one, or several that are packed."""
    if isinstance(value, int):
        return [_signed(value)]
    found, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(_signed(number))
    return found


def floats(value: int | memoryview, dtype: str = "<f4") -> NDArray[np.float64 | np.float32]:
    """The numbers of a repeated field of floats or doubles: one, or several that are packed."""
    if isinstance(value, int) or len(value) % np.dtype(dtype).itemsize:
        raise FormatError("a message with damaged numbers")
    return np.frombuffer(value, dtype)


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise FormatError("a message that ends inside a number")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
