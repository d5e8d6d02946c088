"""Arithmetic functions: computation, and element type of the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from videoloader.dali.operators.arithmetic import integers
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError


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
        return max(floats, key=_width)
    if DataType.BOOL in (left, right):
        return right if left is DataType.BOOL else left
    if left.value[0] == right.value[0]:  # both signed or both unsigned
        return max(left, right, key=_width)
    signed, unsigned = (right, left) if left.value[0] == "u" else (left, right)
    bits = max(_width(signed), min(2 * _width(unsigned), 64))
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


def _width(kind: DataType) -> int:
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


Compute = Callable[..., torch.Tensor]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one, two or three operands, element by element.

    Attributes:
        name: in expressions and errors, such as "+" or "sqrt".
        arity: number of operands.
        result: element type of the result for those of the operands; raises `ArgumentError`.
        compute: `compute(kind, *operands)` of operands converted to the type `kind`; with
            `out=` where `writes` is set. Results are in the carrier of the type.
        writes: whether `compute` may write to memory of type `kind`.
        compares: whether the result is BOOL and `compute` gets the types of the operands.
        in_double: whether integers beside floating point are computed in FLOAT64, which holds more
            of them exactly than the type of the result.
    """

    name: str
    arity: int
    result: Callable[..., DataType]
    compute: Compute
    writes: bool = False
    compares: bool = False
    in_double: bool = False

    def apply(
        self, kinds: tuple[DataType, ...], operands: tuple[torch.Tensor, ...], out: torch.Tensor
    ) -> None:
        """Compute into `out`, of the type and shape of the result."""
        if self.compares:
            out.copy_(self._compare(kinds, operands))
            return
        kind = DataType.of(out.dtype)
        if self.in_double and kind.is_floating_point and any(each.is_integer for each in kinds):
            kind = DataType.FLOAT64
        converted = [integers.to_carrier(each, kind) for each in operands]
        if self.writes and integers.carrier(kind) == out.dtype:
            self.compute(kind, *converted, out=out)
        else:
            integers.from_carrier(self.compute(kind, *converted), kind, out)

    def _compare(
        self, kinds: tuple[DataType, ...], operands: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        kind = common_type(*kinds)
        if kind.is_floating_point:
            kinds = (kind,) * len(kinds)
        # UINT64 beside a signed type: the common type does not hold all of their values.
        meets = torch.int64 if DataType.UINT64 in kinds else integers.carrier(kind)
        return self.compute(kinds, *(each.to(meets) for each in operands))


FUNCTIONS: dict[str, Function] = {}


def _add(
    name: str, arity: int, result: Callable[..., DataType], compute: Compute, **options: Any
) -> None:
    FUNCTIONS[name] = Function(name, arity, result, compute, **options)


def _checked(
    check: Callable[..., None], type_of: Callable[..., DataType]
) -> Callable[[str], Callable[..., DataType]]:
    """The type of the result, by the name of a function; `check` refuses types of operands."""

    def of(name: str) -> Callable[..., DataType]:
        def result(*kinds: DataType) -> DataType:
            check(name, *kinds)
            return type_of(*kinds)

        return result

    return of


_number = _checked(check_not_bool, common_type)
_float = _checked(check_not_bool, floating_type)
_bits = _checked(check_integers, common_type)


def _bool(*kinds: DataType) -> DataType:
    return DataType.BOOL


def _plain(function: Callable[..., torch.Tensor]) -> Compute:
    """A function of torch that does not need to know the type."""
    return lambda kind, *operands, **out: function(*operands, **out)  # noqa: ARG005


def _minus(kind: DataType, value: torch.Tensor, **out: Any) -> torch.Tensor:
    return torch.neg(value, **out)


def _absolute(kind: DataType, value: torch.Tensor) -> torch.Tensor:
    return value if kind.value.startswith("uint") else value.abs()


def _quotient(kind: DataType, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if kind.is_floating_point:
        return torch.div(left, right)
    return integers.divide(left, right, kind)


def _remainder(kind: DataType, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if kind.is_floating_point:
        return torch.fmod(left, right)
    return integers.remainder(left, right, kind)


def _power(kind: DataType, base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    if kind.is_floating_point:
        return torch.pow(base, exponent)
    return integers.power(base, exponent, kind)


def _less(kind: DataType, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return integers.is_less(left, right, kind, kind)


def _is_plain(kind: DataType) -> bool:
    """Whether torch compares values of the type, and none is NaN."""
    return not kind.is_floating_point and kind is not DataType.UINT64


def _least(kind: DataType, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The lesser one; `right` where one is NaN."""
    if _is_plain(kind):
        return torch.minimum(left, right)
    return torch.where(_less(kind, left, right), left, right)


def _greatest(kind: DataType, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if _is_plain(kind):
        return torch.maximum(left, right)
    return torch.where(_less(kind, right, left), left, right)


def _clamp(
    kind: DataType, value: torch.Tensor, low: torch.Tensor, high: torch.Tensor
) -> torch.Tensor:
    """`high` where low > high; NaN stays, and a limit that is NaN is none."""
    if _is_plain(kind):
        return torch.clamp(value, low, high)
    value = torch.where(_less(kind, value, low), low, value)
    return torch.where(_less(kind, high, value), high, value)


def _cube_root(kind: DataType, value: torch.Tensor) -> torch.Tensor:
    exact = value.to(torch.float64)
    root = exact.abs().pow(1 / 3)
    # One step of Newton's method takes the error of 1 / 3 away.
    better = root - (root - exact.abs() / (root * root)) / 3
    usable = torch.isfinite(better) & torch.isfinite(root)
    return torch.where(usable, better, root).copysign(exact).to(value.dtype)


def _shift(function: Compute) -> Compute:
    return lambda kind, values, count: function(values, count, kind)


def _compare(function: Compute, *, swapped: bool = False, inverted: bool = False) -> Compute:
    """A comparison from `is_less` or `is_equal`, for integers and floating point."""

    def compute(
        kinds: tuple[DataType, DataType], left: torch.Tensor, right: torch.Tensor
    ) -> torch.Tensor:
        if swapped:
            left, right, kinds = right, left, kinds[::-1]
        result = function(left, right, *kinds)
        return ~result if inverted else result

    return compute


def _at_most(
    left: torch.Tensor, right: torch.Tensor, left_kind: DataType, right_kind: DataType
) -> torch.Tensor:
    if left.is_floating_point():  # not (right < left) is wrong for NaN
        return left <= right
    return ~integers.is_less(right, left, right_kind, left_kind)


_add("minus", 1, _number("unary -"), _minus, writes=True)
_add("bitnot", 1, _bits("~"), _plain(torch.bitwise_not), writes=True)
_add("abs", 1, _number("abs"), _absolute)
_add("fabs", 1, _float("fabs"), _plain(torch.abs), writes=True)
_add("cbrt", 1, _float("cbrt"), _cube_root)
for _function in (
    *(torch.sqrt, torch.rsqrt, torch.exp, torch.log, torch.log2, torch.log10),
    *(torch.floor, torch.ceil, torch.sin, torch.cos, torch.tan, torch.asin, torch.acos),
    *(torch.atan, torch.sinh, torch.cosh, torch.tanh, torch.asinh, torch.acosh, torch.atanh),
):
    _short = _function.__name__
    _add(_short, 1, _float(_short), _plain(_function), writes=True)

_add("add", 2, _number("+"), _plain(torch.add), writes=True)
_add("sub", 2, _number("-"), _plain(torch.sub), writes=True)
_add("mul", 2, common_type, _plain(torch.mul), writes=True)
_add("fdiv", 2, _float("/"), _plain(torch.div), writes=True)
_add("div", 2, _number("//"), _quotient)
_add("mod", 2, _number("%"), _remainder, in_double=True)
_add("pow", 2, _number("**"), _power)
_add("fpow", 2, _float("fpow"), _plain(torch.pow), writes=True)
_add("atan2", 2, _float("atan2"), _plain(torch.atan2), writes=True)
_add("min", 2, _number("min"), _least)
_add("max", 2, _number("max"), _greatest)
_add("clamp", 3, _number("clamp"), _clamp)
_add("bitand", 2, _bits("&"), _plain(torch.bitwise_and), writes=True)
_add("bitor", 2, _bits("|"), _plain(torch.bitwise_or), writes=True)
_add("bitxor", 2, _bits("^"), _plain(torch.bitwise_xor), writes=True)
_add("lshift", 2, _bits("<<"), _shift(integers.shift_left))
_add("rshift", 2, _bits(">>"), _shift(integers.shift_right))
_add("eq", 2, _bool, _compare(integers.is_equal), compares=True)
_add("neq", 2, _bool, _compare(integers.is_equal, inverted=True), compares=True)
_add("lt", 2, _bool, _compare(integers.is_less), compares=True)
_add("gt", 2, _bool, _compare(integers.is_less, swapped=True), compares=True)
_add("leq", 2, _bool, _compare(_at_most), compares=True)
_add("geq", 2, _bool, _compare(_at_most, swapped=True), compares=True)
