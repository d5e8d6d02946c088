"""Integer arithmetic as C does it, for every integer type, on any device.

torch lacks arithmetic on UINT16, UINT32 and UINT64, so values are computed in a *carrier*: the
narrowest type of torch's own that holds the values, or for UINT64 the same 64 bits read as INT64.
Results wrap around when they are converted back.
"""

from __future__ import annotations

import torch

from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError

_CARRIERS = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
_LOWEST = torch.iinfo(torch.int64).min
_MOST = torch.iinfo(torch.int64).max


def carrier(kind: DataType) -> torch.dtype:
    """The torch type in which values of a type are computed."""
    return _CARRIERS.get(kind.torch, kind.torch)


def to_carrier(values: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Values as `kind`, in its carrier; integers wrap around, nothing is rounded or clamped."""
    return values.to(carrier(kind))


def from_carrier(values: torch.Tensor, kind: DataType, out: torch.Tensor) -> None:
    """Write values of the carrier of `kind` to `out`."""
    if kind is DataType.BOOL and values.dtype != torch.bool:
        values = values != 0
    out.copy_(values.view(torch.uint64) if kind is DataType.UINT64 else values)


def divide(left: torch.Tensor, right: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Quotient, truncated towards zero."""
    if kind is DataType.UINT64:
        return _divide_unsigned(left, right)
    if kind.value.startswith("uint"):
        return _truncated(left, right)
    # The lowest number divided by -1 overflows, and traps on a CPU.
    by_minus_one = right == -1
    if right.device.type == "cpu" and not by_minus_one.any():
        return _truncated(left, right)
    quotient = _truncated(left, right.masked_fill(by_minus_one, 1))
    return torch.where(by_minus_one, quotient.neg(), quotient)


def remainder(left: torch.Tensor, right: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Remainder of `divide`, with the sign of `left`."""
    if kind is DataType.UINT64:
        return left - _divide_unsigned(left, right) * right
    if not kind.value.startswith("uint"):
        right = right.masked_fill(right == -1, 1)  # as in `divide`
    try:
        return torch.fmod(left, right)
    except RuntimeError as error:
        raise _named(error) from error


def power(base: torch.Tensor, exponent: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Power modulo the size of the type; a negative exponent gives 0."""
    if kind is DataType.UINT64:
        # An exponent over 2**63: odd bases to the power of 2**63 are 1, even ones 0.
        rest = torch.pow(base, exponent & _MOST)
        return torch.where(exponent < 0, rest * (base & 1), rest)
    if kind.value.startswith("uint"):
        return torch.pow(base, exponent)
    return torch.pow(base, exponent.clamp(min=0)).masked_fill_(exponent < 0, 0)


def shift_left(values: torch.Tensor, count: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Shift by `count` modulo 32, or modulo 64 for types of 64 bits."""
    wide = _wide(values)
    return torch.bitwise_left_shift(wide, count.to(wide.dtype) & _last_bit(kind))


def shift_right(values: torch.Tensor, count: torch.Tensor, kind: DataType) -> torch.Tensor:
    """Shift by `count` modulo 32 or 64; the sign of signed types stays."""
    wide = _wide(values)
    count = count.to(wide.dtype) & _last_bit(kind)
    if kind is not DataType.UINT64:
        return torch.bitwise_right_shift(wide, count)
    # Clear the copies of the sign bit. Shifting by 64 is undefined: in two steps.
    copies = torch.bitwise_left_shift(torch.full_like(count, -2), 63 - count)
    return torch.bitwise_right_shift(wide, count) & ~copies


def is_less(
    left: torch.Tensor, right: torch.Tensor, left_kind: DataType, right_kind: DataType
) -> torch.Tensor:
    """Whether left < right as numbers, whatever the signs of the types; in INT64 carriers."""
    unsigned = [kind is DataType.UINT64 for kind in (left_kind, right_kind)]
    if all(unsigned):
        return _flipped(left) < _flipped(right)
    if unsigned[0]:  # a number over 2**63 is less than no signed one
        return (left >= 0) & (left < right)
    if unsigned[1]:
        return (right < 0) | (left < right)
    return left < right


def is_equal(
    left: torch.Tensor, right: torch.Tensor, left_kind: DataType, right_kind: DataType
) -> torch.Tensor:
    """Whether left == right as numbers, whatever the signs of the types; in INT64 carriers."""
    equal = left == right
    unsigned = [kind is DataType.UINT64 for kind in (left_kind, right_kind)]
    return equal & (left >= 0) if any(unsigned) and not all(unsigned) else equal


def _truncated(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    try:
        return torch.div(left, right, rounding_mode="trunc")
    except RuntimeError as error:
        raise _named(error) from error


def _divide_unsigned(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Quotient of 64 bits read as unsigned."""
    large = right < 0  # at least 2**63: the quotient is 0 or 1
    divisor = right.masked_fill(large, 1)
    half = torch.bitwise_right_shift(left, 1) & _MOST
    quotient = torch.bitwise_left_shift(_truncated(half, divisor), 1)
    rest = left - quotient * divisor
    quotient = quotient + (_flipped(rest) >= _flipped(divisor))
    return torch.where(large, (_flipped(left) >= _flipped(right)).to(torch.int64), quotient)


def _flipped(values: torch.Tensor) -> torch.Tensor:
    """INT64 values in the order of the same bits as UINT64."""
    return values ^ _LOWEST


def _wide(values: torch.Tensor) -> torch.Tensor:
    return values if values.dtype == torch.int64 else values.to(torch.int32)


def _last_bit(kind: DataType) -> int:
    return 63 if kind.torch.itemsize == 8 else 31


def _named(error: RuntimeError) -> Exception:
    if "ZeroDivisionError" in str(error):
        return ArgumentError("division of an integer by zero")
    return error
