# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def video(
    *, sequence_length: int, last_sequence_policy: str = 'partial', fill_value: _Ints = ...,
    blocking: bool | int = False, resolution_change: str = 'error', matrix: str = 'auto', color_range: str = 'auto',
    chroma: str = 'centered', tone_map: str = 'none', output: str = 'rgb', snap: str = 'none',
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto', enable_frame_num: str = 'none',
    enable_timestamps: bool | int = False, device: str | None = None, name: str | None = None, affine: Any = ...,
    bytes_per_sample_hint: Any = ..., no_copy: Any = ..., preserve: Any = ...
) -> Any:
    """Decode videos that are fed, sequence after sequence, one video after another."""
