# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Gaussian:
    """Add numbers of a normal distribution, to every element its own.

    The numbers are those of `fn.random.normal` with the same seed. The output has the type of the
    input; it is rounded and saturated.

    Inputs:
        data

    Args:
        mean: of the noise (float; default 0.0; may be per sample).
        stddev: its standard deviation (float; default 1.0; may be per sample).
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
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class SaltAndPepper:
    """Replace some pixels by one of two values, such as black and white.

    Without a layout the last dimension is taken for channels.

    Inputs:
        data

    Args:
        prob: of an element to change (float, at least 0, at most 1; default 0.05; may be per
            sample).
        salt_vs_pepper: part of salt in it (float, at least 0, at most 1; default 0.5; may be per
            sample).
        salt_val: of salt; 1, or the largest integer (float; may be per sample).
        pepper_val: of pepper; -1, or the least integer (float; may be per sample).
        per_channel: each channel by itself, not whole pixels (bool (0 or 1); default False).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        prob: float | _Values = 0.05,
        salt_vs_pepper: float | _Values = 0.5,
        salt_val: float | _Values | None = None,
        pepper_val: float | _Values | None = None,
        per_channel: bool | int = False,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Shot:
    """Put noise on the data as counting events does, of which each is worth `factor`.

    out = poisson(max(0, in / factor)) * factor: the mean stays, what is not positive becomes 0, and
    larger factors give more noise.

    Inputs:
        data

    Args:
        factor: value of one event; 0: no noise (float, at least 0; default 20.0; may be per
            sample).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        factor: float | _Values = 20.0,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
