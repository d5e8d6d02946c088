# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def fits(
    *, file_root: _Path | None = None, file_list: _Path | None = None, files: Any = None, file_filter: str = '*.fits',
    hdu_indices: _Ints = ..., dtypes: Any = None, random_shuffle: bool | int = False,
    shuffle_after_epoch: bool | int = False, shuffle_after_epoch_seed: int | None = None, shard_id: int | None = None,
    num_shards: int | None = None, stick_to_shard: bool | int = False, pad_last_batch: bool | int = False,
    on_error: str | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., dont_use_mmap: Any = ..., initial_fill: Any = ..., lazy_init: Any = ...,
    prefetch_queue_depth: Any = ..., preserve: Any = ..., read_ahead: Any = ..., skip_cached_images: Any = ...,
    tensor_init_bytes: Any = ..., use_o_direct: Any = ...
) -> Any:
    """Read images of FITS files."""

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
