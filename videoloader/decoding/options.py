"""The options of all that decodes pictures: for each its meaning, default and errors, once.

They become `OutputFormat`, `DecodingRules`, `Framing` and `ClipRequest`, which check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np

from videoloader.decoding.limits import MAX_PIXELS
from videoloader.errors import ArgumentError, NoGpuError
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.options import documented
from videoloader.sampling import PadMode, Snap

if TYPE_CHECKING:
    import torch

Layout: TypeAlias = Literal["FHWC", "FCHW", "CFHW"]
LayoutName: TypeAlias = Literal[
    "FHWC", "FCHW", "CFHW", "THWC", "TCHW", "CTHW", "NHWC", "NCHW", "CNHW"
]
"""A layout, whose frames other libraries call T or N."""
ElementName: TypeAlias = Literal["uint8", "uint16", "float16", "bfloat16", "float32"]
ElementType: TypeAlias = "ElementName | torch.dtype | np.dtype[Any] | type[np.generic]"
"""An element type by its name, or as torch and NumPy have it."""
Interpolation: TypeAlias = Literal["nearest", "bilinear", "triangular", "bicubic"]
ToneMap: TypeAlias = Literal["none", "reinhard", "hable"]
Matrix: TypeAlias = Literal["auto", "bt601", "bt709", "bt2020", "swscale"]
ColorRange: TypeAlias = Literal["auto", "limited", "full"]
Chroma: TypeAlias = Literal["nearest", "linear", "centered"]
Output: TypeAlias = Literal["rgb", "gray", "yuv"]
ResolutionChange: TypeAlias = Literal["error", "scale"]
OnError: TypeAlias = Literal["raise", "skip", "replace", "mask"]


def as_layout(name: str) -> Layout:
    """The layout of a clip by its name here, or in other libraries.

    Raises:
        ArgumentError: there is no such layout.

    >>> as_layout("TCHW")
    'FCHW'
    """
    if name in get_args(LayoutName):
        name = name.replace("T", "F").replace("N", "F")
    is_of_batch = isinstance(name, str) and len(name) == 5
    hint = "it is that of a clip, without the batch" if is_of_batch else ""
    layout: Layout = one_of("layout", name, get_args(Layout), hint=hint)
    return layout


class ResizeOptions(TypedDict, total=False):
    """The size of decoded frames.

    Attributes:
        size: (height, width) that pictures are resized to, or one number for both: those of another
            aspect ratio are stretched. By default as the video, or the crop.
        resize_shorter: length of the shorter side instead, which keeps the aspect ratio.
        interpolation: filter of resizing: `nearest`; `bilinear`, two by two pixels whatever the
            scale; `triangular`, the same where it enlarges, an average over the source where it
            shrinks; `bicubic`, swscale's, on the CPU: with `matrix="swscale"` and no crop in one
            pass with the colours, as FFmpeg's scale filter and decord do.
    """

    size: int | Sequence[int] | None
    resize_shorter: int | None
    interpolation: Interpolation


@documented(ResizeOptions)
class FormOptions(ResizeOptions, total=False):
    """The form of decoded frames.

    Attributes:
        dtype: `uint8` (0-255), `uint16` (0-65535), or a float type, `float16`, `bfloat16` or
            `float32`, whose values before normalising are those of uint8 without its rounding:
            0-255, as in DALI; they keep what a video has in more than 8 bits. By name, or as
            `torch.float32` and `np.float32`.
        layout: order of the dimensions of a clip: F frames, also called T or N, H rows, W columns,
            C channels.
        mean: subtracted, on the scale from 0 to 255: one number, or one for each channel; float
            types only.
        std: divides after that, likewise.
        output: what the channels are. `rgb`: three. `gray`: one, the luma of the picture in full
            range, as values 0-255; with `uint16` the samples as they are coded, in their own bits
            and range: 0-1023 for 10 bits. `yuv`: the planes as they are coded, one after another in
            one row, in the picture's own size, see `Clip.planes`; `uint16` for more than 8 bits.
    """

    dtype: ElementType
    layout: LayoutName
    mean: float | Sequence[float] | None
    std: float | Sequence[float] | None
    output: Output


class StreamOptions(TypedDict, total=False):
    """Interpretation of the pictures of a stream: colour, rotation, limits.

    Attributes:
        matrix: from Y'CbCr to RGB. `auto`: as the stream is tagged; untagged, BT.709 from 720 lines
            up and BT.601 below. `bt601`, `bt709`, `bt2020`: this one, whatever the tag. `swscale`:
            as FFmpeg's swscale does it, and so PyAV, decord2, torchcodec and OpenCV: untagged,
            BT.601 at any size; 8 bits, with swscale's rounding, or on the CPU 16 bits as `uint16`.
        color_range: of the samples. `auto`: as the stream is tagged; untagged, limited. `limited`,
            `full`: this one, whatever the tag.
        chroma: colour of the pixels that share a sample of chroma. `nearest`: that sample, where
            8 bits become `uint8` at the picture's own size; elsewhere as `linear`. `linear`:
            interpolated between the samples next to the pixel, by where the codec places them.
            `centered`: likewise, with samples in the middle of their pixels whatever the codec,
            as in DALI. Does not apply to `matrix="swscale"` at the picture's own size.
        resolution_change: what to do with frames of another size than the first where a stream
            changes it: `error`, or `scale` them to the first size. With `size` they are scaled.
        tone_map: of PQ and HLG pictures: `none` gives their signal as it is coded, `reinhard` and
            `hable` map it to BT.709 by these curves.
        rotate: turn pictures as the container says, as players do. False gives them as coded.
        max_pixels: of a picture; a video that claims more fails with `UnsupportedError`. Far above
            8K by default.
    """

    matrix: Matrix
    color_range: ColorRange
    chroma: Chroma
    resolution_change: ResolutionChange
    tone_map: ToneMap
    rotate: bool
    max_pixels: int


class AudioOptions(TypedDict, total=False):
    """The sound that goes with clips.

    Attributes:
        audio: give each clip the sound of its time span, from the first moment of its earliest
            frame to the last of its latest one: float32 (samples, channels), -1 to 1, on the CPU.
            A video without a soundtrack has no samples. See docs/audio.md.
        audio_sample_rate: samples a second that sounds are resampled to; by default as stored.
        audio_channels: channels that sounds are mixed to, 1 for mono; by default as stored.
    """

    audio: bool
    audio_sample_rate: int | None
    audio_channels: int | None


@documented(FormOptions, StreamOptions, AudioOptions)
class BatchOptions(FormOptions, StreamOptions, AudioOptions, total=False):
    """Options of `decode_batch`, for all its clips.

    Attributes:
        on_error: what a damaged or missing video does: `raise` its error; `skip` its clip;
            `replace` its clip by the next of the batch that decodes; `mask` the frames concerned,
            which are filled with the fill value and marked in `Clip.mask`.
        hybrid: let the CPU take runs as well while the GPU has more than it can begin.
    """

    on_error: OnError
    hybrid: bool


class ClipOptions(TypedDict, total=False):
    """Which frames a clip has in place of some that were asked for.

    Attributes:
        pad_mode: what stands for frames outside the video, see `sampling.pad_frames`. `none` makes
            them a `FrameRangeError`; `edge`, the last or first frame, is the default of `Loader`
            and `ClipDataset`.
        fill_value: of frames filled with `constant`, and of masked ones: one number from 0 to 255,
            or one for each channel.
        snap: `keyframe` gives, in place of each frame, the last keyframe at or before it, which
            decodes alone.
    """

    pad_mode: PadMode | str
    fill_value: int | Sequence[int]
    snap: Snap


@documented(FormOptions, ClipOptions, AudioOptions)
class FrameOptions(FormOptions, ClipOptions, AudioOptions, total=False):
    """Options of one clip: of `Video.get_frames`.

    Attributes:
        crop: (top, left, height, width) in pixels of the displayed picture, taken before resizing.
        flip: mirror left and right.
    """

    crop: tuple[int, int, int, int] | None
    flip: bool


@documented(FormOptions, StreamOptions, ClipOptions, AudioOptions)
class SampleOptions(FormOptions, StreamOptions, ClipOptions, AudioOptions, total=False):
    """Options of the samples of a data set: of `Loader` and `ClipDataset`.

    Attributes:
        crop_size: (height, width), or one number for both, of the centre kept after resizing.
        num_crops: that many parts of this size instead, spread evenly along the longer side: 3 for
            the ends and the centre, as tests average over. A sample has them as further clips, the
            crops of one clip after another: (clips * num_crops, F, ...), or (num_crops, F, ...).
        random_resized_crop: ((smallest, largest) part of the area, (narrowest, widest) ratio of
            width to height) of a random part that is resized to `size`: the augmentation of
            Szegedy et al., "Going deeper with convolutions" (CVPR 2015), section 6.
        random_flip: probability of mirroring left and right.
    """

    crop_size: int | Sequence[int] | None
    num_crops: int
    random_resized_crop: tuple[tuple[float, float], tuple[float, float]] | None
    random_flip: float


def as_device(device: str | torch.device) -> torch.device:
    """A device that is there."""
    import torch  # here, as worker processes read options without it

    wrong = f'device must be "cpu", "cuda" or "cuda:N", got {device!r}'
    if device in ("gpu", "mixed"):  # DALI's
        wrong += '; "cuda" decodes on the GPU and gives frames there'
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(wrong) from error
    if chosen.type not in ("cpu", "cuda"):
        raise ArgumentError(wrong)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise NoGpuError(f'device={str(device)!r}, but torch sees no GPU; use device="cpu"')
    return chosen


@documented(BatchOptions)
@dataclass(frozen=True, slots=True)
class DecodingRules:
    """Rules for the videos of a batch: options of `decode_batch`, checked.

    Args:
        in_order: batches are the chunks of one video, in order; a decoder on the CPU stays behind
            the last frame of each, and its codec has all threads.
        is_strict: the first failure ends the batch; else clips that fail are masked and reported.
    """

    rotate: bool = True
    resolution_change: ResolutionChange = "error"
    hybrid: bool = False
    max_pixels: int = MAX_PIXELS
    audio: bool = False
    audio_sample_rate: int | None = None
    audio_channels: int | None = None
    in_order: bool = False
    is_strict: bool = False

    def __post_init__(self) -> None:
        one_of("resolution_change", self.resolution_change, get_args(ResolutionChange))
        whole_number("max_pixels", self.max_pixels, least=1)
        for name in ("audio_sample_rate", "audio_channels"):
            value = getattr(self, name)
            if value is None:
                continue
            if not self.audio:
                raise ArgumentError(f"{name}={value!r} goes with audio=True")
            whole_number(name, value, least=1)
