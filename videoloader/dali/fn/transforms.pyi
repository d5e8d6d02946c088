# Written by `python -m videoloader.dali.fn.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

def combine(
    mt_0: Any, mt_1: Any, mt_2: Any = None, mt_3: Any = None, mt_4: Any = None, mt_5: Any = None,
    mt_6: Any = None, mt_7: Any = None, mt_8: Any = None, mt_9: Any = None, mt_10: Any = None,
    mt_11: Any = None, mt_12: Any = None, mt_13: Any = None, *, reverse_order: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """One transform that does what several do, the first of them first."""

def crop(
    mt: Any = None, *, from_start: float | _Sequence[float] | _Values = ...,
    from_end: float | _Sequence[float] | _Values = ...,
    to_start: float | _Sequence[float] | _Values = ...,
    to_end: float | _Sequence[float] | _Values = ..., absolute: bool | int = False,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Map a box of coordinates to another one."""

def rotation(
    mt: Any = None, *, angle: float | _Values,
    axis: float | _Sequence[float] | _Values | None = None,
    center: float | _Sequence[float] | _Values | None = None, reverse_order: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Rotate points about a center, from the first axis to the second."""

def scale(
    mt: Any = None, *, scale: float | _Sequence[float] | _Values,
    center: float | _Sequence[float] | _Values | None = None, ndim: int | None = None,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Scale points away from a center."""

def shear(
    mt: Any = None, *, shear: Any = None, angles: Any = None,
    center: float | _Sequence[float] | _Values | None = None, reverse_order: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Shear points: x' = x + shear[0] * y, y' = y + shear[1] * x."""

def translation(
    mt: Any = None, *, offset: float | _Sequence[float] | _Values,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Move points."""
