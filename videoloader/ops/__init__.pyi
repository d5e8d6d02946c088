# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

from videoloader.ops import decoders as decoders
from videoloader.ops import experimental as experimental
from videoloader.ops import inputs as inputs
from videoloader.ops import io as io
from videoloader.ops import noise as noise
from videoloader.ops import random as random
from videoloader.ops import readers as readers
from videoloader.ops import reductions as reductions
from videoloader.ops import segmentation as segmentation
from videoloader.ops import transforms as transforms
from videoloader.ops.operator_class import Compose as Compose

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

@_deprecated("use fn.decoders.audio")
class AudioDecoder:
    """Decode the sound of files: WAV, FLAC, OGG (Vorbis, Opus), MP3, AAC, soundtracks of videos.

    Gives the samples, (n, channels) or with `downmix` (n,), and their rate in hertz, a float32
    scalar. Resampling is that of `fn.audio_resample`.

    Deprecated: use fn.decoders.audio.

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

class AudioResample:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window.

    As in DALI nothing is filtered out where the rate falls: frequencies above half of the new rate
    come back as others. `vl.Audio(sample_rate=...)` removes them. It is worked out on the CPU.

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

class BatchPermutation:
    """Give the samples of a batch its positions in random order, for `fn.permute_batch`.

    It depends on the first sample of the batch, and on the size of the batch. A batch of one sample
    has a fixed point.

    Args:
        allow_repetitions: draw each position on its own instead (bool (0 or 1); default False).
        no_fixed_points: no position may stand at its own place (bool (0 or 1); default False).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        allow_repetitions: bool | int = False,
        no_fixed_points: bool | int = False,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class BbFlip:
    """Mirror boxes as `fn.flip` mirrors their frame.

    Coordinates are parts of the sides of the frame, 0 to 1.

    Inputs:
        boxes

    Args:
        horizontal: mirror left and right unless 0 (int; default 1; may be per sample).
        vertical: mirror top and bottom unless 0 (int; default 0; may be per sample).
        ltrb: boxes are (left, top, right, bottom), not (left, top, width, height) (bool (0 or 1);
            default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        horizontal: int | _Values = 1,
        vertical: int | _Values = 0,
        ltrb: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, boxes: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class BBoxPaste:
    """Move boxes as `fn.paste` moves their frame, to parts of the sides of the canvas.

    Inputs:
        boxes

    Args:
        ratio: canvas to frame (float, at least 1; required; may be per sample).
        paste_x: place of the frame: 0 is leftmost, 1 rightmost (float; default 0.5; may be per
            sample).
        paste_y: place of the frame: 0 is topmost, 1 lowest (float; default 0.5; may be per sample).
        ltrb: boxes are (left, top, right, bottom), not (left, top, width, height) (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        ratio: float | _Values = ...,
        paste_x: float | _Values = 0.5,
        paste_y: float | _Values = 0.5,
        ltrb: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, boxes: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class BBoxRotate:
    """Rotate boxes as `fn.rotate` rotates their frame.

    They are cut at the borders of the rotated frame. With labels there are two outputs: the boxes
    that are left, and their labels.

    Inputs:
        bboxes
        labels (may be left out)

    Args:
        angle: in degrees, as of fn.rotate (float; required; may be per sample).
        input_shape: of the frame before it is rotated, as shape_layout orders it (int or list of
            int; required; may be per sample).
        shape_layout: what the numbers of input_shape are (str; default 'HW').
        bbox_layout: boxes with their ends or their sizes (one of 'xyXY', 'xyWH'; default 'xyXY').
        bbox_normalized: parts of the sides, not pixels (bool (0 or 1); default True).
        keep_size: as of fn.rotate (bool (0 or 1); default False).
        size: (height, width), as of fn.rotate (float or list of float; may be per sample).
        mode: boxes grow to hold the rotated box, keep their size, or halfway between (one of
            'expand', 'halfway', 'fixed'; default 'expand').
        remove_threshold: boxes are removed of which a smaller part is left on the canvas (float, at
            least 0, at most 1; default 0.1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        angle: float | _Values = ...,
        input_shape: int | _Sequence[int] | _Values = ...,
        shape_layout: str = 'HW',
        bbox_layout: str = 'xyXY',
        bbox_normalized: bool | int = True,
        keep_size: bool | int = False,
        size: float | _Sequence[float] | _Values | None = None,
        mode: str = 'expand',
        remove_threshold: float = 0.1,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, bboxes: _Data, labels: _Data = ..., /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class BoxEncoder:
    """Give every anchor the box (left, top, right, bottom) that it overlaps most, and its label.

    A match overlaps by more than `criteria`; the anchor that a box overlaps most is a match in any
    case. Matches are (x, y, width, height) of the box, with the center first; other anchors have
    the label 0 and their own coordinates. With `offset` it is the distance from the anchor in its
    sides, and the logarithm of the ratios of the sides; zeros for other anchors.

    Inputs:
        boxes
        labels

    Args:
        anchors: (left, top, right, bottom) of each, in one list (float or list of float; required).
        criteria: least overlap (IoU) of a match (float, at least 0, at most 1; default 0.5).
        offset: give boxes relative to their anchors (bool (0 or 1); default False).
        scale: boxes and anchors are multiplied by it for offsets (float; default 1.0).
        means: subtracted from offsets (x, y, w, h) (float or list of float; default (0.0, 0.0, 0.0,
            0.0)).
        stds: offsets (x, y, w, h) are divided by it (float or list of float; default (1.0, 1.0,
            1.0, 1.0)).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        anchors: float | _Sequence[float] = ...,
        criteria: float = 0.5,
        offset: bool | int = False,
        scale: float = 1.0,
        means: float | _Sequence[float] = ...,
        stds: float | _Sequence[float] = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, boxes: _Data, labels: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Brightness:
    """Change the brightness, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * in, where range is 1 for floating point outputs
    and the largest value of an integer type. Integer outputs are rounded and clamped.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC)

    Args:
        brightness: factor of the brightness (float; default 1.0; may be per sample or frame).
        brightness_shift: added, in parts of the output range (float; default 0.0; may be per sample
            or frame).
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
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class BrightnessContrast:
    """Change brightness and contrast, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC)

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

@_deprecated("use fn.readers.caffe2")
class Caffe2Reader:
    """Read images, labels and further tensors of Caffe2's LMDB databases, by the order of keys.

    Outputs: the bytes of the image (1-D uint8), the labels (int32, or float32 with weights), the
    additional tensors, the box.

    Deprecated: use fn.readers.caffe2.

    Args:
        path: folders of the databases (str or list of str; required).
        image_available: whether there is an output of images (bool (0 or 1); default True).
        label_type: 0: one integer; 1: `num_labels` numbers, 1 where the stored integers say; 2:
            numbers as they are stored; 3: as 1, with the stored weights; 4: no output (int, at
            least 0, at most 4; default 0).
        num_labels: number of classes (int, at least 1; default 1).
        additional_inputs: further tensors of each value (int, at least 0; default 0).
        bbox: whether a tensor with a box is the last (bool (0 or 1); default False).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        path: Any = ...,
        image_available: bool | int = True,
        label_type: int = 0,
        num_labels: int = 1,
        additional_inputs: int = 0,
        bbox: bool | int = False,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.caffe")
class CaffeReader:
    """Read images and labels of Caffe's LMDB databases, in the order of their keys.

    Outputs: the bytes of the image (1-D uint8), and the label (int32, shape (1,), or (0,) where the
    database has none).

    Deprecated: use fn.readers.caffe.

    Args:
        path: folders of the databases (str or list of str; required).
        image_available: whether there is an output of images (bool (0 or 1); default True).
        label_available: whether there is an output of labels (bool (0 or 1); default True).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        path: Any = ...,
        image_available: bool | int = True,
        label_available: bool | int = True,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
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

class Clahe:
    """Equalise the histograms of tiles of each picture, uint8, grey or RGB, with limited contrast.

    As OpenCV does, on every device by OpenCV on the CPU: between the centres of tiles their tables
    are interpolated.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        tiles_x: tiles along the width (int, at least 1; required).
        tiles_y: tiles along the height (int, at least 1; required).
        clip_limit: most pixels of a value in a tile, in parts of what each of 256 values would have
            (float; required).
        luma_only: equalise the lightness (CIE L*a*b*) of RGB pictures, not each channel (bool (0 or
            1); default True).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).

    Taken, no effect: bins.
    """

    def __init__(
        self,
        *,
        tiles_x: int = ...,
        tiles_y: int = ...,
        clip_limit: float = ...,
        luma_only: bool | int = True,
        device: str | None = None,
        name: str | None = None,
        bins: Any = ...,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.coco")
class COCOReader:
    """Read images and what a COCO annotation file says of them.

    Images come in the order of their ids. With `images` only those come, in that order and as often
    as they are named; names that the annotations do not have are passed over. What
    `save_preprocessed_annotations` keeps has the choice of images, objects and labels made.

    Outputs: the bytes of the image (1-D uint8); boxes (float32, (N, 4)): left, top, width, height;
    labels (int32, (N,)). Then with `polygon_masks` polygons (int32, (P, 3)): object, first vertex,
    end vertex; and vertices (float32, (V, 2)): x, y. With `pixelwise_masks` the label of each pixel
    (int32, HWC, one channel), 0 without an object, the highest where objects overlap. With
    `image_ids` the id (int32, shape (1,)).

    Deprecated: use fn.readers.coco.

    Args:
        file_root: folder of the images (path; required).
        annotations_file: JSON file of annotations (path; default '').
        images: images to read, in this order; by default all, by id (str or list of str).
        ltrb: boxes as left, top, right, bottom (bool (0 or 1); default False).
        ratio: coordinates as parts of width and height (bool (0 or 1); default False).
        size_threshold: objects narrower or lower are left out, in pixels (float; default 0.1).
        skip_empty: leave out images without objects (bool (0 or 1); default False).
        include_iscrowd: whether crowds are objects (bool (0 or 1); default True).
        avoid_class_remapping: labels are ids of categories; by default their positions in the file,
            from 1 on (bool (0 or 1); default False).
        polygon_masks: outputs of polygons and vertices (bool (0 or 1); default False).
        pixelwise_masks: an output of the label of each pixel (bool (0 or 1); default False).
        image_ids: an output of the id of the image (bool (0 or 1); default False).
        preprocessed_annotations: folder of annotations of an earlier run (path; default '').
        save_preprocessed_annotations: keep the annotations, which are then read faster (bool (0 or
            1); default False).
        save_preprocessed_annotations_dir: folder to keep them in (path; default '').
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        file_root: str | _PathLike[str] = ...,
        annotations_file: str | _PathLike[str] = '',
        images: Any = None,
        ltrb: bool | int = False,
        ratio: bool | int = False,
        size_threshold: float = 0.1,
        skip_empty: bool | int = False,
        include_iscrowd: bool | int = True,
        avoid_class_remapping: bool | int = False,
        polygon_masks: bool | int = False,
        pixelwise_masks: bool | int = False,
        image_ids: bool | int = False,
        preprocessed_annotations: str | _PathLike[str] = '',
        save_preprocessed_annotations: bool | int = False,
        save_preprocessed_annotations_dir: str | _PathLike[str] = '',
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.random.coin_flip")
class CoinFlip:
    """Draw 1 with a probability, otherwise 0.

    Deprecated: use fn.random.coin_flip.

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
        shape: int | _Sequence[int] | _Values | None = None,
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

class ColorSpaceConversion:
    """Convert between RGB, BGR, grey and Y'CbCr (ITU-R BT.601, limited range).

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC)

    Args:
        image_type: colour space of the input (one of ImageType.RGB, ImageType.BGR, ImageType.GRAY,
            ImageType.YCbCr; required).
        output_type: that of the output (one of ImageType.RGB, ImageType.BGR, ImageType.GRAY,
            ImageType.YCbCr; required).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        image_type: Any = ...,
        output_type: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ColorTwist:
    """Change hue, saturation, contrast and brightness of RGB pixels, in this order and in one go.

    By default every frame of a clip alike. Contrast is about 0.5, or 128 for integers.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        hue: degrees by which hues turn (float; default 0.0; may be per sample or frame).
        saturation: factor of the saturation; 0 is grey (float; default 1.0; may be per sample or
            frame).
        contrast: factor of the contrast; 0 is uniform (float; default 1.0; may be per sample or
            frame).
        brightness: factor of the brightness; 0 is black (float; default 1.0; may be per sample or
            frame).
        image_type: colour space; only RGB (one of ImageType.RGB; default ImageType.RGB).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        hue: float | _Values = 0.0,
        saturation: float | _Values = 1.0,
        contrast: float | _Values = 1.0,
        brightness: float | _Values = 1.0,
        image_type: Any = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
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
        fdata: float | _Sequence[float] | None = None,
        idata: int | _Sequence[int] | None = None,
        shape: int | _Sequence[int] | None = None,
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

class Contrast:
    """Change the contrast, by default of every frame of a clip alike.

    out = center + contrast * (in - center). The middle of the input's range is 0.5, or 128 for
    uint8. Integer outputs are rounded and clamped.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC)

    Args:
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
            list; may be per sample or frame).
        T: added after that (float or list of float; may be per sample or frame).
        MT: (m, n + 1): both in one matrix (matrix of float, (n, n + 1) or its rows in one list; may
            be per sample or frame).
        dtype: element type of the output (element type; default torch.float32).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        M: Any = None,
        T: float | _Sequence[float] | _Values | None = None,
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
    The output may share memory with the input where the window lies inside. Values for an integer
    `dtype` are truncated.

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
    """

    def __init__(
        self,
        *,
        crop: float | _Sequence[float] | _Values | None = None,
        crop_d: float | _Values | None = None,
        crop_h: float | _Values | None = None,
        crop_w: float | _Values | None = None,
        crop_pos_x: float | _Values = 0.5,
        crop_pos_y: float | _Values = 0.5,
        crop_pos_z: float | _Values = 0.5,
        rounding: str = 'round',
        out_of_bounds_policy: str = 'error',
        fill_values: float | _Sequence[float] = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
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
    """

    def __init__(
        self,
        *,
        crop: float | _Sequence[float] | _Values | None = None,
        crop_d: float | _Values | None = None,
        crop_h: float | _Values | None = None,
        crop_w: float | _Values | None = None,
        crop_pos_x: float | _Values = 0.5,
        crop_pos_y: float | _Values = 0.5,
        crop_pos_z: float | _Values = 0.5,
        rounding: str = 'round',
        out_of_bounds_policy: str = 'error',
        fill_values: float | _Sequence[float] = ...,
        mirror: bool | int | _Values = False,
        mean: float | _Sequence[float] | _Values = ...,
        std: float | _Sequence[float] | _Values = ...,
        scale: float = 1.0,
        shift: float = 0.0,
        dtype: Any = ...,
        output_layout: str = 'CHW',
        pad_output: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Debayer:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV.

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

class DLTensorPythonFunction:
    """Call a Python function on DLPack capsules; see `python_function`.

    Inputs:
        inputs (may be left out) (one or more)

    Args:
        function: what is called (callable; required).
        num_outputs: of the function; 0: it is called anyway (int, at least 0; default 1).
        batch_processing: call it once a batch with a list of samples for each input, not once a
            sample (bool (0 or 1); default True).
        output_layouts: layouts of the outputs; a str is for all (str or list of str).
        synchronize_stream: on a GPU wait until the inputs are there before the call (bool (0 or 1);
            default True).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        function: Any = ...,
        num_outputs: int = 1,
        batch_processing: bool | int = True,
        output_layouts: Any = None,
        synchronize_stream: bool | int = True,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *inputs: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class DumpImage:
    """Write images to `{sample}-{suffix}-0.ppm` in the working directory, and give them on.

    The files are PPM, or PGM if there is one channel, as text. Those of the next batch have the
    same names, and replace them.

    Inputs:
        images

    Args:
        suffix: part of the names of the files (str; default '').
        input_layout: of the images (one of 'HWC'; default 'HWC').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        suffix: str = '',
        input_layout: str = 'HWC',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, images: _Data, /, **arguments: Any) -> Any: ...
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
        element_map: int | _Sequence[int] = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Equalize:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does.

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

class Erase:
    """Fill one or more regions of every sample with one value for each channel.

    Regions are given by where they begin and by their size along some dimensions; along others they
    reach from end to end. What lies outside of a sample is left out. Where a clip has other regions
    in each frame, `axes` are those of a frame.

    Inputs:
        data

    Args:
        anchor: where regions begin, one behind the other (float or list of float; default (); may
            be per sample or frame).
        shape: their sizes, one behind the other (float or list of float; default (); may be per
            sample or frame).
        axes: the dimensions of anchor and shape; all but C by default (int or list of int).
        axis_names: their letters in the layout; goes before axes (str).
        fill_value: for all channels or each (float or list of float; default (0.0,); may be per
            sample).
        normalized: anchor and shape are parts of the sides (bool (0 or 1); default False).
        normalized_anchor: anchor is in parts of the sides (bool (0 or 1); default False).
        normalized_shape: shape is in parts of the sides (bool (0 or 1); default False).
        centered_anchor: regions have their middle at anchor (bool (0 or 1); default False).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        anchor: float | _Sequence[float] | _Values = ...,
        shape: float | _Sequence[float] | _Values = ...,
        axes: int | _Sequence[int] | None = None,
        axis_names: str | None = None,
        fill_value: float | _Sequence[float] | _Values = ...,
        normalized: bool | int = False,
        normalized_anchor: bool | int = False,
        normalized_shape: bool | int = False,
        centered_anchor: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
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
        axes: int | _Sequence[int] = ...,
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

    `source` is called or advanced once a batch, or once a sample with `batch=False`: in a thread
    of the pipeline, one call at a time and in order. A callable that takes an argument gets the
    number of the batch in its epoch, or a `BatchInfo` or `SampleInfo`. StopIteration ends the
    epoch: `Pipeline.run` raises it, and `Pipeline.reset` begins the next one. A batch is an array
    (N, ...), a `TensorList` or a list of samples, and may be smaller than the pipeline's. Samples
    are arrays and tensors of any library, and numbers; bytes become 1-D uint8; a path or an `Item`
    of a data set stays what it is, for `fn.decoders.video`. Data is copied at once, so the source
    may use its memory again.

    With `parallel=True` the `py_num_workers` processes of the pipeline run it. A callable takes an
    argument then, and depends on nothing else: the samples of a batch are shared by the workers,
    and further batches are asked for past the end, where it raises StopIteration again. An iterable
    or a generator function gives batches and stays in one worker.

    Args:
        source: a callable, an iterable, or none: see `feed_input` (object).
        num_outputs: the source gives a tuple of as many values; without a source as many are fed,
            each by its data node (int, at least 1).
        cycle: an iterable that ends: `no`, `quiet` (begin again), `raise` (begin again after reset)
            (one of 'no', 'quiet', 'raise').
        layout: such as "FHWC"; a list has one for each output (str or list of str).
        dtype: element type that the data must have; Python numbers are converted (element type or
            list of them).
        ndim: number of dimensions that samples must have (int or list of int).
        cuda_stream: on which data on a GPU is ready; the current one (object).
        batch: 0: the source gives single samples, else batches (bool (0 or 1)).
        batch_info: pass a `BatchInfo` in place of the iteration (bool (0 or 1)).
        no_copy: use the memory of the data, which then must not change until its batch has come out
            (bool (0 or 1)).
        parallel: run the source in worker processes, see above (bool (0 or 1)).
        prefetch_queue_depth: batches that workers make ahead; 1 by default (int, at least 1).
        bytes_per_sample_hint: shared memory for a sample of a parallel source; found out by default
            (int, at least 1).
        repeat_last: give the last batch that was fed again (bool (0 or 1)).
        blocking: let `run` wait until data was fed, by another thread (bool (0 or 1)).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: seed, use_copy_kernel.
    """

    def __init__(
        self,
        source: Any = None,
        num_outputs: int | None = None,
        *,
        cycle: str | None = None,
        layout: Any = None,
        dtype: Any = None,
        ndim: int | _Sequence[int] | None = None,
        cuda_stream: Any = None,
        batch: bool | int | None = None,
        batch_info: bool | int | None = None,
        no_copy: bool | int | None = None,
        parallel: bool | int | None = None,
        prefetch_queue_depth: int | None = None,
        bytes_per_sample_hint: int | None = None,
        repeat_last: bool | int | None = None,
        blocking: bool | int | None = None,
        device: str | None = None,
        name: str | None = None,
        preserve: Any = ...,
        seed: Any = ...,
        use_copy_kernel: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.resize_crop_mirror")
class FastResizeCropMirror:
    """`resize_crop_mirror` without antialiasing by default; deprecated in DALI.

    Deprecated: use fn.resize_crop_mirror.

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
        antialias: widen the filter when shrinking (bool (0 or 1); default False).
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
        mirror: sides to swap, added: 1 left and right, 2 top and bottom, 4 front and back (int, at
            least 0, at most 7; default 0; may be per sample).
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
        antialias: bool | int = False,
        dtype: Any = None,
        crop: float | _Sequence[float] | _Values | None = None,
        crop_d: float | _Values | None = None,
        crop_h: float | _Values | None = None,
        crop_w: float | _Values | None = None,
        crop_pos_x: float | _Values = 0.5,
        crop_pos_y: float | _Values = 0.5,
        crop_pos_z: float | _Values = 0.5,
        rounding: str = 'round',
        mirror: int | _Values = 0,
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

@_deprecated("use fn.readers.file")
class FileReader:
    """Read whole files as they are, and give each its label.

    With `file_root` alone the files directly in its folders are read, in the order of their names;
    the label of a file is the position of its folder among those that match `dir_filters`. A line
    of `file_list` is a path and a label; paths are relative to `file_root`, or to the folder of the
    list. `files` are relative to `file_root` if there is one; labels are their positions, or
    `labels`. `random_shuffle` permutes all files before they are divided into shards, so
    `initial_fill` has no effect.

    Outputs: the bytes (1-D uint8), and the label (int32, shape (1,)).

    Deprecated: use fn.readers.file.

    Args:
        file_root: folder, or the folder that paths are relative to (path).
        file_list: text file that lists paths (path).
        files: paths, URLs or `Item`s of archives (path or list of paths).
        labels: of `files`; by default their positions (int or list of int).
        file_filters: patterns for names of files (str or list of str; default ('*.jpg', '*.jpeg',
            '*.png', '*.bmp', '*.tif', '*.tiff', '*.pnm', '*.ppm', '*.pgm', '*.pbm', '*.jp2',
            '*.webp', '*.flac', '*.ogg', '*.wav')).
        dir_filters: patterns for names of folders (str or list of str; default ('*',)).
        case_sensitive_filter: whether case matters in patterns (bool (0 or 1); default False).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        file_root: str | _PathLike[str] | None = None,
        file_list: str | _PathLike[str] | None = None,
        files: Any = None,
        labels: int | _Sequence[int] | None = None,
        file_filters: Any = ...,
        dir_filters: Any = ...,
        case_sensitive_filter: bool | int = False,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Filter:
    """Correlate samples with a window of each, in float32.

    The window has the data axes of the layout: (H, W) for images and clips, (D, H, W) for volumes.
    Channels and frames are filtered by themselves.

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

class Flip:
    """Mirror frames, by default every frame of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW, DHWC, FDHWC, CDHW, FCDHW)

    Args:
        horizontal: swap left and right (bool (0 or 1); default True; may be per sample or frame).
        vertical: swap top and bottom (bool (0 or 1); default False; may be per sample or frame).
        depthwise: swap front and back; of volumes only (bool (0 or 1); default False; may be per
            sample or frame).
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
        shape: int | _Sequence[int] | _Values = ...,
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

class GaussianBlur:
    """Blur with a Gaussian window, by default every frame of a clip alike.

    Without `window_size` the window has 2 * ceil(3 * sigma) + 1 values; without `sigma` it is
    ((window_size - 1) / 2 - 1) * 0.3 + 0.8. Values for each axis have the order of the layout.

    Inputs:
        frames

    Args:
        sigma: of the Gaussian; one for all axes, or one for each (float or list of float; default
            (0.0,); may be per sample or frame).
        window_size: of the window, odd; likewise (int or list of int; default (0,); may be per
            sample or frame).
        dtype: element type of the output: the input's or FLOAT (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        sigma: float | _Sequence[float] | _Values = ...,
        window_size: int | _Sequence[int] | _Values = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
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

class GridMask:
    """Make squares of frames black that repeat along two directions; the same ones in a whole clip.

    See "GridMask Data Augmentation" (https://arxiv.org/abs/2001.04086).

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        tile: side of a tile: a square and the space to the next (int, at least 1; default 100; may
            be per sample).
        ratio: side of a square to that of its tile (float; default 0.5; may be per sample).
        angle: of the grid, in radians (float; default 0.0; may be per sample).
        shift_x: of the grid behind its rotation, in pixels (float; default 0.0; may be per sample).
        shift_y: of the grid behind its rotation, in pixels (float; default 0.0; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        tile: int | _Values = 100,
        ratio: float | _Values = 0.5,
        angle: float | _Values = 0.0,
        shift_x: float | _Values = 0.0,
        shift_y: float | _Values = 0.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Hsv:
    """Change hue, saturation and value of RGB pixels, by default of every frame of a clip alike.

    It is a linear map, as in DALI: the chroma plane of YIQ is turned and scaled, then all channels
    are scaled by `value`.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        hue: degrees by which hues turn (float; default 0.0; may be per sample or frame).
        saturation: factor of the saturation; 0 is grey (float; default 1.0; may be per sample or
            frame).
        value: factor of all channels (float; default 1.0; may be per sample or frame).
        dtype: element type of the output (element type; default torch.uint8).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        hue: float | _Values = 0.0,
        saturation: float | _Values = 1.0,
        value: float | _Values = 1.0,
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Hue:
    """Turn the hue of RGB pixels, by default of every frame of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        hue: degrees by which hues turn (float; default 0.0; may be per sample or frame).
        image_type: colour space; only RGB (one of ImageType.RGB; default ImageType.RGB).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        hue: float | _Values = 0.0,
        image_type: Any = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.decoders.image")
class ImageDecoder:
    """Decode images: JPEG, PNG, TIFF, BMP, PNM, JPEG 2000, WebP, GIF, AVIF and HEIC.

    The output has layout HWC. Palettes and CMYK become RGB; of an animation the first frame is
    decoded. `mixed` decodes JPEG and JPEG 2000 on the GPU by nvImageCodec, and copies what the CPU
    decodes of other formats.

    Deprecated: use fn.decoders.image.

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

@_deprecated("use fn.decoders.image_crop")
class ImageDecoderCrop:
    """Decode a window of images; it is that of `fn.crop`.

    Deprecated: use fn.decoders.image_crop.

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

@_deprecated("use fn.decoders.image_random_crop")
class ImageDecoderRandomCrop:
    """Decode a random window of images, of a random area and aspect ratio.

    The area is equally likely, the ratio on a logarithmic scale. If no window of `num_attempts`
    fits, the largest one in the middle with a ratio in the bounds is taken.

    Deprecated: use fn.decoders.image_random_crop.

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

@_deprecated("use fn.decoders.image_slice")
class ImageDecoderSlice:
    """Decode a window of images; it is that of `fn.slice`, and lies in the image.

    Deprecated: use fn.decoders.image_slice.

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

class Jitter:
    """Move every pixel by a random whole number of pixels, in all frames of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        nDegree: a pixel is moved by at most half of this along x and y (int, at least 0; default
            2).
        mask: 0 leaves a sample as it is (one of 0, 1; default 1; may be per sample).
        fill_value: what lies outside the input (float; default 0.0).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR;
            default InterpType.INTERP_NN).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        nDegree: int = 2,
        mask: int | _Values = 1,
        fill_value: float = 0.0,
        interp_type: Any = ...,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class JpegCompressionDistortion:
    """Give RGB pictures the artefacts of a JPEG: each is encoded (4:2:0) and decoded again.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        quality: of the JPEG, 1 (worst) to 100; numbers outside are clamped (int; default 50; may be
            per sample or frame).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        quality: int | _Values = 50,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Laplacian:
    """The sum of the second derivatives along each axis, by default of every frame alike.

    A derivative is a window of `window_size` along its axis, and of `smoothing_size` along the
    others. Values for each axis have the order of the layout.

    Inputs:
        frames

    Args:
        window_size: of the derivative window, odd, 3 to 31 (int or list of int; default (3,); may
            be per sample or frame).
        smoothing_size: of the smoothing windows, odd; by default that of the derivative (int or
            list of int; may be per sample or frame).
        scale: factor of the partial derivatives (float or list of float; default (1.0,); may be per
            sample or frame).
        normalized_kernel: scale each derivative by 2 ** (axes + 2 - sum of its windows) (bool (0 or
            1); default False).
        dtype: element type of the output: the input's or FLOAT (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        window_size: int | _Sequence[int] | _Values = ...,
        smoothing_size: int | _Sequence[int] | _Values | None = None,
        scale: float | _Sequence[float] | _Values = ...,
        normalized_kernel: bool | int = False,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
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
        keys: int | _Sequence[int] = ...,
        values: float | _Sequence[float] = ...,
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

class MelFilterBank:
    """Sum frequencies up by triangular filters that are evenly apart on a mel scale.

    Frequencies are the dimension `f` of the layout; without a layout the last but one of (..., f,
    t), or the only one.

    Inputs:
        spectra

    Args:
        nfilter: number of filters (int, at least 1; default 128).
        sample_rate: of the signal, in hertz (float; default 44100.0).
        freq_low: where the first filter begins, in hertz (float; default 0.0).
        freq_high: where the last filter ends; by default at sample_rate / 2 (float; default 0.0).
        mel_formula: the scale: linear below 1 kHz and logarithmic above, or 2595 log10(1 + f / 700)
            (one of 'slaney', 'htk'; default 'slaney').
        normalize: the integral of a filter is 1; else its peak is (bool (0 or 1); default True).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        nfilter: int = 128,
        sample_rate: float = 44100.0,
        freq_low: float = 0.0,
        freq_high: float = 0.0,
        mel_formula: str = 'slaney',
        normalize: bool | int = True,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, spectra: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class MFCC:
    """Compute mel frequency cepstral coefficients: a cosine transform of a mel spectrogram.

    Inputs:
        spectra

    Args:
        n_mfcc: coefficients that are kept (int, at least 1; default 20).
        dct_type: kind of cosine transform (one of 1, 2, 3, 4; default 2).
        normalize: the transform is orthonormal; not for dct_type 1 (bool (0 or 1); default False).
        axis: dimension that is transformed (int, at least 0; default 0).
        lifter: unless 0, coefficient i is multiplied by 1 + lifter / 2 * sin(pi * (i + 1) / lifter)
            (float; default 0.0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        n_mfcc: int = 20,
        dct_type: int = 2,
        normalize: bool | int = False,
        axis: int = 0,
        lifter: float = 0.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, spectra: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class MultiPaste:
    """Paste regions of frames on a black canvas, one after the other.

    Regions come from one sample of every input, or with `in_ids` from any samples of the only one.
    They lie inside their frames and the canvas. An image that is pasted into a clip is in every
    frame of it.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW) (one or more)

    Args:
        in_ids: numbers of the samples of the only input to paste; by default one of each input (int
            or list of int; may be per sample).
        output_size: (height, width) of the canvas; that of the frames by default (int or list of
            int; may be per sample).
        in_anchors: where regions begin in their frames ((height, width) in pixels for each region;
            may be per sample or frame).
        in_anchors_rel: where regions begin in their frames, in parts of the sides ((height, width)
            from 0 to 1 for each region; may be per sample or frame).
        shapes: of regions; to the end of their frames by default ((height, width) in pixels for
            each region; may be per sample or frame).
        shapes_rel: of regions; to the end of their frames by default, in parts of the sides
            ((height, width) from 0 to 1 for each region; may be per sample or frame).
        out_anchors: where regions begin on the canvas ((height, width) in pixels for each region;
            may be per sample or frame).
        out_anchors_rel: where regions begin on the canvas, in parts of the sides ((height, width)
            from 0 to 1 for each region; may be per sample or frame).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        in_ids: int | _Sequence[int] | _Values | None = None,
        output_size: int | _Sequence[int] | _Values | None = None,
        in_anchors: Any = None,
        in_anchors_rel: Any = None,
        shapes: Any = None,
        shapes_rel: Any = None,
        out_anchors: Any = None,
        out_anchors_rel: Any = None,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *frames: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.mxnet")
class MXNetReader:
    """Read images and labels of RecordIO files, in the order of their places in the file.

    Outputs: the bytes of the image (1-D uint8), and its labels (float32, shape (1,), or as many as
    the record has).

    Deprecated: use fn.readers.mxnet.

    Args:
        path: RecordIO files: paths or URLs (str or list of str; required).
        index_path: an index file for each, as `im2rec` writes (str or list of str; required).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        path: Any = ...,
        index_path: Any = ...,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.nemo_asr")
class NemoAsrReader:
    """Read sounds and their texts, as manifests of NVIDIA NeMo list them.

    A line of a manifest is a JSON object: `audio_filepath`, and if you like `offset` and `duration`
    in seconds, and `text`. Paths are relative to the working directory, or else to the manifest;
    any file that `vl.Audio` reads will do. `min_duration` and `max_duration` look at the manifest:
    a sound without `duration` counts as 0 s.

    Outputs: the samples, (n,) or without `downmix` (n, channels); if asked for their rate (float32
    scalar), the text (1-D uint8, UTF-8), and the position among the sounds that are kept of the
    manifest (int64, shape (1,)).

    Deprecated: use fn.readers.nemo_asr.

    Args:
        manifest_filepaths: manifests: a JSON object a line (str or list of str; required).
        read_sample_rate: an output of sample rates (bool (0 or 1); default True).
        read_text: an output of texts (bool (0 or 1); default True).
        read_idxs: an output of positions in the manifest (bool (0 or 1); default False).
        dtype: element type of the samples; floating point ones are from -1 to 1 (one of
            torch.float32, torch.int16, torch.int32; default torch.float32).
        downmix: give the mean of all channels (bool (0 or 1); default True).
        sample_rate: rate to resample to, if above 0 (float; default -1.0).
        quality: of resampling: 0 is 3 lobes of the sinc, 50 is 16, 100 is 64 (float, at least 0, at
            most 100; default 50.0).
        min_duration: leave out shorter sounds, in seconds (float; default 0.0).
        max_duration: leave out longer ones, if above 0 (float; default 0.0).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        manifest_filepaths: Any = ...,
        read_sample_rate: bool | int = True,
        read_text: bool | int = True,
        read_idxs: bool | int = False,
        dtype: Any = ...,
        downmix: bool | int = True,
        sample_rate: float = -1.0,
        quality: float = 50.0,
        min_duration: float = 0.0,
        max_duration: float = 0.0,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class NonsilentRegion:
    """Find the part of a signal between leading and trailing silence.

    Gives its first value and its length, int32 scalars; the length is 0 if all is silent. The
    part reaches from the beginning of the first window to the end of the last one whose mean power
    is at least `cutoff_db`.

    Inputs:
        signal

    Args:
        cutoff_db: power below which it is silent, in decibels (float; default -60.0).
        window_length: values over which the power is averaged (int, at least 1; default 2048).
        reference_power: power that is 0 decibels; by default the largest one of the signal (float;
            default 0.0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: reset_interval.
    """

    def __init__(
        self,
        *,
        cutoff_db: float = -60.0,
        window_length: int = 2048,
        reference_power: float = 0.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
        reset_interval: Any = ...,
    ) -> None: ...
    def __call__(self, signal: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.random.normal")
class NormalDistribution:
    """Draw numbers of a normal distribution.

    Deprecated: use fn.random.normal.

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
        shape: int | _Sequence[int] | _Values | None = None,
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
        axes: int | _Sequence[int] | None = None,
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

class NumbaFunction:
    """Run a function that Numba compiles, on the CPU: it fills arrays that it is given.

    Inputs:
        inputs (one or more)

    Args:
        run_fn: is called with the outputs, which it fills, and inputs (object; required).
        out_types: of the outputs (list of element types; required).
        in_types: of the inputs (list of element types; required).
        outs_ndim: dimensions of the outputs (int or list of int; required).
        ins_ndim: dimensions of the inputs (int or list of int; required).
        setup_fn: is called with the shapes of all outputs, which it fills, and of all inputs:
            arrays by [input][sample]; without it outputs have the shapes of the inputs (object).
        batch_processing: call `run_fn` once a batch, with lists (bool (0 or 1); default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: blocks, threads_per_block.
    """

    def __init__(
        self,
        *,
        run_fn: Any = ...,
        out_types: Any = ...,
        in_types: Any = ...,
        outs_ndim: int | _Sequence[int] = ...,
        ins_ndim: int | _Sequence[int] = ...,
        setup_fn: Any = None,
        batch_processing: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        blocks: Any = ...,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
        threads_per_block: Any = ...,
    ) -> None: ...
    def __call__(self, *inputs: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.numpy")
class NumpyReader:
    """Read arrays of NPY files.

    With `file_root` alone the files in it, then those directly in its folders are read, in the
    order of their names. `file_list` has a path in each line; paths are relative to `file_root`, or
    to the folder of the list. Of a region only the rows between its first and its last are read.
    Parts of an extent are rounded to the nearest element, half away from zero. Regions by data
    nodes, one for each sample, are cut from whole arrays, by `fn.slice`.

    Output: the array, in C order; integers, floats and bool of either byte order.

    Deprecated: use fn.readers.numpy.

    Args:
        file_root: folder, or the folder that paths are relative to (path).
        file_list: text file that lists paths (path).
        files: paths, URLs or `Item`s of archives (path or list of paths).
        file_filter: pattern for names of files (str; default '*.npy').
        roi_start: first element of a region, by axis (int or list of int).
        roi_end: behind its last element (int or list of int).
        roi_shape: its shape, in place of its end (int or list of int).
        rel_roi_start: its start as parts of the extents (float or list of float).
        rel_roi_end: its end as parts of the extents (float or list of float).
        rel_roi_shape: its shape as parts of the extents (float or list of float).
        roi_axes: the axes that these are for; all by default (int or list of int; default ()).
        out_of_bounds_policy: what a region has outside of the array: `error`, `pad` it, or
            `trim_to_shape` (one of 'error', 'pad', 'trim_to_shape'; default 'error').
        fill_value: of what is padded (float; default 0.0).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: cache_header_information, dont_use_mmap, initial_fill, lazy_init,
    prefetch_queue_depth, read_ahead, register_buffers, skip_cached_images, tensor_init_bytes,
    use_o_direct.
    """

    def __init__(
        self,
        *,
        file_root: str | _PathLike[str] | None = None,
        file_list: str | _PathLike[str] | None = None,
        files: Any = None,
        file_filter: str = '*.npy',
        roi_start: int | _Sequence[int] | None = None,
        roi_end: int | _Sequence[int] | None = None,
        roi_shape: int | _Sequence[int] | None = None,
        rel_roi_start: float | _Sequence[float] | None = None,
        rel_roi_end: float | _Sequence[float] | None = None,
        rel_roi_shape: float | _Sequence[float] | None = None,
        roi_axes: int | _Sequence[int] = ...,
        out_of_bounds_policy: str = 'error',
        fill_value: float = 0.0,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        cache_header_information: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        register_buffers: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
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
        shape: int | _Sequence[int] | _Values = ...,
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

class OpticalFlow:
    """Estimate how the picture moves from each frame of a clip to the next, by OpenCV's DIS.

    The output is float32 FHWC, one frame less than the input: a vector (x, y) in pixels of the
    input for each square of `output_grid` x `output_grid` pixels. What is at (x, y) in a frame is
    at (x, y) + vector in the next one.

    Hints are such vectors for squares of `hint_grid` pixels. External ones come before temporal
    ones.

    Inputs:
        frames (FHWC)
        hints (FHWC) (may be left out)

    Args:
        preset: 0.0 is the slowest and best, 0.5 is between, 1.0 is the fastest (one of 0.0, 0.5,
            1.0; default 0.0).
        output_grid: side of the square of pixels of a vector (one of 1, 2, 4; default 4).
        hint_grid: side of the square of pixels of a hint (one of 1, 2, 4, 8; default 4).
        enable_temporal_hints: begin the search at the flow between the two frames before (bool (0
            or 1); default False).
        enable_external_hints: begin the search at the vectors of the second input (bool (0 or 1);
            default False).
        image_type: RGB, BGR or GRAY (ImageType; default ImageType.RGB).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        preset: float = 0.0,
        output_grid: int = 4,
        hint_grid: int = 4,
        enable_temporal_hints: bool | int = False,
        enable_external_hints: bool | int = False,
        image_type: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, hints: _Data = ..., /, **arguments: Any) -> Any: ...
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
        shape: least sizes; -1 or 0: that of the largest sample (int or list of int; may be per
            sample).
        fill_value: of what is added (float; default 0.0; may be per sample).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axes: int | _Sequence[int] | _Values | None = None,
        axis_names: str | None = None,
        align: int | _Sequence[int] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None,
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
        min_canvas_size: least side of the canvas, at least 0 (float; default 0.0; may be per
            sample).
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
        fill_value: float | _Sequence[float] = ...,
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

class PeekImageShape:
    """(height, width, channels) that images will have when they are decoded, by their headers.

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

class PowerSpectrum:
    """Compute the power of each frequency of a signal: `nfft // 2 + 1` of them.

    A signal that is longer than `nfft` is cut, a shorter one followed by zeros.

    Inputs:
        signal

    Args:
        axis: dimension that becomes frequencies (int; default -1).
        nfft: length of the transform; by default that of the axis (int, at least 1).
        power: exponent of the magnitude (one of 1, 2; default 2).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        axis: int = -1,
        nfft: int | None = None,
        power: int = 2,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, signal: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class PreemphasisFilter:
    """Subtract from every value of a signal a share of the value before it.

    out[t] = in[t] - preemph_coeff * in[t - 1]. All dimensions of a sample count as one.

    Inputs:
        signal

    Args:
        preemph_coeff: weight of the value before (float; default 0.97; may be per sample).
        border: what lies before the first value: 0, the first value or the second one (one of
            'zero', 'clamp', 'reflect'; default 'clamp').
        dtype: element type of the output (element type; default torch.float32).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        preemph_coeff: float | _Values = 0.97,
        border: str = 'clamp',
        dtype: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, signal: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class PythonFunction:
    """Call a Python function on NumPy arrays, on a GPU on CuPy arrays.

    It gets one sample of each input, and gives one array or a tuple of them. In a pipeline it is
    called by one thread, in the order of samples and batches, once for each sample, up to
    `prefetch_queue_depth` batches ahead; with a depth of 1 only as `run` asks for a batch.

    Inputs:
        inputs (may be left out) (one or more)

    Args:
        function: what is called (callable; required).
        num_outputs: of the function; 0: it is called anyway (int, at least 0; default 1).
        batch_processing: call it once a batch with a list of samples for each input, not once a
            sample (bool (0 or 1); default False).
        output_layouts: layouts of the outputs; a str is for all (str or list of str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        function: Any = ...,
        num_outputs: int = 1,
        batch_processing: bool | int = False,
        output_layouts: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *inputs: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class RandomBBoxCrop:
    """Draw a window that keeps boxes, and move the boxes into it.

    Boxes are parts of the sides of their frame (0 to 1), those of the output of the window. The
    outputs are anchor (x, y) and shape (width, height) of the window for `fn.slice`, the boxes that
    stay, their labels if there are any, and with `output_bbox_indices` their numbers.

    Inputs:
        boxes
        labels (may be left out)

    Args:
        thresholds: least overlaps of boxes with the window, of which one is drawn (float or list of
            float, at least 0, at most 1; default (0.0,)).
        threshold_type: overlap is the intersection over union of window and box, or the part of the
            box (one of 'iou', 'overlap'; default 'iou').
        all_boxes_above_threshold: all boxes must overlap that much, not only one (bool (0 or 1);
            default True).
        allow_no_crop: the whole frame is drawn like a threshold (bool (0 or 1); default True).
        scaling: (least, most) length of the window to the frame (float or list of float; default
            (1.0, 1.0)).
        aspect_ratio: (least, most) x to y of the window, for volumes then x to z and y to z; in
            pixels if input_shape is given (float or list of float; default (1.0, 1.0)).
        crop_shape: of the window in pixels; anchor and shape then are in pixels too (int or list of
            int, at least 1; may be per sample).
        input_shape: of the frame in pixels (int or list of int, at least 1; may be per sample).
        shape_layout: order of these shapes; "WH" or "WHD" by default (str).
        bbox_layout: order of the coordinates; "xyXY" or "xyzXYZ" by default, W, H, D for sizes
            (str).
        ltrb: boxes have ends, not sizes; see bbox_layout (bool (0 or 1); default True).
        bbox_prune_threshold: boxes stay with this part in the window; by default if their center is
            inside (float, at least 0, at most 1).
        num_attempts: windows for one threshold (int, at least 1; default 1).
        total_num_attempts: windows before the best one is taken; -1: many (int, at least -1;
            default -1).
        output_bbox_indices: give the numbers of boxes too (bool (0 or 1); default False).
        quiet: do not warn if the best window is taken (bool (0 or 1); default False).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        thresholds: float | _Sequence[float] = ...,
        threshold_type: str = 'iou',
        all_boxes_above_threshold: bool | int = True,
        allow_no_crop: bool | int = True,
        scaling: float | _Sequence[float] = ...,
        aspect_ratio: float | _Sequence[float] = ...,
        crop_shape: int | _Sequence[int] | _Values | None = None,
        input_shape: int | _Sequence[int] | _Values | None = None,
        shape_layout: str | None = None,
        bbox_layout: str | None = None,
        ltrb: bool | int = True,
        bbox_prune_threshold: float | None = None,
        num_attempts: int = 1,
        total_num_attempts: int = -1,
        output_bbox_indices: bool | int = False,
        quiet: bool | int = False,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, boxes: _Data, labels: _Data = ..., /, **arguments: Any) -> Any: ...
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
        random_area: float | _Sequence[float] = ...,
        random_aspect_ratio: float | _Sequence[float] = ...,
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
        size: int | _Sequence[int] | _Values = ...,
        random_area: float | _Sequence[float] = ...,
        random_aspect_ratio: float | _Sequence[float] = ...,
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
        shape: int | _Sequence[int] | _Values | None = None,
        *,
        rel_shape: float | _Sequence[float] | _Values | None = None,
        src_dims: int | _Sequence[int] | _Values | None = None,
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
        shape: int | _Sequence[int] | _Values | None = None,
        *,
        rel_shape: float | _Sequence[float] | _Values | None = None,
        src_dims: int | _Sequence[int] | _Values | None = None,
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

class ResizeCropMirror:
    """Resize, crop and mirror frames in one go: only pixels inside the window are computed.

    A window that is larger than the resized frame shows copies of the pixels at its border.

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
        mirror: sides to swap, added: 1 left and right, 2 top and bottom, 4 front and back (int, at
            least 0, at most 7; default 0; may be per sample).
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
        crop: float | _Sequence[float] | _Values | None = None,
        crop_d: float | _Values | None = None,
        crop_h: float | _Values | None = None,
        crop_w: float | _Values | None = None,
        crop_pos_x: float | _Values = 0.5,
        crop_pos_y: float | _Values = 0.5,
        crop_pos_z: float | _Values = 0.5,
        rounding: str = 'round',
        mirror: int | _Values = 0,
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
        crop_shape: int | _Sequence[int] | _Values = ...,
        roi_start: int | _Sequence[int] | _Values = ...,
        roi_end: int | _Sequence[int] | _Values | None = None,
        roi_shape: int | _Sequence[int] | _Values | None = None,
        in_shape: int | _Sequence[int] | _Values | None = None,
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
        axis: float | _Sequence[float] | _Values | None = None,
        keep_size: bool | int = False,
        size: float | _Sequence[float] | _Values | None = None,
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

class Saturation:
    """Scale the saturation of RGB pixels, by default of every frame of a clip alike.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        saturation: factor of the saturation; 0 is grey (float; default 1.0; may be per sample or
            frame).
        image_type: colour space; only RGB (one of ImageType.RGB; default ImageType.RGB).
        dtype: element type of the output; the input's by default (element type).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        saturation: float | _Values = 1.0,
        image_type: Any = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.readers.sequence")
class SequenceReader:
    """Read clips of videos whose frames are picture files.

    Each folder in `file_root` is a video, its files in the order of their names are the frames. A
    clip never crosses from one video to the next, and what does not fill one is left out.

    Output: the clip, uint8 (F, H, W, C).

    Deprecated: use fn.readers.sequence.

    Args:
        file_root: folder of folders, each a video (path; required).
        sequence_length: pictures in a clip (int, at least 1; required).
        step: from clip to clip (int, at least 1; default 1).
        stride: from picture to picture (int, at least 1; default 1).
        image_type: colour space of the output (one of ImageType.RGB, ImageType.BGR, ImageType.GRAY;
            default ImageType.RGB).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        file_root: str | _PathLike[str] = ...,
        sequence_length: int = ...,
        step: int = 1,
        stride: int = 1,
        image_type: Any = ...,
        random_shuffle: bool | int = False,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
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
        new_order: int | _Sequence[int] | _Values = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use DataNode.shape")
class Shapes:
    """Give the sizes of every sample, as a 1-D tensor; `DataNode.shape()` is the same.

    Deprecated: use DataNode.shape.

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

    Coordinates that are not whole are rounded to the nearest integer, values for an integer `dtype`
    truncated. A part that lies inside of the data may share memory with it.

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
        out_of_bounds_policy: str = 'error',
        fill_values: float | _Sequence[float] = ...,
        dtype: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Spectrogram:
    """Compute the power of each frequency in windows of a signal of one channel.

    Inputs:
        signal

    Args:
        nfft: length of the transform; `window_length` by default (int, at least 1).
        window_length: values in a window (int, at least 1; default 512).
        window_step: values from one window to the next (int, at least 1; default 256).
        window_fn: factors of a window; Hann's window by default (float or list of float; default
            ()).
        power: exponent of the magnitude (one of 1, 2; default 2).
        center_windows: the middles of windows lie at multiples of `window_step`; else only windows
            that lie inside are taken (bool (0 or 1); default True).
        reflect_padding: outside a signal lies its mirror image; else zeros (bool (0 or 1); default
            True).
        layout: frequencies or times come first (one of 'ft', 'tf'; default 'ft').
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        nfft: int | None = None,
        window_length: int = 512,
        window_step: int = 256,
        window_fn: float | _Sequence[float] = ...,
        power: int = 2,
        center_windows: bool | int = True,
        reflect_padding: bool | int = True,
        layout: str = 'ft',
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, signal: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class Sphere:
    """Show frames as if they lay on a sphere: magnified in the middle.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        mask: 0 leaves a sample as it is (one of 0, 1; default 1; may be per sample).
        fill_value: what lies outside the input (float; default 0.0).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR;
            default InterpType.INTERP_NN).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        mask: int | _Values = 1,
        fill_value: float = 0.0,
        interp_type: Any = ...,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, /, **arguments: Any) -> Any: ...
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
        axes: int | _Sequence[int] | _Values | None = None,
        axis_names: str | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, data: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.random_bbox_crop")
class SSDRandomCrop:
    """Cut a window out of frames as the single-shot detector of boxes (SSD) is trained.

    Boxes are (left, top, right, bottom), parts of the sides. The window has 0.3 to 1 of the sides,
    with a ratio of 0.5 to 2, and overlaps boxes by at least 0, 0.1, 0.3, 0.5, 0.7 or 0.9; or it is
    the whole frame. The outputs are the windows, the boxes with their center inside, and their
    labels. `fn.random_bbox_crop` has more choices.

    Deprecated: use fn.random_bbox_crop.

    Inputs:
        frames (HWC, CHW, FHWC, FCHW)
        boxes
        labels

    Args:
        num_attempts: windows for one threshold (int, at least 1; default 1).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        num_attempts: int = 1,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, frames: _Data, boxes: _Data, labels: _Data, /, **arguments: Any) -> Any: ...
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

class TensorResize:
    """Resize all dimensions of tensors, or those of `axes`, as `fn.resize` does with pictures.

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

@_deprecated("use fn.readers.tfrecord")
class TFRecordReader:
    """Read features of the `Example` records of TFRecord files.

    Returns a dict of data nodes by the names of the features. Strings are vectors of their bytes
    (uint8), numbers int64 or float32 in the shape of the feature; fewer values than the shape holds
    are filled up with the default. A record without the feature gives a scalar: the default.
    `shuffle_after_epoch` permutes the files and keeps the order in each.

    Deprecated: use fn.readers.tfrecord.

    Args:
        path: TFRecord files: paths or URLs (str or list of str; required).
        index_path: an index file for each, as `tfrecord2idx` writes; without any the files are
            scanned (str or list of str; default ()).
        features: what to take of a record: `FixedLenFeature`s and `VarLenFeature`s of
            `videoloader.tfrecord` (dict of features by name; required).
        random_shuffle: a new permutation of all samples every epoch, before they are divided into
            shards (bool (0 or 1); default False).
        shuffle_after_epoch: a new order in every epoch but the first, the same for all shards (bool
            (0 or 1); default False).
        shuffle_after_epoch_seed: of that order; a fixed one by default (int).
        shard_id: which part of the samples to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last sample (bool (0 or 1); default False).
        on_error: what to do with a sample that cannot be read: `raise`; `replace` it by the next
            one; `skip` it, so that the batch has fewer samples, but one at least. By default what
            the pipeline says, `mask` being `replace` here (one of 'raise', 'replace', 'skip').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: dont_use_mmap, initial_fill, lazy_init, prefetch_queue_depth, read_ahead,
    skip_cached_images, tensor_init_bytes, use_o_direct.
    """

    def __init__(
        self,
        *,
        path: Any = ...,
        index_path: Any = ...,
        features: Any = ...,
        random_shuffle: bool | int = False,
        shuffle_after_epoch: bool | int = False,
        shuffle_after_epoch_seed: int | None = None,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        tensor_init_bytes: Any = ...,
        use_o_direct: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class ToDecibels:
    """Convert magnitudes to decibels: multiplier * log10(in / reference).

    Inputs:
        magnitudes

    Args:
        multiplier: of the logarithm: 10 for powers, 20 for amplitudes (float; default 10.0).
        reference: magnitude that is 0 decibels; by default the largest one of the sample (float;
            default 0.0).
        cutoff_db: smallest output (float; default -200.0).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        multiplier: float = 10.0,
        reference: float = 0.0,
        cutoff_db: float = -200.0,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, magnitudes: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

class TorchPythonFunction:
    """Call a Python function on PyTorch tensors; see `python_function`.

    On a GPU the stream of the pipeline is the current one.

    Inputs:
        inputs (may be left out) (one or more)

    Args:
        function: what is called (callable; required).
        num_outputs: of the function; 0: it is called anyway (int, at least 0; default 1).
        batch_processing: call it once a batch with a list of samples for each input, not once a
            sample (bool (0 or 1); default False).
        output_layouts: layouts of the outputs; a str is for all (str or list of str).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        *,
        function: Any = ...,
        num_outputs: int = 1,
        batch_processing: bool | int = False,
        output_layouts: Any = None,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, *inputs: _Data, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...

@_deprecated("use fn.transforms.translation")
class TransformTranslation:
    """Move points.

    Deprecated: use fn.transforms.translation.

    Args:
        mt: a transform to go on from (matrix of float, (n, n + 1) or its rows in one list; may be
            per sample or frame).
        offset: added to the coordinates (float or list of float; required; may be per sample or
            frame).
        reverse_order: this transform comes before that of the input, not after it (bool (0 or 1);
            default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

    def __init__(
        self,
        mt: Any = None,
        *,
        offset: float | _Sequence[float] | _Values = ...,
        reverse_order: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        bytes_per_sample_hint: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
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
        perm: int | _Sequence[int] | None = None,
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

@_deprecated("use fn.random.uniform")
class Uniform:
    """Draw numbers from a range, each equally likely, or from a list of values.

    Deprecated: use fn.random.uniform.

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
        range: float | _Sequence[float] | _Values | None = None,
        values: float | _Sequence[float] | _Values | None = None,
        shape: int | _Sequence[int] | _Values | None = None,
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

@_deprecated("use fn.readers.video")
class VideoReader:
    """Read clips of videos.

    With a sampler of one clip a video (`uniform_sample`, `RandomClip`, ...) nothing is opened
    before it is decoded. Clips end to end need the lengths of all videos: those of a data set index
    stand in its table; other videos are indexed when the pipeline is built, in `num_threads`
    threads, and the last 64 MB of their indexes are kept. With `pad_mode="none"` clips that do not
    fit are left out; with any other mode a video ends with one padded clip where frames remain, and
    padding never leaves the range of a file list. `random_shuffle` permutes all clips before they
    are divided into shards, so `initial_fill` is not needed and has no effect.

    Outputs: the clip, (F, H, W, C) of `dtype`; then, where there are any, its label (int32), frame
    numbers (int32) and times (float64, seconds from the first frame of the file).

    Deprecated: use fn.readers.video.

    Args:
        filenames: the files: paths, URLs or `Item`s (path or list of paths).
        dataset: a data set index or its path (`.parquet`), or else what `ClipDataset` takes: a
            folder, glob, text list, tar archive or URL, or a list of them and of `Item`s (object).
        index: a data set index or its path; the same as `dataset` (object).
        filter: which videos of a data set index: a mapping of limits by name, or an expression of
            pyarrow; see `Videos.filter` (object).
        labels: of `filenames`, `dataset` or `index`: one for each; or by key a mapping, a
            `LabelColumn` or a function; an empty list numbers them (list of int, mapping,
            LabelColumn or function).
        file_root: a folder of folders; each is a class (path).
        file_list: lines of `path label [start [end]]` (path).
        file_list_format: unit of start and end: seconds from the first frame, or frame numbers (one
            of 'timestamps', 'frames'; default 'timestamps').
        file_list_rounding: frame for a time between two (one of 'start_down_end_up',
            'start_up_end_down', 'all_up', 'all_down'; default 'start_down_end_up').
        file_list_include_end: whether the end frame is in the range (bool (0 or 1); default True).
        file_list_frame_num: start and end are frame numbers, start is rounded up, end down and not
            in the range; DALI's older form of `file_list_format` (bool (0 or 1)).
        file_list_include_preceding_frame: round a start time down and an end time up, or with False
            the other way; the end frame is not in the range; DALI's older form of
            `file_list_rounding` (bool (0 or 1)).
        sequence_length: frames in a clip (int, at least 1).
        stride: from frame to frame; negative plays backwards (int; default 1).
        step: frames from clip to clip; -1: `sequence_length * stride`, and with `fps` end to end
            (int; default -1).
        fps: frames of a clip in a second, in place of `stride`: the frames nearest to times 1 / fps
            apart, by presentation times (float).
        clips_per_video: clips of each video in an epoch, at random places, in place of `step`; with
            `sampler` how often it draws from each (int, at least 1).
        clips_per_decode: neighbouring clips of a video that are decoded together and given out over
            several batches; needs memory for `shuffle_buffer` clips (int, at least 1; default 1).
        shuffle_buffer: clips among which those of `clips_per_decode` are spread; 16 times as many
            by default (int, at least 1).
        weights: how often clips are drawn: a number for each video, which its clips share, or for
            each row of the index; or by key a mapping or function. Needs and implies a random order
            (list of float, mapping or function).
        balanced: draw clips of every label as often; implies a random order (bool (0 or 1); default
            False).
        uniform_sample: one clip a file, its frames spread over the file (bool (0 or 1); default
            False).
        sampler: any clip sampler, in place of the arguments above (object).
        pad_mode: what stands outside the video (one of 'none', 'edge', 'repeat', 'constant',
            'reflect_1001', 'symmetric', 'reflect_101', 'reflect', 'wrap'; default 'none').
        pad_sequences: end a video with a clip that is filled up; as `pad_mode="constant"` (bool (0
            or 1); default False).
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
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
        dtype: uint8, or float32: 0 to 255 without the rounding to uint8 (one of torch.uint8,
            torch.float32; default torch.uint8).
        normalized: float32 from 0 to 1 (bool (0 or 1); default False).
        channels: of RGB; for one see `output="gray"` (one of 3; default 3).
        image_type: colour space of the frames; all but RGB are converted as
            `fn.color_space_conversion` does. A `fill_value` is RGB (one of ImageType.RGB,
            ImageType.BGR, ImageType.GRAY, ImageType.YCbCr; default ImageType.RGB).
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        random_shuffle: a new permutation of all clips every epoch (bool (0 or 1); default False).
        shard_id: which part of the clips to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last clip (bool (0 or 1); default False).
        on_error: what to do with a file or clip that fails: `raise`; `replace` it by the next clip;
            `skip` it, so that the batch has fewer samples, but one at least; `mask`: fill the
            frames with `fill_value`, their numbers and times are -1. By default what the pipeline
            says, or `raise` (one of 'raise', 'skip', 'replace', 'mask').
        max_errors: failures from which on the run ends: a number, or a share of the clips (float)
            (object).
        error_log: a file to which failures are appended as lines of JSON (path).
        skip_known: what `videoloader check` wrote, or an `error_log`, or a list of such files: what
            they name is left out and not opened, of clips end to end only those with damaged frames
            (object).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: additional_decode_surfaces, dont_use_mmap, initial_fill, lazy_init,
    prefetch_queue_depth, read_ahead, skip_cached_images, skip_vfr_check, tensor_init_bytes.
    """

    def __init__(
        self,
        *,
        filenames: Any = None,
        dataset: Any = None,
        index: Any = None,
        filter: Any = None,
        labels: Any = None,
        file_root: str | _PathLike[str] | None = None,
        file_list: str | _PathLike[str] | None = None,
        file_list_format: str = 'timestamps',
        file_list_rounding: str = 'start_down_end_up',
        file_list_include_end: bool | int = True,
        file_list_frame_num: bool | int | None = None,
        file_list_include_preceding_frame: bool | int | None = None,
        sequence_length: int | None = None,
        stride: int = 1,
        step: int = -1,
        fps: float | None = None,
        clips_per_video: int | None = None,
        clips_per_decode: int = 1,
        shuffle_buffer: int | None = None,
        weights: Any = None,
        balanced: bool | int = False,
        uniform_sample: bool | int = False,
        sampler: Any = None,
        pad_mode: str = 'none',
        pad_sequences: bool | int = False,
        fill_value: int | _Sequence[int] = ...,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        output: str = 'rgb',
        snap: str = 'none',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        dtype: Any = ...,
        normalized: bool | int = False,
        channels: int = 3,
        image_type: Any = ...,
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        random_shuffle: bool | int = False,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        max_errors: Any = None,
        error_log: str | _PathLike[str] | None = None,
        skip_known: Any = None,
        seed: int | None = None,
        device: str | None = None,
        name: str | None = None,
        additional_decode_surfaces: Any = ...,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
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

@_deprecated("use fn.readers.video_resize")
class VideoReaderResize:
    """Read clips of videos, and resize them: `fn.readers.video` with `fn.resize` on its clips.

    It takes the arguments of both and becomes these two nodes; `name` is that of the reader. The
    decoder resizes by itself where it can, see `fn.resize`.

    Deprecated: use fn.readers.video_resize.

    Args:
        filenames: the files: paths, URLs or `Item`s (path or list of paths).
        dataset: a data set index or its path (`.parquet`), or else what `ClipDataset` takes: a
            folder, glob, text list, tar archive or URL, or a list of them and of `Item`s (object).
        index: a data set index or its path; the same as `dataset` (object).
        filter: which videos of a data set index: a mapping of limits by name, or an expression of
            pyarrow; see `Videos.filter` (object).
        labels: of `filenames`, `dataset` or `index`: one for each; or by key a mapping, a
            `LabelColumn` or a function; an empty list numbers them (list of int, mapping,
            LabelColumn or function).
        file_root: a folder of folders; each is a class (path).
        file_list: lines of `path label [start [end]]` (path).
        file_list_format: unit of start and end: seconds from the first frame, or frame numbers (one
            of 'timestamps', 'frames'; default 'timestamps').
        file_list_rounding: frame for a time between two (one of 'start_down_end_up',
            'start_up_end_down', 'all_up', 'all_down'; default 'start_down_end_up').
        file_list_include_end: whether the end frame is in the range (bool (0 or 1); default True).
        file_list_frame_num: start and end are frame numbers, start is rounded up, end down and not
            in the range; DALI's older form of `file_list_format` (bool (0 or 1)).
        file_list_include_preceding_frame: round a start time down and an end time up, or with False
            the other way; the end frame is not in the range; DALI's older form of
            `file_list_rounding` (bool (0 or 1)).
        sequence_length: frames in a clip (int, at least 1).
        stride: from frame to frame; negative plays backwards (int; default 1).
        step: frames from clip to clip; -1: `sequence_length * stride`, and with `fps` end to end
            (int; default -1).
        fps: frames of a clip in a second, in place of `stride`: the frames nearest to times 1 / fps
            apart, by presentation times (float).
        clips_per_video: clips of each video in an epoch, at random places, in place of `step`; with
            `sampler` how often it draws from each (int, at least 1).
        clips_per_decode: neighbouring clips of a video that are decoded together and given out over
            several batches; needs memory for `shuffle_buffer` clips (int, at least 1; default 1).
        shuffle_buffer: clips among which those of `clips_per_decode` are spread; 16 times as many
            by default (int, at least 1).
        weights: how often clips are drawn: a number for each video, which its clips share, or for
            each row of the index; or by key a mapping or function. Needs and implies a random order
            (list of float, mapping or function).
        balanced: draw clips of every label as often; implies a random order (bool (0 or 1); default
            False).
        uniform_sample: one clip a file, its frames spread over the file (bool (0 or 1); default
            False).
        sampler: any clip sampler, in place of the arguments above (object).
        pad_mode: what stands outside the video (one of 'none', 'edge', 'repeat', 'constant',
            'reflect_1001', 'symmetric', 'reflect_101', 'reflect', 'wrap'; default 'none').
        pad_sequences: end a video with a clip that is filled up; as `pad_mode="constant"` (bool (0
            or 1); default False).
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
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
        normalized: float32 from 0 to 1 (bool (0 or 1); default False).
        channels: of RGB; for one see `output="gray"` (one of 3; default 3).
        image_type: colour space of the frames; all but RGB are converted as
            `fn.color_space_conversion` does. A `fill_value` is RGB (one of ImageType.RGB,
            ImageType.BGR, ImageType.GRAY, ImageType.YCbCr; default ImageType.RGB).
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        random_shuffle: a new permutation of all clips every epoch (bool (0 or 1); default False).
        shard_id: which part of the clips to read; the rank of the process if num_shards is not
            given (int, at least 0).
        num_shards: number of parts; by default that of ranks (int, at least 1).
        stick_to_shard: read the same part in every epoch (bool (0 or 1); default False).
        pad_last_batch: end an epoch with copies of its last clip (bool (0 or 1); default False).
        on_error: what to do with a file or clip that fails: `raise`; `replace` it by the next clip;
            `skip` it, so that the batch has fewer samples, but one at least; `mask`: fill the
            frames with `fill_value`, their numbers and times are -1. By default what the pipeline
            says, or `raise` (one of 'raise', 'skip', 'replace', 'mask').
        max_errors: failures from which on the run ends: a number, or a share of the clips (float)
            (object).
        error_log: a file to which failures are appended as lines of JSON (path).
        skip_known: what `videoloader check` wrote, or an `error_log`, or a list of such files: what
            they name is left out and not opened, of clips end to end only those with damaged frames
            (object).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
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
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: additional_decode_surfaces, dont_use_mmap, initial_fill, lazy_init,
    minibatch_size, prefetch_queue_depth, read_ahead, skip_cached_images, skip_vfr_check,
    temp_buffer_hint, tensor_init_bytes.
    """

    def __init__(
        self,
        *,
        filenames: Any = None,
        dataset: Any = None,
        index: Any = None,
        filter: Any = None,
        labels: Any = None,
        file_root: str | _PathLike[str] | None = None,
        file_list: str | _PathLike[str] | None = None,
        file_list_format: str = 'timestamps',
        file_list_rounding: str = 'start_down_end_up',
        file_list_include_end: bool | int = True,
        file_list_frame_num: bool | int | None = None,
        file_list_include_preceding_frame: bool | int | None = None,
        sequence_length: int | None = None,
        stride: int = 1,
        step: int = -1,
        fps: float | None = None,
        clips_per_video: int | None = None,
        clips_per_decode: int = 1,
        shuffle_buffer: int | None = None,
        weights: Any = None,
        balanced: bool | int = False,
        uniform_sample: bool | int = False,
        sampler: Any = None,
        pad_mode: str = 'none',
        pad_sequences: bool | int = False,
        fill_value: int | _Sequence[int] = ...,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        output: str = 'rgb',
        snap: str = 'none',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        normalized: bool | int = False,
        channels: int = 3,
        image_type: Any = ...,
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        random_shuffle: bool | int = False,
        shard_id: int | None = None,
        num_shards: int | None = None,
        stick_to_shard: bool | int = False,
        pad_last_batch: bool | int = False,
        on_error: str | None = None,
        max_errors: Any = None,
        error_log: str | _PathLike[str] | None = None,
        skip_known: Any = None,
        seed: int | None = None,
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
        device: str | None = None,
        name: str | None = None,
        additional_decode_surfaces: Any = ...,
        bytes_per_sample_hint: Any = ...,
        dont_use_mmap: Any = ...,
        initial_fill: Any = ...,
        lazy_init: Any = ...,
        minibatch_size: Any = ...,
        prefetch_queue_depth: Any = ...,
        preserve: Any = ...,
        read_ahead: Any = ...,
        skip_cached_images: Any = ...,
        skip_vfr_check: Any = ...,
        temp_buffer_hint: Any = ...,
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
        size: float | _Sequence[float] | _Values | None = None,
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

class Water:
    """Show frames as if they lay under water, every frame of a clip alike.

    The pixel of the output in column x and row y shows the place (x + ampl_x * sin(freq_x * y +
    phase_x), y + ampl_y * cos(freq_y * x + phase_y)), where pixel i reaches from i to i + 1.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        ampl_x: how far waves move pixels along x, in pixels (float; default 10.0).
        ampl_y: how far waves move pixels along y, in pixels (float; default 10.0).
        freq_x: radians per row of the waves along x (float; default 0.049087).
        freq_y: radians per column of the waves along y (float; default 0.049087).
        phase_x: of the waves along x, in radians (float; default 0.0).
        phase_y: of the waves along y, in radians (float; default 0.0).
        mask: 0 leaves a sample as it is (one of 0, 1; default 1; may be per sample).
        fill_value: what lies outside the input (float; default 0.0).
        interp_type: how a pixel is computed (one of InterpType.INTERP_NN, InterpType.INTERP_LINEAR;
            default InterpType.INTERP_NN).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

    def __init__(
        self,
        *,
        ampl_x: float = 10.0,
        ampl_y: float = 10.0,
        freq_x: float = 0.049087,
        freq_y: float = 0.049087,
        phase_x: float = 0.0,
        phase_y: float = 0.0,
        mask: int | _Values = 1,
        fill_value: float = 0.0,
        interp_type: Any = ...,
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
        shape: int | _Sequence[int] | _Values = ...,
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
