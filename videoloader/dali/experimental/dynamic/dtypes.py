"""`DType`: element types of dynamic mode, such as `ndd.float32`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from videoloader.dali import types
from videoloader.errors import ArgumentTypeError

__all__ = [
    "DType",
    "DataType",
    "ImageType",
    "InterpType",
    "bfloat16",
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
    """The kind of number that the bits of an element encode."""

    signed = "i"
    unsigned = "u"
    float = "f"
    bool = "bool"
    enum = "enum"


@dataclass(frozen=True, eq=False, slots=True)
class DType:
    """An element type; equal to whatever else names the same type, as `DataType.of` takes it.

    Attributes:
        type_id: the same type in `videoloader.dali.types`; None for `bfloat16`, which, as in DALI,
            no operator takes or gives.

    >>> str(float32), float32.bits, float32.kind, float32 == "float32", uint8.exponent_bits
    ('f32', 32, <_Kind.float: 'f'>, True, None)
    """

    Kind: ClassVar[type[_Kind]] = _Kind

    type_id: types.DataType | None

    @property
    def kind(self) -> _Kind:
        """Whether it is an integer, floating point, a truth value or a member of an enumeration."""
        if self.type_id is None:
            return _Kind.float
        if not self.type_id.is_numeric:
            return _Kind.enum
        name = self.type_id.value
        return _Kind(name if name == "bool" else name[0])

    @property
    def bytes(self) -> int:
        """Size of an element in bytes."""
        if self.type_id is None:
            return 2
        return 4 if self.kind is _Kind.enum else self.type_id.torch.itemsize

    @property
    def bits(self) -> int:
        """Size of an element in bits."""
        return 8 * self.bytes

    @property
    def significand_bits(self) -> int | None:
        """Stored bits of the significand; None unless it is floating point."""
        if self.type_id is None:
            return 7
        return _SIGNIFICAND_BITS[self.bits] if self.kind is _Kind.float else None

    @property
    def exponent_bits(self) -> int | None:
        """Bits of the exponent; None unless it is floating point."""
        significand = self.significand_bits
        return None if significand is None else self.bits - significand - 1

    @property
    def name(self) -> str:
        """Kind and size, such as "u8", or the name of the enumeration."""
        if self.type_id is None:
            return "bfloat16"
        if self.kind is _Kind.enum:
            return _ENUMERATIONS[self.type_id]
        return self.kind.value if self.kind is _Kind.bool else f"{self.kind.value}{self.bits}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> Any:
        try:
            other_id = other.type_id if isinstance(other, DType) else type_id(other)
            return self.type_id is other_id
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.type_id)


int8, int16 = DType(types.DataType.INT8), DType(types.DataType.INT16)
int32, int64 = DType(types.DataType.INT32), DType(types.DataType.INT64)
uint8, uint16 = DType(types.DataType.UINT8), DType(types.DataType.UINT16)
uint32, uint64 = DType(types.DataType.UINT32), DType(types.DataType.UINT64)
float16, float32 = DType(types.DataType.FLOAT16), DType(types.DataType.FLOAT)
float64, bfloat16 = DType(types.DataType.FLOAT64), DType(None)
_ENUMERATIONS = {
    types.DataType.DATA_TYPE: "DataType",
    types.DataType.IMAGE_TYPE: "ImageType",
    types.DataType.INTERP_TYPE: "InterpType",
}
DataType, ImageType, InterpType = map(DType, _ENUMERATIONS)
bool = DType(types.DataType.BOOL)  # noqa: A001  DALI's name

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


def type_id(value: Any) -> types.DataType:
    """The member of `videoloader.dali.types.DataType`, from the same values as `dtype`.

    >>> type_id("f16"), type_id(uint8)
    (DataType.FLOAT16, DataType.UINT8)
    """
    if isinstance(value, DType):
        if value.type_id is None:
            raise ArgumentTypeError(
                "no operator takes or gives bfloat16; convert with .torch().bfloat16()"
            )
        return value.type_id
    return types.DataType.of(_NAMED.get(value, value) if isinstance(value, str) else value)
