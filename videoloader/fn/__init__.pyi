# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

from videoloader.fn import decoders as decoders
from videoloader.fn import random as random
from videoloader.fn import readers as readers
from videoloader.fn import transforms as transforms
from videoloader.fn.document import operators_page as operators_page

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

def brightness_contrast(
    frames: _Data,
    /,
    *,
    brightness: float | _Values = 1.0,
    brightness_shift: float | _Values = 0.0,
    contrast: float | _Values = 1.0,
    contrast_center: float | _Values | None = None,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Change brightness and contrast, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        brightness: factor of the brightness (float; default 1.0; may be per sample or frame).
        brightness_shift: added, in parts of the output range (float; default 0.0; may be per sample
            or frame).
        contrast: factor of the contrast; 0 is uniform (float; default 1.0; may be per sample or
            frame).
        contrast_center: value that contrast leaves alone; by default the middle of the input's
            range (float; may be per sample or frame).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

def cast(
    input: _Data,
    /,
    *,
    dtype: Any,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Convert to another element type.

    Floating point values are rounded to the nearest integer (halves away from zero) and clamped to
    the range of an integer type, integers are clamped; nothing wraps around.

    Inputs:
        input

    Args:
        dtype: element type of the output (element type; required).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def coord_flip(
    points: _Data,
    /,
    *,
    flip_x: bool | int | _Values = True,
    flip_y: bool | int | _Values = False,
    flip_z: bool | int | _Values = False,
    center_x: float | _Values = 0.5,
    center_y: float | _Values = 0.5,
    center_z: float | _Values = 0.5,
    layout: str = '',
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Mirror points, whose coordinates are the last dimension: 2 * center - coordinate.

    Inputs:
        points

    Args:
        flip_x: mirror the x coordinates (bool (0 or 1); default True; may be per sample).
        flip_y: mirror the y coordinates (bool (0 or 1); default False; may be per sample).
        flip_z: mirror the z coordinates (bool (0 or 1); default False; may be per sample).
        center_x: x of the mirror (float; default 0.5; may be per sample).
        center_y: y of the mirror (float; default 0.5; may be per sample).
        center_z: z of the mirror (float; default 0.5; may be per sample).
        layout: order of the coordinates; "x", "xy" or "xyz" by default (str; default '').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def coord_transform(
    points: _Data,
    /,
    *,
    M: Any = None,
    T: float | Sequence[float] | _Values | None = None,
    MT: Any = None,
    dtype: Any = ...,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Transform points, whose coordinates are the last dimension: M @ point + T.

    Inputs:
        points

    Args:
        M: matrix (m, n), or one factor for all (matrix of float, (n, n + 1) or its rows in one
            list; may be per sample).
        T: added after that (float or list of float; may be per sample).
        MT: (m, n + 1): both in one matrix (matrix of float, (n, n + 1) or its rows in one list; may
            be per sample).
        dtype: element type of the output (element type; default torch.float32).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def crop(
    frames: _Data,
    /,
    *,
    crop: float | Sequence[float] | _Values | None = None,
    crop_d: float | _Values | None = None,
    crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None,
    crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5,
    rounding: str = 'round',
    out_of_bounds_policy: str = 'error',
    fill_values: float | Sequence[float] = ...,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    image_type: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Cut a window out of frames, the same one out of every frame of a clip by default.

    Along each side the window begins at round(position * (side - window)), half away from zero.
    The output shares memory with the input where the window lies inside.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW)

    Args:
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
        out_of_bounds_policy: a window that reaches outside: an error, filled there, or trimmed to
            the frame (one of 'error', 'pad', 'trim_to_shape'; default 'error').
        fill_values: what `pad` fills with, for all channels or each; truncated for integer outputs
            (float or list of float; default (0.0,)).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: image_type.
    """

def crop_mirror_normalize(
    frames: _Data,
    /,
    *,
    crop: float | Sequence[float] | _Values | None = None,
    crop_d: float | _Values | None = None,
    crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None,
    crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5,
    rounding: str = 'round',
    out_of_bounds_policy: str = 'error',
    fill_values: float | Sequence[float] = ...,
    mirror: bool | int | _Values = False,
    mean: float | Sequence[float] | _Values = ...,
    std: float | Sequence[float] | _Values = ...,
    scale: float = 1.0,
    shift: float = 0.0,
    dtype: Any = ...,
    output_layout: str = 'CHW',
    pad_output: bool | int = False,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    image_type: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Crop, mirror, normalise and transpose frames in one go, by default every frame alike.

    out = scale * (in - mean) / std + shift. Integer outputs are rounded and clamped. The window
    is that of `fn.crop`; where it reaches outside, the fill values come out as they are.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW)

    Args:
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
        out_of_bounds_policy: a window that reaches outside: an error, filled there, or trimmed to
            the frame (one of 'error', 'pad', 'trim_to_shape'; default 'error').
        fill_values: what `pad` fills with, for all channels or each; truncated for integer outputs
            (float or list of float; default (0.0,)).
        mirror: swap left and right (bool (0 or 1); default False; may be per sample or frame).
        mean: subtracted, for all channels or each (float or list of float; default (0.0,); may be
            per sample).
        std: divided by, for all channels or each (float or list of float; default (1.0,); may be
            per sample).
        scale: factor after that (float; default 1.0).
        shift: added at the end (float; default 0.0).
        dtype: element type of the output (element type; default torch.float32).
        output_layout: order of the output's dimensions; a clip keeps its frames first by default
            (str; default 'CHW').
        pad_output: zero channels up to the next power of two (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: image_type.
    """

def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: str = 'no',
    layout: Any = None,
    dtype: Any = None,
    ndim: int | None = None,
    batch: bool | int = True,
    batch_info: bool | int = False,
    device: str | None = None,
    name: str | None = None,
    blocking: Any = ...,
    bytes_per_sample_hint: Any = ...,
    cuda_stream: Any = ...,
    no_copy: Any = ...,
    parallel: Any = ...,
    prefetch_queue_depth: Any = ...,
    preserve: Any = ...,
    repeat_last: Any = ...,
    use_copy_kernel: Any = ...,
) -> Any:
    """Take samples from Python code.

    `source` is called or advanced once a batch, or once a sample with `batch=False`, in the
    pipeline's thread. A callable that takes an argument gets the number of the iteration, or a
    `SampleInfo`. StopIteration ends the epoch: `Pipeline.run` raises it, and `Pipeline.reset`
    begins the next one. A batch may be smaller than the pipeline's. Bytes become 1-D uint8; a
    path or an `Item` of a data set stays what it is, for `fn.decoders.video`.

    Args:
        source: a callable, an iterable, or none: see `feed_input` (object).
        num_outputs: the source gives a tuple of as many values (int, at least 1).
        cycle: an iterable that ends: `no`, `quiet` (begin again), `raise` (begin again after reset)
            (one of 'no', 'quiet', 'raise'; default 'no').
        layout: such as "FHWC" (str or list of str).
        dtype: element type of the output; the data's by default (element type).
        ndim: number of dimensions, checked (int, at least 0).
        batch: whether the source gives batches, or single samples (bool (0 or 1); default True).
        batch_info: pass a `BatchInfo` in place of the iteration (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Not supported yet: cuda_stream, parallel, repeat_last.

    Taken, no effect: blocking, no_copy, prefetch_queue_depth, use_copy_kernel.
    """

def flip(
    frames: _Data,
    /,
    *,
    horizontal: bool | int | _Values = True,
    vertical: bool | int | _Values = False,
    depthwise: bool | int | _Values = False,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Mirror frames, by default every frame of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC, CDHW, FCDHW)

    Args:
        horizontal: swap left and right (bool (0 or 1); default True; may be per sample or frame).
        vertical: swap top and bottom (bool (0 or 1); default False; may be per sample or frame).
        depthwise: swap front and back, of volumes (bool (0 or 1); default False; may be per sample
            or frame).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

def paste(
    frames: _Data,
    /,
    *,
    ratio: float | _Values,
    fill_value: float | Sequence[float],
    paste_x: float | _Values = 0.5,
    paste_y: float | _Values = 0.5,
    min_canvas_size: float | _Values = 0.0,
    n_channels: int = 3,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Put frames on a canvas of one color, every frame of a clip at the same place.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        ratio: canvas to frame, at least 1 (float; required; may be per sample).
        fill_value: of the canvas, for all channels or each (float or list of float; required).
        paste_x: place of the frame: 0 is leftmost, 1 rightmost (float, at least 0, at most 1;
            default 0.5; may be per sample).
        paste_y: place of the frame: 0 is topmost, 1 lowest (float, at least 0, at most 1; default
            0.5; may be per sample).
        min_canvas_size: least side of the canvas (float, at least 0; default 0.0; may be per
            sample).
        n_channels: taken; the frames know their channels (int, at least 1; default 3).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

def per_frame(
    values: _Data,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Say that the first dimension of samples counts frames.

    An argument that may be per frame takes the result: one value for each frame of a clip.

    Inputs:
        values

    Args:
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def random_resized_crop(
    frames: _Data,
    /,
    *,
    size: int | Sequence[int] | _Values,
    random_area: float | Sequence[float] = ...,
    random_aspect_ratio: float | Sequence[float] = ...,
    num_attempts: int = 10,
    interp_type: Any = ...,
    mag_filter: Any = None,
    min_filter: Any = None,
    antialias: bool | int = True,
    dtype: Any = None,
    seed: int | None = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    minibatch_size: Any = ...,
    preserve: Any = ...,
    temp_buffer_hint: Any = ...,
) -> Any:
    """Resize a random part of frames, the same one of every frame of a clip.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW)

    Args:
        size: (height, width) of the output (int or list of int; required; may be per sample).
        random_area: part of the area, equally likely (float or list of float; default (0.08, 1.0)).
        random_aspect_ratio: width to height, its logarithm equally likely (float or list of float;
            default (0.75, 1.3333333333333333)).
        num_attempts: draws before a part in the middle is taken (int, at least 1; default 10).
        interp_type: how a pixel is computed (InterpType; default InterpType.INTERP_LINEAR; may be
            per sample).
        mag_filter: the same where a side grows; `interp_type` by default (InterpType; may be per
            sample).
        min_filter: the same where a side shrinks; `interp_type` by default (InterpType; may be per
            sample).
        antialias: widen the filter when shrinking (bool (0 or 1); default True).
        dtype: element type of the output; the input's by default (element type).
        seed: in place of the pipeline's; -1: the pipeline's (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: minibatch_size, temp_buffer_hint.
    """

def resize(
    frames: _Data,
    /,
    *,
    resize_x: float | _Values | None = None,
    resize_y: float | _Values | None = None,
    resize_z: float | _Values | None = None,
    size: float | Sequence[float] | _Values | None = None,
    resize_shorter: float | _Values | None = None,
    resize_longer: float | _Values | None = None,
    mode: str = 'default',
    max_size: float | Sequence[float] | None = None,
    subpixel_scale: bool | int = True,
    roi_start: float | Sequence[float] | _Values | None = None,
    roi_end: float | Sequence[float] | _Values | None = None,
    roi_relative: bool | int = False,
    interp_type: Any = ...,
    mag_filter: Any = None,
    min_filter: Any = None,
    antialias: bool | int = True,
    dtype: Any = None,
    save_attrs: bool | int = False,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    image_type: Any = ...,
    minibatch_size: Any = ...,
    preserve: Any = ...,
    temp_buffer_hint: Any = ...,
) -> Any:
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

    Taken, no effect: image_type, minibatch_size, temp_buffer_hint.
    """

def resize_crop_mirror(
    frames: _Data,
    /,
    *,
    resize_x: float | _Values | None = None,
    resize_y: float | _Values | None = None,
    resize_z: float | _Values | None = None,
    size: float | Sequence[float] | _Values | None = None,
    resize_shorter: float | _Values | None = None,
    resize_longer: float | _Values | None = None,
    mode: str = 'default',
    max_size: float | Sequence[float] | None = None,
    subpixel_scale: bool | int = True,
    roi_start: float | Sequence[float] | _Values | None = None,
    roi_end: float | Sequence[float] | _Values | None = None,
    roi_relative: bool | int = False,
    interp_type: Any = ...,
    mag_filter: Any = None,
    min_filter: Any = None,
    antialias: bool | int = True,
    dtype: Any = None,
    crop: float | Sequence[float] | _Values | None = None,
    crop_d: float | _Values | None = None,
    crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None,
    crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5,
    rounding: str = 'round',
    mirror: bool | int | _Values = False,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    image_type: Any = ...,
    minibatch_size: Any = ...,
    preserve: Any = ...,
    temp_buffer_hint: Any = ...,
) -> Any:
    """Resize, crop and mirror frames in one go: only pixels inside the window are computed.

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
        crop: (height, width) or (depth, height, width) of the window, in pixels (float or list of
            float, at least 0; may be per sample).
        crop_d: depth of the window, or frames of a clip; 0: all (float, at least 0; may be per
            sample).
        crop_h: height of the window; 0: all (float, at least 0; may be per sample).
        crop_w: width of the window; 0: all (float, at least 0; may be per sample).
        crop_pos_x: place of the window: 0 is leftmost, 1 rightmost (float, at least 0, at most 1;
            default 0.5; may be per sample).
        crop_pos_y: place of the window: 0 is topmost, 1 lowest (float, at least 0, at most 1;
            default 0.5; may be per sample).
        crop_pos_z: place of the window along the depth, or the frames of a clip (float, at least 0,
            at most 1; default 0.5; may be per sample).
        rounding: how the corner of the window becomes a whole number (one of 'round', 'truncate';
            default 'round').
        mirror: swap left and right (bool (0 or 1); default False; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: image_type, minibatch_size, temp_buffer_hint.
    """

def rotate(
    frames: _Data,
    /,
    *,
    angle: float | _Values,
    axis: float | Sequence[float] | _Values | None = None,
    keep_size: bool | int = False,
    size: float | Sequence[float] | _Values | None = None,
    fill_value: float | None = None,
    interp_type: Any = ...,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Rotate frames about their centre, every frame of a clip alike by default.

    The output is as large as the rotated frame needs. Frames of a clip that are rotated by angles
    of their own lie in the middle of one canvas.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW)

    Args:
        angle: in degrees, counter-clockwise (float; required; may be per sample or frame).
        axis: (x, y, z) that volumes are rotated about (float or list of float; may be per sample or
            frame).
        keep_size: the output has the size of the input (bool (0 or 1); default False).
        size: (height, width) or (depth, height, width) of the output (float or list of float, at
            least 0; may be per sample).
        fill_value: what lies outside the input; by default copies of the pixel at the border
            (float).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR;
            default InterpType.INTERP_LINEAR).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

def warp_affine(
    frames: _Data,
    /,
    matrix: Any,
    *,
    inverse_map: bool | int = True,
    size: float | Sequence[float] | _Values | None = None,
    fill_value: float | None = None,
    interp_type: Any = ...,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """See frames through an affine transform, every frame of a clip alike by default.

    Pixel centres lie at half-integers.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, CFHW, DHWC, FDHWC, CDHW, FCDHW, CFDHW)

    Args:
        matrix: (2, 3), of volumes (3, 4): from points (x, y, z) of the output to points of the
            input, in pixels (matrix of float, (n, n + 1) or its rows in one list; required; may be
            per sample or frame).
        inverse_map: False: from the input to the output instead (bool (0 or 1); default True).
        size: (height, width) or (depth, height, width) of the output (float or list of float, at
            least 0; may be per sample).
        fill_value: what lies outside the input; by default copies of the pixel at the border
            (float).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR;
            default InterpType.INTERP_LINEAR).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """
