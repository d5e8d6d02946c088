# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

from videoloader.ops import decoders as decoders
from videoloader.ops import noise as noise
from videoloader.ops import random as random
from videoloader.ops import readers as readers
from videoloader.ops import reductions as reductions
from videoloader.ops import transforms as transforms
from videoloader.ops.operator_class import Compose as Compose

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class BrightnessContrast:
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

    def __init__(
        self,
        *,
        brightness: float | _Values = 1.0,
        brightness_shift: float | _Values = 0.0,
        contrast: float | _Values = 1.0,
        contrast_center: float | _Values | None = None,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Cast:
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

    def __init__(
        self,
        *,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, input: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CastLike:
    """Convert the first input to the element type of the second, as `fn.cast` does.

    Inputs:
        data
        like

    Args:
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, like: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Cat:
    """Join inputs along a dimension, in which alone their shapes may differ.

    Inputs:
        data (one or more)

    Args:
        axis: number of the dimension; the first by default (int).
        axis_name: the dimension by its letter in the layout (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axis: int | None = None,
        axis_name: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *data: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CoinFlip:
    """Draw 1 with a probability, otherwise 0.

    Inputs:
        shape_like (may be left out)

    Args:
        probability: of a 1 (float, at least 0, at most 1; default 0.5; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.int32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        probability: float | _Values = 0.5,
        shape: int | Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Constant:
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

    def __init__(
        self,
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
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CoordFlip:
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

    def __init__(
        self,
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
    ) -> None: ...
    def __call__(self, points: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CoordTransform:
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

    def __init__(
        self,
        *,
        M: Any = None,
        T: float | Sequence[float] | _Values | None = None,
        MT: Any = None,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, points: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Copy:
    """Copy to the device of the operator; the data itself where it is there.

    Inputs:
        input

    Args:
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, input: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Crop:
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

    def __init__(
        self,
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
        bytes_per_sample_hint: Any = ...,
        image_type: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class CropMirrorNormalize:
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

    def __init__(
        self,
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
        bytes_per_sample_hint: Any = ...,
        image_type: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ElementExtract:
    """Take single frames of each sample: as many outputs as numbers.

    Inputs:
        data

    Args:
        element_map: numbers of frames, one for each output (int or list of int; required).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        element_map: int | Sequence[int] = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ExpandDims:
    """Insert dimensions of size 1. The data is not copied.

    Inputs:
        data

    Args:
        axes: where the new dimensions stand in the output (int or list of int; required).
        new_axis_names: their letters; without, the layout is dropped (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] = ...,
        new_axis_names: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ExternalSource:
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

    def __init__(
        self,
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
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Flip:
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

    def __init__(
        self,
        *,
        horizontal: bool | int | _Values = True,
        vertical: bool | int | _Values = False,
        depthwise: bool | int | _Values = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Full:
    """Make samples of a shape out of a value, which is broadcast as numpy does.

    Inputs:
        fill_value

    Args:
        shape: of a sample; a scalar by default (int or list of int, at least 0; default (); may be
            per sample).
        layout: of the output (str; default '').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | _Values = ...,
        layout: str = '',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, fill_value: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class FullLike:
    """Make samples with the shapes, type and layout of the first input out of the second's values.

    The values are broadcast as numpy does.

    Inputs:
        data_like
        fill_value

    Args:
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data_like: _Data, fill_value: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class GetProperty:
    """Give what is known of every sample beside its data, as the bytes of a text (1-D uint8).

    Inputs:
        input

    Args:
        key: where samples come from, such as their files; or their layout (one of 'source_info',
            'layout'; required).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        key: str = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, input: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class LookupTable:
    """Give for each integer the value that a table has for it.

    Inputs:
        data

    Args:
        keys: numbers of the table (int or list of int, at least 0, at most 65535; default ()).
        values: what each key stands for; of a repeated key, the last (float or list of float;
            default ()).
        default_value: for numbers that are no key (float; default 0.0).
        dtype: element type of the output (element type; default torch.float32).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        keys: int | Sequence[int] = ...,
        values: float | Sequence[float] = ...,
        default_value: float = 0.0,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class NormalDistribution:
    """Draw numbers of a normal distribution.

    Inputs:
        shape_like (may be left out)

    Args:
        mean: of the numbers (float; default 0.0; may be per sample).
        stddev: their standard deviation (float; default 1.0; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.float32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        mean: float | _Values = 0.0,
        stddev: float | _Values = 1.0,
        shape: int | Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Normalize:
    """Take the mean off and divide by the standard deviation.

    out = scale * (in - mean) / sqrt(variance + epsilon) + shift. Where mean and deviation are not
    given they are the input's, along `axes`. What does not vary becomes `shift`. Integer outputs
    are rounded and saturated.

    Inputs:
        data

    Args:
        axes: dimensions that have one mean and deviation; all by default (int or list of int).
        axis_names: the dimensions by their letters in the layout (str).
        batch: one mean and deviation for the whole batch (bool (0 or 1); default False).
        mean: in place of the input's: a number, or of size 1 along the axes (float or tensor; may
            be per sample).
        stddev: in place of the input's, as the mean (float or tensor; may be per sample).
        ddof: taken off the number of elements for the deviation (int; default 0).
        epsilon: added to the variance (float, at least 0; default 0.0).
        scale: deviation of the output (float; default 1.0).
        shift: mean of the output (float; default 0.0).
        dtype: element type of the output (element type; default torch.float32).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | None = None,
        axis_names: str | None = None,
        batch: bool | int = False,
        mean: Any = None,
        stddev: Any = None,
        ddof: int = 0,
        epsilon: float = 0.0,
        scale: float = 1.0,
        shift: float = 0.0,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class OneHot:
    """Mark the class that each number stands for along a new dimension.

    A class that is not one of `num_classes` is marked nowhere. Samples of one element are scalars:
    their output has the dimension of the classes alone, unless `axis` is given.

    Inputs:
        data

    Args:
        num_classes: length of the new dimension (int, at least 0; default 0).
        axis: where it stands; last by default (int).
        axis_name: its letter; without, the output has no layout (str).
        dtype: element type of the output (element type; default torch.float32).
        on_value: at the class (float; default 1.0).
        off_value: elsewhere (float; default 0.0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        num_classes: int = 0,
        axis: int | None = None,
        axis_name: str | None = None,
        dtype: Any = ...,
        on_value: float = 1.0,
        off_value: float = 0.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Ones:
    """Make samples of ones.

    Args:
        shape: of a sample; a scalar by default (int or list of int, at least 0; default (); may be
            per sample).
        dtype: element type of the output (element type; default torch.int32).
        layout: of the output (str; default '').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | _Values = ...,
        dtype: Any = ...,
        layout: str = '',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class OnesLike:
    """Make samples of ones with the shapes, element type and layout of the input.

    Inputs:
        data_like

    Args:
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
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
    def __call__(self, data_like: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Pad:
    """Fill samples up at their ends, by default to the size of the largest one of the batch.

    Inputs:
        data

    Args:
        axes: numbers of dimensions; negative ones count from the last; all by default (int or list
            of int; may be per sample).
        axis_names: the dimensions by their letters in the layout (str).
        align: sizes are multiples of this (int or list of int; may be per sample).
        shape: least sizes; -1: that of the largest sample (int or list of int; may be per sample).
        fill_value: of what is added (float; default 0.0; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | _Values | None = None,
        axis_names: str | None = None,
        align: int | Sequence[int] | _Values | None = None,
        shape: int | Sequence[int] | _Values | None = None,
        fill_value: float | _Values = 0.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Paste:
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
        min_canvas_size: least side of the canvas (float; default 0.0; may be per sample).
        n_channels: taken; the frames know their channels (int, at least 1; default 3).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        ratio: float | _Values = ...,
        fill_value: float | Sequence[float] = ...,
        paste_x: float | _Values = 0.5,
        paste_y: float | _Values = 0.5,
        min_canvas_size: float | _Values = 0.0,
        n_channels: int = 3,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class PerFrame:
    """Say that the first dimension of samples counts frames.

    An argument that may be per frame takes the result: one value for each frame of a clip.

    Inputs:
        values

    Args:
        replace: rename the first dimension of another layout to F (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        replace: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, values: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class PermuteBatch:
    """Put the samples of a batch into another order; some may come twice and others not at all.

    Inputs:
        data

    Args:
        indices: number of the sample that each one is (int; required; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        indices: int | _Values = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class RandomCropGenerator:
    """Draw a window of images of these shapes: its anchor (y, x) and its shape (height, width).

    The area is equally likely, the ratio of width to height on a logarithmic scale. After some
    tries that do not fit it is the largest window in the middle with a ratio in the bounds.
    `fn.slice` and `fn.decoders.image_slice` take both outputs.

    Inputs:
        shapes

    Args:
        random_area: (least, most) part of the image (float or list of float; default (0.08, 1.0)).
        random_aspect_ratio: (least, most) width to height (float or list of float; default (0.75,
            1.333333)).
        num_attempts: tries for a window that fits (int; default 10).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        random_area: float | Sequence[float] = ...,
        random_aspect_ratio: float | Sequence[float] = ...,
        num_attempts: int = 10,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shapes: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class RandomResizedCrop:
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

    def __init__(
        self,
        *,
        size: int | Sequence[int] | _Values = ...,
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
        bytes_per_sample_hint: Any = ...,
        minibatch_size: Any = ...,
        preserve: Any = ...,
        temp_buffer_hint: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Reinterpret:
    """Take the bytes of samples for elements of another type.

    Without a shape the last dimension grows or shrinks. Shapes are given as for `reshape`.

    Inputs:
        data

    Args:
        shape: of the output; -1: what fits (int or list of int; may be per sample).
        rel_shape: of the output, in sizes of the input; -1: what fits (float or list of float; may
            be per sample).
        src_dims: dimensions to keep; -1: a new one (int or list of int; may be per sample).
        layout: of the output; the input's if the dimensions are as many (str).
        dtype: element type of the output (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        shape: int | Sequence[int] | _Values | None = None,
        *,
        rel_shape: float | Sequence[float] | _Values | None = None,
        src_dims: int | Sequence[int] | _Values | None = None,
        layout: str | None = None,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Reshape:
    """Give samples another shape, another layout, or both.

    The shape is given itself, or in sizes of the input's (`rel_shape`), or by the dimensions of
    the input to keep (`src_dims`). One extent may be -1: it takes what the others leave.

    Inputs:
        data

    Args:
        shape: of the output; -1: what fits (int or list of int; may be per sample).
        rel_shape: of the output, in sizes of the input; -1: what fits (float or list of float; may
            be per sample).
        src_dims: dimensions to keep; -1: a new one (int or list of int; may be per sample).
        layout: of the output; the input's if the dimensions are as many (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        shape: int | Sequence[int] | _Values | None = None,
        *,
        rel_shape: float | Sequence[float] | _Values | None = None,
        src_dims: int | Sequence[int] | _Values | None = None,
        layout: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
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

    Taken, no effect: image_type, minibatch_size, temp_buffer_hint.
    """

    def __init__(
        self,
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
        bytes_per_sample_hint: Any = ...,
        image_type: Any = ...,
        minibatch_size: Any = ...,
        preserve: Any = ...,
        temp_buffer_hint: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ResizeCropMirror:
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

    def __init__(
        self,
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
        bytes_per_sample_hint: Any = ...,
        image_type: Any = ...,
        minibatch_size: Any = ...,
        preserve: Any = ...,
        temp_buffer_hint: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ROIRandomCrop:
    """Draw where a window of a given shape begins, with as much of a region in it as it can hold.

    A window that is larger than the region holds all of it, a smaller one lies inside. It stays in
    the bounds of the input, or of `in_shape`, if there are any.

    Inputs:
        shape_like (may be left out)

    Args:
        crop_shape: of the window (int or list of int; required; may be per sample).
        roi_start: where the region of interest begins (int or list of int; required; may be per
            sample).
        roi_end: where it ends, exclusively (int or list of int; may be per sample).
        roi_shape: its shape, in place of its end (int or list of int; may be per sample).
        in_shape: bounds of the window (int or list of int; may be per sample).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        crop_shape: int | Sequence[int] | _Values = ...,
        roi_start: int | Sequence[int] | _Values = ...,
        roi_end: int | Sequence[int] | _Values | None = None,
        roi_shape: int | Sequence[int] | _Values | None = None,
        in_shape: int | Sequence[int] | _Values | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Rotate:
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

    def __init__(
        self,
        *,
        angle: float | _Values = ...,
        axis: float | Sequence[float] | _Values | None = None,
        keep_size: bool | int = False,
        size: float | Sequence[float] | _Values | None = None,
        fill_value: float | None = None,
        interp_type: Any = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class SequenceRearrange:
    """Put the frames of each sample into another order.

    Inputs:
        data

    Args:
        new_order: number of the frame that stands at each place; repeated or left out as wished
            (int or list of int; required; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        new_order: int | Sequence[int] | _Values = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Shapes:
    """Give the sizes of every sample, as a 1-D tensor; `DataNode.shape()` is the same.

    Inputs:
        input

    Args:
        dtype: element type of the output (element type; default torch.int64).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, input: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Slice:
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

    def __init__(
        self,
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
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Squeeze:
    """Drop dimensions of size 1.

    Inputs:
        data

    Args:
        axes: dimensions to drop, from 0 on (int or list of int; may be per sample).
        axis_names: the dimensions by their letters in the layout (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | Sequence[int] | _Values | None = None,
        axis_names: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Stack:
    """Join inputs of one shape along a new dimension.

    Inputs:
        data (one or more)

    Args:
        axis: of the output, in front of that of the inputs (int; default 0).
        axis_name: its letter; without, the output has no layout (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axis: int = 0,
        axis_name: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *data: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Transpose:
    """Put the dimensions of samples into another order. The output shares the input's memory.

    Inputs:
        data

    Args:
        perm: dimension of the input for each; by default reversed (int or list of int).
        transpose_layout: permute the letters of the layout as well (bool (0 or 1); default True).
        output_layout: of the output, whatever the input's is (str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        perm: int | Sequence[int] | None = None,
        transpose_layout: bool | int = True,
        output_layout: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Uniform:
    """Draw numbers from a range, each equally likely, or from a list of values.

    Inputs:
        shape_like (may be left out)

    Args:
        range: [low, high); by default (-1, 1), or all values of an integer type (float or list of
            float; may be per sample).
        values: draw one of these in place of a range (float or list of float; may be per sample).
        shape: of the output; a scalar by default (int or list of int; may be per sample).
        dtype: element type of the output, rounded and saturated (element type; default
            torch.float32).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        range: float | Sequence[float] | _Values | None = None,
        values: float | Sequence[float] | _Values | None = None,
        shape: int | Sequence[int] | _Values | None = None,
        dtype: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, shape_like: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class VideoReader:
    """Read clips of videos.

    With a sampler of one clip a video (`uniform_sample`, `RandomClip`, ...) nothing is opened
    before it is decoded. Clips end to end need the lengths of all videos: those of a data set index
    stand in its table; other videos are indexed when the pipeline is built, in `num_threads`
    threads, and the last 64 MB of their indexes are kept. With `pad_mode="none"` clips that do not
    fit are left out; with any other mode a video ends with one padded clip where frames remain, and
    padding never leaves the range of a file list. `random_shuffle` permutes all clips before they
    are divided into shards, so `initial_fill` is not needed and has no effect.

    Outputs: the clip, uint8 (F, H, W, C); then, where there are any, its label (int32), frame
    numbers (int32) and times (float64, seconds from the first frame of the file).

    Args:
        filenames: the files: paths, URLs or `Item`s (list of paths).
        dataset: a data set index or its path (`.parquet`), or else what `ClipDataset` takes: a
            folder, glob, text list, tar archive or URL, or a list of them and of `Item`s (object).
        labels: of `filenames` or `dataset`: one for each; or by key a mapping, a `LabelColumn` or a
            function; an empty list numbers them (list of int, mapping, LabelColumn or function).
        file_root: a folder of folders; each is a class (path).
        file_list: lines of `path label [start [end]]` (path).
        file_list_format: unit of start and end: seconds from the first frame, or frame numbers (one
            of 'timestamps', 'frames'; default 'timestamps').
        file_list_rounding: frame for a time between two (one of 'start_down_end_up',
            'start_up_end_down', 'all_up', 'all_down'; default 'start_down_end_up').
        file_list_include_end: whether the end frame is in the range (bool (0 or 1); default True).
        sequence_length: frames in a clip (int, at least 1).
        stride: from frame to frame; negative plays backwards (int; default 1).
        step: from clip to clip; -1: clips lie end to end (int; default -1).
        uniform_sample: one clip a file, its frames spread over the file (bool (0 or 1); default
            False).
        sampler: any clip sampler, in place of the four above (object).
        pad_mode: what stands outside the video (one of 'none', 'edge', 'repeat', 'constant',
            'reflect_1001', 'symmetric', 'reflect_101', 'reflect', 'wrap'; default 'none').
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
        resolution_change: what to do with frames of another size than the first: `error`, or
            `scale` them to it (one of 'error', 'scale'; default 'error').
        matrix: from Y'CbCr to RGB: `auto` by the tags of the stream, `bt601`, `bt709` or `bt2020`
            whatever the tags, or `swscale` as PyAV, decord2, torchcodec and OpenCV convert (one of
            'auto', 'bt601', 'bt709', 'bt2020', 'swscale'; default 'auto').
        color_range: of the samples: `auto` by the tags of the stream, `limited` or `full` whatever
            the tags (one of 'auto', 'limited', 'full'; default 'auto').
        max_pixels: pixels of a picture; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets (number of seconds
            over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        image_type: colour space; only RGB so far (one of ImageType.RGB; default ImageType.RGB).
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        random_shuffle: a new permutation of all clips every epoch (bool (0 or 1); default False).
        shard_id: which part of the clips to read (int, at least 0; default 0).
        num_shards: number of parts (int, at least 1; default 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last clip (bool (0 or 1); default False).
        on_error: what to do with a file or clip that fails: `raise`, or `replace` it by the next
            clip; `Pipeline.stats` lists what was replaced (one of 'raise', 'replace'; default
            'raise').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Not supported yet: channels, dtype, file_list_frame_num, file_list_include_preceding_frame,
    index, normalized, pad_sequences.

    Taken, no effect: additional_decode_surfaces, dont_use_mmap, initial_fill, lazy_init,
    prefetch_queue_depth, read_ahead, skip_cached_images, skip_vfr_check, tensor_init_bytes.
    """

    def __init__(
        self,
        *,
        filenames: Any = None,
        dataset: Any = None,
        labels: Any = None,
        file_root: Any = None,
        file_list: Any = None,
        file_list_format: str = 'timestamps',
        file_list_rounding: str = 'start_down_end_up',
        file_list_include_end: bool | int = True,
        sequence_length: int | None = None,
        stride: int = 1,
        step: int = -1,
        uniform_sample: bool | int = False,
        sampler: Any = None,
        pad_mode: str = 'none',
        fill_value: int | Sequence[int] = ...,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        image_type: Any = ...,
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        random_shuffle: bool | int = False,
        shard_id: int = 0,
        num_shards: int = 1,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str = 'raise',
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        additional_decode_surfaces: Any = ...,
        bytes_per_sample_hint: Any = ...,
        channels: Any = ...,
        dont_use_mmap: Any = ...,
        dtype: Any = ...,
        file_list_frame_num: Any = ...,
        file_list_include_preceding_frame: Any = ...,
        index: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        normalized: Any = ...,
        pad_sequences: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        skip_vfr_check: Any = ...,
        tensor_init_bytes: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class WarpAffine:
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

    def __init__(
        self,
        matrix: Any = ...,
        *,
        inverse_map: bool | int = True,
        size: float | Sequence[float] | _Values | None = None,
        fill_value: float | None = None,
        interp_type: Any = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Zeros:
    """Make samples of zeros.

    Args:
        shape: of a sample; a scalar by default (int or list of int, at least 0; default (); may be
            per sample).
        dtype: element type of the output (element type; default torch.int32).
        layout: of the output (str; default '').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        shape: int | Sequence[int] | _Values = ...,
        dtype: Any = ...,
        layout: str = '',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ZerosLike:
    """Make samples of zeros with the shapes, element type and layout of the input.

    Inputs:
        data_like

    Args:
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
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
    def __call__(self, data_like: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
