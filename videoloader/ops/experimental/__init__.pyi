# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

from videoloader.ops.experimental import decoders as decoders
from videoloader.ops.experimental import inputs as inputs
from videoloader.ops.experimental import readers as readers

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

@_deprecated("use fn.audio_resample")
class AudioResample:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window.

    As in DALI nothing is filtered out where the rate falls: frequencies above half of the new rate
    come back as others. `vl.Audio(sample_rate=...)` removes them. It is worked out on the CPU.

    Deprecated: use fn.audio_resample.

    Inputs:
        signal

    Args:
        in_rate: rate of the input, in any unit (float; may be per sample).
        out_rate: rate of the output, in that unit (float; may be per sample).
        scale: output rate to input rate (float, at least 0; may be per sample).
        out_length: samples of the output (int, at least 0; may be per sample).
        quality: of resampling: 0 is 3 lobes of the sinc, 50 is 16, 100 is 64 (float, at least 0, at
            most 100; default 50.0).
        dtype: element type of the output, whose range stands for -1 to 1; that of the input by
            default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        in_rate: float | _Values | None = None,
        out_rate: float | _Values | None = None,
        scale: float | _Values | None = None,
        out_length: int | _Values | None = None,
        quality: float = 50.0,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, signal: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.debayer")
class Debayer:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV.

    Deprecated: use fn.debayer.

    Inputs:
        frames

    Args:
        blue_position: (row, column) of blue in the tile of 2 x 2 that begins at the second row and
            column (int or list of int; required; may be per sample or frame).
        algorithm: how missing colours are found; bilinear by default (one of 'bilinear_ocv',
            'edgeaware_ocv', 'vng_ocv', 'gray_ocv', 'default_npp', None).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        blue_position: int | _Sequence[int] | _Values = ...,
        algorithm: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Dilate:
    """Replace each value by the largest one in a rectangle around it.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        mask_size: (width, height) of the rectangle (int or list of int, at least 1; default (3, 3);
            may be per sample or frame).
        anchor: (x, y) of its point that lies on the pixel; -1: the middle (int or list of int, at
            least -1; default (-1, -1); may be per sample or frame).
        iterations: how often (int, at least 1; default 1).
        border_mode: what stands outside; `constant` is nothing (one of 'constant', 'replicate',
            'reflect', 'reflect_1001', 'reflect101', 'reflect_101', 'wrap'; default 'constant').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        mask_size: int | _Sequence[int] | _Values = ...,
        anchor: int | _Sequence[int] | _Values = ...,
        iterations: int = 1,
        border_mode: str = 'constant',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.equalize")
class Equalize:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does.

    Deprecated: use fn.equalize.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, HW, FHW)

    Args:
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Erode:
    """Replace each value by the smallest one in a rectangle around it.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        mask_size: (width, height) of the rectangle (int or list of int, at least 1; default (3, 3);
            may be per sample or frame).
        anchor: (x, y) of its point that lies on the pixel; -1: the middle (int or list of int, at
            least -1; default (-1, -1); may be per sample or frame).
        iterations: how often (int, at least 1; default 1).
        border_mode: what stands outside; `constant` is nothing (one of 'constant', 'replicate',
            'reflect', 'reflect_1001', 'reflect101', 'reflect_101', 'wrap'; default 'constant').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        mask_size: int | _Sequence[int] | _Values = ...,
        anchor: int | _Sequence[int] | _Values = ...,
        iterations: int = 1,
        border_mode: str = 'constant',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.filter")
class Filter:
    """Correlate samples with a window of each, in float32.

    The window has the data axes of the layout: (H, W) for images and clips, (D, H, W) for volumes.
    Channels and frames are filtered by themselves.

    Deprecated: use fn.filter.

    Inputs:
        frames
        window
        fill_value (may be left out)

    Args:
        anchor: the value of the window that lies on the pixel; -1: the middle (int or list of int,
            at least -1; default (-1,); may be per sample or frame).
        border: what stands outside; `constant` is `fill_value`, or 0 (one of 'reflect_101',
            'reflect_1001', 'wrap', 'clamp', 'constant'; default 'reflect_101').
        mode: `valid` leaves out where the window is not wholly inside (one of 'same', 'valid';
            default 'same').
        dtype: element type of the output: the input's or FLOAT (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        anchor: int | _Sequence[int] | _Values = ...,
        border: str = 'reflect_101',
        mode: str = 'same',
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, window: _Data, fill_value: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.decoders.inflate")
class Inflate:
    """Decompress samples, 1-D uint8, of one block of LZ4 or of several chunks of one shape.

    With `chunk_offsets` or `chunk_sizes` the chunks are stacked. Whatever the device, the CPU
    decompresses.

    Deprecated: use fn.decoders.inflate.

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

class MedianBlur:
    """Replace each value by the median of a window around it; the outermost values are repeated.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        window_size: (width, height), odd (int or list of int, at least 1; default (3, 3); may be
            per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        window_size: int | _Sequence[int] | _Values = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.peek_image_shape")
class PeekImageShape:
    """(height, width, channels) that images will have when they are decoded, by their headers.

    Deprecated: use fn.peek_image_shape.

    Inputs:
        encoded

    Args:
        dtype: element type of the output (element type; default torch.int64).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        image_type: colour space that it is decoded to (ImageType; default ImageType.RGB).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        dtype: Any = ...,
        adjust_orientation: bool | int = True,
        image_type: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Remap:
    """Take every pixel of the output from the place in the input that two maps give for it.

    out(x, y) = in(mapx(x, y), mapy(x, y)), where maps hold places in pixels. What lies outside the
    input is 0. Maps are for all frames of a clip, or for each.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)
        mapx
        mapy

    Args:
        interp: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR,
            InterpType.INTERP_CUBIC; default InterpType.INTERP_LINEAR).
        pixel_origin: where pixel (0, 0) has its place (0, 0): at its upper left corner, or at its
            center as in OpenCV (one of 'corner', 'center'; default 'corner').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        interp: Any = ...,
        pixel_origin: str = 'corner',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, mapx: _Data, mapy: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Resize:
    """Resize frames, every frame of a clip alike.

    Pixel centres lie at half-integers. Shrinking with `antialias` widens the filter to the scale;
    beyond a border lie copies of the pixel there. Linear and triangular are one filter; cubic is
    Catmull-Rom. A decoder resizes by itself where no side is rounded: where both are given in whole
    pixels, or with `subpixel_scale=False`.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW)

    Args:
        resize_x: width of the output; 0: not given (float; may be per sample).
        resize_y: height of the output; 0: not given (float; may be per sample).
        resize_z: depth of the output, of volumes; 0: not given (float; may be per sample).
        size: (height, width), (depth, height, width), or one number for all; negative: mirrored
            (float or list of float; may be per sample).
        resize_shorter: length of the shorter side; keeps the aspect ratio; 0: not given (float; may
            be per sample).
        resize_longer: length of the longer side; keeps the aspect ratio; 0: not given (float; may
            be per sample).
        mode: a missing side: `default` keeps the aspect ratio, `stretch` keeps that side;
            `not_larger` and `not_smaller` keep the aspect ratio and take the sizes as bounds (one
            of 'default', 'stretch', 'not_larger', 'not_smaller'; default 'default').
        max_size: bound of the output: one number or (height, width) (float or list of float).
        subpixel_scale: a side that is rounded keeps its scale, and shows a little more or less;
            False: the whole picture is fitted to the rounded size (bool (0 or 1); default True).
        roi_start: corner of the part of the input that becomes the output (float or list of float;
            may be per sample).
        roi_end: its opposite corner; before it: mirrored (float or list of float; may be per
            sample).
        roi_relative: these corners are parts of the sides (bool (0 or 1); default False).
        interp_type: how a pixel is computed (InterpType; default InterpType.INTERP_LINEAR; may be
            per sample).
        mag_filter: the same where a side grows; `interp_type` by default (InterpType; may be per
            sample).
        min_filter: the same where a side shrinks; `interp_type` by default (InterpType; may be per
            sample).
        antialias: widen the filter when shrinking (bool (0 or 1); default True).
        dtype: element type of the output; the input's by default (element type).
        save_attrs: give the sizes of the inputs as well (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: minibatch_size, temp_buffer_hint.
    """

    def __init__(
        self,
        *,
        resize_x: float | _Values | None = None,
        resize_y: float | _Values | None = None,
        resize_z: float | _Values | None = None,
        size: float | _Sequence[float] | _Values | None = None,
        resize_shorter: float | _Values | None = None,
        resize_longer: float | _Values | None = None,
        mode: str = 'default',
        max_size: float | _Sequence[float] | None = None,
        subpixel_scale: bool | int = True,
        roi_start: float | _Sequence[float] | _Values | None = None,
        roi_end: float | _Sequence[float] | _Values | None = None,
        roi_relative: bool | int = False,
        interp_type: Any = ...,
        mag_filter: Any = None,
        min_filter: Any = None,
        antialias: bool | int = True,
        dtype: Any = None,
        save_attrs: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        minibatch_size: Any = ...,
        preserve: Any = ...,
        temp_buffer_hint: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.tensor_resize")
class TensorResize:
    """Resize all dimensions of tensors, or those of `axes`, as `fn.resize` does with pictures.

    Deprecated: use fn.tensor_resize.

    Inputs:
        values

    Args:
        sizes: extents of the output, or one for all; 0: not given, negative: mirrored (float or
            list of float; may be per sample).
        scales: extents of the output in parts of those of the whole input (float or list of float;
            may be per sample).
        axes: numbers of dimensions; negative ones count from the last (int or list of int).
        axis_names: the dimensions by their letters in the layout (str).
        mode: a missing side: `default` keeps the aspect ratio, `stretch` keeps that side;
            `not_larger` and `not_smaller` keep the aspect ratio and take the sizes as bounds (one
            of 'default', 'stretch', 'not_larger', 'not_smaller'; default 'default').
        max_size: bound of the output: one number, or one for each axis (float or list of float).
        alignment: where the place of the input is that stays the same if an extent is rounded: 0
            the beginning, 1 the end (float or list of float; default (0.5,); may be per sample).
        size_rounding: of extents (one of 'round', 'truncate', 'ceil'; default 'round').
        subpixel_scale: a side that is rounded keeps its scale, and shows a little more or less;
            False: the whole picture is fitted to the rounded size (bool (0 or 1); default True).
        roi_start: corner of the part of the input that becomes the output (float or list of float;
            may be per sample).
        roi_end: its opposite corner; before it: mirrored (float or list of float; may be per
            sample).
        roi_relative: these corners are parts of the sides (bool (0 or 1); default False).
        interp_type: how a pixel is computed (InterpType; default InterpType.INTERP_LINEAR; may be
            per sample).
        mag_filter: the same where a side grows; `interp_type` by default (InterpType; may be per
            sample).
        min_filter: the same where a side shrinks; `interp_type` by default (InterpType; may be per
            sample).
        antialias: widen the filter when shrinking (bool (0 or 1); default True).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: minibatch_size, temp_buffer_hint.
    """

    def __init__(
        self,
        *,
        sizes: float | _Sequence[float] | _Values | None = None,
        scales: float | _Sequence[float] | _Values | None = None,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        mode: str = 'default',
        max_size: float | _Sequence[float] | None = None,
        alignment: float | _Sequence[float] | _Values = ...,
        size_rounding: str = 'round',
        subpixel_scale: bool | int = True,
        roi_start: float | _Sequence[float] | _Values | None = None,
        roi_end: float | _Sequence[float] | _Values | None = None,
        roi_relative: bool | int = False,
        interp_type: Any = ...,
        mag_filter: Any = None,
        min_filter: Any = None,
        antialias: bool | int = True,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        minibatch_size: Any = ...,
        preserve: Any = ...,
        temp_buffer_hint: Any = ...,
    ) -> None: ...
    def __call__(self, values: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class WarpPerspective:
    """See frames through a perspective transform, every frame of a clip alike by default.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, HW, FHW)
        matrix_input (may be left out)

    Args:
        matrix: (3, 3): from points (x, y, 1) of the output to points of the input, in pixels; or
            the second input (matrix of float, (3, 3) or its rows in one list; may be per sample or
            frame).
        inverse_map: False: from the input to the output instead (bool (0 or 1); default True).
        size: (height, width) of the output (float or list of float, at least 0; may be per sample).
        border_mode: what lies outside the input (one of 'constant', 'replicate', 'reflect',
            'reflect_101', 'wrap'; default 'constant').
        fill_value: what a constant border is, for all channels or each; 0 (float or list of float;
            default ()).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR,
            InterpType.INTERP_CUBIC; default InterpType.INTERP_LINEAR).
        pixel_origin: where pixel (0, 0) has its place (0, 0): at its upper left corner, or at its
            center as in OpenCV (one of 'corner', 'center'; default 'corner').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        matrix: Any = None,
        inverse_map: bool | int = True,
        size: float | _Sequence[float] | _Values | None = None,
        border_mode: str = 'constant',
        fill_value: float | _Sequence[float] = ...,
        interp_type: Any = ...,
        pixel_origin: str = 'corner',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, matrix_input: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
