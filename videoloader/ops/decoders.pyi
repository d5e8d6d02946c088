# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Audio:
    """Decode the sound of files: WAV, FLAC, OGG (Vorbis, Opus), MP3, AAC, soundtracks of videos.

    Gives the samples, (n, channels) or with `downmix` (n,), and their rate in hertz, a float32
    scalar. Resampling is that of `fn.audio_resample`.

    Inputs:
        encoded

    Args:
        sample_rate: rate to resample to, in hertz; that of the file if it is not above 0 (float;
            default 0.0; may be per sample).
        quality: of resampling: 0 is 3 lobes of the sinc, 50 is 16, 100 is 64 (float, at least 0, at
            most 100; default 50.0).
        downmix: give the mean of all channels (bool (0 or 1); default False).
        dtype: element type of the samples; floating point ones are from -1 to 1 (one of
            torch.float32, torch.int16, torch.int32; default torch.float32).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        sample_rate: float | _Values = 0.0,
        quality: float = 50.0,
        downmix: bool | int = False,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

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
    preallocate_height_hint, preallocate_width_hint, use_fast_idct.
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
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
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
    preallocate_height_hint, preallocate_width_hint, use_fast_idct.
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
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
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
    preallocate_height_hint, preallocate_width_hint, use_fast_idct.
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
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
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
    preallocate_height_hint, preallocate_width_hint, use_fast_idct.
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
        preallocate_height_hint: Any = ...,
        preallocate_width_hint: Any = ...,
        preserve: Any = ...,
        use_fast_idct: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Inflate:
    """Decompress samples, 1-D uint8, of one block of LZ4 or of several chunks of one shape.

    With `chunk_offsets` or `chunk_sizes` the chunks are stacked. Whatever the device, the CPU
    decompresses.

    Inputs:
        compressed

    Args:
        shape: of the output, or of each of its chunks (int or list of int, at least 0; required;
            may be per sample).
        dtype: element type of the output (element type; default torch.uint8).
        layout: of the output, or of each of its chunks (str; default '').
        sequence_axis_name: in front of the layout where there are chunks (str; default 'F').
        chunk_offsets: where the chunks begin; densely packed by default (int or list of int, at
            least 0; may be per sample).
        chunk_sizes: bytes of the chunks; up to the next one by default (int or list of int, at
            least 0; may be per sample).
        algorithm: of compression (one of 'LZ4'; default 'LZ4').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: check_output_size.
    """

    def __init__(
        self,
        *,
        shape: int | _Sequence[int] | _Values = ...,
        dtype: Any = ...,
        layout: str = '',
        sequence_axis_name: str = 'F',
        chunk_offsets: int | _Sequence[int] | _Values | None = None,
        chunk_sizes: int | _Sequence[int] | _Values | None = None,
        algorithm: str = 'LZ4',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        check_output_size: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, compressed: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Numpy:
    """Decode arrays of NPY files, each 1-D uint8.

    The output is in C order; integers, floats and bool of either byte order.

    Inputs:
        data

    Args:
        dtype: element type of the output: values are rounded and saturated; by default that of the
            files, which have to be alike (element type).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Video:
    """Decode frames of a video: bytes of a whole file (1-D uint8), its path or URL, or an `Item`.

    Without a selection all frames. `frames` lists them; `start_frame`, `end_frame` and `stride`
    give ceil((end - start) / stride) of them; `start_frame`, `sequence_length` and `stride`
    exactly that many, filled up behind the end. With `pad_mode="none"` both end where the video
    does. A frame in a list that the video does not have is an error unless a `pad_mode` is given;
    with "none" so is a range without any frame.

    `times` are on the clock of `enable_timestamps`; one that was rounded finds its frame. With
    `fps` a range has `sequence_length` frames, or one for each time before that of `end_frame`;
    behind the end of the video frames of average duration are counted.

    The output is uint8 (F, H, W, C), then the frame numbers (int32, -1 for a filled frame) and the
    times (float64) if they were asked for. With `audio` the samples follow, float32 (n, channels),
    from the beginning of the earliest frame to the end of the latest, zeros where there is no
    sound; then their rate in hertz, a float32 scalar. A file without sound is an error; a clip of
    which all is masked has no samples, (0, 1), and the rate 0.

    Inputs:
        encoded

    Args:
        frames: frame numbers, any order, repeats too (int or list of int; may be per sample).
        times: seconds from the first frame, in place of `frames`: the frame shown at each time
            (float or list of float; may be per sample).
        start_frame: first frame (int; may be per sample).
        end_frame: end, exclusive (int; may be per sample).
        stride: step; negative plays backwards (int; may be per sample).
        sequence_length: number of frames (int, at least 0; may be per sample).
        fps: frames in a second, in place of `stride`: the frames nearest to times 1 / fps apart, by
            presentation times (float above 0; may be per sample).
        pad_mode: what stands outside the video; by default `constant`, but `none` for `frames` (one
            of 'none', 'edge', 'repeat', 'constant', 'reflect_1001', 'symmetric', 'reflect_101',
            'reflect', 'wrap').
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
        size: (height, width) to decode to (int or list of int, at least 1; may be per sample).
        roi: the part of the frames to give; of the resized ones with `size` ((top, left, height,
            width); may be per sample).
        resolution_change: what to do with frames of another size than the first: `error`, or
            `scale` them to it (one of 'error', 'scale'; default 'error').
        matrix: from Y'CbCr to RGB: `auto` by the tags of the stream, `bt601`, `bt709` or `bt2020`
            whatever the tags, or `swscale` as PyAV, decord2, torchcodec and OpenCV convert (one of
            'auto', 'bt601', 'bt709', 'bt2020', 'swscale'; default 'auto').
        color_range: of the samples: `auto` by the tags of the stream, `limited` or `full` whatever
            the tags (one of 'auto', 'limited', 'full'; default 'auto').
        output: `rgb`, or `gray` for the luma in one channel, which is converted from no colours
            (one of 'rgb', 'gray'; default 'rgb').
        snap: `keyframe` gives, in place of each frame, the last keyframe at or before it, which
            costs one packet; numbers and times are those of the keyframes (one of 'none',
            'keyframe'; default 'none').
        max_pixels: pixels of a picture; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets, or for some images
            (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        output_type: colour space of the frames; all but RGB are converted as
            `fn.color_space_conversion` does. A `fill_value` is RGB (one of ImageType.RGB,
            ImageType.BGR, ImageType.GRAY, ImageType.YCbCr; default ImageType.RGB).
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        audio: two outputs with the sound of the clip and its rate (bool (0 or 1); default False).
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, build_index.
    """

    def __init__(
        self,
        *,
        frames: int | _Sequence[int] | _Values | None = None,
        times: float | _Sequence[float] | _Values | None = None,
        start_frame: int | _Values | None = None,
        end_frame: int | _Values | None = None,
        stride: int | _Values | None = None,
        sequence_length: int | _Values | None = None,
        fps: Any = None,
        pad_mode: str | None = None,
        fill_value: int | _Sequence[int] = ...,
        size: int | _Sequence[int] | _Values | None = None,
        roi: Any = None,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        output: str = 'rgb',
        snap: str = 'none',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        output_type: Any = ...,
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        audio: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        build_index: Any = ...,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
