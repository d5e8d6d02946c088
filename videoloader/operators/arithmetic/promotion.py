"""Element types of the results of arithmetic, by DALI's table."""

from __future__ import annotations

from functools import cache

from videoloader.errors import ArgumentError
from videoloader.types import DataType

__all__ = ["common_type", "floating_type", "promote"]


@cache
def promote(left: DataType, right: DataType) -> DataType:
    """The type in which two values meet.

    - A floating point type wins over all others, the larger one of two.
    - Of two signed, or two unsigned types the larger one; BOOL is smaller than all.
    - Signed and unsigned: signed, and twice as large as the unsigned one if that is not smaller,
      but 64 bits at most.

    >>> promote(DataType.UINT8, DataType.INT8), promote(DataType.INT64, DataType.FLOAT16)
    (DataType.INT16, DataType.FLOAT16)
    """
    floats = [kind for kind in (left, right) if kind.is_floating_point]
    if floats:
        return max(floats, key=_bits)
    if DataType.BOOL in (left, right):
        return right if left is DataType.BOOL else left
    if left.value[0] == right.value[0]:  # both signed or both unsigned
        return max(left, right, key=_bits)
    signed, unsigned = (right, left) if left.value[0] == "u" else (left, right)
    bits = max(_bits(signed), min(2 * _bits(unsigned), 64))
    return DataType(f"int{bits}")


def common_type(*kinds: DataType) -> DataType:
    """`promote` from left to right."""
    result = kinds[0]
    for kind in kinds[1:]:
        result = promote(result, kind)
    return result


def floating_type(*kinds: DataType) -> DataType:
    """The common type if it is a floating point type, else FLOAT."""
    kind = common_type(*kinds)
    return kind if kind.is_floating_point else DataType.FLOAT


def _bits(kind: DataType) -> int:
    return 8 * kind.torch.itemsize


def check_not_bool(name: str, *kinds: DataType) -> None:
    """An error if all operands are BOOL."""
    if all(kind is DataType.BOOL for kind in kinds):
        raise ArgumentError(
            f"the operands of {name} must not all be BOOL; use &, |, ^ or ==, or cast one of them"
        )


def check_integers(name: str, *kinds: DataType) -> None:
    """An error if an operand is floating point."""
    for kind in kinds:
        if kind.is_floating_point:
            raise ArgumentError(f"the operands of {name} must be integers or BOOL, got {kind.name}")
