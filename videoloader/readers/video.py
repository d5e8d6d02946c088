"""`fn.readers.video`: files in, batches of clips out, epoch after epoch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.operators.arguments import ANY, BOOL, IMAGE, INT, TEXT, Argument, Kind
from videoloader.operators.operator import SourceContext, declare
from videoloader.operators.random import SEED
from videoloader.readers import media
from videoloader.readers.clip_reader import ClipReader
from videoloader.readers.clips import Clips, Scope, clip_rule
from videoloader.readers.decoder import (
    COLOR_RANGE,
    FILL,
    FRAME_NUM,
    MATRIX,
    MAX_PIXELS,
    PAD,
    RESOLUTION,
    TIMESTAMPS,
)
from videoloader.readers.epochs import Epochs
from videoloader.readers.failures import Failures
from videoloader.readers.file_list import (
    ROUNDINGS,
    Entry,
    FrameRange,
    list_folders,
    read_file_list,
)
from videoloader.sources.address import shown
from videoloader.types import UINT8, ImageType

__all__ = ["read_video"]


_RULE = ("sequence_length", "stride", "step", "uniform_sample", "sampler", "pad_mode")


def _labels(value: Any) -> tuple[int, ...]:
    return tuple(map(int, value))


def _paths(value: Any) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        raise TypeError
    return tuple(map(str, value))


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    ways = [name for name in ("filenames", "file_root", "file_list") if name in given]
    if len(ways) != 1:
        raise ArgumentError(
            "fn.readers.video needs one of filenames, file_root and file_list, "
            f"got {' and '.join(ways) or 'none'}"
        )
    labels, files = arguments.get("labels"), arguments.get("filenames")
    if labels is not None and files is None:
        raise ArgumentError("fn.readers.video: labels go with filenames only")
    if labels and len(labels) != len(files or ()):
        raise ArgumentError(
            f"fn.readers.video: {len(labels)} labels for {len(files or ())} filenames"
        )
    if files is not None and not files:
        raise ArgumentError("fn.readers.video: filenames is empty")
    if arguments.get("stride") == 0:
        raise ArgumentError("fn.readers.video: stride must not be 0")


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    labelled = arguments["filenames"] is None or arguments["labels"] is not None
    numbered = bool(arguments["enable_frame_num"] != "none")
    return 1 + labelled + numbered + bool(arguments["enable_timestamps"])


@declare(
    "readers.video",
    kind="source",
    arguments=(
        Argument("filenames", Kind("list of paths", _paths), None, "the files"),
        Argument(
            "labels",
            Kind("list of int", _labels),
            None,
            "a label for each of `filenames`; an empty list numbers them",
        ),
        Argument("file_root", Kind("path", str), None, "a folder of folders; each is a class"),
        Argument("file_list", Kind("path", str), None, "lines of `path label [start [end]]`"),
        Argument(
            "file_list_format",
            TEXT,
            "timestamps",
            "unit of start and end: seconds from the first frame, or frame numbers",
            choices=("timestamps", "frames"),
        ),
        Argument(
            "file_list_rounding",
            TEXT,
            "start_down_end_up",
            "frame for a time between two",
            choices=tuple(ROUNDINGS),
        ),
        Argument(
            "file_list_include_end", BOOL, default=True, doc="whether the end frame is in the range"
        ),
        Argument("sequence_length", INT, None, "frames in a clip", least=1),
        Argument("stride", INT, 1, "from frame to frame; negative plays backwards"),
        Argument("step", INT, -1, "from clip to clip; -1: clips lie end to end"),
        Argument(
            "uniform_sample",
            BOOL,
            default=False,
            doc="one clip a file, its frames spread over the file",
        ),
        Argument("sampler", ANY, None, "any clip sampler, in place of the four above"),
        PAD("none"),
        FILL,
        RESOLUTION,
        MATRIX,
        COLOR_RANGE,
        MAX_PIXELS,
        Argument(
            "image_type",
            IMAGE,
            ImageType.RGB,
            "colour space; only RGB so far",
            choices=(ImageType.RGB,),
        ),
        FRAME_NUM,
        TIMESTAMPS,
        Argument(
            "random_shuffle", BOOL, default=False, doc="a new permutation of all clips every epoch"
        ),
        Argument("shard_id", INT, 0, "which part of the clips to read", least=0),
        Argument("num_shards", INT, 1, "number of parts", least=1),
        Argument("stick_to_shard", BOOL, default=False, doc="read the same part in every epoch"),
        Argument(
            "pad_last_batch", BOOL, default=False, doc="end an epoch with copies of its last clip"
        ),
        Argument(
            "on_error",
            TEXT,
            "raise",
            "what to do with a file or clip that fails: `raise`, or `replace` it by the next clip; "
            "`Pipeline.stats` lists what was replaced",
            choices=("raise", "replace"),
        ),
        SEED,
    ),
    num_outputs=_num_outputs,
    decoding=(
        "fill_value",
        "resolution_change",
        "image_type",
        "matrix",
        "color_range",
        "max_pixels",
    ),
    check=_check,
    absent={
        "channels": 3,
        "dtype": UINT8,
        "file_list_frame_num": False,
        "file_list_include_preceding_frame": False,
        "index": None,
        "normalized": False,
        "pad_sequences": False,
    },
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
    """Read clips of video files.

    Every file is indexed when the pipeline is built. With `pad_mode="none"` clips that do not fit
    are left out; with any other mode a file ends with one padded clip where frames remain, and
    padding never leaves the range of a file list. `random_shuffle` permutes all clips before they
    are divided into shards, so `initial_fill` is not needed and has no effect.

    Outputs: the clip, uint8 (F, H, W, C); then, where there are any, its label (int32), frame
    numbers (int32) and times (float64, seconds from the first frame of the file).
    """
    entries = _entries(arguments)
    limits = FrameRange(
        arguments["file_list_format"],
        arguments["file_list_rounding"],
        arguments["file_list_include_end"],
    )
    sampler = clip_rule(**{name: arguments[name] for name in _RULE})
    failures = Failures()
    tolerant = failures if arguments["on_error"] == "replace" else None
    scopes = _scopes(entries, limits, context.num_threads, tolerant)
    clips = Clips.of(scopes, sampler, backwards=arguments["stride"] < 0)
    if not len(clips):
        raise ArgumentError(
            f"fn.readers.video: none of the {len(entries)} files is long enough for {sampler}; "
            'pad_mode="edge" keeps short ones'
        )
    epochs = Epochs(
        len(clips),
        context.batch_size,
        arguments["num_shards"],
        arguments["shard_id"],
        arguments["stick_to_shard"],
        arguments["pad_last_batch"],
    )
    return ClipReader(
        clips,
        epochs,
        context.seed,
        context.stage,
        arguments["random_shuffle"],
        arguments["pad_mode"],
        arguments["enable_frame_num"],
        arguments["enable_timestamps"],
        tolerant is not None,
        failures,
    )


def _entries(arguments: Mapping[str, Any]) -> list[Entry]:
    if arguments["file_root"] is not None:
        return list_folders(arguments["file_root"])
    if arguments["file_list"] is not None:
        return read_file_list(arguments["file_list"], arguments["file_list_format"])
    files, labels = arguments["filenames"], arguments["labels"]
    if labels is None:
        return [Entry(path) for path in files]
    return [
        Entry(path, label) for path, label in zip(files, labels or range(len(files)), strict=True)
    ]


def _scopes(
    entries: Sequence[Entry],
    limits: FrameRange,
    num_threads: int,
    failures: Failures | None,
) -> list[Scope]:
    """Index each file once, several at a time; files that fail go to `failures` if there is one."""

    def index(path: str) -> media.Index | None:
        try:
            found = media.index_video(path)
            if found.num_frames == 0:
                raise FormatError(f"{shown(path)}: there is no frame in it")
            return found
        except VideoError as error:
            if failures is None:
                raise
            failures.add(path, str(error))
            return None

    paths = list(dict.fromkeys(entry.path for entry in entries))
    with ThreadPoolExecutor(num_threads, thread_name_prefix="videoloader-index") as pool:
        indexes = dict(zip(paths, pool.map(index, paths), strict=True))
    return [
        Scope(entry, found, *limits.resolve(entry, found))
        for entry in entries
        if (found := indexes[entry.path]) is not None
    ]
