# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def read(
    filepaths: _Data, /, *, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., preserve: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read whole files; a path is a vector of its bytes in UTF-8, and may be a URL."""
