"""Element types, colour spaces and interpolation methods under DALI's names.

Wherever an operator takes an element type, it takes a `DataType` (`types.FLOAT`), a torch dtype, a
numpy dtype or its name alike.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import torch

from videoloader.errors import ArgumentTypeError


class _Numbered(Enum):
    """Members have DALI's numbers: `int(member)`, and the class takes them too."""

    def __init__(self, *_: Any) -> None:
        self._number = len(type(self)) + self._first()

    @classmethod
    def _first(cls) -> int:
        return 0

    @classmethod
    def _missing_(cls, value: object) -> _Numbered | None:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return next((member for member in cls if member._number == value), None)
        return None

    def __int__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class DataType(_Numbered):
    """The element type of a tensor; `.torch` is torch's own.

    A member equals the torch dtype that it names. Those from `STRING` on name arguments and what is
    no tensor: they have no torch dtype.

    >>> DataType.FLOAT.torch, DataType.FLOAT == torch.float32, int(DataType.FLOAT)
    (torch.float32, True, 9)
    """

    NO_TYPE = "no_type"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT16 = "float16"
    FLOAT = "float32"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    _BOOL_VEC = "list of bool"
    _INT32_VEC = "list of int32"
    _STRING_VEC = "list of string"
    _FLOAT_VEC = "list of float32"
    FEATURE = "feature"
    _FEATURE_VEC = "list of feature"
    _FEATURE_DICT = "dict of feature"
    IMAGE_TYPE = "image_type"
    DATA_TYPE = "data_type"
    INTERP_TYPE = "interp_type"
    TENSOR_LAYOUT = "tensor_layout"
    PYTHON_OBJECT = "python_object"

    @classmethod
    def _first(cls) -> int:
        return -1

    @property
    def is_numeric(self) -> bool:
        """Whether tensors can have elements of this type."""
        return 0 <= int(self) <= 11

    @property
    def is_floating_point(self) -> bool:
        """Whether it is FLOAT16, FLOAT or FLOAT64."""
        return self.is_numeric and self.value.startswith("float")

    @property
    def is_integer(self) -> bool:
        """Whether it is one of INT8 to INT64 and UINT8 to UINT64; BOOL is not."""
        return self.is_numeric and "int" in self.value

    @property
    def torch(self) -> torch.dtype:
        """The torch dtype of this type; TypeError for a type that tensors cannot have."""
        if not self.is_numeric:
            raise TypeError(f"{self!r} is no type of the elements of a tensor")
        dtype: torch.dtype = getattr(torch, self.value)
        return dtype

    @property
    def numpy(self) -> type[np.generic]:
        """The numpy type of this type; TypeError for a type that arrays cannot have."""
        if not self.is_numeric:
            raise TypeError(f"{self!r} is no type of the elements of an array")
        return np.dtype(self.value).type

    @classmethod
    def of(cls, dtype: Any) -> DataType:
        """The member for a torch dtype, a numpy dtype, a name, DALI's number or a member.

        As in DALI, Python's float has 32 bits, and its int is no element type.

        Raises:
            TypeError, ValueError: `dtype` names no element type that DALI has.

        >>> DataType.of(torch.float32), DataType.of("uint8"), DataType.of(np.int64), DataType.of(0)
        (DataType.FLOAT, DataType.UINT8, DataType.INT64, DataType.UINT8)
        """
        if isinstance(dtype, cls):
            return dtype
        if isinstance(dtype, torch.dtype):
            return cls(str(dtype).removeprefix("torch."))
        if isinstance(dtype, int):
            return cls(dtype)
        if dtype is float:
            return cls.FLOAT
        if dtype is None or dtype is int:  # numpy takes them for float64 and int64
            raise TypeError(f"{dtype} is no element type")
        return cls(np.dtype(dtype).name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, torch.dtype):
            return self.is_numeric and self.torch == other
        return True if self is other else NotImplemented

    def __hash__(self) -> int:
        return hash(self.torch if self.is_numeric else self.value)


class InterpType(_Numbered):
    """Interpolation of `fn.resize`; `TRIANGULAR` is `LINEAR` that always antialiases.

    >>> InterpType.INTERP_CUBIC, int(InterpType.INTERP_CUBIC), InterpType("nearest")
    (InterpType.INTERP_CUBIC, 2, InterpType.INTERP_NN)
    """

    INTERP_NN = "nearest"
    INTERP_LINEAR = "linear"
    INTERP_CUBIC = "cubic"
    INTERP_LANCZOS3 = "lanczos3"
    INTERP_TRIANGULAR = "triangular"
    INTERP_GAUSSIAN = "gaussian"


class ImageType(_Numbered):
    """Colour space of decoded frames; `ANY_DATA` keeps the colour space of the file.

    >>> ImageType.RGB, int(ImageType.GRAY), ImageType(0)
    (ImageType.RGB, 2, ImageType.RGB)
    """

    RGB = "RGB"
    BGR = "BGR"
    GRAY = "GRAY"
    YCbCr = "YCbCr"
    ANY_DATA = "ANY_DATA"


class PipelineAPIType(Enum):
    """Way of running a pipeline: `run`, an iterator, or `schedule_run`.

    >>> PipelineAPIType(1)
    <PipelineAPIType.ITERATOR: 1>
    """

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


# Names of other libraries whose meaning differs from numpy's: float is one of 32 bits there.
_OTHER_NAMES = {
    "boolean": DataType.BOOL,
    "byte": DataType.UINT8,
    "sbyte": DataType.INT8,
    "half": DataType.FLOAT16,
    "float": DataType.FLOAT,
    "double": DataType.FLOAT64,
    "long": DataType.INT64,
    "ulong": DataType.UINT64,
}


def to_torch(dtype: Any) -> torch.dtype:
    """The torch dtype for whatever names an element type; ValueError or TypeError otherwise.

    >>> to_torch(DataType.FLOAT16), to_torch(np.uint8), to_torch(torch.int32)
    (torch.float16, torch.uint8, torch.int32)
    """
    return DataType.of(dtype).torch


def to_numpy_type(dtype: Any) -> type[np.generic]:
    """The numpy type for whatever names an element type; ValueError or TypeError otherwise.

    >>> to_numpy_type(DataType.FLOAT16), to_numpy_type(torch.bool)
    (<class 'numpy.float16'>, <class 'numpy.bool'>)
    """
    return DataType.of(dtype).numpy


def to_dali_type(framework_type: Any) -> DataType:
    """The `DataType` for an element type of torch, numpy, MXNet or Paddle, or for its name.

    >>> to_dali_type(torch.float32), to_dali_type("half"), to_dali_type("float")
    (DataType.FLOAT, DataType.FLOAT16, DataType.FLOAT)
    """
    if isinstance(framework_type, str):
        name = framework_type.rpartition(".")[2]
        framework_type = _OTHER_NAMES.get(name, name)
    try:
        return DataType.of(framework_type)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{framework_type!r} names no element type of DALI") from error
