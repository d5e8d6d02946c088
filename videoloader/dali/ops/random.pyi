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

class Beta(_OperatorObject):
    """Draw numbers from 0 to 1 of a beta distribution."""
    def __init__(
        self, *, alpha: float | _Values = 1.0, beta: float | _Values = 1.0,
        shape: int | _Sequence[int] | _Values | None = None, dtype: Any = ..., seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class Choice(_OperatorObject):
    """Draw elements: slices along the first dimension of the input, or numbers below a scalar."""
    def __init__(
        self, *, p: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None, seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class CoinFlip(_OperatorObject):
    """Draw 1 with a probability, otherwise 0."""
    def __init__(
        self, *, probability: float | _Values = 0.5,
        shape: int | _Sequence[int] | _Values | None = None, dtype: Any = ..., seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class Normal(_OperatorObject):
    """Draw numbers of a normal distribution."""
    def __init__(
        self, *, mean: float | _Values = 0.0, stddev: float | _Values = 1.0,
        shape: int | _Sequence[int] | _Values | None = None, dtype: Any = ..., seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class Uniform(_OperatorObject):
    """Draw numbers from a range, each equally likely, or from a list of values."""
    def __init__(
        self, *, range: float | _Sequence[float] | _Values | None = None,
        values: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None, dtype: Any = ..., seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...
