"""Arguments that all operators have which decode video: readers, decoders, inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from videoloader.dali.operators.arguments import BOOL, IMAGE, INT, INTS, TEXT, Argument, Kind
from videoloader.dali.operators.limits import MEMORY_LIMIT, TIME_LIMIT
from videoloader.dali.types import ImageType
from videoloader.decoding import limits
from videoloader.decoding.options import Chroma, ColorRange, Matrix, ToneMap
from videoloader.errors import ArgumentError
from videoloader.sampling import PAD_MODES, SNAPS


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
CHROMA = Argument(
    "chroma",
    TEXT,
    "centered",
    "colour of the pixels that share a sample of chroma: `centered`, interpolated as DALI does, "
    "with samples in the middle of their pixels; `linear`, by where the codec places them; or "
    "`nearest`, that sample, where 8 bits become uint8 at the picture's own size",
    choices=get_args(Chroma),
)
TONE_MAP = Argument(
    "tone_map",
    TEXT,
    "none",
    "of PQ and HLG pictures: `none` gives their signal as it is coded, `reinhard` and `hable` map "
    "it to BT.709 by these curves",
    choices=get_args(ToneMap),
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
DECODING = (
    *(RESOLUTION, MATRIX, COLOR_RANGE, CHROMA, TONE_MAP, OUTPUT, SNAP),
    *(MAX_PIXELS, TIME_LIMIT, MEMORY_LIMIT),
)
"""Options that go to the batch decoder unchanged, for whole files and for clips of a reader."""


def COLOR(name: str) -> Argument:  # noqa: N802  (stands among constants)
    """The argument with the colour space of the pictures."""
    return Argument(
        name,
        IMAGE,
        ImageType.RGB,
        "colour space of the frames; all but RGB are converted as `fn.color_space_conversion` "
        "does. A `fill_value` is RGB",
        choices=(ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr),
    )


def check_color(operator: str, name: str, arguments: Mapping[str, Any]) -> None:
    """Fail if luma, which has no colours, is to have a colour space."""
    if arguments["output"] == "gray" and arguments[name] is not ImageType.RGB:
        raise ArgumentError(
            f'fn.{operator}: output="gray" gives luma without colours, leave {name} out; or '
            f"leave output out: {name}=GRAY makes grey of RGB"
        )


def PAD(default: str) -> Argument:  # noqa: N802  (stands among constants)
    """The `pad_mode` argument, with a default."""
    return Argument("pad_mode", TEXT, default, "what stands outside the video", choices=PAD_MODES)
