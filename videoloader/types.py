"""The names of element types, colour spaces and interpolation methods, as DALI users know them.

Wherever an operator takes a type, it takes a `DataType` (`types.FLOAT`), a torch dtype, a numpy
dtype or its name alike.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import torch

__all__ = [
    "BGR",
    "BOOL",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTERP_CUBIC",
    "INTERP_LINEAR",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "RGB",
    "UINT8",
    "UINT16",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "DataType",
    "ImageType",
    "InterpType",
    "YCbCr",
    "to_torch",
]


class DataType(Enum):
    """Element type of a tensor; `.torch` is the same type of torch.

    >>> DataType.FLOAT.torch
    torch.float32
    """

    BOOL = "bool"
    UINT8 = "uint8"
    UINT16 = "uint16"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT16 = "float16"
    FLOAT = "float32"
    FLOAT64 = "float64"

    @property
    def torch(self) -> torch.dtype:
        """The torch dtype of this type."""
        dtype: torch.dtype = getattr(torch, self.value)
        return dtype

    @classmethod
    def of(cls, dtype: Any) -> DataType:
        """The member for a torch dtype, a numpy dtype, a name or a member.

        >>> DataType.of(torch.float32), DataType.of("uint8"), DataType.of(np.int64)
        (DataType.FLOAT, DataType.UINT8, DataType.INT64)
        """
        if isinstance(dtype, cls):
            return dtype
        if isinstance(dtype, torch.dtype):
            return cls(str(dtype).removeprefix("torch."))
        if dtype is None:  # numpy takes it for float64
            raise TypeError("None is no element type")
        return cls(np.dtype(dtype).name)

    def __repr__(self) -> str:
        return f"DataType.{self.name}"


class InterpType(Enum):
    """How `fn.resize` computes a pixel; `TRIANGULAR` is `LINEAR` that always antialiases."""

    INTERP_NN = "nearest"
    INTERP_LINEAR = "linear"
    INTERP_CUBIC = "cubic"
    INTERP_TRIANGULAR = "triangular"

    def __repr__(self) -> str:
        return f"InterpType.{self.name}"


class ImageType(Enum):
    """Colour space of decoded frames."""

    RGB = "RGB"
    BGR = "BGR"
    GRAY = "GRAY"
    YCbCr = "YCbCr"

    def __repr__(self) -> str:
        return f"ImageType.{self.name}"


def to_torch(dtype: Any) -> torch.dtype:
    """The torch dtype for whatever names an element type; ValueError or TypeError otherwise.

    >>> to_torch(DataType.FLOAT16), to_torch(np.uint8), to_torch(torch.int32)
    (torch.float16, torch.uint8, torch.int32)
    """
    return DataType.of(dtype).torch


BOOL, FLOAT, FLOAT16, FLOAT64 = (
    DataType.BOOL,
    DataType.FLOAT,
    DataType.FLOAT16,
    DataType.FLOAT64,
)
UINT8, UINT16 = DataType.UINT8, DataType.UINT16
INT8, INT16, INT32, INT64 = DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64
INTERP_NN, INTERP_LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR
INTERP_CUBIC, INTERP_TRIANGULAR = InterpType.INTERP_CUBIC, InterpType.INTERP_TRIANGULAR
RGB, BGR, GRAY, YCbCr = ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr
DALIDataType, DALIInterpType, DALIImageType = DataType, InterpType, ImageType
