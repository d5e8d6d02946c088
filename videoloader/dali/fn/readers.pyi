# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
from typing_extensions import deprecated as _deprecated

def caffe(
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

def caffe2(
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

def coco(
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

def file(
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

def mxnet(
    *, path: Any, index_path: Any, random_shuffle: bool | int = False, shuffle_after_epoch: bool | int = False,
    shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read images and labels of RecordIO files, in the order of their places in the file."""

def nemo_asr(
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

def numpy(
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

@_deprecated("use fn.readers.video on video files, or fn.external_source")
def sequence(
    *, file_root: _Path, sequence_length: int, step: int = 1, stride: int = 1, image_type: Any = ...,
    random_shuffle: bool | int = False, shard_id: int | None = None, num_shards: int | None = None,
    stick_to_shard: bool | int = False, pad_last_batch: bool | int = False, on_error: str | None = None,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ..., prefetch_queue_depth: Any = ...,
    preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ..., tensor_init_bytes: Any = ...,
    use_o_direct: Any = ...
) -> Any:
    """Read clips of videos whose frames are picture files."""

def tfrecord(
    *, path: Any, index_path: Any = ..., features: Any, random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read features of the `Example` records of TFRecord files."""

def video(
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

def video_resize(
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

def webdataset(
    *, paths: Any, ext: Any, index_paths: Any = ..., case_sensitive_extensions: bool | int = True,
    missing_component_behavior: str = 'empty', dtypes: Any = ..., random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read samples of tar archives."""
