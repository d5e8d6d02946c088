# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Combine:
    """One transform that does what several do, the first of them first.

    Args:
        mt_0: a transform (matrix of float, (n, n + 1) or its rows in one list; required; may be per
            sample or frame).
        mt_1: a transform (matrix of float, (n, n + 1) or its rows in one list; required; may be per
            sample or frame).
        mt_2: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_3: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_4: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_5: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_6: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_7: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_8: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_9: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample or
            frame).
        mt_10: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample
            or frame).
        mt_11: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample
            or frame).
        mt_12: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample
            or frame).
        mt_13: a transform (matrix of float, (n, n + 1) or its rows in one list; may be per sample
            or frame).
        reverse_order: the last one comes first (bool (0 or 1); default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt_0: Any = ...,
        mt_1: Any = ...,
        mt_2: Any = None,
        mt_3: Any = None,
        mt_4: Any = None,
        mt_5: Any = None,
        mt_6: Any = None,
        mt_7: Any = None,
        mt_8: Any = None,
        mt_9: Any = None,
        mt_10: Any = None,
        mt_11: Any = None,
        mt_12: Any = None,
        mt_13: Any = None,
        *,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Crop:
    """Map a box of coordinates to another one.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        from_start: lower corner of the box (float or list of float; default (0.0,); may be per
            sample or frame).
        from_end: upper corner of the box (float or list of float; default (1.0,); may be per sample
            or frame).
        to_start: where the lower corner comes to lie (float or list of float; default (0.0,); may
            be per sample or frame).
        to_end: where the upper corner comes to lie (float or list of float; default (1.0,); may be
            per sample or frame).
        absolute: swap corners that are in the other order (bool (0 or 1); default False).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        from_start: float | _Sequence[float] | _Values = ...,
        from_end: float | _Sequence[float] | _Values = ...,
        to_start: float | _Sequence[float] | _Values = ...,
        to_end: float | _Sequence[float] | _Values = ...,
        absolute: bool | int = False,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Rotation:
    """Rotate points about a center, from the first axis to the second.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        angle: in degrees (float; required; may be per sample or frame).
        axis: (x, y, z) to rotate about, in three dimensions (float or list of float; may be per
            sample or frame).
        center: point that stays; the origin by default (float or list of float; may be per sample
            or frame).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        angle: float | _Values = ...,
        axis: float | _Sequence[float] | _Values | None = None,
        center: float | _Sequence[float] | _Values | None = None,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Scale:
    """Scale points away from a center.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        scale: factors of the coordinates, or one for all (float or list of float; required; may be
            per sample or frame).
        center: point that stays; the origin by default (float or list of float; may be per sample
            or frame).
        ndim: number of dimensions, where `scale` is one number (int, at least 1).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        scale: float | _Sequence[float] | _Values = ...,
        center: float | _Sequence[float] | _Values | None = None,
        ndim: int | None = None,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Shear:
    """Shear points: x' = x + shear[0] * y, y' = y + shear[1] * x.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        shear: (xy, yx), or (xy, xz, yx, yz, zx, zy), in rows of 2 or in one (matrix of float, (n, n
            + 1) or its rows in one list; may be per sample or frame).
        angles: in degrees, in place of `shear`: their tangents (matrix of float, (n, n + 1) or its
            rows in one list; may be per sample or frame).
        center: point that stays; the origin by default (float or list of float; may be per sample
            or frame).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        shear: Any = None,
        angles: Any = None,
        center: float | _Sequence[float] | _Values | None = None,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Translation:
    """Move points.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        offset: added to the coordinates (float or list of float; required; may be per sample or
            frame).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        offset: float | _Sequence[float] | _Values = ...,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
