# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
from typing_extensions import deprecated as _deprecated

@_deprecated("use fn.decoders.image")
def image(
    encoded: _Data, /, *, output_type: Any = ..., dtype: Any = ..., adjust_orientation: bool | int = True,
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto', device: str | None = None,
    name: str | None = None, affine: Any = ..., bytes_per_sample_hint: Any = ..., cache_batch_copy: Any = ...,
    cache_debug: Any = ..., cache_size: Any = ..., cache_threshold: Any = ..., cache_type: Any = ...,
    device_memory_padding: Any = ..., device_memory_padding_jpeg2k: Any = ..., host_memory_padding: Any = ...,
    host_memory_padding_jpeg2k: Any = ..., hw_decoder_load: Any = ..., hybrid_huffman_threshold: Any = ...,
    jpeg_fancy_upsampling: Any = ..., preallocate_height_hint: Any = ..., preallocate_width_hint: Any = ...,
    preserve: Any = ..., use_fast_idct: Any = ...
) -> Any:
    """Decode images: JPEG, PNG, TIFF, BMP, PNM, JPEG 2000, WebP, GIF, AVIF and HEIC."""

@_deprecated("use fn.decoders.image_crop")
def image_crop(
    encoded: _Data, /, *, output_type: Any = ..., dtype: Any = ..., adjust_orientation: bool | int = True,
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto',
    crop: _Floats | _Values | None = None, crop_d: float | _Values | None = None, crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None, crop_pos_x: float | _Values = 0.5, crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5, rounding: str = 'round', device: str | None = None, name: str | None = None,
    affine: Any = ..., bytes_per_sample_hint: Any = ..., cache_batch_copy: Any = ..., cache_debug: Any = ...,
    cache_size: Any = ..., cache_threshold: Any = ..., cache_type: Any = ..., device_memory_padding: Any = ...,
    device_memory_padding_jpeg2k: Any = ..., host_memory_padding: Any = ..., host_memory_padding_jpeg2k: Any = ...,
    hw_decoder_load: Any = ..., hybrid_huffman_threshold: Any = ..., jpeg_fancy_upsampling: Any = ...,
    preallocate_height_hint: Any = ..., preallocate_width_hint: Any = ..., preserve: Any = ..., use_fast_idct: Any = ...
) -> Any:
    """Decode a window of images, the same as of `fn.crop`."""

@_deprecated("use fn.decoders.image_random_crop")
def image_random_crop(
    encoded: _Data, /, *, output_type: Any = ..., dtype: Any = ..., adjust_orientation: bool | int = True,
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto', random_area: _Floats = ...,
    random_aspect_ratio: _Floats = ..., num_attempts: int = 10, seed: int | None = None, device: str | None = None,
    name: str | None = None, affine: Any = ..., bytes_per_sample_hint: Any = ..., cache_batch_copy: Any = ...,
    cache_debug: Any = ..., cache_size: Any = ..., cache_threshold: Any = ..., cache_type: Any = ...,
    device_memory_padding: Any = ..., device_memory_padding_jpeg2k: Any = ..., host_memory_padding: Any = ...,
    host_memory_padding_jpeg2k: Any = ..., hw_decoder_load: Any = ..., hybrid_huffman_threshold: Any = ...,
    jpeg_fancy_upsampling: Any = ..., preallocate_height_hint: Any = ..., preallocate_width_hint: Any = ...,
    preserve: Any = ..., use_fast_idct: Any = ...
) -> Any:
    """Decode a random window of images, of a random area and aspect ratio."""

@_deprecated("use fn.decoders.image_slice")
def image_slice(
    encoded: _Data, /, anchor: Any = None, shape_input: Any = None, *, start: _Ints | _Values | None = None,
    rel_start: _Floats | _Values | None = None, end: _Ints | _Values | None = None,
    rel_end: _Floats | _Values | None = None, shape: _Ints | _Values | None = None,
    rel_shape: _Floats | _Values | None = None, axes: _Ints | _Values | None = None, axis_names: str | None = None,
    normalized_anchor: bool | int = True, normalized_shape: bool | int = True, output_type: Any = ..., dtype: Any = ...,
    adjust_orientation: bool | int = True, max_pixels: int = 134217728, time_limit: Any = 60.0,
    memory_limit: Any = 'auto', device: str | None = None, name: str | None = None, affine: Any = ...,
    bytes_per_sample_hint: Any = ..., cache_batch_copy: Any = ..., cache_debug: Any = ..., cache_size: Any = ...,
    cache_threshold: Any = ..., cache_type: Any = ..., device_memory_padding: Any = ...,
    device_memory_padding_jpeg2k: Any = ..., host_memory_padding: Any = ..., host_memory_padding_jpeg2k: Any = ...,
    hw_decoder_load: Any = ..., hybrid_huffman_threshold: Any = ..., jpeg_fancy_upsampling: Any = ...,
    preallocate_height_hint: Any = ..., preallocate_width_hint: Any = ..., preserve: Any = ..., use_fast_idct: Any = ...
) -> Any:
    """Decode a window of images, the same as of `fn.slice`; it lies in the image."""

@_deprecated("use fn.decoders.video")
def video(
    encoded: _Data, /, *, frames: _Ints | _Values | None = None, times: _Floats | _Values | None = None,
    start_frame: int | _Values | None = None, end_frame: int | _Values | None = None,
    stride: int | _Values | None = None, sequence_length: int | _Values | None = None, fps: Any = None,
    pad_mode: str | None = None, fill_value: _Ints = ..., size: _Ints | _Values | None = None,
    resize_shorter: int | _Values | None = None, roi: Any = None, resolution_change: str = 'error',
    matrix: str = 'auto', color_range: str = 'auto', chroma: str = 'centered', tone_map: str = 'none',
    output: str = 'rgb', snap: str = 'none', max_pixels: int = 134217728, time_limit: Any = 60.0,
    memory_limit: Any = 'auto', output_type: Any = ..., enable_frame_num: str = 'none',
    enable_timestamps: bool | int = False, audio: bool | int = False, device: str | None = None,
    name: str | None = None, affine: Any = ..., build_index: Any = ..., bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Decode frames of a video: bytes of a whole file (1-D uint8), its path or URL, or an `Item`."""
