"""`fn.readers.video`, `fn.readers.video_resize`: videos in, batches of clips out, for ever."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import torch

from videoloader.dali.operators.batch_source import SourceContext
from videoloader.dali.operators.geometry.resize import RESIZE
from videoloader.dali.operators.operator import OPERATORS, Part, declare
from videoloader.dali.readers.ranks import find_order
from videoloader.dali.readers.video.arguments import ARGUMENTS
from videoloader.dali.readers.video.clip_decoding import cache_of
from videoloader.dali.readers.video.clip_reader import ClipReader
from videoloader.dali.readers.video.clips import Clips, clip_rule
from videoloader.dali.readers.video.file_list import (
    Entry,
    EntryScopes,
    FrameRange,
    list_folders,
    read_file_list,
)
from videoloader.dali.readers.video.scopes import Scopes
from videoloader.dali.readers.video.shared_arguments import DECODING, check_color
from videoloader.dali.types import ImageType
from videoloader.decoding.failures import Failures
from videoloader.errors import ArgumentError
from videoloader.sampling import DenseClips
from videoloader.sampling.orders.weighted import WeightedDraws, balanced_weights
from videoloader.sources.items import Item
from videoloader.training.epoch_samples import find_weights
from videoloader.training.known_bad import read_known
from videoloader.training.labels.label_column import find_labels
from videoloader.training.labels.label_values import as_labels
from videoloader.training.segments.segments import sample_videos
from videoloader.training.sources import ListedVideos, SampleVideos, filtered

_RULE = (
    *("sequence_length", "stride", "step", "uniform_sample", "sampler", "pad_mode"),
    *("fps", "clips_per_video"),
)
_SOURCES = ("filenames", "file_root", "file_list", "dataset", "index")
_LIMITS = ("file_list_frame_num", "file_list_include_preceding_frame")
_WINDOW_GROUPS = 16  # groups of clips in a window of the order by default


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    ways = [name for name in _SOURCES if name in given]
    if len(ways) != 1:
        raise ArgumentError(
            f"fn.readers.video needs one of {', '.join(_SOURCES)}, "
            f"got {' and '.join(ways) or 'none'}"
        )
    labels, files = arguments.get("labels"), arguments.get("filenames")
    if "classes" in given and labels is None and ways[0] != "file_root":
        raise ArgumentError("fn.readers.video: classes goes with labels or file_root")
    if labels is not None and ways[0] in ("file_root", "file_list"):
        raise ArgumentError(f"fn.readers.video: {ways[0]} has labels of its own, leave labels out")
    if files is not None and labels and isinstance(labels, tuple) and len(labels) != len(files):
        raise ArgumentError(f"fn.readers.video: {len(labels)} labels for {len(files)} filenames")
    if files is not None and not files:
        raise ArgumentError("fn.readers.video: filenames is empty")
    if arguments.get("stride") == 0:
        raise ArgumentError("fn.readers.video: stride must not be 0")
    if "filter" in given and ways[0] not in ("dataset", "index"):
        raise ArgumentError("fn.readers.video: filter goes with a data set index")
    if "weights" in given and arguments.get("balanced"):
        raise ArgumentError("fn.readers.video: give weights or balanced, not both")
    limits = [name for name in _LIMITS if arguments.get(name) is not None]
    if limits and {"file_list_format", "file_list_rounding", "file_list_include_end"} & {*given}:
        raise ArgumentError(
            f"fn.readers.video: {limits[0]} is DALI's older form of file_list_format, "
            "file_list_rounding and file_list_include_end: give one or the other"
        )
    if arguments.get("normalized") and "dtype" in given and arguments["dtype"] is torch.uint8:
        raise ArgumentError("fn.readers.video: normalized gives float32, not the dtype uint8")
    if arguments.get("pad_sequences") and "pad_mode" in given:
        raise ArgumentError('fn.readers.video: pad_sequences is pad_mode="constant", give one')
    check_color("readers.video", "image_type", arguments)
    is_wide = arguments.get("dtype") is torch.float32 and not arguments.get("normalized")
    if is_wide and arguments["image_type"] is ImageType.YCbCr:
        raise ArgumentError(
            "fn.readers.video: image_type=YCbCr goes with uint8 or normalized=True, not with "
            "dtype=float32, whose values are from 0 to 255"
        )
    cache_of(arguments)  # raises an ArgumentError
    together, window = arguments.get("clips_per_decode"), arguments.get("shuffle_buffer")
    if window is not None and (not together or window < together or together == 1):
        raise ArgumentError(
            "fn.readers.video: shuffle_buffer goes with clips_per_decode and holds at least that "
            f"many clips, got {window} for {together}"
        )


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    own = arguments["file_root"] is not None or arguments["file_list"] is not None
    labelled = own or arguments["labels"] is not None
    numbered = bool(arguments["enable_frame_num"] != "none")
    beside = bool(arguments["enable_timestamps"]) + 2 * bool(arguments["enable_audio"])
    return 1 + labelled + numbered + beside


@declare(
    "readers.video",
    kind="source",
    arguments=ARGUMENTS,
    num_outputs=_num_outputs,
    decoding=(
        *("fill_value", "image_type", "dtype", "normalized", "channels"),
        *("enable_audio", "audio_sample_rate", "audio_channels", "cache", "cache_size"),
        *(argument.name for argument in DECODING),
    ),
    color="image_type",
    check=_check,
    unused=(
        "additional_decode_surfaces",
        "dont_use_mmap",
        "initial_fill",
        "lazy_init",
        "prefetch_queue_depth",
        "read_ahead",
        "skip_cached_images",
        "skip_vfr_check",
        "tensor_init_bytes",
    ),
)
def read_video(context: SourceContext, **arguments: Any) -> ClipReader:
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
    (float64, seconds from the first frame of the file); with `enable_audio` the sound of the time
    span of the clip, float32 (samples, channels) on the CPU, and its rate in hertz, a float32
    scalar. A video without a soundtrack has no samples, and the rate 0. Sound outside the range of
    a file list is padded as the frames are, with silence for `edge` and `constant`.
    """
    if arguments["pad_sequences"]:
        arguments["pad_mode"] = "constant"
    sampler = clip_rule(**{name: arguments[name] for name in _RULE})
    known = read_known(arguments["skip_known"])
    scopes = _scopes(arguments).without(known, wholly=isinstance(sampler, DenseClips))
    failures = Failures(context.errors.with_arguments(arguments))
    clips = scopes.clips(
        sampler,
        backwards=arguments["stride"] < 0,
        num_threads=context.num_threads,
        failures=failures,
        clips_per_video=arguments["clips_per_video"] or 1,
        known=known,
    )
    if not len(clips):
        raise ArgumentError(
            f"fn.readers.video: none of the {len(scopes)} videos is long enough for {sampler}; "
            'pad_mode="edge" keeps short ones'
        )
    group = arguments["clips_per_decode"]
    order = find_order(
        context,
        arguments,
        len(clips),
        draws=_draws(scopes, clips, balanced=arguments["balanced"]),
        group=group,
        window=arguments["shuffle_buffer"] or _WINDOW_GROUPS * group,
    )
    return ClipReader(
        scopes,
        clips,
        order,
        arguments["pad_mode"],
        arguments["enable_frame_num"],
        arguments["enable_timestamps"],
        failures,
    )


READ_VIDEO = OPERATORS["readers.video"]

_UNUSED = {*READ_VIDEO.unused, *RESIZE.unused} - {"image_type"}
_RESIZING = tuple(each for each in RESIZE.arguments if each.name != "save_attrs")
_TAKEN = {argument.name for argument in _RESIZING}


def _with_resize(given: Mapping[str, Any], varying: Set[str]) -> tuple[Part, Part]:
    """The reader, and `fn.resize` on its clips."""
    given = {key: value for key, value in given.items() if key not in _UNUSED}
    later = {key: value for key, value in given.items() if RESIZE.declares(key)}
    own = {key: value for key, value in given.items() if key not in later}
    return (READ_VIDEO.name, own), (RESIZE.name, later)


@declare(
    "readers.video_resize",
    kind="source",
    arguments=(*(each for each in READ_VIDEO.arguments if each.name not in _TAKEN), *_RESIZING),
    num_outputs=READ_VIDEO.num_outputs,
    pair=_with_resize,
    unused=tuple(_UNUSED),
)
def read_video_resized(_: SourceContext, **arguments: Any) -> Any:
    """Read clips of videos, and resize them: `fn.readers.video` with `fn.resize` on its clips.

    It takes the arguments of both and becomes these two nodes; `name` is that of the reader. The
    decoder resizes by itself where it can, see `fn.resize`.
    """
    raise AssertionError("it runs as its parts")


def _draws(scopes: Scopes, clips: Clips, *, balanced: bool) -> WeightedDraws | None:
    """How clips are drawn; None for each of them once an epoch."""
    weights, counts = scopes.weights, clips.taken
    if weights is None:
        if not balanced:
            return None
        if scopes.labels is None:
            raise ArgumentError("fn.readers.video: balanced needs labels")
        weights = balanced_weights(scopes.labels.to_balance(), counts=counts)
    return WeightedDraws.of(weights, counts=counts)


def _scopes(arguments: Mapping[str, Any]) -> Scopes:
    """The videos that arguments name, with labels and weights."""
    scopes, weights = _named(arguments), arguments["weights"]
    return (
        scopes if weights is None else replace(scopes, weights=find_weights(weights, scopes.videos))
    )


def _named(arguments: Mapping[str, Any]) -> Scopes:
    """The videos that arguments name; videos in lists are not looked at."""
    if arguments["file_root"] is not None:
        entries = list_folders(arguments["file_root"], arguments["classes"])
        return _of_entries(entries, FrameRange())
    if arguments["file_list"] is not None:
        entries = read_file_list(arguments["file_list"], arguments["file_list_format"])
        return _of_entries(entries, _limits(arguments))
    given, labels = arguments["dataset"], arguments["labels"]
    given = arguments["index"] if given is None else given
    if arguments["filter"] is not None:
        given = filtered(given, arguments["filter"])
    videos: SampleVideos
    if given is None:
        given = arguments["filenames"]
        items = [place if isinstance(place, Item) else Item(place) for place in given]
        videos = ListedVideos([item.absolute() for item in items], {})
    else:
        videos = sample_videos(given, {})
    if labels is None:
        return Scopes(videos)
    if labels == ():
        labels = range(len(videos))
    found = find_labels(given, videos, labels, arguments["classes"])
    return Scopes(videos, found and found.in_32_bits(lambda number: videos.item(number).name))


def _limits(arguments: Mapping[str, Any]) -> FrameRange:
    """The unit and rounding of starts and ends in a file list."""
    by_number, wider = map(arguments.__getitem__, _LIMITS)
    if by_number is None and wider is None:
        return FrameRange(
            arguments["file_list_format"],
            arguments["file_list_rounding"],
            arguments["file_list_include_end"],
        )
    if by_number:
        return FrameRange("frames", "start_up_end_down", include_end=False)
    rounding = "start_down_end_up" if wider else "start_up_end_down"
    return FrameRange("timestamps", rounding, include_end=False)


def _of_entries(entries: Sequence[Entry], limits: FrameRange) -> Scopes:
    labels = as_labels([entry.label for entry in entries], lambda number: entries[number].where)
    ranges = {
        number: entry
        for number, entry in enumerate(entries)
        if entry.start is not None or entry.end is not None
    }
    items = [Item(entry.path).absolute() for entry in entries]
    videos = ListedVideos(items, {}, scopes=EntryScopes(ranges, limits))
    return Scopes(videos, labels.in_32_bits(lambda number: entries[number].where))
