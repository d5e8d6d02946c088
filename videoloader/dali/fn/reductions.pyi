# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def max(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the largest element."""

def mean(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Give the mean, of integers in float32. The output is rounded and saturated."""

def mean_square(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Give the mean of squares, of integers in float32. The output is rounded and saturated."""

def min(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the smallest element."""

def rms(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Give the root of the mean of squares, of integers in float32. The output is rounded and saturated."""

def std_dev(
    data: _Data, mean: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None,
    keep_dims: bool | int = False, ddof: int = 0, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the standard deviation of the first input, whose mean is the second: the root of the sum of squared differences divided by the number of elements less `ddof`."""

def sum(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, keep_dims: bool | int = False,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Sum elements: integers to 64 bits, others to their own type. The output is rounded and saturated."""

def variance(
    data: _Data, mean: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None,
    keep_dims: bool | int = False, ddof: int = 0, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the variance of the first input, whose mean is the second: the sum of squared differences divided by the number of elements less `ddof`."""
