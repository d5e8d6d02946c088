# Written by `python -m videoloader.ops.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

class Video:
    """Decode frames of a video: bytes of a whole file (1-D uint8), its path or URL, or an `Item`.

    Without a selection all frames. `frames` lists them; `start_frame`, `end_frame` and `stride`
    give ceil((end - start) / stride) of them; `start_frame`, `sequence_length` and `stride`
    exactly that many, or with `pad_mode="none"` those that exist. The output is uint8
    (F, H, W, C), then the frame numbers (int32, -1 for a filled frame) and the times (float64)
    if they were asked for.

    Inputs:
        encoded

    Args:
        frames: frame numbers, any order, repeats too (int or list of int; may be per sample).
        start_frame: first frame (int; may be per sample).
        end_frame: end, exclusive (int; may be per sample).
        stride: step; negative plays backwards (int; may be per sample).
        sequence_length: number of frames (int, at least 0; may be per sample).
        pad_mode: what stands outside the video (one of 'none', 'edge', 'repeat', 'constant',
            'reflect_1001', 'symmetric', 'reflect_101', 'reflect', 'wrap'; default 'constant').
        fill_value: colour of filled frames (int or list of int, at least 0, at most 255; default
            (0,)).
        size: (height, width) to decode to (int or list of int, at least 1; may be per sample).
        resolution_change: what to do with frames of another size than the first: `error`, or
            `scale` them to it (one of 'error', 'scale'; default 'error').
        matrix: from Y'CbCr to RGB: `auto` by the tags of the stream, `bt601`, `bt709` or `bt2020`
            whatever the tags, or `swscale` as PyAV, decord2, torchcodec and OpenCV convert (one of
            'auto', 'bt601', 'bt709', 'bt2020', 'swscale'; default 'auto').
        color_range: of the samples: `auto` by the tags of the stream, `limited` or `full` whatever
            the tags (one of 'auto', 'limited', 'full'; default 'auto').
        max_pixels: pixels of a picture; a file that claims more fails (int, at least 1; default
            134217728).
        time_limit: seconds that a worker process may take for a run of packets (number of seconds
            over 0; default 60.0).
        memory_limit: bytes that a worker process may allocate; `auto` is a quarter of the machine's
            memory (int, None or 'auto'; default 'auto').
        output_type: colour space; only RGB so far (one of ImageType.RGB; default ImageType.RGB).
        enable_frame_num: an output with the number of the first frame (`scalar`) or of every frame
            (`sequence`) (one of 'none', 'scalar', 'sequence'; default 'none').
        enable_timestamps: an output with the time of every frame, in seconds from the first frame
            of the video (bool (0 or 1); default False).
        device: 'cpu' or 'mixed'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Not supported yet: audio, fps, roi, times.

    Taken, no effect: affine, build_index.
    """

    def __init__(
        self,
        *,
        frames: int | Sequence[int] | _Values | None = None,
        start_frame: int | _Values | None = None,
        end_frame: int | _Values | None = None,
        stride: int | _Values | None = None,
        sequence_length: int | _Values | None = None,
        pad_mode: str = 'constant',
        fill_value: int | Sequence[int] = ...,
        size: int | Sequence[int] | _Values | None = None,
        resolution_change: str = 'error',
        matrix: str = 'auto',
        color_range: str = 'auto',
        max_pixels: int = 134217728,
        time_limit: Any = 60.0,
        memory_limit: Any = 'auto',
        output_type: Any = ...,
        enable_frame_num: str = 'none',
        enable_timestamps: bool | int = False,
        device: str | None = None,
        name: str | None = None,
        affine: Any = ...,
        audio: Any = ...,
        build_index: Any = ...,
        bytes_per_sample_hint: Any = ...,
        fps: Any = ...,
        preserve: Any = ...,
        roi: Any = ...,
        times: Any = ...,
    ) -> None: ...
    def __call__(self, encoded: _Data, /, **arguments: Any) -> Any: ...
    @property
    def device(self) -> str: ...
