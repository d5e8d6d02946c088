# Written by `python -m videoloader.dali.fn.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

from videoloader.dali.fn.experimental import decoders as decoders
from videoloader.dali.fn.experimental import inputs as inputs
from videoloader.dali.fn.experimental import readers as readers

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

@_deprecated("use fn.audio_resample")
def audio_resample(
    signal: _Data, /, *, in_rate: float | _Values | None = None,
    out_rate: float | _Values | None = None, scale: float | _Values | None = None,
    out_length: int | _Values | None = None, quality: float = 50.0, dtype: Any = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window."""

@_deprecated("use fn.debayer")
def debayer(
    frames: _Data, /, *, blue_position: int | _Sequence[int] | _Values,
    algorithm: str | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV."""

def dilate(
    frames: _Data, /, *, mask_size: int | _Sequence[int] | _Values = ...,
    anchor: int | _Sequence[int] | _Values = ..., iterations: int = 1,
    border_mode: str = 'constant', device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the largest one in a rectangle around it."""

@_deprecated("use fn.equalize")
def equalize(
    frames: _Data, /, *, device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does."""

def erode(
    frames: _Data, /, *, mask_size: int | _Sequence[int] | _Values = ...,
    anchor: int | _Sequence[int] | _Values = ..., iterations: int = 1,
    border_mode: str = 'constant', device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the smallest one in a rectangle around it."""

@_deprecated("use fn.filter")
def filter(
    frames: _Data, window: _Data, fill_value: _Data = ..., /, *,
    anchor: int | _Sequence[int] | _Values = ..., border: str = 'reflect_101', mode: str = 'same',
    dtype: Any = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Correlate samples with a window of each, in float32."""

@_deprecated("use fn.decoders.inflate")
def inflate(
    compressed: _Data, /, *, shape: int | _Sequence[int] | _Values, dtype: Any = ...,
    layout: str = '', sequence_axis_name: str = 'F',
    chunk_offsets: int | _Sequence[int] | _Values | None = None,
    chunk_sizes: int | _Sequence[int] | _Values | None = None, algorithm: str = 'LZ4',
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    check_output_size: Any = ..., preserve: Any = ...
) -> Any:
    """Decompress samples, 1-D uint8, of one block of LZ4 or of several chunks of one shape."""

def median_blur(
    frames: _Data, /, *, window_size: int | _Sequence[int] | _Values = ...,
    device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the median of a window around it; the outermost values are repeated."""

@_deprecated("use fn.peek_image_shape")
def peek_image_shape(
    encoded: _Data, /, *, dtype: Any = ..., adjust_orientation: bool | int = True,
    image_type: Any = ..., device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """(height, width, channels) that images will have when they are decoded, by their headers."""

def remap(
    frames: _Data, mapx: _Data, mapy: _Data, /, *, interp: Any = ..., pixel_origin: str = 'corner',
    device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Take every pixel of the output from the place in the input that two maps give for it."""

def resize(
    frames: _Data, /, *, resize_x: float | _Values | None = None,
    resize_y: float | _Values | None = None, resize_z: float | _Values | None = None,
    size: float | _Sequence[float] | _Values | None = None,
    resize_shorter: float | _Values | None = None, resize_longer: float | _Values | None = None,
    mode: str = 'default', max_size: float | _Sequence[float] | None = None,
    subpixel_scale: bool | int = True, roi_start: float | _Sequence[float] | _Values | None = None,
    roi_end: float | _Sequence[float] | _Values | None = None, roi_relative: bool | int = False,
    interp_type: Any = ..., mag_filter: Any = None, min_filter: Any = None,
    antialias: bool | int = True, dtype: Any = None, save_attrs: bool | int = False,
    device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., minibatch_size: Any = ..., preserve: Any = ...,
    temp_buffer_hint: Any = ...
) -> Any:
    """Resize frames, every frame of a clip alike."""

@_deprecated("use fn.tensor_resize")
def tensor_resize(
    values: _Data, /, *, sizes: float | _Sequence[float] | _Values | None = None,
    scales: float | _Sequence[float] | _Values | None = None,
    axes: int | _Sequence[int] | None = None, axis_names: str | None = None, mode: str = 'default',
    max_size: float | _Sequence[float] | None = None,
    alignment: float | _Sequence[float] | _Values = ..., size_rounding: str = 'round',
    subpixel_scale: bool | int = True, roi_start: float | _Sequence[float] | _Values | None = None,
    roi_end: float | _Sequence[float] | _Values | None = None, roi_relative: bool | int = False,
    interp_type: Any = ..., mag_filter: Any = None, min_filter: Any = None,
    antialias: bool | int = True, dtype: Any = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., minibatch_size: Any = ...,
    preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """Resize all dimensions of tensors, or those of `axes`, as `fn.resize` does with pictures."""

def warp_perspective(
    frames: _Data, matrix_input: _Data = ..., /, *, matrix: Any = None,
    inverse_map: bool | int = True, size: float | _Sequence[float] | _Values | None = None,
    border_mode: str = 'constant', fill_value: float | _Sequence[float] = ...,
    interp_type: Any = ..., pixel_origin: str = 'corner', device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """See frames through a perspective transform, every frame of a clip alike by default."""
