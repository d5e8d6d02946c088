# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Beta:
    """Draw numbers from 0 to 1 of a beta distribution.

    Inputs:
        shape_like (may be left out)

    Args:
        alpha: first parameter, positive (float; default 1.0; may be per sample).
        beta: second parameter, positive (float; default 1.0; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.float32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        alpha: float | _Values = 1.0,
        beta: float | _Values = 1.0,
        shape: int | _Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Choice:
    """Draw elements: slices along the first dimension of the input, or numbers below a scalar.

    Elements may come more than once.

    Inputs:
        a
        shape_like (may be left out)

    Args:
        p: probability of each; by default all alike (float or list of float; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        p: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, a: _Data, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CoinFlip:
    """Draw 1 with a probability, otherwise 0.

    Inputs:
        shape_like (may be left out)

    Args:
        probability: of a 1 (float, at least 0, at most 1; default 0.5; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.int32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        probability: float | _Values = 0.5,
        shape: int | _Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Normal:
    """Draw numbers of a normal distribution.

    Inputs:
        shape_like (may be left out)

    Args:
        mean: of the numbers (float; default 0.0; may be per sample).
        stddev: their standard deviation (float; default 1.0; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.float32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        mean: float | _Values = 0.0,
        stddev: float | _Values = 1.0,
        shape: int | _Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Uniform:
    """Draw numbers from a range, each equally likely, or from a list of values.

    Inputs:
        shape_like (may be left out)

    Args:
        range: [low, high); by default (-1, 1), or all values of an integer type (float or list of
            float; may be per sample).
        values: draw one of these in place of a range (float or list of float; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.float32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        range: float | _Sequence[float] | _Values | None = None,
        values: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
