# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
from videoloader.dali.fn import decoders as decoders
from videoloader.dali.fn import experimental as experimental
from videoloader.dali.fn import inputs as inputs
from videoloader.dali.fn import io as io
from videoloader.dali.fn import noise as noise
from videoloader.dali.fn import random as random
from videoloader.dali.fn import readers as readers
from videoloader.dali.fn import reductions as reductions
from videoloader.dali.fn import segmentation as segmentation
from videoloader.dali.fn import transforms as transforms
from typing_extensions import deprecated as _deprecated

@_deprecated("use fn.decoders.audio")
def audio_decoder(
    encoded: _Data, /, *, sample_rate: float | _Values = 0.0, quality: float = 50.0, downmix: bool | int = False,
    dtype: Any = ..., time_limit: Any = 60.0, memory_limit: Any = 'auto', device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Decode the sound of files: WAV, FLAC, OGG (Vorbis, Opus), MP3, AAC, soundtracks of videos."""

def audio_resample(
    signal: _Data, /, *, in_rate: float | _Values | None = None, out_rate: float | _Values | None = None,
    scale: float | _Values | None = None, out_length: int | _Values | None = None, quality: float = 50.0,
    dtype: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window."""

def batch_permutation(
    *, allow_repetitions: bool | int = False, no_fixed_points: bool | int = False, seed: int | None = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the samples of a batch its positions in random order, for `fn.permute_batch`."""

def bb_flip(
    boxes: _Data, /, *, horizontal: int | _Values = 1, vertical: int | _Values = 0, ltrb: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Mirror boxes as `fn.flip` mirrors their frame."""

def bbox_paste(
    boxes: _Data, /, *, ratio: float | _Values, paste_x: float | _Values = 0.5, paste_y: float | _Values = 0.5,
    ltrb: bool | int = False, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Move boxes as `fn.paste` moves their frame, to parts of the sides of the canvas."""

def bbox_rotate(
    bboxes: _Data, labels: _Data = ..., /, *, angle: float | _Values, input_shape: _Ints | _Values,
    shape_layout: str = 'HW', bbox_layout: str = 'xyXY', bbox_normalized: bool | int = True,
    keep_size: bool | int = False, size: _Floats | _Values | None = None, mode: str = 'expand',
    remove_threshold: float = 0.1, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Rotate boxes as `fn.rotate` rotates their frame."""

def box_encoder(
    boxes: _Data, labels: _Data, /, *, anchors: _Floats, criteria: float = 0.5, offset: bool | int = False,
    scale: float = 1.0, means: _Floats = ..., stds: _Floats = ..., device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give every anchor the box (left, top, right, bottom) that it overlaps most, and its label."""

def brightness(
    frames: _Data, /, *, brightness: float | _Values = 1.0, brightness_shift: float | _Values = 0.0, dtype: Any = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Change the brightness, by default of every frame of a clip alike."""

def brightness_contrast(
    frames: _Data, /, *, brightness: float | _Values = 1.0, brightness_shift: float | _Values = 0.0,
    contrast: float | _Values = 1.0, contrast_center: float | _Values | None = None, dtype: Any = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Change brightness and contrast, by default of every frame of a clip alike."""

@_deprecated("use fn.readers.caffe2")
def caffe2_reader(
    *, path: Any, image_available: bool | int = True, label_type: int = 0, num_labels: int = 1,
    additional_inputs: int = 0, bbox: bool | int = False, random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read images, labels and further tensors of Caffe2's LMDB databases, by the order of keys."""

@_deprecated("use fn.readers.caffe")
def caffe_reader(
    *, path: Any, image_available: bool | int = True, label_available: bool | int = True,
    random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read images and labels of Caffe's LMDB databases, in the order of their keys."""

def cast(
    input: _Data, /, *, dtype: Any, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Convert to another element type."""

def cast_like(
    data: _Data, like: _Data, /, *, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Convert the first input to the element type of the second, as `fn.cast` does."""

def cat(
    *data: _Data, axis: int | None = None, axis_name: str | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Join inputs along a dimension, in which alone their shapes may differ."""

def clahe(
    frames: _Data, /, *, tiles_x: int, tiles_y: int, clip_limit: float, luma_only: bool | int = True,
    device: str | None = None, name: str | None = None, layout: str | None = None, bins: Any = ...,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Equalise the histograms of tiles of each picture, uint8, grey or RGB, with limited contrast."""

@_deprecated("use fn.readers.coco")
def coco_reader(
    *, file_root: _Path, annotations_file: _Path = '', images: Any = None, ltrb: bool | int = False,
    ratio: bool | int = False, size_threshold: float = 0.1, skip_empty: bool | int = False,
    include_iscrowd: bool | int = True, avoid_class_remapping: bool | int = False, polygon_masks: bool | int = False,
    pixelwise_masks: bool | int = False, image_ids: bool | int = False, preprocessed_annotations: _Path = '',
    save_preprocessed_annotations: bool | int = False, save_preprocessed_annotations_dir: _Path = '',
    random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read images and their annotations in a COCO file."""

@_deprecated("use fn.random.coin_flip")
def coin_flip(
    shape_like: _Data = ..., /, *, probability: float | _Values = 0.5, shape: _Ints | _Values | None = None,
    dtype: Any = ..., seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw 1 with a probability, otherwise 0."""

def color_space_conversion(
    frames: _Data, /, *, image_type: Any, output_type: Any, device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Convert between RGB, BGR, grey and Y'CbCr (ITU-R BT.601, limited range)."""

def color_twist(
    frames: _Data, /, *, hue: float | _Values = 0.0, saturation: float | _Values = 1.0, contrast: float | _Values = 1.0,
    brightness: float | _Values = 1.0, image_type: Any = ..., dtype: Any = None, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Change hue, saturation, contrast and brightness of RGB pixels, in this order and in one go."""

def constant(
    *, fdata: _Floats | None = None, idata: _Ints | None = None, shape: _Ints | None = None, dtype: Any = None,
    layout: str = '', device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Give the same tensor for every sample."""

def contrast(
    frames: _Data, /, *, contrast: float | _Values = 1.0, contrast_center: float | _Values | None = None,
    dtype: Any = None, device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Change the contrast, by default of every frame of a clip alike."""

def coord_flip(
    points: _Data, /, *, flip_x: bool | int | _Values = True, flip_y: bool | int | _Values = False,
    flip_z: bool | int | _Values = False, center_x: float | _Values = 0.5, center_y: float | _Values = 0.5,
    center_z: float | _Values = 0.5, layout: str = '', device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Mirror points, whose coordinates are the last dimension: 2 * center - coordinate."""

def coord_transform(
    points: _Data, /, *, M: Any = None, T: _Floats | _Values | None = None, MT: Any = None, dtype: Any = ...,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Transform points, whose coordinates are the last dimension: M @ point + T."""

def copy(
    input: _Data, /, *, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Copy to the device of the operator; the data itself where it is there."""

def crop(
    frames: _Data, /, *, crop: _Floats | _Values | None = None, crop_d: float | _Values | None = None,
    crop_h: float | _Values | None = None, crop_w: float | _Values | None = None, crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5, crop_pos_z: float | _Values = 0.5, rounding: str = 'round',
    out_of_bounds_policy: str = 'error', fill_values: _Floats = ..., dtype: Any = None, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Cut a window out of frames, the same one out of every frame of a clip by default."""

def crop_mirror_normalize(
    frames: _Data, /, *, crop: _Floats | _Values | None = None, crop_d: float | _Values | None = None,
    crop_h: float | _Values | None = None, crop_w: float | _Values | None = None, crop_pos_x: float | _Values = 0.5,
    crop_pos_y: float | _Values = 0.5, crop_pos_z: float | _Values = 0.5, rounding: str = 'round',
    out_of_bounds_policy: str = 'error', fill_values: _Floats = ..., mirror: bool | int | _Values = False,
    mean: _Floats | _Values = ..., std: _Floats | _Values = ..., scale: float = 1.0, shift: float = 0.0,
    dtype: Any = ..., output_layout: str = 'CHW', pad_output: bool | int = False, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Crop, mirror, normalise and transpose frames in one go, by default every frame alike."""

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

def dl_tensor_python_function(
    *inputs: _Data, function: Any, num_outputs: int = 1, batch_processing: bool | int = True,
    output_layouts: Any = None, synchronize_stream: bool | int = True, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Call a Python function on DLPack capsules; see `python_function`."""

def dump_image(
    images: _Data, /, *, suffix: str = '', input_layout: str = 'HWC', device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Write images to `{sample}-{suffix}-0.ppm` in the working directory, and give them on."""

def element_extract(
    data: _Data, /, *, element_map: _Ints, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Take single frames of each sample: as many outputs as numbers."""

def equalize(
    frames: _Data, /, *, device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does."""

def erase(
    data: _Data, /, *, anchor: _Floats | _Values = ..., shape: _Floats | _Values = ..., axes: _Ints | None = None,
    axis_names: str | None = None, fill_value: _Floats | _Values = ..., normalized: bool | int = False,
    normalized_anchor: bool | int = False, normalized_shape: bool | int = False, centered_anchor: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Fill one or more regions of every sample with one value for each channel."""

def erode(
    frames: _Data, /, *, mask_size: _Ints | _Values = ..., anchor: _Ints | _Values = ..., iterations: int = 1,
    border_mode: str = 'constant', device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the smallest one in a rectangle around it."""

def expand_dims(
    data: _Data, /, *, axes: _Ints, new_axis_names: str | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Insert dimensions of size 1. The data is not copied."""

def external_source(
    source: Any = None, num_outputs: int | None = None, *, cycle: str | None = None, layout: Any = None,
    dtype: Any = None, ndim: _Ints | None = None, cuda_stream: Any = None, batch: bool | int | None = None,
    batch_info: bool | int | None = None, no_copy: bool | int | None = None, parallel: bool | int | None = None,
    prefetch_queue_depth: int | None = None, bytes_per_sample_hint: int | None = None,
    repeat_last: bool | int | None = None, blocking: bool | int | None = None, device: str | None = None,
    name: str | None = None, preserve: Any = ..., seed: Any = ..., use_copy_kernel: Any = ...
) -> Any:
    """Take samples from Python code."""

@_deprecated("use fn.resize_crop_mirror")
def fast_resize_crop_mirror(
    frames: _Data, /, *, resize_x: float | _Values | None = None, resize_y: float | _Values | None = None,
    resize_z: float | _Values | None = None, size: _Floats | _Values | None = None,
    resize_shorter: float | _Values | None = None, resize_longer: float | _Values | None = None, mode: str = 'default',
    max_size: _Floats | None = None, subpixel_scale: bool | int = True, roi_start: _Floats | _Values | None = None,
    roi_end: _Floats | _Values | None = None, roi_relative: bool | int = False, interp_type: Any = ...,
    mag_filter: Any = None, min_filter: Any = None, antialias: bool | int = False, dtype: Any = None,
    crop: _Floats | _Values | None = None, crop_d: float | _Values | None = None, crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None, crop_pos_x: float | _Values = 0.5, crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5, rounding: str = 'round', mirror: int | _Values = 0, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., minibatch_size: Any = ...,
    preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """`resize_crop_mirror` without antialiasing by default; deprecated in DALI."""

@_deprecated("use fn.readers.file")
def file_reader(
    *, file_root: _Path | None = None, file_list: _Path | None = None, files: Any = None, labels: _Ints | None = None,
    file_filters: Any = ..., dir_filters: Any = ..., case_sensitive_filter: bool | int = False,
    random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read whole files as they are, and give each its label."""

def filter(
    frames: _Data, window: _Data, fill_value: _Data = ..., /, *, anchor: _Ints | _Values = ...,
    border: str = 'reflect_101', mode: str = 'same', dtype: Any = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Correlate samples with a window of each, in float32."""

def flip(
    frames: _Data, /, *, horizontal: bool | int | _Values = True, vertical: bool | int | _Values = False,
    depthwise: bool | int | _Values = False, device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Mirror frames, by default every frame of a clip alike."""

def full(
    fill_value: _Data, /, *, shape: _Ints | _Values = ..., layout: str = '', device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples of a shape out of a value, which is broadcast as numpy does."""

def full_like(
    data_like: _Data, fill_value: _Data, /, *, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples with the shapes, type and layout of the first input out of the second's values."""

def gaussian_blur(
    frames: _Data, /, *, sigma: _Floats | _Values = ..., window_size: _Ints | _Values = ..., dtype: Any = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Blur with a Gaussian window, by default every frame of a clip alike."""

def get_property(
    input: _Data, /, *, key: str, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Give a property of every sample, as the bytes of a text (1-D uint8)."""

def grid_mask(
    frames: _Data, /, *, tile: int | _Values = 100, ratio: float | _Values = 0.5, angle: float | _Values = 0.0,
    shift_x: float | _Values = 0.0, shift_y: float | _Values = 0.0, device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make squares of frames black that repeat along two directions; the same ones in a whole clip."""

def hsv(
    frames: _Data, /, *, hue: float | _Values = 0.0, saturation: float | _Values = 1.0, value: float | _Values = 1.0,
    dtype: Any = ..., device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Change hue, saturation and value of RGB pixels, by default of every frame of a clip alike."""

def hue(
    frames: _Data, /, *, hue: float | _Values = 0.0, image_type: Any = ..., dtype: Any = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Turn the hue of RGB pixels, by default of every frame of a clip alike."""

@_deprecated("use fn.decoders.image")
def image_decoder(
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
def image_decoder_crop(
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
def image_decoder_random_crop(
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
def image_decoder_slice(
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

def jitter(
    frames: _Data, /, *, nDegree: int = 2, mask: int | _Values = 1, fill_value: float = 0.0, interp_type: Any = ...,
    seed: int | None = None, device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Move every pixel by a random whole number of pixels, in all frames of a clip alike."""

def jpeg_compression_distortion(
    frames: _Data, /, *, quality: int | _Values = 50, device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give RGB pictures the artefacts of a JPEG: each is encoded (4:2:0) and decoded again."""

def laplacian(
    frames: _Data, /, *, window_size: _Ints | _Values = ..., smoothing_size: _Ints | _Values | None = None,
    scale: _Floats | _Values = ..., normalized_kernel: bool | int = False, dtype: Any = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """The sum of the second derivatives along each axis, by default of every frame alike."""

def lookup_table(
    data: _Data, /, *, keys: _Ints = ..., values: _Floats = ..., default_value: float = 0.0, dtype: Any = ...,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give for each integer the value that a table has for it."""

def median_blur(
    frames: _Data, /, *, window_size: _Ints | _Values = ..., device: str | None = None, name: str | None = None,
    layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Replace each value by the median of a window around it; the outermost values are repeated."""

def mel_filter_bank(
    spectra: _Data, /, *, nfilter: int = 128, sample_rate: float = 44100.0, freq_low: float = 0.0,
    freq_high: float = 0.0, mel_formula: str = 'slaney', normalize: bool | int = True, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Sum frequencies up by triangular filters that are evenly apart on a mel scale."""

def mfcc(
    spectra: _Data, /, *, n_mfcc: int = 20, dct_type: int = 2, normalize: bool | int = False, axis: int = 0,
    lifter: float = 0.0, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Compute mel frequency cepstral coefficients: a cosine transform of a mel spectrogram."""

def multi_paste(
    *frames: _Data, in_ids: _Ints | _Values | None = None, output_size: _Ints | _Values | None = None,
    in_anchors: Any = None, in_anchors_rel: Any = None, shapes: Any = None, shapes_rel: Any = None,
    out_anchors: Any = None, out_anchors_rel: Any = None, dtype: Any = None, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Paste regions of frames on a black canvas, one after the other."""

@_deprecated("use fn.readers.mxnet")
def mxnet_reader(
    *, path: Any, index_path: Any, random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read images and labels of RecordIO files, in the order of their places in the file."""

@_deprecated("use fn.readers.nemo_asr")
def nemo_asr_reader(
    *, manifest_filepaths: Any, read_sample_rate: bool | int = True, read_text: bool | int = True,
    read_idxs: bool | int = False, dtype: Any = ..., downmix: bool | int = True, sample_rate: float = -1.0,
    quality: float = 50.0, min_duration: float = 0.0, max_duration: float = 0.0, random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read sounds and their texts, as manifests of NVIDIA NeMo list them."""

def nonsilent_region(
    signal: _Data, /, *, cutoff_db: float = -60.0, window_length: int = 2048, reference_power: float = 0.0,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...,
    reset_interval: Any = ...
) -> Any:
    """Find the part of a signal between leading and trailing silence."""

@_deprecated("use fn.random.normal")
def normal_distribution(
    shape_like: _Data = ..., /, *, mean: float | _Values = 0.0, stddev: float | _Values = 1.0,
    shape: _Ints | _Values | None = None, dtype: Any = ..., seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw numbers of a normal distribution."""

def normalize(
    data: _Data, /, *, axes: _Ints | None = None, axis_names: str | None = None, batch: bool | int = False,
    mean: Any = None, stddev: Any = None, ddof: int = 0, epsilon: float = 0.0, scale: float = 1.0, shift: float = 0.0,
    dtype: Any = ..., device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Take the mean off and divide by the standard deviation."""

def numba_function(
    *inputs: _Data, run_fn: Any, out_types: Any, in_types: Any, outs_ndim: _Ints, ins_ndim: _Ints, setup_fn: Any = None,
    batch_processing: bool | int = False, device: str | None = None, name: str | None = None, blocks: Any = ...,
    bytes_per_sample_hint: Any = ..., preserve: Any = ..., threads_per_block: Any = ...
) -> Any:
    """Run a function that Numba compiles, on the CPU: it fills arrays that it is given."""

@_deprecated("use fn.readers.numpy")
def numpy_reader(
    *, file_root: _Path | None = None, file_list: _Path | None = None, files: Any = None, file_filter: str = '*.npy',
    roi_start: _Ints | None = None, roi_end: _Ints | None = None, roi_shape: _Ints | None = None,
    rel_roi_start: _Floats | None = None, rel_roi_end: _Floats | None = None, rel_roi_shape: _Floats | None = None,
    roi_axes: _Ints = ..., out_of_bounds_policy: str = 'error', fill_value: float = 0.0,
    random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    cache_header_information: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., register_buffers: Any = ...,
    skip_cached_images: Any = ..., tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read arrays of NPY files."""

def one_hot(
    data: _Data, /, *, num_classes: int = 0, axis: int | None = None, axis_name: str | None = None, dtype: Any = ...,
    on_value: float = 1.0, off_value: float = 0.0, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Mark the class that each number stands for along a new dimension."""

def ones(
    *, shape: _Ints | _Values = ..., dtype: Any = ..., layout: str = '', device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples of ones."""

def ones_like(
    data_like: _Data, /, *, dtype: Any = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples of ones with the shapes, element type and layout of the input."""

def optical_flow(
    frames: _Data, hints: _Data = ..., /, *, preset: float = 0.0, output_grid: int = 4, hint_grid: int = 4,
    enable_temporal_hints: bool | int = False, enable_external_hints: bool | int = False, image_type: Any = ...,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Estimate how the picture moves from each frame of a clip to the next, by OpenCV's DIS."""

def pad(
    data: _Data, /, *, axes: _Ints | _Values | None = None, axis_names: str | None = None,
    align: _Ints | _Values | None = None, shape: _Ints | _Values | None = None, fill_value: float | _Values = 0.0,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Fill samples up at their ends, by default to the size of the largest one of the batch."""

def paste(
    frames: _Data, /, *, ratio: float | _Values, fill_value: _Floats, paste_x: float | _Values = 0.5,
    paste_y: float | _Values = 0.5, min_canvas_size: float | _Values = 0.0, n_channels: int = 3,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Put frames on a canvas of one color, every frame of a clip at the same place."""

def peek_image_shape(
    encoded: _Data, /, *, dtype: Any = ..., adjust_orientation: bool | int = True, image_type: Any = ...,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """(height, width, channels) that images will have when they are decoded, by their headers."""

def per_frame(
    values: _Data, /, *, replace: bool | int = False, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Say that the first dimension of samples counts frames."""

def permute_batch(
    data: _Data, /, *, indices: int | _Values, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Put the samples of a batch into another order; some may come twice and others not at all."""

def power_spectrum(
    signal: _Data, /, *, axis: int = -1, nfft: int | None = None, power: int = 2, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Compute the power of each frequency of a signal: `nfft // 2 + 1` of them."""

def preemphasis_filter(
    signal: _Data, /, *, preemph_coeff: float | _Values = 0.97, border: str = 'clamp', dtype: Any = ...,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Subtract from every value of a signal a share of the value before it."""

def python_function(
    *inputs: _Data, function: Any, num_outputs: int = 1, batch_processing: bool | int = False,
    output_layouts: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Call a Python function on NumPy arrays, on a GPU on CuPy arrays."""

def random_bbox_crop(
    boxes: _Data, labels: _Data = ..., /, *, thresholds: _Floats = ..., threshold_type: str = 'iou',
    all_boxes_above_threshold: bool | int = True, allow_no_crop: bool | int = True, scaling: _Floats = ...,
    aspect_ratio: _Floats = ..., crop_shape: _Ints | _Values | None = None, input_shape: _Ints | _Values | None = None,
    shape_layout: str | None = None, bbox_layout: str | None = None, ltrb: bool | int = True,
    bbox_prune_threshold: float | None = None, num_attempts: int = 1, total_num_attempts: int = -1,
    output_bbox_indices: bool | int = False, quiet: bool | int = False, seed: int | None = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw a window that keeps boxes, and move the boxes into it."""

def random_crop_generator(
    shapes: _Data, /, *, random_area: _Floats = ..., random_aspect_ratio: _Floats = ..., num_attempts: int = 10,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Draw a window of images of these shapes: its anchor (y, x) and its shape (height, width)."""

def random_resized_crop(
    frames: _Data, /, *, size: _Ints | _Values, random_area: _Floats = ..., random_aspect_ratio: _Floats = ...,
    num_attempts: int = 10, interp_type: Any = ..., mag_filter: Any = None, min_filter: Any = None,
    antialias: bool | int = True, dtype: Any = None, seed: int | None = None, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., minibatch_size: Any = ...,
    preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """Resize a random part of frames, the same one of every frame of a clip."""

def reinterpret(
    data: _Data, /, shape: _Ints | _Values | None = None, *, rel_shape: _Floats | _Values | None = None,
    src_dims: _Ints | _Values | None = None, layout: str | None = None, dtype: Any = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Take the bytes of samples for elements of another type."""

def reshape(
    data: _Data, /, shape: _Ints | _Values | None = None, *, rel_shape: _Floats | _Values | None = None,
    src_dims: _Ints | _Values | None = None, layout: str | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give samples another shape, another layout, or both."""

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

def resize_crop_mirror(
    frames: _Data, /, *, resize_x: float | _Values | None = None, resize_y: float | _Values | None = None,
    resize_z: float | _Values | None = None, size: _Floats | _Values | None = None,
    resize_shorter: float | _Values | None = None, resize_longer: float | _Values | None = None, mode: str = 'default',
    max_size: _Floats | None = None, subpixel_scale: bool | int = True, roi_start: _Floats | _Values | None = None,
    roi_end: _Floats | _Values | None = None, roi_relative: bool | int = False, interp_type: Any = ...,
    mag_filter: Any = None, min_filter: Any = None, antialias: bool | int = True, dtype: Any = None,
    crop: _Floats | _Values | None = None, crop_d: float | _Values | None = None, crop_h: float | _Values | None = None,
    crop_w: float | _Values | None = None, crop_pos_x: float | _Values = 0.5, crop_pos_y: float | _Values = 0.5,
    crop_pos_z: float | _Values = 0.5, rounding: str = 'round', mirror: int | _Values = 0, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., minibatch_size: Any = ...,
    preserve: Any = ..., temp_buffer_hint: Any = ...
) -> Any:
    """Resize, crop and mirror frames in one go: only pixels inside the window are computed."""

def roi_random_crop(
    shape_like: _Data = ..., /, *, crop_shape: _Ints | _Values, roi_start: _Ints | _Values,
    roi_end: _Ints | _Values | None = None, roi_shape: _Ints | _Values | None = None,
    in_shape: _Ints | _Values | None = None, seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw where a window of a given shape begins, with as much of a region in it as it can hold."""

def rotate(
    frames: _Data, /, *, angle: float | _Values, axis: _Floats | _Values | None = None, keep_size: bool | int = False,
    size: _Floats | _Values | None = None, fill_value: float | None = None, interp_type: Any = ..., dtype: Any = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Rotate frames about their centre, every frame of a clip alike by default."""

def saturation(
    frames: _Data, /, *, saturation: float | _Values = 1.0, image_type: Any = ..., dtype: Any = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Scale the saturation of RGB pixels, by default of every frame of a clip alike."""

@_deprecated("use fn.readers.sequence")
def sequence_reader(
    *, file_root: _Path, sequence_length: int, step: int = 1, stride: int = 1, image_type: Any = ...,
    random_shuffle: bool | int = False, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read clips of videos whose frames are picture files."""

def sequence_rearrange(
    data: _Data, /, *, new_order: _Ints | _Values, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Put the frames of each sample into another order."""

@_deprecated("use DataNode.shape")
def shapes(
    input: _Data, /, *, dtype: Any = ..., device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Give the sizes of every sample, as a 1-D tensor; `DataNode.shape()` is the same."""

def slice(
    data: _Data, /, anchor: Any = None, shape_input: Any = None, *, start: _Ints | _Values | None = None,
    rel_start: _Floats | _Values | None = None, end: _Ints | _Values | None = None,
    rel_end: _Floats | _Values | None = None, shape: _Ints | _Values | None = None,
    rel_shape: _Floats | _Values | None = None, axes: _Ints | _Values | None = None, axis_names: str | None = None,
    normalized_anchor: bool | int = True, normalized_shape: bool | int = True, out_of_bounds_policy: str = 'error',
    fill_values: _Floats = ..., dtype: Any = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Take a part of every sample, given by start and end or by start and size."""

def spectrogram(
    signal: _Data, /, *, nfft: int | None = None, window_length: int = 512, window_step: int = 256,
    window_fn: _Floats = ..., power: int = 2, center_windows: bool | int = True, reflect_padding: bool | int = True,
    layout: str = 'ft', device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Compute the power of each frequency in windows of a signal of one channel."""

def sphere(
    frames: _Data, /, *, mask: int | _Values = 1, fill_value: float = 0.0, interp_type: Any = ...,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Show frames as if they lay on a sphere: magnified in the middle."""

def squeeze(
    data: _Data, /, *, axes: _Ints | _Values | None = None, axis_names: str | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Drop dimensions of size 1."""

@_deprecated("use fn.random_bbox_crop")
def ssd_random_crop(
    frames: _Data, boxes: _Data, labels: _Data, /, *, num_attempts: int = 1, seed: int | None = None,
    device: str | None = None, name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Cut a window out of frames as the single-shot detector of boxes (SSD) is trained."""

def stack(
    *data: _Data, axis: int = 0, axis_name: str | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Join inputs of one shape along a new dimension."""

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

@_deprecated("use fn.readers.tfrecord")
def tfrecord_reader(
    *, path: Any, index_path: Any = ..., features: Any, random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read features of the `Example` records of TFRecord files."""

def to_decibels(
    magnitudes: _Data, /, *, multiplier: float = 10.0, reference: float = 0.0, cutoff_db: float = -200.0,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Convert magnitudes to decibels: multiplier * log10(in / reference)."""

def torch_python_function(
    *inputs: _Data, function: Any, num_outputs: int = 1, batch_processing: bool | int = False,
    output_layouts: Any = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Call a Python function on PyTorch tensors; see `python_function`."""

@_deprecated("use fn.transforms.translation")
def transform_translation(
    mt: Any = None, *, offset: _Floats | _Values, reverse_order: bool | int = False, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Move points."""

def transpose(
    data: _Data, /, *, perm: _Ints | None = None, transpose_layout: bool | int = True, output_layout: str | None = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Put the dimensions of samples into another order. The output shares the input's memory."""

@_deprecated("use fn.random.uniform")
def uniform(
    shape_like: _Data = ..., /, *, range: _Floats | _Values | None = None, values: _Floats | _Values | None = None,
    shape: _Ints | _Values | None = None, dtype: Any = ..., seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw numbers from a range, each equally likely, or from a list of values."""

@_deprecated("use fn.readers.video")
def video_reader(
    *, filenames: Any = None, dataset: Any = None, index: Any = None, filter: Any = None, labels: Any = None,
    classes: Any = None, file_root: _Path | None = None, file_list: _Path | None = None,
    file_list_format: str = 'timestamps', file_list_rounding: str = 'start_down_end_up',
    file_list_include_end: bool | int = False, file_list_frame_num: bool | int | None = None,
    file_list_include_preceding_frame: bool | int | None = None, sequence_length: int | None = None, stride: int = 1,
    step: int = -1, fps: float | None = None, clips_per_video: int | None = None, clips_per_decode: int = 1,
    shuffle_buffer: int | None = None, weights: Any = None, balanced: bool | int = False,
    uniform_sample: bool | int = False, sampler: Any = None, pad_mode: str = 'none', pad_sequences: bool | int = False,
    fill_value: _Ints = ..., resolution_change: str = 'error', matrix: str = 'auto', color_range: str = 'auto',
    chroma: str = 'centered', tone_map: str = 'none', output: str = 'rgb', snap: str = 'none',
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto', dtype: Any = ...,
    normalized: bool | int = False, channels: int = 3, image_type: Any = ..., enable_frame_num: str = 'none',
    enable_timestamps: bool | int = False, enable_audio: bool | int = False, audio_sample_rate: int | None = None,
    audio_channels: int | None = None, random_shuffle: bool | int = False, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, max_errors: Any = None, error_log: _Path | None = None, skip_known: Any = None,
    cache: _Path | None = None, cache_size: Any = '50GB', seed: int | None = None, device: str | None = None,
    name: str | None = None, additional_decode_surfaces: Any = ..., bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., skip_vfr_check: Any = ...,
    tensor_init_bytes: Any = ...
) -> Any:
    """Read clips of videos."""

@_deprecated("use fn.readers.video_resize")
def video_reader_resize(
    *, filenames: Any = None, dataset: Any = None, index: Any = None, filter: Any = None, labels: Any = None,
    classes: Any = None, file_root: _Path | None = None, file_list: _Path | None = None,
    file_list_format: str = 'timestamps', file_list_rounding: str = 'start_down_end_up',
    file_list_include_end: bool | int = False, file_list_frame_num: bool | int | None = None,
    file_list_include_preceding_frame: bool | int | None = None, sequence_length: int | None = None, stride: int = 1,
    step: int = -1, fps: float | None = None, clips_per_video: int | None = None, clips_per_decode: int = 1,
    shuffle_buffer: int | None = None, weights: Any = None, balanced: bool | int = False,
    uniform_sample: bool | int = False, sampler: Any = None, pad_mode: str = 'none', pad_sequences: bool | int = False,
    fill_value: _Ints = ..., resolution_change: str = 'error', matrix: str = 'auto', color_range: str = 'auto',
    chroma: str = 'centered', tone_map: str = 'none', output: str = 'rgb', snap: str = 'none',
    max_pixels: int = 134217728, time_limit: Any = 60.0, memory_limit: Any = 'auto', normalized: bool | int = False,
    channels: int = 3, image_type: Any = ..., enable_frame_num: str = 'none', enable_timestamps: bool | int = False,
    enable_audio: bool | int = False, audio_sample_rate: int | None = None, audio_channels: int | None = None,
    random_shuffle: bool | int = False, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    max_errors: Any = None, error_log: _Path | None = None, skip_known: Any = None, cache: _Path | None = None,
    cache_size: Any = '50GB', seed: int | None = None, resize_x: float | _Values | None = None,
    resize_y: float | _Values | None = None, resize_z: float | _Values | None = None,
    size: _Floats | _Values | None = None, resize_shorter: float | _Values | None = None,
    resize_longer: float | _Values | None = None, mode: str = 'default', max_size: _Floats | None = None,
    subpixel_scale: bool | int = True, roi_start: _Floats | _Values | None = None,
    roi_end: _Floats | _Values | None = None, roi_relative: bool | int = False, interp_type: Any = ...,
    mag_filter: Any = None, min_filter: Any = None, antialias: bool | int = True, dtype: Any = None,
    device: str | None = None, name: str | None = None, additional_decode_surfaces: Any = ...,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    minibatch_size: Any = ..., prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ...,
    skip_cached_images: Any = ..., skip_vfr_check: Any = ..., temp_buffer_hint: Any = ..., tensor_init_bytes: Any = ...
) -> Any:
    """Read clips of videos, and resize them: `fn.readers.video` with `fn.resize` on its clips."""

def warp_affine(
    frames: _Data, /, matrix: Any, *, inverse_map: bool | int = True, size: _Floats | _Values | None = None,
    fill_value: float | None = None, interp_type: Any = ..., dtype: Any = None, device: str | None = None,
    name: str | None = None, layout: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """See frames through an affine transform, every frame of a clip alike by default."""

def water(
    frames: _Data, /, *, ampl_x: float = 10.0, ampl_y: float = 10.0, freq_x: float = 0.049087, freq_y: float = 0.049087,
    phase_x: float = 0.0, phase_y: float = 0.0, mask: int | _Values = 1, fill_value: float = 0.0,
    interp_type: Any = ..., device: str | None = None, name: str | None = None, layout: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Show frames as if they lay under water, every frame of a clip alike."""

def zeros(
    *, shape: _Ints | _Values = ..., dtype: Any = ..., layout: str = '', device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples of zeros."""

def zeros_like(
    data_like: _Data, /, *, dtype: Any = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Make samples of zeros with the shapes, element type and layout of the input."""
