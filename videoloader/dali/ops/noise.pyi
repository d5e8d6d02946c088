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

class Gaussian(_OperatorObject):
    """Add numbers of a normal distribution, to every element its own."""
    def __init__(
        self, *, mean: float | _Values = 0.0, stddev: float | _Values = 1.0, seed: int | None = None,
        device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class SaltAndPepper(_OperatorObject):
    """Replace some pixels by one of two values, such as black and white."""
    def __init__(
        self, *, prob: float | _Values = 0.05, salt_vs_pepper: float | _Values = 0.5,
        salt_val: float | _Values | None = None, pepper_val: float | _Values | None = None,
        per_channel: bool | int = False, seed: int | None = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class Shot(_OperatorObject):
    """Put noise on the data as counting events does, of which each is worth `factor`."""
    def __init__(
        self, *, factor: float | _Values = 20.0, seed: int | None = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...
