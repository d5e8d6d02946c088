# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Max:
    """Give the largest element.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Mean:
    """Give the mean, of integers in float32. The output is rounded and saturated.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class MeanSquare:
    """Give the mean of squares, of integers in float32. The output is rounded and saturated.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Min:
    """Give the smallest element.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class RMS:
    """Give the root of the mean of squares, of integers in float32. The output is rounded and saturated.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class StdDev:
    """Give the standard deviation of the first input, whose mean is the second: the root of the sum
    of squared differences divided by the number of elements less `ddof`.

    Inputs:
        data
        mean

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        ddof: taken off the number of elements (int; default 0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        ddof: int = 0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, mean: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Sum:
    """Sum elements: integers to 64 bits, others to their own type. The output is rounded and saturated.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Variance:
    """Give the variance of the first input, whose mean is the second: the sum of squared differences
    divided by the number of elements less `ddof`.

    Inputs:
        data
        mean

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int).
        axis_names: the dimensions by their letters in the layout (str).
        keep_dims: keep reduced dimensions, of size 1 (bool (0 or 1); default False).
        ddof: taken off the number of elements (int; default 0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        keep_dims: bool | int = False,
        ddof: int = 0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, mean: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
