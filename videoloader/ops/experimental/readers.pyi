# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Fits:
    """Read images of FITS files.

    Which files are read, and in which order, is as in `readers.numpy`. The shape is NAXISn, ...,
    NAXIS1: rows, then columns. Elements have the type of BITPIX, or by BSCALE and BZERO the one
    that CFITSIO chooses: int16 with BZERO=32768 is uint16, other integer scales give the smallest
    type that holds them, and others float32 (float64 of 32 and 64 bits). BLANK is not looked at.
    Images that are compressed in tiles need astropy (the extra `fits`).

    Outputs: the array of each HDU of `hdu_indices`. The primary HDU is 1, and often empty.

    Args:
        file_root: folder, or the folder that paths are relative to (path).
        file_list: text file that lists paths (path).
        files: paths, URLs or `Item`s of archives (path or list of paths).
        file_filter: pattern for names of files (str; default '*.fits').
        hdu_indices: HDUs, counted from 1, an output for each (int or list of int, at least 1;
            default (2,)).
        dtypes: one for each output; DALI counts them too, and takes the types of the file (element
            type or list of them).
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
        file_filter: str = '*.fits',
        hdu_indices: int | _Sequence[int] = ...,
        dtypes: Any = None,
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

class Video:
    """Read clips of videos.

    With a sampler of one clip a video (`uniform_sample`, `RandomClip`, ...) nothing is opened
    before it is decoded. Clips end to end need the lengths of all videos: those of a data set index
    stand in its table; other videos are indexed when the pipeline is built, in `num_threads`
    threads, and the last 64 MB of their indexes are kept. With `pad_mode="none"` clips that do not
    fit are left out; with any other mode a video ends with one padded clip where frames remain, and
    padding never leaves the range of a file list. `random_shuffle` permutes all clips before they
    are divided into shards, so `initial_fill` is not needed and has no effect.

    Outputs: the clip, (F, H, W, C) of `dtype`; then, where there are any, its label (int32 (1,) of
    integers and classes, float32 (1,) of floats, (K,) of vectors), frame numbers (int32) and times
    (float64, seconds from the first frame of the file).

    Args:
        filenames: the files: paths, URLs or `Item`s (path or list of paths).
        dataset: a data set index or its path (`.parquet`), or else what `ClipDataset` takes: a
            folder, glob, text list, tar archive or URL, or a list of them and of `Item`s (object).
        index: a data set index or its path; the same as `dataset` (object).
        filter: which videos of a data set index: a mapping of limits by name, or an expression of
            pyarrow; see `Videos.filter` (object).
        labels: of `filenames`, `dataset` or `index`: one for each, an integer, a float, a vector of
            numbers or a text, which is a class; or by key a mapping, a `LabelColumn` or a function;
            an empty list numbers them (list, mapping, LabelColumn or function).
        classes: names of the classes in the order of their numbers, where labels are texts, or of
            the folders of `file_root`; by default those that there are, in alphabetical order (list
            of str).
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
        classes: Any = None,
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
