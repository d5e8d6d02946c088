"""Constants of a graph, as DALI users write them: values that a graph promotes to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.types.names import DataType, ImageType, InterpType
from videoloader.dali.types.operands import Operand
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.eager_calls import check_not_drawn

_ENUMS = {
    ImageType: DataType.IMAGE_TYPE,
    DataType: DataType.DATA_TYPE,
    InterpType: DataType.INTERP_TYPE,
}
# numpy makes 64 bits of Python's numbers, DALI 32: arrays of them count as made from numbers.
_NARROWED = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.int64): np.int32,
    np.dtype(np.uint64): np.uint32,
}


class ScalarConstant:
    """A number with an element type, to which the other operand is promoted.

    Without `dtype`, bool is BOOL, int INT32 and float FLOAT; scalars of numpy and torch keep their
    types. Methods with the name of a type give the same number in that type.

    >>> half = ScalarConstant(0.5).float16()
    >>> half.value, half.dtype, ScalarConstant(True).dtype, ScalarConstant(2.7, DataType.INT8).value
    (0.5, DataType.FLOAT16, DataType.BOOL, 2)
    """

    __array_ufunc__ = None  # arrays leave operators to the other operand

    def __init__(self, value: Any, dtype: Any = None) -> None:
        own = getattr(value, "dtype", None)
        if own is not None:
            value, own = value.item(), DataType.of(own)
        if not isinstance(value, bool | int | float):
            raise ArgumentTypeError(
                f"a scalar constant is a bool, an int or a float, got {type(value).__name__}"
            )
        kind = _python_type(value) if own is None else own
        self.dtype = kind if dtype is None else DataType.of(dtype)
        if not self.dtype.is_numeric:
            raise ArgumentTypeError(f"a scalar constant is a number, got dtype={self.dtype!r}")
        to_python = float if self.dtype.is_floating_point else int
        self.value: bool | int | float = (
            bool(value) if self.dtype is DataType.BOOL else to_python(value)
        )

    @property
    def shape(self) -> list[int]:
        """The shape of a scalar: no dimensions."""
        return []

    def bool(self) -> ScalarConstant:
        """The number as a BOOL."""
        return ScalarConstant(self.value, DataType.BOOL)

    def int8(self) -> ScalarConstant:
        """The number as an INT8."""
        return ScalarConstant(self.value, DataType.INT8)

    def int16(self) -> ScalarConstant:
        """The number as an INT16."""
        return ScalarConstant(self.value, DataType.INT16)

    def int32(self) -> ScalarConstant:
        """The number as an INT32."""
        return ScalarConstant(self.value, DataType.INT32)

    def int64(self) -> ScalarConstant:
        """The number as an INT64."""
        return ScalarConstant(self.value, DataType.INT64)

    def uint8(self) -> ScalarConstant:
        """The number as a UINT8."""
        return ScalarConstant(self.value, DataType.UINT8)

    def uint16(self) -> ScalarConstant:
        """The number as a UINT16."""
        return ScalarConstant(self.value, DataType.UINT16)

    def uint32(self) -> ScalarConstant:
        """The number as a UINT32."""
        return ScalarConstant(self.value, DataType.UINT32)

    def uint64(self) -> ScalarConstant:
        """The number as a UINT64."""
        return ScalarConstant(self.value, DataType.UINT64)

    def float16(self) -> ScalarConstant:
        """The number as a FLOAT16."""
        return ScalarConstant(self.value, DataType.FLOAT16)

    def float32(self) -> ScalarConstant:
        """The number as a FLOAT."""
        return ScalarConstant(self.value, DataType.FLOAT)

    def float64(self) -> ScalarConstant:
        """The number as a FLOAT64."""
        return ScalarConstant(self.value, DataType.FLOAT64)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, ScalarConstant):
            return self.value == other.value and self.dtype is other.dtype
        return NotImplemented  # a node compares element by element

    def __hash__(self) -> int:
        return hash((self.value, self.dtype))

    def __bool__(self) -> Any:
        if self.dtype.is_floating_point:
            raise ArgumentTypeError(f"{self} is a float: convert it by .bool() or an integer type")
        return self.value != 0

    def __int__(self) -> int:
        if self.dtype.is_floating_point:
            raise ArgumentTypeError(f"{self} is a float: convert it by .int32() or the like")
        return int(self.value)

    def __float__(self) -> float:
        if not self.dtype.is_floating_point:
            raise ArgumentTypeError(f"{self} is no float: convert it by .float32() or the like")
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.value}:DALIDataType.{self.dtype.name}"

    def __repr__(self) -> str:
        return str(self.value)


class ArrayConstant(Operand):
    """An array that is the same for every sample; a graph promotes it to a node.

    Attributes:
        array: its elements, read-only; enumerations as DALI's numbers.
        dtype: element type of the node, which rounds and saturates to it; `IMAGE_TYPE` and the like
            for enumerations.
        layout: meaning of its dimensions, "" when unknown.
        device: "cpu" or "gpu", where the node is.
        arguments: further arguments of `fn.constant`.

    >>> constant = ArrayConstant(np.array([1.0, 2.0], np.float32), DataType.FLOAT)
    >>> constant.array, constant.dtype, constant.device
    (array([1., 2.], dtype=float32), DataType.FLOAT, 'cpu')
    """

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        dtype: DataType,
        layout: str = "",
        device: str = "cpu",
        **arguments: Any,
    ) -> None:
        if device not in ("cpu", "gpu"):
            raise ArgumentError(f"the device of a constant is cpu or gpu, got {device!r}")
        if layout and len(layout) != array.ndim:
            raise ArgumentError(f"layout {layout!r} does not fit a constant of shape {array.shape}")
        self.array = array.view()
        self.array.flags.writeable = False
        self.dtype, self.layout, self.device, self.arguments = dtype, layout, device, arguments

    def __repr__(self) -> str:
        return f"ArrayConstant(shape={self.array.shape}, dtype={self.dtype.name})"


def Constant(  # noqa: N802  DALI's name
    value: Any,
    dtype: Any = None,
    shape: Sequence[int] | int | None = None,
    layout: str | None = None,
    device: str | None = None,
    **arguments: Any,
) -> ScalarConstant | ArrayConstant:
    """A constant of a graph: a scalar where only a number (and `dtype`) is given, else an array.

    Args:
        value: a number, a member of an enumeration, a list of either, an array or a tensor.
        dtype: element type; by default that of `value`, whose 64 bits become 32 as in DALI.
        shape: of the array; a number fills it, other values must have as many elements.
        layout: meaning of the dimensions, such as "HWC".
        device: "cpu" or "gpu"; makes an array of a number too.
        arguments: further arguments of `fn.constant`.

    >>> Constant(3).dtype, Constant([1, 2.5]).array, Constant(1, shape=(2, 2)).array.tolist()
    (DataType.INT32, array([1. , 2.5], dtype=float32), [[1, 1], [1, 1]])
    """
    check_not_drawn(value)
    is_number = not isinstance(value, (list, tuple, *_ENUMS)) and np.ndim(value) == 0
    plain = shape in (None, (), [], 1, (1,), [1]) and layout is None and device is None
    kind = None if dtype is None else DataType.of(dtype)
    if is_number and plain and not arguments and (kind is None or kind.is_numeric):
        return ScalarConstant(value, kind)
    array, own = _array(value)
    if kind is None:
        array, kind = (_narrowed(array), own) if own.is_numeric else (array, own)
    if shape is not None:
        sides = (shape,) if isinstance(shape, int) else tuple(shape)
        count = int(np.prod(sides))
        if array.size not in (1, count):
            raise ArgumentError(f"a constant of {array.size} elements does not fit shape {sides}")
        array = array.reshape(sides) if array.size == count else np.full(sides, array.reshape(()))
    return ArrayConstant(array, kind, layout or "", device or "cpu", **arguments)


def _array(value: Any) -> tuple[np.ndarray[Any, Any], DataType]:
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        array = np.asarray(value.cpu() if isinstance(value, torch.Tensor) else value)
        return array, DataType.of(_NARROWED.get(array.dtype, array.dtype))
    items = list(value) if isinstance(value, list | tuple) else [value]
    kinds = {type(item) for item in items}
    enums = kinds & set(_ENUMS)
    if enums:
        if len(kinds) > 1:
            raise ArgumentTypeError(f"a constant has members of one enumeration, got {value!r}")
        array, kind = np.array([int(item) for item in items], np.int32), _ENUMS[enums.pop()]
    else:
        array = np.array(items)
        if array.dtype.kind not in "biuf":
            raise ArgumentTypeError(f"a constant is made of numbers, got {value!r}")
        kind = DataType.of(_NARROWED.get(array.dtype, array.dtype))
    return (array if isinstance(value, list | tuple) else array.reshape(())), kind


def _narrowed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """64 bits as 32; `ArgumentError` for an integer that does not fit."""
    narrowed = array.astype(_NARROWED.get(array.dtype, array.dtype))
    if array.dtype.kind in "iu" and (narrowed != array).any():
        wrong = array[narrowed != array].flat[0]
        raise ArgumentError(
            f"{wrong} does not fit into {narrowed.dtype}; give the constant a dtype"
        )
    return narrowed


def _python_type(value: bool | int | float) -> DataType:
    if isinstance(value, bool):
        return DataType.BOOL
    return DataType.INT32 if isinstance(value, int) else DataType.FLOAT
