# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class CoinFlip:
    """Draw 1 with a probability, otherwise 0.

    Args:
        probability: of a 1 (float, at least 0, at most 1; default 0.5; may be per sample).
        shape: shape of the output; a scalar by default (int or list of int; default (); may be per
            sample).
        dtype: element type of the output (element type; default torch.int32).
        seed: in place of the pipeline's; -1: the pipeline's (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        probability: float | _Values = 0.5,
        shape: int | Sequence[int] | _Values = ...,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Uniform:
    """Draw numbers from a range, each equally likely, or from a list of values.

    Args:
        range: [low, high); (-1, 1) by default (float or list of float; may be per sample).
        values: draw one of these in place of a range (float or list of float; may be per sample).
        shape: shape of the output; a scalar by default (int or list of int; default (); may be per
            sample).
        dtype: element type of the output (element type; default torch.float32).
        seed: in place of the pipeline's; -1: the pipeline's (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        range: float | Sequence[float] | _Values | None = None,
        values: float | Sequence[float] | _Values | None = None,
        shape: int | Sequence[int] | _Values = ...,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
