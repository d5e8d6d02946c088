# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

from videoloader.fn import decoders as decoders
from videoloader.fn import random as random
from videoloader.fn import readers as readers
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

def constant(
    *,
    fdata: float | Sequence[float] | None = None,
    idata: int | Sequence[int] | None = None,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    layout: str = '',
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Give the same tensor for every sample.

    Values that `dtype` cannot hold are saturated, fractions rounded half away from zero.

    Args:
        fdata: values (float or list of float).
        idata: values (int or list of int).
        shape: of a sample; one value fills it; by default a list (int or list of int).
        dtype: by default FLOAT for `fdata` and INT32 for `idata` (element type).
        layout: such as "HWC" (str; default '').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def crop(
    frames: _Data,
    /,
    *,
    crop: float | Sequence[float] | _Values | None = None,
    crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None,
    crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5,
    rounding: str = 'round',
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    crop_d: Any = ...,
    crop_pos_z: Any = ...,
    fill_values: Any = ...,
    out_of_bounds_policy: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Cut a window out of frames, the same one out of every frame of a clip by default.

    Along each side the window begins at round(position * (side - window)), half up. A window
    that does not fit is an error. The output shares memory with the input.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        crop: (height, width) of the window, in pixels (float or list of float, at least 0; may be
            per sample).
        crop_h: height of the window; 0: all (float, at least 0; may be per sample).
        crop_w: width of the window; 0: all (float, at least 0; may be per sample).
        crop_pos_x: place of the window: 0 is leftmost, 1 rightmost (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        crop_pos_y: place of the window: 0 is topmost, 1 lowest (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        rounding: how the corner of the window becomes a whole number (one of 'round', 'truncate';
            default 'round').
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Not supported yet: crop_d, crop_pos_z, fill_values, out_of_bounds_policy.
    """

def crop_mirror_normalize(
    frames: _Data,
    /,
    *,
    crop: float | Sequence[float] | _Values | None = None,
    crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None,
    crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5,
    rounding: str = 'round',
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
    crop_d: Any = ...,
    crop_pos_z: Any = ...,
    fill_values: Any = ...,
    out_of_bounds_policy: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Crop, mirror, normalise and transpose frames in one go, by default every frame alike.

    out = scale * (in - mean) / std + shift. Integer outputs are rounded and clamped. The window
    is that of `fn.crop`.

    Inputs:
        frames (HWC, FHWC)

    Args:
        crop: (height, width) of the window, in pixels (float or list of float, at least 0; may be
            per sample).
        crop_h: height of the window; 0: all (float, at least 0; may be per sample).
        crop_w: width of the window; 0: all (float, at least 0; may be per sample).
        crop_pos_x: place of the window: 0 is leftmost, 1 rightmost (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        crop_pos_y: place of the window: 0 is topmost, 1 lowest (float, at least 0, at most 1;
            default 0.5; may be per sample or frame).
        rounding: how the corner of the window becomes a whole number (one of 'round', 'truncate';
            default 'round').
        mirror: swap left and right (bool (0 or 1); default False; may be per sample or frame).
        mean: subtracted, for all channels or each (float or list of float; default (0.0,); may be
            per sample).
        std: divided by, for all channels or each (float or list of float; default (1.0,); may be
            per sample).
        scale: factor after that (float; default 1.0).
        shift: added at the end (float; default 0.0).
        dtype: element type of the output (element type; default torch.float32).
        output_layout: order of the output's dimensions; a clip keeps its frames first (one of
            'CHW', 'HWC', 'FCHW', 'FHWC'; default 'CHW').
        pad_output: zero channels up to the next power of two (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Not supported yet: crop_d, crop_pos_z, fill_values, out_of_bounds_policy.
    """

def expand_dims(
    data: _Data,
    /,
    *,
    axes: int | Sequence[int],
    new_axis_names: str | None = None,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Insert dimensions of size 1. The data is not copied.

    Inputs:
        data

    Args:
        axes: where the new dimensions stand in the output (int or list of int; required).
        new_axis_names: their letters; without, the layout is dropped (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
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
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    depthwise: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Mirror frames, by default every frame of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        horizontal: swap left and right (bool (0 or 1); default True; may be per sample or frame).
        vertical: swap top and bottom (bool (0 or 1); default False; may be per sample or frame).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Not supported yet: depthwise.
    """

def get_property(
    input: _Data,
    /,
    *,
    key: str,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Give what is known of every sample beside its data, as the bytes of a text (1-D uint8).

    Inputs:
        input

    Args:
        key: where samples come from, such as their files; or their layout (one of 'source_info',
            'layout'; required).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def per_frame(
    values: _Data,
    /,
    *,
    replace: bool | int = False,
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
        replace: rename the first dimension of another layout to F (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def resize(
    frames: _Data,
    /,
    *,
    resize_x: float | _Values | None = None,
    resize_y: float | _Values | None = None,
    size: float | Sequence[float] | _Values | None = None,
    resize_shorter: float | _Values | None = None,
    resize_longer: float | _Values | None = None,
    mode: str = 'default',
    max_size: float | Sequence[float] | None = None,
    interp_type: Any = ...,
    antialias: bool | int = True,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    mag_filter: Any = ...,
    min_filter: Any = ...,
    minibatch_size: Any = ...,
    preserve: Any = ...,
    resize_z: Any = ...,
    roi_end: Any = ...,
    roi_relative: Any = ...,
    roi_start: Any = ...,
    save_attrs: Any = ...,
    subpixel_scale: Any = ...,
    temp_buffer_hint: Any = ...,
) -> Any:
    """Resize frames, every frame of a clip alike.

    Pixel centres lie at half-integers. Shrinking with `antialias` widens the filter to the scale
    (linear becomes triangular); at the border the filter is cut off and its weights are
    normalised, as Pillow does. Cubic is Catmull-Rom. A computed side is rounded, and the
    picture is scaled to just that side (DALI's `subpixel_scale=False`).

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        resize_x: width of the output; 0: not given (float, at least 0; may be per sample).
        resize_y: height of the output; 0: not given (float, at least 0; may be per sample).
        size: (height, width) or one number for both (float or list of float, at least 0; may be per
            sample).
        resize_shorter: length of the shorter side; keeps the aspect ratio; 0: not given (float, at
            least 0; may be per sample).
        resize_longer: length of the longer side; keeps the aspect ratio; 0: not given (float, at
            least 0; may be per sample).
        mode: a missing side: `default` keeps the aspect ratio, `stretch` keeps that side;
            `not_larger` and `not_smaller` keep the aspect ratio and take the sizes as bounds (one
            of 'default', 'stretch', 'not_larger', 'not_smaller'; default 'default').
        max_size: bound of the output: one number or (height, width) (float or list of float).
        interp_type: how a pixel is computed (InterpType; default InterpType.INTERP_LINEAR).
        antialias: widen the filter when shrinking (bool (0 or 1); default True).
        dtype: element type of the output: the input's or FLOAT (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Not supported yet: mag_filter, min_filter, resize_z, roi_end, roi_relative, roi_start,
    save_attrs, subpixel_scale.

    Taken, no effect: minibatch_size, temp_buffer_hint.
    """

def shapes(
    input: _Data,
    /,
    *,
    dtype: Any = ...,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Give the sizes of every sample, as a 1-D tensor; `DataNode.shape()` is the same.

    Inputs:
        input

    Args:
        dtype: element type of the output (element type; default torch.int64).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def slice(
    data: _Data,
    /,
    anchor: Any = None,
    shape_input: Any = None,
    *,
    start: int | Sequence[int] | _Values | None = None,
    rel_start: float | Sequence[float] | _Values | None = None,
    end: int | Sequence[int] | _Values | None = None,
    rel_end: float | Sequence[float] | _Values | None = None,
    shape: int | Sequence[int] | _Values | None = None,
    rel_shape: float | Sequence[float] | _Values | None = None,
    axes: int | Sequence[int] | _Values | None = None,
    axis_names: str | None = None,
    normalized_anchor: bool | int = True,
    normalized_shape: bool | int = True,
    out_of_bounds_policy: str = 'error',
    fill_values: float | Sequence[float] = ...,
    dtype: Any = None,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    image_type: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Take a part of every sample, given by start and end or by start and size.

    Coordinates that are not whole are rounded to the nearest integer. A part that lies inside of
    the data is not copied.

    Inputs:
        data

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
        out_of_bounds_policy: what stands outside of the data: `constant` or `pad` (`fill_values`),
            `edge` or `clamp`, `reflect_1001` or `reflect`, `reflect_101`, `wrap`; or
            `trim_to_shape` (one of 'error', 'constant', 'edge', 'reflect_1001', 'reflect_101',
            'wrap', 'trim_to_shape'; default 'error').
        fill_values: one value, or one for each channel (C) (float or list of float; default
            (0.0,)).
        dtype: element type of the output; the data's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: image_type.
    """
