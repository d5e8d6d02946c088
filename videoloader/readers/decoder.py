"""`fn.decoders.video`: whole files in, the frames that were asked for out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding import limits
from videoloader.decoding.output import ColorRange, Matrix
from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.operators.arguments import BOOL, IMAGE, INT, INTS, TEXT, Argument, Kind
from videoloader.operators.limits import MEMORY_LIMIT, TIME_LIMIT
from videoloader.operators.operator import declare
from videoloader.readers import media
from videoloader.readers.planned import PlannedClip
from videoloader.sampling import PAD_MODES, SNAPS, pad_frames, select_frames
from videoloader.sources.items import Item
from videoloader.types import ImageType

__all__ = [
    "COLOR",
    "DECODING",
    "FRAME_NUM",
    "PAD",
    "TIMESTAMPS",
    "decode_video",
    "wanted_frames",
]


def _frame_num(value: Any) -> str:
    if isinstance(value, bool):  # DALI before 2.4
        return "scalar" if value else "none"
    return str(value)


FRAME_NUM = Argument(
    "enable_frame_num",
    Kind("str", _frame_num),
    "none",
    "an output with the number of the first frame (`scalar`) or of every frame (`sequence`)",
    choices=("none", "scalar", "sequence"),
)
TIMESTAMPS = Argument(
    "enable_timestamps",
    BOOL,
    default=False,
    doc="an output with the time of every frame, in seconds from the first frame of the video",
)
RESOLUTION = Argument(
    "resolution_change",
    TEXT,
    "error",
    "what to do with frames of another size than the first: `error`, or `scale` them to it",
    choices=("error", "scale"),
)
MATRIX = Argument(
    "matrix",
    TEXT,
    "auto",
    "from Y'CbCr to RGB: `auto` by the tags of the stream, `bt601`, `bt709` or `bt2020` whatever "
    "the tags, or `swscale` as PyAV, decord2, torchcodec and OpenCV convert",
    choices=get_args(Matrix),
)
COLOR_RANGE = Argument(
    "color_range",
    TEXT,
    "auto",
    "of the samples: `auto` by the tags of the stream, `limited` or `full` whatever the tags",
    choices=get_args(ColorRange),
)
OUTPUT = Argument(
    "output",
    TEXT,
    "rgb",
    "`rgb`, or `gray` for the luma in one channel, which is converted from no colours",
    choices=("rgb", "gray"),
)
SNAP = Argument(
    "snap",
    TEXT,
    "none",
    "`keyframe` gives, in place of each frame, the last keyframe at or before it, which costs one "
    "packet; numbers and times are those of the keyframes",
    choices=SNAPS,
)
FILL = Argument("fill_value", INTS, (0,), "colour of filled frames", least=0, most=255)
MAX_PIXELS = Argument(
    "max_pixels",
    INT,
    limits.MAX_PIXELS,
    "pixels of a picture; a file that claims more fails",
    least=1,
)
DECODING = (RESOLUTION, MATRIX, COLOR_RANGE, OUTPUT, SNAP, MAX_PIXELS, TIME_LIMIT, MEMORY_LIMIT)
"""What goes to the batch decoder as it is, for whole files and for clips of a reader."""

COLOR = Argument(
    "output_type", IMAGE, ImageType.RGB, "colour space; only RGB so far", choices=(ImageType.RGB,)
)


def PAD(default: str) -> Argument:  # noqa: N802  (stands among constants)
    """The `pad_mode` argument, with a default."""
    return Argument("pad_mode", TEXT, default, "what stands outside the video", choices=PAD_MODES)


def wanted_frames(
    num_frames: int,
    *,
    frames: tuple[int, ...] | None,
    start_frame: int | None,
    end_frame: int | None,
    stride: int | None,
    sequence_length: int | None,
    pad_mode: str,
) -> NDArray[np.int64]:
    """Frame numbers asked for; some may lie outside the video.

    With `pad_mode="none"` a range ends where the video does. One without a frame is an error.
    """
    if frames is not None:
        return np.asarray(frames, dtype=np.int64)
    stride = 1 if stride is None else stride
    start = start_frame
    if start is None:
        start = num_frames - 1 if stride < 0 else 0
    chosen = select_frames(
        num_frames=num_frames, start=start, stop=end_frame, stride=stride, count=sequence_length
    )
    if pad_mode == "none" and start >= 0:
        chosen = chosen[(chosen >= 0) & (chosen < num_frames)]
    if not len(chosen) and (start_frame, end_frame) != (None, None) and sequence_length != 0:
        stop = "" if end_frame is None else f" and before end_frame={end_frame}"
        raise FrameRangeError(
            f"no frame from start_frame={start}{stop} in steps of {stride}; the video has "
            f"{num_frames}"
        )
    return chosen


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    ranged = {"start_frame", "end_frame", "stride", "sequence_length"} & set(given)
    if "frames" in given and ranged:
        raise ArgumentError(f"fn.decoders.video: frames excludes {', '.join(sorted(ranged))}")
    if {"end_frame", "sequence_length"} <= set(given):
        raise ArgumentError("fn.decoders.video: give end_frame or sequence_length, not both")
    if arguments.get("stride") == 0:
        raise ArgumentError("fn.decoders.video: stride must not be 0")


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    numbered = bool(arguments["enable_frame_num"] != "none")
    return 1 + numbered + bool(arguments["enable_timestamps"])


@declare(
    "decoders.video",
    kind="decode",
    inputs=("encoded",),
    arguments=(
        Argument("frames", INTS, None, "frame numbers, any order, repeats too", per_sample=True),
        Argument("start_frame", INT, None, "first frame", per_sample=True),
        Argument("end_frame", INT, None, "end, exclusive", per_sample=True),
        Argument("stride", INT, None, "step; negative plays backwards", per_sample=True),
        Argument("sequence_length", INT, None, "number of frames", per_sample=True, least=0),
        PAD("constant"),
        FILL,
        Argument("size", INTS, None, "(height, width) to decode to", per_sample=True, least=1),
        *DECODING,
        COLOR,
        FRAME_NUM,
        TIMESTAMPS,
    ),
    devices=("cpu", "mixed"),
    num_outputs=_num_outputs,
    decoding=("fill_value", "size", "output_type", *(argument.name for argument in DECODING)),
    check=_check,
    absent={"roi": None, "times": None, "fps": None, "audio": False},
    unused=("affine", "build_index"),
)
def decode_video(
    encoded: Any, *, enable_frame_num: str, enable_timestamps: bool, **selection: Any
) -> PlannedClip:
    """Decode frames of a video: bytes of a whole file (1-D uint8), its path or URL, or an `Item`.

    Without a selection all frames. `frames` lists them; `start_frame`, `end_frame` and `stride`
    give ceil((end - start) / stride) of them; `start_frame`, `sequence_length` and `stride`
    exactly that many. With `pad_mode="none"` both end where the video does, and a frame in a list
    that the video does not have is an error; so is a range without any frame. The output is uint8
    (F, H, W, C), then the frame numbers (int32, -1 for a filled frame) and the times (float64)
    if they were asked for.
    """

    def select(index: media.Index) -> NDArray[np.int64]:
        try:
            wanted = wanted_frames(index.num_frames, **selection)
        except FrameRangeError as error:
            raise FrameRangeError(f"{str(planned) or 'video'}: {error}") from None
        pad_mode = selection["pad_mode"]
        return pad_frames(wanted, index.num_frames, pad_mode, name=str(planned))[0]

    def others(index: media.Index | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        return frame_outputs(index, frames, enable_frame_num, enable_timestamps)

    planned = PlannedClip(_source(encoded), select, others, length=_known_length(selection))
    return planned


def _known_length(selection: Mapping[str, Any]) -> int:
    """Frames of a clip whose video does not open, as far as the selection tells; else none."""
    if selection["frames"] is not None:
        return len(selection["frames"])
    if selection["sequence_length"] is not None:
        return int(selection["sequence_length"])
    start, end, stride = (selection[name] for name in ("start_frame", "end_frame", "stride"))
    return 0 if end is None else max(len(range(start or 0, end, stride or 1)), 0)


def frame_outputs(
    index: media.Index | None, frames: NDArray[np.int64], frame_num: str, timestamps: bool
) -> list[torch.Tensor]:
    """The outputs beside the pictures: frame numbers and times, where they are wanted.

    Without an index all frames are `FILLED`.
    """
    outputs = []
    if frame_num != "none":
        numbers = frames[:1] if frame_num == "scalar" else frames
        outputs.append(torch.as_tensor(numbers.astype(np.int32)))
    if timestamps:
        times = np.full(frames.shape, -1.0) if index is None else media.seconds(index, frames)
        outputs.append(torch.as_tensor(times))
    return outputs


def _source(encoded: Any) -> Any:
    if isinstance(encoded, str | Path | bytes | Item):
        return encoded
    if isinstance(encoded, torch.Tensor) and encoded.dtype == torch.uint8 and encoded.ndim == 1:
        return encoded.cpu().numpy().tobytes()
    raise ArgumentError(
        "fn.decoders.video takes the bytes of a file as 1-D uint8, or a path; "
        f"got {type(encoded).__name__} {tuple(getattr(encoded, 'shape', ()))}"
    )
