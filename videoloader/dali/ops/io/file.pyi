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

class Read(_OperatorObject):
    """Read whole files; a path is a vector of its bytes in UTF-8, and may be a URL."""
    def __init__(
        self, *, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ..., preserve: Any = ..., use_o_direct: Any = ...
    ) -> None: ...
