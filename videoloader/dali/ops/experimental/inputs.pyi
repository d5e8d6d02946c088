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

class Video(_OperatorObject):
    """Decode videos that are fed, sequence after sequence, one video after another."""
    def __init__(
        self, *, sequence_length: int = ..., last_sequence_policy: str = 'partial',
        fill_value: int | _Sequence[int] = ..., blocking: bool | int = False,
        resolution_change: str = 'error', matrix: str = 'auto', color_range: str = 'auto',
        chroma: str = 'centered', output: str = 'rgb', snap: str = 'none', max_pixels: int = 134217728,
        time_limit: Any = 60.0, memory_limit: Any = 'auto', enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False, device: str | None = None, name: str | None = None,
        affine: Any = ..., bytes_per_sample_hint: Any = ..., no_copy: Any = ..., preserve: Any = ...
    ) -> None: ...
