"""Converts element types between libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from videoloader.dali.types.names import DataType
from videoloader.errors import ArgumentTypeError

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
