# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Image:
    """Decode images: JPEG, PNG, TIFF, BMP, PNM, JPEG 2000, WebP, GIF, AVIF and HEIC.

    The output has layout HWC. Palettes and CMYK become RGB; of an animation the first frame is
    decoded. `mixed` decodes JPEG and JPEG 2000 on the GPU by nvImageCodec, and copies what the CPU
    decodes of other formats.

    Inputs:
        encoded

    Args:
        output_type: colour space; ANY_DATA: that of the file, with its alpha (ImageType; default
            ImageType.RGB).
        dtype: element type; values are brought to its range, which is 0 to 1 for floating point
            (element type; default torch.uint8).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        max_pixels: pixels of an image; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets, or for some images
            (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, cache_batch_copy, cache_debug, cache_size, cache_threshold,
    cache_type, device_memory_padding, device_memory_padding_jpeg2k, host_memory_padding,
    host_memory_padding_jpeg2k, hw_decoder_load, hybrid_huffman_threshold, jpeg_fancy_upsampling,
    memory_stats, preallocate_height_hint, preallocate_width_hint, seed, split_stages,
    use_chunk_allocator, use_fast_idct.
    """

    def __init__(
        self,
        *,
        output_type: Any = ...,
        dtype: Any = ...,
        adjust_orientation: bool | int = True,
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        bytes_per_sample_hint: Any = ...,
        cache_batch_copy: Any = ...,
        cache_debug: Any = ...,
        cache_size: Any = ...,
        cache_threshold: Any = ...,
        cache_type: Any = ...,
        device_memory_padding: Any = ...,
        device_memory_padding_jpeg2k: Any = ...,
        host_memory_padding: Any = ...,
        host_memory_padding_jpeg2k: Any = ...,
        hw_decoder_load: Any = ...,
        hybrid_huffman_threshold: Any = ...,
        jpeg_fancy_upsampling: Any = ...,
        memory_stats: Any = ...,
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
        seed: Any = ...,
        split_stages: Any = ...,
        use_chunk_allocator: Any = ...,
        use_fast_idct: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ImageCrop:
    """Decode a window of images; it is that of `fn.crop`.

    Inputs:
        encoded

    Args:
        output_type: colour space; ANY_DATA: that of the file, with its alpha (ImageType; default
            ImageType.RGB).
        dtype: element type; values are brought to its range, which is 0 to 1 for floating point
            (element type; default torch.uint8).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        max_pixels: pixels of an image; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets, or for some images
            (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        crop: (height, width) or (depth, height, width) of the window, in pixels (float or list of
            float, at least 0; may be per sample).
        crop_d: depth of the window, or frames of a clip; 0: all (float, at least 0; may be per
            sample).
        crop_h: height of the window; 0: all (float, at least 0; may be per sample).
        crop_w: width of the window; 0: all (float, at least 0; may be per sample).
        crop_pos_x: place of the window: 0 is leftmost, 1 rightmost (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        crop_pos_y: place of the window: 0 is topmost, 1 lowest (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        crop_pos_z: place of the window along the depth, or the frames of a clip (float, at least 0,
            at most 1; default 0.5; may be per sample or frame).
        rounding: how the corner of the window becomes a whole number (one of 'round', 'truncate';
            default 'round').
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, cache_batch_copy, cache_debug, cache_size, cache_threshold,
    cache_type, device_memory_padding, device_memory_padding_jpeg2k, host_memory_padding,
    host_memory_padding_jpeg2k, hw_decoder_load, hybrid_huffman_threshold, jpeg_fancy_upsampling,
    memory_stats, preallocate_height_hint, preallocate_width_hint, seed, split_stages,
    use_chunk_allocator, use_fast_idct.
    """

    def __init__(
        self,
        *,
        output_type: Any = ...,
        dtype: Any = ...,
        adjust_orientation: bool | int = True,
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        crop: float | _Sequence[float] | _Values | None = None,
        crop_d: float | _Values | None = None,
        crop_h: float | _Values | None = None,
        crop_w: float | _Values | None = None,
        crop_pos_x: float | _Values = 0.5,
        crop_pos_y: float | _Values = 0.5,
        crop_pos_z: float | _Values = 0.5,
        rounding: str = 'round',
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        bytes_per_sample_hint: Any = ...,
        cache_batch_copy: Any = ...,
        cache_debug: Any = ...,
        cache_size: Any = ...,
        cache_threshold: Any = ...,
        cache_type: Any = ...,
        device_memory_padding: Any = ...,
        device_memory_padding_jpeg2k: Any = ...,
        host_memory_padding: Any = ...,
        host_memory_padding_jpeg2k: Any = ...,
        hw_decoder_load: Any = ...,
        hybrid_huffman_threshold: Any = ...,
        jpeg_fancy_upsampling: Any = ...,
        memory_stats: Any = ...,
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
        seed: Any = ...,
        split_stages: Any = ...,
        use_chunk_allocator: Any = ...,
        use_fast_idct: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ImageRandomCrop:
    """Decode a random window of images, of a random area and aspect ratio.

    The area is equally likely, the ratio on a logarithmic scale. If no window of `num_attempts`
    fits, the largest one in the middle with a ratio in the bounds is taken.

    Inputs:
        encoded

    Args:
        output_type: colour space; ANY_DATA: that of the file, with its alpha (ImageType; default
            ImageType.RGB).
        dtype: element type; values are brought to its range, which is 0 to 1 for floating point
            (element type; default torch.uint8).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        max_pixels: pixels of an image; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets, or for some images
            (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        random_area: part of the area: (least, most) (float or list of float; default (0.08, 1.0)).
        random_aspect_ratio: ratio of width to height: (least, most) (float or list of float;
            default (0.75, 1.333333)).
        num_attempts: tries for a window that fits (int, at least 1; default 10).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, cache_batch_copy, cache_debug, cache_size, cache_threshold,
    cache_type, device_memory_padding, device_memory_padding_jpeg2k, host_memory_padding,
    host_memory_padding_jpeg2k, hw_decoder_load, hybrid_huffman_threshold, jpeg_fancy_upsampling,
    memory_stats, preallocate_height_hint, preallocate_width_hint, split_stages,
    use_chunk_allocator, use_fast_idct.
    """

    def __init__(
        self,
        *,
        output_type: Any = ...,
        dtype: Any = ...,
        adjust_orientation: bool | int = True,
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        random_area: float | _Sequence[float] = ...,
        random_aspect_ratio: float | _Sequence[float] = ...,
        num_attempts: int = 10,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        bytes_per_sample_hint: Any = ...,
        cache_batch_copy: Any = ...,
        cache_debug: Any = ...,
        cache_size: Any = ...,
        cache_threshold: Any = ...,
        cache_type: Any = ...,
        device_memory_padding: Any = ...,
        device_memory_padding_jpeg2k: Any = ...,
        host_memory_padding: Any = ...,
        host_memory_padding_jpeg2k: Any = ...,
        hw_decoder_load: Any = ...,
        hybrid_huffman_threshold: Any = ...,
        jpeg_fancy_upsampling: Any = ...,
        memory_stats: Any = ...,
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
        split_stages: Any = ...,
        use_chunk_allocator: Any = ...,
        use_fast_idct: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ImageSlice:
    """Decode a window of images; it is that of `fn.slice`, and lies in the image.

    Inputs:
        encoded

    Args:
        anchor: where the slice begins; integers are positions, floating point numbers are parts of
            the size unless `normalized_anchor` is False (numbers; may be per sample).
        shape_input: its size, likewise (numbers; may be per sample).
        start: where the slice begins (int or list of int; may be per sample).
        rel_start: the same as a part of the size (float or list of float; may be per sample).
        end: where the slice ends, exclusively; by default the data's end (int or list of int; may
            be per sample).
        rel_end: the same as a part of the size (float or list of float; may be per sample).
        shape: size of the slice, in place of its end (int or list of int; may be per sample).
        rel_shape: the same as a part of the size (float or list of float; may be per sample).
        axes: dimensions that the coordinates are for; (1, 0) by default, none: all (int or list of
            int; may be per sample).
        axis_names: the same by the layout; WH by default (str).
        normalized_anchor: see `anchor` (bool (0 or 1); default True).
        normalized_shape: see `shape_input` (bool (0 or 1); default True).
        output_type: colour space; ANY_DATA: that of the file, with its alpha (ImageType; default
            ImageType.RGB).
        dtype: element type; values are brought to its range, which is 0 to 1 for floating point
            (element type; default torch.uint8).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        max_pixels: pixels of an image; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets, or for some images
            (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, cache_batch_copy, cache_debug, cache_size, cache_threshold,
    cache_type, device_memory_padding, device_memory_padding_jpeg2k, host_memory_padding,
    host_memory_padding_jpeg2k, hw_decoder_load, hybrid_huffman_threshold, jpeg_fancy_upsampling,
    memory_stats, preallocate_height_hint, preallocate_width_hint, seed, split_stages,
    use_chunk_allocator, use_fast_idct.
    """

    def __init__(
        self,
        anchor: Any = None,
        shape_input: Any = None,
        *,
        start: int | _Sequence[int] | _Values | None = None,
        rel_start: float | _Sequence[float] | _Values | None = None,
        end: int | _Sequence[int] | _Values | None = None,
        rel_end: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None,
        rel_shape: float | _Sequence[float] | _Values | None = None,
        axes: int | _Sequence[int] | _Values | None = None,
        axis_names: str | None = None,
        normalized_anchor: bool | int = True,
        normalized_shape: bool | int = True,
        output_type: Any = ...,
        dtype: Any = ...,
        adjust_orientation: bool | int = True,
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        bytes_per_sample_hint: Any = ...,
        cache_batch_copy: Any = ...,
        cache_debug: Any = ...,
        cache_size: Any = ...,
        cache_threshold: Any = ...,
        cache_type: Any = ...,
        device_memory_padding: Any = ...,
        device_memory_padding_jpeg2k: Any = ...,
        host_memory_padding: Any = ...,
        host_memory_padding_jpeg2k: Any = ...,
        hw_decoder_load: Any = ...,
        hybrid_huffman_threshold: Any = ...,
        jpeg_fancy_upsampling: Any = ...,
        memory_stats: Any = ...,
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
        seed: Any = ...,
        split_stages: Any = ...,
        use_chunk_allocator: Any = ...,
        use_fast_idct: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
