"""`fn.decoders.video`: whole files in, the frames that were asked for out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.request import ClipSoundRequest
from videoloader.dali.operators.arguments import (
    BOOL,
    DOUBLE,
    DOUBLES,
    INT,
    INTS,
    TEXT,
    Argument,
    Kind,
)
from videoloader.dali.operators.operator import declare
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.planned import PlannedClip, public_name
from videoloader.dali.readers.video.shared_arguments import (
    COLOR,
    DECODING,
    FILL,
    FRAME_NUM,
    TIMESTAMPS,
    check_color,
)
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.opening.videos import source_name
from videoloader.decoding.sound_spans import sound_spans
from videoloader.errors import ArgumentError, FrameRangeError, NoSoundError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import FILLED, PAD_MODES, pad_frames, select_at_rate, select_frames
from videoloader.sampling.clips import check_length
from videoloader.sources.items import Item

EXACT = "exact"
"""The `pad_mode` of eager calls without one: a frame outside the video is an error."""


def _rate(value: Any) -> float:
    rate: float = DOUBLE.convert(value)
    if not 0 < rate < np.inf:
        raise ValueError
    return rate


def _window(value: Any) -> tuple[int, ...]:
    window: tuple[int, ...] = INTS.convert(value)
    if len(window) != 4 or min(window) < 0 or 0 in window[2:]:
        raise ValueError
    return window


def _wanted_frames(
    index: VideoIndex,
    *,
    frames: tuple[int, ...] | None,
    times: tuple[float, ...] | None,
    start_frame: int | None,
    end_frame: int | None,
    stride: int | None,
    sequence_length: int | None,
    fps: float | None,
    pad_mode: str,
    name: str,
) -> NDArray[np.int64]:
    """Frame numbers asked for; some may lie outside the video.

    With `pad_mode="none"` a range ends where the video does. One without a frame is an error.
    """
    if frames is not None:
        return np.asarray(frames, dtype=np.int64)
    if times is not None:
        return media.frames_at_seconds(index, times, pad_mode, name)
    num_frames = index.num_frames
    stride = 1 if stride is None else stride
    start = start_frame
    if start is None:
        start = num_frames - 1 if stride < 0 else 0
    if fps is not None:
        if start < 0:
            raise ArgumentError(f"start_frame must be at least 0 with fps, got {start}")
        chosen = select_at_rate(index, fps, start=start, stop=end_frame, count=sequence_length)
    else:
        chosen = select_frames(
            num_frames=num_frames, start=start, stop=end_frame, stride=stride, count=sequence_length
        )
    if pad_mode == "none" and start >= 0:
        chosen = chosen[(chosen >= 0) & (chosen < num_frames)]
    if not len(chosen) and (start_frame, end_frame) != (None, None) and sequence_length != 0:
        stop = "" if end_frame is None else f" and before end_frame={end_frame}"
        steps = f"in steps of {stride}" if fps is None else f"at fps={fps:g}"
        raise FrameRangeError(
            f"{name}: no frame from start_frame={start}{stop} {steps}; the video has {num_frames}"
        )
    return chosen


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    ranged = {"start_frame", "end_frame", "stride", "sequence_length", "fps"} & set(given)
    if "frames" in given and ranged:
        raise ArgumentError(f"fn.decoders.video: frames excludes {', '.join(sorted(ranged))}")
    ranged |= {"frames"} & set(given)
    if "times" in given and ranged:
        raise ArgumentError(f"fn.decoders.video: times excludes {', '.join(sorted(ranged))}")
    if arguments.get("stride") == 0:
        raise ArgumentError("fn.decoders.video: stride must not be 0")
    check_color("decoders.video", "output_type", arguments)


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    numbered = bool(arguments["enable_frame_num"] != "none")
    return 1 + numbered + bool(arguments["enable_timestamps"]) + 2 * bool(arguments["audio"])


@declare(
    "decoders.video",
    kind="decode",
    inputs=("encoded",),
    arguments=(
        Argument("frames", INTS, None, "frame numbers, any order, repeats too", per_sample=True),
        Argument(
            "times",
            DOUBLES,
            None,
            "seconds from the first frame, in place of `frames`: the frame shown at each time",
            per_sample=True,
        ),
        Argument("start_frame", INT, None, "first frame", per_sample=True),
        Argument("end_frame", INT, None, "end, exclusive", per_sample=True),
        Argument("stride", INT, None, "step; negative plays backwards", per_sample=True),
        Argument("sequence_length", INT, None, "number of frames", per_sample=True, least=0),
        Argument(
            "fps",
            Kind("float above 0", _rate),
            None,
            "frames in a second, in place of `stride`: the frames nearest to times 1 / fps apart, "
            "by presentation times",
            per_sample=True,
        ),
        Argument(
            "pad_mode",
            TEXT,
            None,
            "what stands outside the video; by default `constant`, but in an eager call a frame "
            "outside the video is then an error",
            choices=PAD_MODES,
        ),
        FILL,
        Argument(
            "size",
            INTS,
            None,
            "(height, width) to decode to; pictures of another aspect ratio are stretched",
            per_sample=True,
            least=1,
        ),
        Argument(
            "resize_shorter",
            INT,
            None,
            "length of the shorter side, in place of `size`; keeps the aspect ratio",
            per_sample=True,
            least=1,
        ),
        Argument(
            "roi",
            Kind("(top, left, height, width)", _window, rank=1),
            None,
            "the part of the frames to give; of the resized ones with `size` or `resize_shorter`",
            per_sample=True,
        ),
        *DECODING,
        COLOR("output_type"),
        FRAME_NUM,
        TIMESTAMPS,
        Argument(
            "audio", BOOL, default=False, doc="two outputs with the sound of the clip and its rate"
        ),
    ),
    devices=("cpu", "mixed"),
    num_outputs=_num_outputs,
    decoding=(
        "fill_value",
        "size",
        "resize_shorter",
        "roi",
        "output_type",
        *(argument.name for argument in DECODING),
    ),
    color="output_type",
    exclusive=(("stride", "fps"), ("end_frame", "sequence_length"), ("size", "resize_shorter")),
    check=_check,
    unused=("affine", "build_index"),
)
def decode_video(
    encoded: Any, *, enable_frame_num: str, enable_timestamps: bool, audio: bool, **selection: Any
) -> PlannedClip:
    """Decode frames of a video: bytes of a whole file (1-D uint8), its path or URL, or an `Item`.

    Without a selection all frames. `frames` lists them; `start_frame`, `end_frame` and `stride`
    give ceil((end - start) / stride) of them; `start_frame`, `sequence_length` and `stride`
    exactly that many. With `pad_mode="none"` both end where the video does, and a frame in a list
    that the video does not have is an error; so is a range without any frame.

    `times` are on the clock of `enable_timestamps`; one that was rounded finds its frame. With
    `fps` a range has `sequence_length` frames, or one for each time before that of `end_frame`;
    behind the end of the video frames of average duration are counted.

    The output is uint8 (F, H, W, C), then the frame numbers (int32, -1 for a filled frame) and the
    times (float64) if they were asked for. With `audio` the samples follow, float32 (n, channels),
    from the beginning of the earliest frame to the end of the latest, zeros where there is no
    sound; then their rate in hertz, a float32 scalar. A file without sound is an error; a clip of
    which all is masked has no samples, (0, 1), and the rate 0.
    """
    source = _source(encoded)
    name = public_name(source) or "video"
    frames = _Frames(source, name, enable_frame_num, enable_timestamps, audio, selection)
    return PlannedClip(source, frames, length=_known_length(selection))


@dataclass(frozen=True, slots=True, eq=False)
class _Frames:
    """The frames of a file that the arguments of `decode_video` select."""

    source: Any
    name: str
    frame_num: str
    timestamps: bool
    audio: bool
    arguments: Mapping[str, Any]

    def frames(self, index: VideoIndex) -> NDArray[np.int64]:
        """The frames wanted, padded outside the video."""
        pad_mode = outside = self.arguments["pad_mode"] or "constant"
        if pad_mode == EXACT:
            pad_mode = "none"  # which would also end a range where the video does
            outside = "constant" if self.arguments["times"] is None else "none"
        wanted = _wanted_frames(index, **{**self.arguments, "pad_mode": outside}, name=self.name)
        return pad_frames(wanted, index.num_frames, pad_mode, name=self.name)[0]

    def keyframes(self, index: VideoIndex) -> NDArray[np.int64]:
        """All keyframes."""
        return index.keyframes

    def sound(self, index: VideoIndex) -> None:
        """None: this decoder has no output of sound."""

    def outputs(self, index: VideoIndex | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        """Frame numbers, times and sound, as far as they are wanted."""
        outputs = frame_outputs(index, frames, self.frame_num, self.timestamps)
        return outputs + _sound_outputs(self.source, index, frames) if self.audio else outputs


def _known_length(selection: Mapping[str, Any]) -> int:
    """Frames of a clip whose video does not open, as far as the selection tells; else none."""
    if selection["frames"] is not None:
        return len(selection["frames"])
    count = selection["sequence_length"]
    if count is None:
        start, end, stride = (selection[name] for name in ("start_frame", "end_frame", "stride"))
        count = 0 if end is None else max(len(range(start or 0, end, stride or 1)), 0)
    check_length(count)
    return int(count)


def frame_outputs(
    index: VideoIndex | None, frames: NDArray[np.int64], frame_num: str, timestamps: bool
) -> list[torch.Tensor]:
    """The further outputs, frame numbers and times, where they are wanted.

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


def _sound_outputs(
    source: Any, index: VideoIndex | None, frames: NDArray[np.int64]
) -> list[torch.Tensor]:
    """The samples of the time span of frames, (n, channels), and their rate in hertz.

    Args:
        source: of the video: bytes or an item.
        index: of the video; None for a clip that failed, which has none, (0, 1), and the rate 0.
        frames: of the clip; those that are `FILLED` do not count.
    """
    if index is None:
        return [torch.empty(0, 1), torch.tensor(0.0)]
    name = source_name(source)
    request = ClipSoundRequest(source, name, (sound_spans(index, frames[frames != FILLED]),))
    (made,) = shared_decoder("cpu").decode_sounds([request])
    if isinstance(made, Exception):
        raise made
    (sound,) = made
    if not sound.sample_rate:
        raise NoSoundError(f"{name}: there is no sound in it")
    samples = torch.from_numpy(np.ascontiguousarray(sound.samples.T))
    return [samples, torch.tensor(float(sound.sample_rate))]


def _source(encoded: Any) -> Any:
    if isinstance(encoded, str | Path):
        encoded = Item(str(encoded))
    if isinstance(encoded, Item):
        return encoded.absolute()
    if isinstance(encoded, bytes):
        return encoded
    if isinstance(encoded, torch.Tensor) and encoded.dtype == torch.uint8 and encoded.ndim == 1:
        return encoded.cpu().numpy().tobytes()
    raise ArgumentError(
        "fn.decoders.video takes the bytes of a file as 1-D uint8, or a path; "
        f"got {type(encoded).__name__} {tuple(getattr(encoded, 'shape', ()))}"
    )
