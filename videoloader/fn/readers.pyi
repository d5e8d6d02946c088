# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

def caffe(
    *,
    path: Any,
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
) -> Any:
    """Read images and labels of Caffe's LMDB databases, in the order of their keys.

    Outputs: the bytes of the image (1-D uint8), and the label (int32, shape (1,), or (0,) where the
    database has none).

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

def caffe2(
    *,
    path: Any,
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
) -> Any:
    """Read images, labels and further tensors of Caffe2's LMDB databases, by the order of keys.

    Outputs: the bytes of the image (1-D uint8), the labels (int32, or float32 with weights), the
    additional tensors, the box.

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

def coco(
    *,
    file_root: str | _PathLike[str],
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
) -> Any:
    """Read images and what a COCO annotation file says of them.

    Images come in the order of their ids. With `images` only those come, in that order and as often
    as they are named; names that the annotations do not have are passed over. What
    `save_preprocessed_annotations` keeps has the choice of images, objects and labels made.

    Outputs: the bytes of the image (1-D uint8); boxes (float32, (N, 4)): left, top, width, height;
    labels (int32, (N,)). Then with `polygon_masks` polygons (int32, (P, 3)): object, first vertex,
    end vertex; and vertices (float32, (V, 2)): x, y. With `pixelwise_masks` the label of each pixel
    (int32, HWC, one channel), 0 without an object, the highest where objects overlap. With
    `image_ids` the id (int32, shape (1,)).

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

def file(
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
) -> Any:
    """Read whole files as they are, and give each its label.

    With `file_root` alone the files directly in its folders are read, in the order of their names;
    the label of a file is the position of its folder among those that match `dir_filters`. A line
    of `file_list` is a path and a label; paths are relative to `file_root`, or to the folder of the
    list. `files` are relative to `file_root` if there is one; labels are their positions, or
    `labels`. `random_shuffle` permutes all files before they are divided into shards, so
    `initial_fill` has no effect.

    Outputs: the bytes (1-D uint8), and the label (int32, shape (1,)).

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

def mxnet(
    *,
    path: Any,
    index_path: Any,
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
) -> Any:
    """Read images and labels of RecordIO files, in the order of their places in the file.

    Outputs: the bytes of the image (1-D uint8), and its labels (float32, shape (1,), or as many as
    the record has).

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

def nemo_asr(
    *,
    manifest_filepaths: Any,
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
) -> Any:
    """Read sounds and their texts, as manifests of NVIDIA NeMo list them.

    A line of a manifest is a JSON object: `audio_filepath`, and if you like `offset` and `duration`
    in seconds, and `text`. Paths are relative to the working directory, or else to the manifest;
    any file that `vl.Audio` reads will do. `min_duration` and `max_duration` look at the manifest:
    a sound without `duration` counts as 0 s.

    Outputs: the samples, (n,) or without `downmix` (n, channels); if asked for their rate (float32
    scalar), the text (1-D uint8, UTF-8), and the position among the sounds that are kept of the
    manifest (int64, shape (1,)).

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

def numpy(
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
) -> Any:
    """Read arrays of NPY files.

    With `file_root` alone the files in it, then those directly in its folders are read, in the
    order of their names. `file_list` has a path in each line; paths are relative to `file_root`, or
    to the folder of the list. Of a region only the rows between its first and its last are read.
    Parts of an extent are rounded to the nearest element, half away from zero. Regions by data
    nodes, one for each sample, are cut from whole arrays, by `fn.slice`.

    Output: the array, in C order; integers, floats and bool of either byte order.

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

@_deprecated("use fn.readers.video on video files, or fn.external_source")
def sequence(
    *,
    file_root: str | _PathLike[str],
    sequence_length: int,
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
) -> Any:
    """Read clips of videos whose frames are picture files.

    Each folder in `file_root` is a video, its files in the order of their names are the frames. A
    clip never crosses from one video to the next, and what does not fill one is left out.

    Output: the clip, uint8 (F, H, W, C).

    Deprecated: use fn.readers.video on video files, or fn.external_source.

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

def tfrecord(
    *,
    path: Any,
    index_path: Any = ...,
    features: Any,
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
) -> Any:
    """Read features of the `Example` records of TFRecord files.

    Returns a dict of data nodes by the names of the features. Strings are vectors of their bytes
    (uint8), numbers int64 or float32 in the shape of the feature; fewer values than the shape holds
    are filled up with the default. A record without the feature gives a scalar: the default.
    `shuffle_after_epoch` permutes the files and keeps the order in each.

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

def video(
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
) -> Any:
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

def video_resize(
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
) -> Any:
    """Read clips of videos, and resize them: `fn.readers.video` with `fn.resize` on its clips.

    It takes the arguments of both and becomes these two nodes; `name` is that of the reader. The
    decoder resizes by itself where it can, see `fn.resize`.

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

def webdataset(
    *,
    paths: Any,
    ext: Any,
    index_paths: Any = ...,
    case_sensitive_extensions: bool | int = True,
    missing_component_behavior: str = 'empty',
    dtypes: Any = ...,
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
) -> Any:
    """Read samples of tar archives.

    Consecutive members whose names are alike up to the first dot are a sample; what is behind that
    dot is the extension by which a member becomes an output, the first one of several. Archives
    without an index file are looked through when the pipeline is built. `shuffle_after_epoch`
    permutes the archives and keeps the order in each.

    Outputs: the bytes of a member for each of `ext`, 1-D, seen as elements of its `dtypes`.

    Args:
        paths: tar archives: paths or URLs (str or list of str; required).
        ext: for each output the extensions that it may have, such as "jpg;png" (str or list of str;
            required).
        index_paths: an index file for each archive, as `wds2idx` writes (str or list of str;
            default ()).
        case_sensitive_extensions: whether case matters there (bool (0 or 1); default True).
        missing_component_behavior: without a member for an output: `empty` gives an empty one,
            `skip` leaves the sample out, `error` fails when the pipeline is built (one of 'empty',
            'skip', 'error'; default 'empty').
        dtypes: of the outputs; uint8 by default (list of element types; default ()).
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
