# Written by `make written`; do not edit.

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

_Floats: TypeAlias = float | Sequence[float]
_Ints: TypeAlias = int | Sequence[int]
_Path: TypeAlias = str | PathLike[str]
