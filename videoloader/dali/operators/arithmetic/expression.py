"""An expression as text: a function, and which of its operands are inputs or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from videoloader.dali.operators.arithmetic import integers
from videoloader.dali.operators.arithmetic.functions import FUNCTIONS, Function
from videoloader.dali.types import DataType, ScalarConstant
from videoloader.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Expression:
    """A function with its operands: the number of an input, or a constant.

    >>> expression = Expression.parse("add(&0 2.5:float32)")
    >>> expression.function.name, expression.operands[0], expression.operands[1].dtype
    ('add', 0, DataType.FLOAT)
    """

    function: Function
    operands: tuple[int | ScalarConstant, ...]

    def __post_init__(self) -> None:
        name, arity = self.function.name, self.function.arity
        if len(self.operands) != arity:
            raise ArgumentError(f"{name} takes {arity} operands, got {len(self.operands)}")
        for each in self.operands:
            if isinstance(each, ScalarConstant) and each.dtype.is_integer:
                limits = torch.iinfo(each.dtype.torch)
                if not limits.min <= each.value <= limits.max:
                    raise ArgumentError(
                        f"{each.value} does not fit {each.dtype.name}; say its type, such as "
                        f"types.Constant({each.value}).int64()"
                    )

    @classmethod
    def parse(cls, text: str) -> Expression:
        """The expression of a `text`."""
        name, _, rest = text.rstrip(")").partition("(")
        return cls(FUNCTIONS[name], tuple(map(_operand, rest.split())))

    @property
    def text(self) -> str:
        """The expression as text, for graphs that are stored.

        >>> Expression(FUNCTIONS["add"], (0, ScalarConstant(3))).text
        'add(&0 3:int32)'
        """
        shown = (
            f"&{each}" if isinstance(each, int) else f"{each.value!r}:{each.dtype.value}"
            for each in self.operands
        )
        return f"{self.function.name}({' '.join(shown)})"

    def kinds(self, inputs: tuple[DataType, ...]) -> tuple[DataType, ...]:
        """Element types of the operands.

        An integer beside integers to compare it with has their type if it fits: nothing is
        converted then, and the result is the same.
        """
        return tuple(
            inputs[each] if isinstance(each, int) else self._kind(each, inputs)
            for each in self.operands
        )

    def _kind(self, constant: ScalarConstant, inputs: tuple[DataType, ...]) -> DataType:
        (other, *others) = inputs
        integers_only = other.is_integer and constant.dtype.is_integer and not others
        if self.function.compares and integers_only:
            limits = torch.iinfo(other.torch)
            if limits.min <= constant.value <= limits.max:
                return other
        return constant.dtype

    def apply(
        self, kinds: tuple[DataType, ...], inputs: Sequence[torch.Tensor], out: torch.Tensor
    ) -> None:
        """Compute into `out`."""
        operands = tuple(
            inputs[each] if isinstance(each, int) else _scalar(each.value, kind, out.device)
            for each, kind in zip(self.operands, kinds, strict=True)
        )
        self.function.apply(kinds, operands, out)


def _operand(text: str) -> int | ScalarConstant:
    if text.startswith("&"):
        return int(text[1:])
    value, _, dtype = text.partition(":")
    kind = DataType(dtype)
    if kind is DataType.BOOL:
        return ScalarConstant(value == "True", kind)
    return ScalarConstant(float(value) if kind.is_floating_point else int(value), kind)


def _scalar(value: bool | int | float, kind: DataType, device: torch.device) -> torch.Tensor:
    """A number of a type as a tensor without dimensions."""
    if kind is DataType.UINT64:
        signed = int(value) - ((int(value) >> 63) << 64)
        return torch.full((), signed, dtype=torch.int64, device=device).view(torch.uint64)
    return torch.full((), value, dtype=integers.carrier(kind), device=device)
