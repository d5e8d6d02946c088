"""The arguments of `fn.readers.video`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import torch

from videoloader.dali.operators.arguments import (
    ANY,
    BOOL,
    DOUBLE,
    DTYPE,
    INT,
    PATH,
    TEXT,
    Argument,
    Kind,
)
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.readers.files.listing import PATHS
from videoloader.dali.readers.ranks import shard_arguments
from videoloader.dali.readers.video.file_list import ROUNDINGS
from videoloader.dali.readers.video.shared_arguments import (
    COLOR,
    DECODING,
    FILL,
    FRAME_NUM,
    PAD,
    TIMESTAMPS,
)
from videoloader.decoding.clip_cache import DEFAULT_CACHE
from videoloader.decoding.options import OnError
from videoloader.training.labels.label_column import LabelColumn


def _labels(value: Any) -> Any:
    if isinstance(value, Mapping | LabelColumn) or callable(value):
        return value
    if isinstance(value, str | bytes):
        raise TypeError
    # Tensors and series have their elements as Python's.
    return tuple(value.tolist() if hasattr(value, "tolist") else value)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError
    return tuple(value)


def _weights(value: Any) -> Any:
    if isinstance(value, Mapping) or callable(value):
        return value
    return tuple(map(float, value))


ARGUMENTS = (
    Argument("filenames", PATHS, None, "the files: paths, URLs or `Item`s"),
    Argument(
        "dataset",
        ANY,
        None,
        "a data set index or its path (`.parquet`), or else what `ClipDataset` takes: a "
        "folder, glob, text list, tar archive or URL, a list of them and of `Item`s, or `Segments`",
    ),
    Argument("index", ANY, None, "a data set index or its path; the same as `dataset`"),
    Argument(
        "filter",
        ANY,
        None,
        "which videos of a data set index: a mapping of limits by name, or an expression of "
        "pyarrow; see `Videos.filter`",
    ),
    Argument(
        "labels",
        Kind("list, mapping, LabelColumn or function", _labels),
        None,
        "of `filenames`, `dataset` or `index`: one for each, an integer, a float, a vector of "
        "numbers or a text, which is a class; or by key a mapping, a `LabelColumn` or a function; "
        "an empty list numbers them",
    ),
    Argument(
        "classes",
        Kind("list of str", _texts),
        None,
        "names of the classes in the order of their numbers, where labels are texts, or of the "
        "folders of `file_root`; by default those that there are, in alphabetical order",
    ),
    Argument("file_root", PATH, None, "a folder of folders; each is a class"),
    Argument("file_list", PATH, None, "lines of `path label [start [end]]`"),
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
        "file_list_include_end", BOOL, default=False, doc="whether the end frame is in the range"
    ),
    Argument(
        "file_list_frame_num",
        BOOL,
        None,
        "start and end are frame numbers, start is rounded up, end down and not in the range; "
        "DALI's older form of `file_list_format`",
    ),
    Argument(
        "file_list_include_preceding_frame",
        BOOL,
        None,
        "round a start time down and an end time up, or with False the other way; the end "
        "frame is not in the range; DALI's older form of `file_list_rounding`",
    ),
    Argument("sequence_length", INT, None, "frames in a clip", least=1),
    Argument("stride", INT, 1, "from frame to frame; negative plays backwards"),
    Argument(
        "step",
        INT,
        -1,
        "frames from clip to clip; -1: `sequence_length * stride`, and with `fps` end to end",
    ),
    Argument(
        "fps",
        DOUBLE,
        None,
        "frames of a clip in a second, in place of `stride`: the frames nearest to times "
        "1 / fps apart, by presentation times",
    ),
    Argument(
        "clips_per_video",
        INT,
        None,
        "clips of each video in an epoch, at random places, in place of `step`; with `sampler` "
        "how often it draws from each",
        least=1,
    ),
    Argument(
        "clips_per_decode",
        INT,
        1,
        "neighbouring clips of a video that are decoded together and given out over several "
        "batches; needs memory for `shuffle_buffer` clips",
        least=1,
    ),
    Argument(
        "shuffle_buffer",
        INT,
        None,
        "clips among which those of `clips_per_decode` are spread; 16 times as many by default",
        least=1,
    ),
    Argument(
        "weights",
        Kind("list of float, mapping or function", _weights),
        None,
        "how often clips are drawn: a number for each video, which its clips share, or for "
        "each row of the index; or by key a mapping or function. Needs and implies a random "
        "order",
    ),
    Argument(
        "balanced",
        BOOL,
        default=False,
        doc="draw clips of every label as often; implies a random order",
    ),
    Argument(
        "uniform_sample",
        BOOL,
        default=False,
        doc="one clip a file, its frames spread over the file",
    ),
    Argument(
        "sampler",
        ANY,
        None,
        "any clip sampler, in place of the arguments above; each clip that `DenseClips` or "
        "`EvenClips` takes of a video is a sample",
    ),
    PAD("none"),
    Argument(
        "pad_sequences",
        BOOL,
        default=False,
        doc='end a video with a clip that is filled up; as `pad_mode="constant"`',
    ),
    FILL,
    *DECODING,
    Argument(
        "dtype",
        DTYPE,
        torch.uint8,
        "uint8, or float32: 0 to 255 without the rounding to uint8",
        choices=(torch.uint8, torch.float32),
    ),
    Argument("normalized", BOOL, default=False, doc="float32 from 0 to 1"),
    Argument("channels", INT, 3, 'of RGB; for one see `output="gray"`', choices=(3,)),
    COLOR("image_type"),
    FRAME_NUM,
    TIMESTAMPS,
    Argument(
        "enable_audio",
        BOOL,
        default=False,
        doc="two outputs with the sound of the clip and its rate",
    ),
    Argument("audio_sample_rate", INT, None, "samples a second to resample the sound to", least=1),
    Argument("audio_channels", INT, None, "channels to mix the sound to; 1 is mono", least=1),
    Argument(
        "random_shuffle", BOOL, default=False, doc="a new permutation of all clips every epoch"
    ),
    *shard_arguments("clip"),
    Argument(
        "on_error",
        TEXT,
        None,
        "what to do with a file or clip that fails: `raise`; `replace` it by the next clip; "
        "`skip` it, so that the batch has fewer samples, but one at least; `mask`: fill the "
        "frames with `fill_value`, their numbers and times are -1. By default what the "
        "pipeline says, or `raise`",
        choices=get_args(OnError),
    ),
    Argument(
        "max_errors",
        ANY,
        None,
        "failures from which on the run ends: a number, or a share of the clips (float)",
    ),
    Argument(
        "error_log",
        PATH,
        None,
        "a file to which failures are appended as lines of JSON",
        writes=True,
    ),
    Argument(
        "skip_known",
        ANY,
        None,
        "what `videoloader check` wrote, or an `error_log`, or a list of such files: what they "
        "name is left out and not opened, of clips end to end only those with damaged frames",
    ),
    Argument(
        "cache",
        PATH,
        None,
        "a folder in which decoded clips are kept, for epochs and runs that want the very same "
        "clips again, as of `Loader`",
        writes=True,
    ),
    Argument(
        "cache_size",
        ANY,
        DEFAULT_CACHE["cache_size"],
        "bytes that the clips in the folder may take, or such as `50GB`",
    ),
    SEED,
)
