# Written by `python -m videoloader.dali.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

from videoloader.dali.ops.operator_class import OperatorObject as _OperatorObject

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Max(_OperatorObject):
    """Give the largest element."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, device: str | None = None, name: str | None = None,
        bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class Mean(_OperatorObject):
    """Give the mean, of integers in float32. The output is rounded and saturated."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, dtype: Any = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class MeanSquare(_OperatorObject):
    """Give the mean of squares, of integers in float32. The output is rounded and saturated."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, dtype: Any = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class Min(_OperatorObject):
    """Give the smallest element."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, device: str | None = None, name: str | None = None,
        bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class RMS(_OperatorObject):
    """Give the root of the mean of squares, of integers in float32. The output is rounded and saturated."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, dtype: Any = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class StdDev(_OperatorObject):
    """Give the standard deviation of the first input, whose mean is the second: the root of the sum of squared differences divided by the number of elements less `ddof`."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, ddof: int = 0, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class Sum(_OperatorObject):
    """Sum elements: integers to 64 bits, others to their own type. The output is rounded and saturated."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, dtype: Any = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class Variance(_OperatorObject):
    """Give the variance of the first input, whose mean is the second: the sum of squared differences divided by the number of elements less `ddof`."""
    def __init__(
        self, *, axes: int | _Sequence[int] | None = None, axis_names: str | None = None,
        keep_dims: bool | int = False, ddof: int = 0, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...
