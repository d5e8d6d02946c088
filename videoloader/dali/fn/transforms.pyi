# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def combine(
    mt_0: Any, mt_1: Any, mt_2: Any = None, mt_3: Any = None, mt_4: Any = None, mt_5: Any = None, mt_6: Any = None,
    mt_7: Any = None, mt_8: Any = None, mt_9: Any = None, mt_10: Any = None, mt_11: Any = None, mt_12: Any = None,
    mt_13: Any = None, *, reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Combine several transforms into one, which applies the first of them first."""

def crop(
    mt: Any = None, *, from_start: _Floats | _Values = ..., from_end: _Floats | _Values = ...,
    to_start: _Floats | _Values = ..., to_end: _Floats | _Values = ..., absolute: bool | int = False,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Map a box of coordinates to another one."""

def rotation(
    mt: Any = None, *, angle: float | _Values, axis: _Floats | _Values | None = None,
    center: _Floats | _Values | None = None, reverse_order: bool | int = False, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Rotate points about a center, from the first axis to the second."""

def scale(
    mt: Any = None, *, scale: _Floats | _Values, center: _Floats | _Values | None = None, ndim: int | None = None,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Scale points away from a center."""

def shear(
    mt: Any = None, *, shear: Any = None, angles: Any = None, center: _Floats | _Values | None = None,
    reverse_order: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Shear points: x' = x + shear[0] * y, y' = y + shear[1] * x."""

def translation(
    mt: Any = None, *, offset: _Floats | _Values, reverse_order: bool | int = False, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Move points."""
