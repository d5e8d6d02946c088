# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def beta(
    shape_like: _Data = ..., /, *, alpha: float | _Values = 1.0, beta: float | _Values = 1.0,
    shape: _Ints | _Values | None = None, dtype: Any = ..., seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw numbers from 0 to 1 of a beta distribution."""

def choice(
    a: _Data, shape_like: _Data = ..., /, *, p: _Floats | _Values | None = None, shape: _Ints | _Values | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Draw elements: slices along the first dimension of the input, or numbers below a scalar."""

def coin_flip(
    shape_like: _Data = ..., /, *, probability: float | _Values = 0.5, shape: _Ints | _Values | None = None,
    dtype: Any = ..., seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw 1 with a probability, otherwise 0."""

def normal(
    shape_like: _Data = ..., /, *, mean: float | _Values = 0.0, stddev: float | _Values = 1.0,
    shape: _Ints | _Values | None = None, dtype: Any = ..., seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw numbers of a normal distribution."""

def uniform(
    shape_like: _Data = ..., /, *, range: _Floats | _Values | None = None, values: _Floats | _Values | None = None,
    shape: _Ints | _Values | None = None, dtype: Any = ..., seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw numbers from a range, each equally likely, or from a list of values."""
