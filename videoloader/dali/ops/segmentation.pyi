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

class RandomMaskPixel(_OperatorObject):
    """Draw the coordinates of a pixel, each equally likely, of the foreground if there is any."""
    def __init__(
        self, *, foreground: int | _Values = 0, threshold: float | _Values = 0.0,
        value: int | _Values | None = None, seed: int | None = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...

class RandomObjectBBox(_OperatorObject):
    """Draw a class, then one of its objects, and give the box around it."""
    def __init__(
        self, *, background: int | _Values | None = None, foreground_prob: float | _Values = 1.0,
        classes: int | _Sequence[int] | _Values | None = None,
        class_weights: float | _Sequence[float] | _Values | None = None,
        threshold: int | _Sequence[int] | _Values | None = None, k_largest: int | None = None,
        ignore_class: bool | int = False, output_class: bool | int = False,
        format: str = 'anchor_shape', seed: int | None = None, device: str | None = None,
        name: str | None = None, bytes_per_sample_hint: Any = ..., cache_objects: Any = ...,
        preserve: Any = ...
    ) -> None: ...

class SelectMasks(_OperatorObject):
    """Keep the polygons of some masks and their vertices, in the order of `mask_ids`."""
    def __init__(
        self, *, reindex_masks: bool | int = False, device: str | None = None, name: str | None = None,
        bytes_per_sample_hint: Any = ..., preserve: Any = ...
    ) -> None: ...
