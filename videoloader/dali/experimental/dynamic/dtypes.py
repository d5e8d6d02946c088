"""`DType`: element types of dynamic mode, such as `ndd.float32`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from videoloader.dali.types import DataType

__all__ = [
    "DType",
    "bool",
    "dtype",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "type_id",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_SIGNIFICAND_BITS = {16: 10, 32: 23, 64: 52}


class _Kind(Enum):
    """What the bits of an element stand for."""

    signed = "i"
    unsigned = "u"
    float = "f"
    bool = "bool"


@dataclass(frozen=True, eq=False, slots=True)
class DType:
    """An element type; equal to whatever else names the same type, as `DataType.of` takes it.

    Attributes:
        type_id: the same type in `videoloader.dali.types`.

    >>> str(float32), float32.bits, float32.kind, float32 == "float32", uint8.exponent_bits
    ('f32', 32, <_Kind.float: 'f'>, True, None)
    """

    Kind: ClassVar[type[_Kind]] = _Kind

    type_id: DataType

    @property
    def kind(self) -> _Kind:
        """Whether it is a signed or unsigned integer, floating point or a truth value."""
        name = self.type_id.value
        return _Kind(name if name == "bool" else name[0])

    @property
    def bytes(self) -> int:
        """Size of an element in bytes."""
        return self.type_id.torch.itemsize

    @property
    def bits(self) -> int:
        """Size of an element in bits."""
        return 8 * self.bytes

    @property
    def significand_bits(self) -> int | None:
        """Stored bits of the significand; None unless it is floating point."""
        return _SIGNIFICAND_BITS[self.bits] if self.kind is _Kind.float else None

    @property
    def exponent_bits(self) -> int | None:
        """Bits of the exponent; None unless it is floating point."""
        significand = self.significand_bits
        return None if significand is None else self.bits - significand - 1

    @property
    def name(self) -> str:
        """Kind and size, such as "u8"."""
        return self.kind.value if self.kind is _Kind.bool else f"{self.kind.value}{self.bits}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> Any:
        try:
            return self.type_id is type_id(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.type_id)


int8, int16 = DType(DataType.INT8), DType(DataType.INT16)
int32, int64 = DType(DataType.INT32), DType(DataType.INT64)
uint8, uint16 = DType(DataType.UINT8), DType(DataType.UINT16)
uint32, uint64 = DType(DataType.UINT32), DType(DataType.UINT64)
float16, float32 = DType(DataType.FLOAT16), DType(DataType.FLOAT)
float64 = DType(DataType.FLOAT64)
bool = DType(DataType.BOOL)  # noqa: A001  DALI's name

_NAMED = {
    str(each): each.type_id
    for each in (
        *(int8, int16, int32, int64, uint8, uint16, uint32, uint64),
        *(float16, float32, float64, bool),
    )
}


def dtype(value: Any) -> DType:
    """The `DType` for a name such as "f32" or "uint8", or for a type of torch, numpy or `types`.

    Raises:
        TypeError, ValueError: `value` names no element type.

    >>> import numpy as np
    >>> dtype("f32") == float32, dtype(np.uint8).name, dtype("int16").bytes
    (True, 'u8', 2)
    """
    return value if isinstance(value, DType) else DType(type_id(value))


def type_id(value: Any) -> DataType:
    """The member of `videoloader.dali.types.DataType`; takes what `dtype` takes.

    >>> type_id("f16"), type_id(uint8)
    (DataType.FLOAT16, DataType.UINT8)
    """
    if isinstance(value, DType):
        return value.type_id
    return DataType.of(_NAMED.get(value, value) if isinstance(value, str) else value)
