# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Video:
    """Decode videos that are fed, sequence after sequence, one video after another.

    `Pipeline.feed_input(name, video)` takes the bytes of a file as a batch of one (or several), or
    paths, URLs and `Item`s. Each run gives the next `batch_size` sequences of `sequence_length`
    frames; the last batch of a video may be smaller, and the next video begins a batch. So a video
    of any length takes the memory of a few batches. A run without data is an error.

    Outputs: the sequence, uint8 (F, H, W, C); then, if they are asked for, frame numbers (int32, -1
    where filled) and times (float64, seconds from the first frame).

    Args:
        sequence_length: frames in a sequence (int, at least 1; required).
        last_sequence_policy: the last sequence of a video, where frames are missing: `partial` is
            shorter, `pad` is filled with `fill_value` (one of 'partial', 'pad'; default 'partial').
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
        blocking: let `run` wait until data was fed, by a thread (bool (0 or 1); default False).
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
        time_limit: seconds that a worker process may take for a run of packets, for some images or
            a sound (number of seconds over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: affine, no_copy.
    """

    def __init__(
        self,
        *,
        sequence_length: int = ...,
        last_sequence_policy: str = 'partial',
        fill_value: int | _Sequence[int] = ...,
        blocking: bool | int = False,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        output: str = 'rgb',
        snap: str = 'none',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        bytes_per_sample_hint: Any = ...,
        no_copy: Any = ...,
        preserve: Any = ...,
    ) -> None: ...
    def __call__(self, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
