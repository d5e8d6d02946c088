"""`nvidia.dali.tfrecord`: the features to read from the records of a TFRecord file.

>>> features = {
...     "image/encoded": FixedLenFeature([], string, ""),
...     "label": FixedLenFeature([1], int64, -1),
...     "boxes": VarLenFeature([4], float32, 0.0),
... }
>>> features["label"].dtype is FeatureType.int64
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from videoloader.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "Feature",
    "FeatureType",
    "FixedLenFeature",
    "VarLenFeature",
    "float32",
    "int64",
    "string",
]


class FeatureType(IntEnum):
    """Element type of a feature.

    >>> string, FeatureType(2) is float32
    (<FeatureType.string: 1>, True)
    """

    int64 = 0
    string = 1
    float32 = 2


int64, string, float32 = FeatureType


@dataclass(frozen=True, slots=True)
class Feature:
    """Conversion of the values of a feature to a tensor.

    Attributes:
        dtype: of the values.
        default: of a record that does not have the feature.
        shape: of the tensor; None for a vector of as many values as there are.
        is_partial: `shape` has all dimensions but the first, which depends on the record.

    >>> FixedLenFeature([3, 4], float32, 0.0).shape, VarLenFeature(int64, 0).shape
    ((3, 4), None)
    """

    dtype: FeatureType
    default: Any = None
    shape: tuple[int, ...] | None = None
    is_partial: bool = False


def FixedLenFeature(shape: Sequence[int], dtype: int, default_value: Any) -> Feature:  # noqa: N802
    """A feature whose values fit a shape; a string is always a vector of its bytes.

    >>> FixedLenFeature([], int64, -1).shape
    ()
    """
    return Feature(_checked(dtype), default_value, tuple(int(extent) for extent in shape))


def VarLenFeature(*values: Any, partial_shape: Sequence[int] | None = None) -> Feature:  # noqa: N802
    """A feature of any number of values.

    Args:
        *values: the element type and a default, after a shape without its first dimension if any.
        partial_shape: that shape by name.

    >>> VarLenFeature(float32, 0.0)  # a vector of any length
    Feature(dtype=<FeatureType.float32: 2>, default=0.0, shape=None, is_partial=False)
    >>> VarLenFeature([2], int64, 0).is_partial  # rows of 2
    True
    """
    if values and isinstance(values[0], Sequence) and not isinstance(values[0], str):
        partial_shape, *rest = values
    else:
        rest = list(values)
    if not 1 <= len(rest) <= 2:
        raise ArgumentTypeError("VarLenFeature takes ([partial_shape], dtype, default_value)")
    shape = None if partial_shape is None else tuple(int(extent) for extent in partial_shape)
    default = rest[1] if len(rest) == 2 else None
    return Feature(_checked(rest[0]), default, shape, is_partial=shape is not None)


def _checked(dtype: int) -> FeatureType:
    try:
        return FeatureType(dtype)
    except ValueError:
        raise ArgumentError(
            f"the type of a feature is tfrecord.int64, string or float32, got {dtype!r}"
        ) from None
