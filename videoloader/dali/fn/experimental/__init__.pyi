# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
from videoloader.dali.fn.experimental import decoders as decoders
from videoloader.dali.fn.experimental import inputs as inputs
from videoloader.dali.fn.experimental import readers as readers
from typing_extensions import deprecated as _deprecated

@_deprecated("use fn.audio_resample")
def audio_resample(
    signal: _Data, /, *, in_rate: float | _Values | None = None, out_rate: float | _Values | None = None,
    scale: float | _Values | None = None, out_length: int | _Values | None = None, quality: float = 50.0,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window."""

@_deprecated("use fn.debayer")
def debayer(
    frames: _Data, /, *, blue_position: _Ints | _Values, algorithm: str | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV."""

def dilate(
    frames: _Data, /, *, mask_size: _Ints | _Values = ..., anchor: _Ints | _Values = ..., iterations: int = 1,
    border_mode: str = 'constant', device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the largest one in a rectangle around it."""

@_deprecated("use fn.equalize")
def equalize(
    frames: _Data, /, *, device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does."""

def erode(
    frames: _Data, /, *, mask_size: _Ints | _Values = ..., anchor: _Ints | _Values = ..., iterations: int = 1,
    border_mode: str = 'constant', device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the smallest one in a rectangle around it."""

@_deprecated("use fn.filter")
def filter(
    frames: _Data, window: _Data, fill_value: _Data = ..., /, *, anchor: _Ints | _Values = ...,
    border: str = 'reflect_101', mode: str = 'same', dtype: Any = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Correlate samples with a window of each, in float32."""

@_deprecated("use fn.decoders.inflate")
def inflate(
    compressed: _Data, /, *, shape: _Ints | _Values, dtype: Any = ..., layout: str = '', sequence_axis_name: str = 'F',
    chunk_offsets: _Ints | _Values | None = None, chunk_sizes: _Ints | _Values | None = None, algorithm: str = 'LZ4',
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., check_output_size: Any = ...,
    preserve: Any = ...
) -> Any:
    """Decompress samples, 1-D uint8, of one block of LZ4 or of several chunks of one shape."""

def median_blur(
    frames: _Data, /, *, window_size: _Ints | _Values = ..., device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the median of a window around it; the outermost values are repeated."""

@_deprecated("use fn.peek_image_shape")
def peek_image_shape(
    encoded: _Data, /, *, dtype: Any = ..., adjust_orientation: bool | int = True, image_type: Any = ...,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """(height, width, channels) that images will have when they are decoded, by their headers."""

def remap(
    frames: _Data, mapx: _Data, mapy: _Data, /, *, interp: Any = ..., pixel_origin: str = 'corner',
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Take every pixel of the output from the place in the input that two maps give for it."""

def resize(
    frames: _Data, /, *, resize_x: float | _Values | None = None, resize_y: float | _Values | None = None,
    resize_z: float | _Values | None = None, size: _Floats | _Values | None = None,
    resize_shorter: float | _Values | None = None, resize_longer: float | _Values | None = None, mode: str = 'default',
    max_size: _Floats | None = None, subpixel_scale: bool | int = True, roi_start: _Floats | _Values | None = None,
    roi_end: _Floats | _Values | None = None, roi_relative: bool | int = False, interp_type: Any = ...,
    mag_filter: Any = None, min_filter: Any = None, antialias: bool | int = True, dtype: Any = None,
    save_attrs: bool | int = False, device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., minibatch_size: Any = ..., preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """Resize frames, every frame of a clip alike."""

@_deprecated("use fn.tensor_resize")
def tensor_resize(
    values: _Data, /, *, sizes: _Floats | _Values | None = None, scales: _Floats | _Values | None = None,
    axes: _Ints | None = None, axis_names: str | None = None, mode: str = 'default', max_size: _Floats | None = None,
    alignment: _Floats | _Values = ..., size_rounding: str = 'round', subpixel_scale: bool | int = True,
    roi_start: _Floats | _Values | None = None, roi_end: _Floats | _Values | None = None,
    roi_relative: bool | int = False, interp_type: Any = ..., mag_filter: Any = None, min_filter: Any = None,
    antialias: bool | int = True, dtype: Any = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., minibatch_size: Any = ..., preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """Resize all dimensions of tensors, or only `axes`, as `fn.resize` does with pictures."""

def warp_perspective(
    frames: _Data, matrix_input: _Data = ..., /, *, matrix: Any = None, inverse_map: bool | int = True,
    size: _Floats | _Values | None = None, border_mode: str = 'constant', fill_value: _Floats = ...,
    interp_type: Any = ..., pixel_origin: str = 'corner', device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """See frames through a perspective transform, every frame of a clip alike by default."""
