"""`write_video`: frames of any origin as a video file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.clip_batch import Clip
from videoloader.decoding.options import LayoutName, as_layout
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.pictures.color import chroma_siting
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.rates import read_rate
from videoloader.machinery.system.spelling import suggests_names
from videoloader.machinery.system.writing import written_whole
from videoloader.sampling.arrays import real_numbers
from videoloader.video import Video
from videoloader.writing.copying import end_of
from videoloader.writing.encoding import Encoding, Quality
from videoloader.writing.formats import muxer_of
from videoloader.writing.output import VideoOutput
from videoloader.writing.pictures import RgbPictures, form_for_rgb
from videoloader.writing.sound import samples_of

Frames: TypeAlias = "torch.Tensor | NDArray[Any] | Clip | Video | Iterable[Any]"

_TYPES = (torch.uint8, torch.uint16)
_FPS = Fraction(30)
_MICROSECOND = Fraction(1, 1_000_000)
_MOST_SECONDS = 1e9  # doubles still tell microseconds


@suggests_names
def write_video(
    frames: Frames,
    path: str | os.PathLike[str],
    *,
    codec: str | None = None,
    fps: float | Fraction | None = None,
    times: ArrayLike | None = None,
    quality: Quality = None,
    gop: int | None = None,
    pixel_format: str | None = None,
    layout: LayoutName = "FHWC",
    matrix: Literal["auto", "bt601", "bt709", "bt2020"] = "auto",
    color_range: Literal["limited", "full"] = "limited",
    audio: Any = None,
    options: Mapping[str, str] | None = None,
) -> None:
    """Encode RGB frames to a file, which appears under its name when it is complete.

    Frames on a GPU are copied to the host and encoded there.

    Args:
        frames: a tensor or array of all frames in `layout`, a `Clip`, a `Video`, or an iterable of
            frames (of the layout without F). uint8 from 0 to 255, or uint16 from 0 to 65535, which
            is coded with 10 bits, or 16 in FFV1.
        path: of the file; its suffix chooses the container: .mp4, .m4v, .mov, .mkv or .webm.
        codec: `h264`, `hevc`, `av1`, `vp9` or `ffv1`; H.264 by default, VP9 in WebM.
        fps: frames a second; 30000 / 1001 is read as that fraction. Not together with `times`. By
            default the times of a clip or video, which then begin at 0, or else 30.
        times: seconds at which each frame is shown, ascending from 0 or later; rounded to a
            microsecond. The last one is shown as long as the one before.
        quality: the encoder's constant rate factor: 0 to 51 for H.264 and HEVC, 0 to 63 for AV1
            and VP9, less is better; 18, 20, 24 and 24 by default. `lossless`: frames decode to
            the same bits, since RGB is not converted; not for AV1. FFV1 is always lossless.
        gop: most frames from one keyframe to the next. Short ones make random access cheap and
            files larger.
        pixel_format: FFmpeg's name of the coded format; by default yuv420p, yuv420p10le for
            uint16, and an RGB format where that is lossless.
        layout: of `frames`: F frames, also called T or N, H rows, W columns, C channels.
        matrix: of Y'CbCr, tagged in the file; `auto` is BT.709 from 720 lines up, BT.601 below.
        color_range: of Y'CbCr, tagged in the file.
        audio: (samples, rate) with samples (channels, n) as `Audio` gives them, or an `Audio`, from
            time 0 on; False for none. AAC in MP4 and MOV, FLAC in Matroska, Opus in WebM. By
            default the sound of a `Clip` that has some. That of a `Video` is not written: `cut`.
        options: of FFmpeg's encoder, such as `{"preset": "fast"}`.

    Raises:
        ArgumentError: frames of another type or shape, no frames, times that do not ascend, or a
            size that the codec does not have; or a clip has sound, and is written with other times.
        UnsupportedError: FFmpeg lacks the encoder (the message names those it has), or the
            container does not take the codec.
        SourceError: the file cannot be written.

    >>> from videoloader import Video
    >>> frames = Video("clip.mp4")[:30]
    >>> write_video(frames, "new.mp4", gop=16)
    >>> write_video(frames, "exact.mkv", codec="ffv1", fps=30000 / 1001)
    >>> (Video("exact.mkv")[:] == frames).all()
    tensor(True)
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(
            f"write_video(frames, path) takes the frames first, got {type(path).__name__} as path"
        )
    target = Path(path)
    codec = codec or muxer_of(target).codec
    encoding = Encoding(codec=codec, quality=quality, gop=gop, options=options or {})
    layout = as_layout(layout)
    if fps is not None and times is not None:
        raise ArgumentError("give fps or times, not both")
    colors = OutputFormat(matrix=matrix, color_range=color_range)
    has_own_times = fps is None and times is None
    if audio is None and isinstance(frames, Clip) and frames.has_audio:
        audio = _sound_of(frames, target, has_own_times=has_own_times)
    sound = None if audio is None or audio is False else samples_of(audio, str(target))
    pictures = _pictures(frames, layout, target)
    first = next(pictures, None)
    if first is None:
        raise ArgumentError(f"{target}: there are no frames to write")
    height, width = first.shape[:2]
    chosen = pixel_format or _usual_format(encoding, first.dtype)
    form = form_for_rgb(width, height, chosen, colors)
    clock = _clock(frames, fps, times, target)
    with (
        written_whole(target) as partial,
        VideoOutput(
            partial, target, encoding, form, time_base=clock.time_base, rate=clock.rate, sound=sound
        ) as output,
    ):
        to_frame = RgbPictures(form, chroma_siting(codec)).frame
        moments = iter(clock.moments)
        for number, picture in enumerate(chain([first], pictures)):
            moment = next(moments, None)
            if moment is None:
                raise ArgumentError(f"{target}: {number} times for more frames")
            if picture.shape != first.shape or picture.dtype != first.dtype:
                raise ArgumentError(
                    f"{target}: frame {number} is {picture.dtype} {picture.shape}, the first "
                    f"{first.dtype} {first.shape}"
                )
            output.add(to_frame(picture), *moment)
        if clock.num_frames is not None and clock.num_frames != number + 1:
            raise ArgumentError(f"{target}: {clock.num_frames} times for {number + 1} frames")


def _sound_of(clip: Clip, target: Path, *, has_own_times: bool) -> tuple[torch.Tensor, int]:
    """The sound of a clip, as `audio` takes it."""
    assert clip.audio is not None
    if not has_own_times or not (clip.indices >= 0).all():
        raise ArgumentError(
            f"{target}: the clip has sound, which fits its own times, but fps=, times= or filled "
            "frames give it others; pass audio=False to leave the sound out, or "
            "audio=(clip.audio.T, clip.audio_sample_rate) to write it"
        )
    return clip.audio.T, clip.audio_sample_rate


class _Clock(NamedTuple):
    """When frames are shown: (ticks, duration) of each; `num_frames` is None for endless ones."""

    moments: Iterable[tuple[int, int]]
    time_base: Fraction
    rate: Fraction
    num_frames: int | None


def _clock(
    frames: Frames, fps: float | Fraction | None, times: ArrayLike | None, target: Path
) -> _Clock:
    ticks: NDArray[np.int64] | None = None
    time_base, end = _MICROSECOND, None
    if times is not None:
        seconds = real_numbers("times", times)
        if not len(seconds) or not (seconds[0] >= 0 and (seconds < _MOST_SECONDS).all()):
            raise ArgumentError(f"{target}: times are seconds, the first at 0 or later")
        ticks = np.rint(seconds * _MICROSECOND.denominator).astype(np.int64)
    elif fps is None and isinstance(frames, Video):
        index = frames.index
        ticks, time_base = index.pts - index.pts[0], index.time_base
        end = end_of(index, index.num_frames) - int(index.pts[0])
    elif fps is None and isinstance(frames, Clip) and (frames.indices >= 0).all():
        seconds = frames.times - frames.times[0]
        ticks = np.rint(seconds * _MICROSECOND.denominator).astype(np.int64)
    if ticks is None:
        rate = _FPS if fps is None else read_rate(fps)
        return _Clock(zip(count(), repeat(1), strict=False), 1 / rate, rate, None)
    if (np.diff(ticks) <= 0).any():
        place = int(np.argmax(np.diff(ticks) <= 0))
        raise ArgumentError(
            f"{target}: the time of frame {place + 1} is not after that of frame {place}; pass "
            "fps= for frames that are not in order"
        )
    if end is None:
        step = ticks[-1] - ticks[-2] if len(ticks) > 1 else round(1 / (_FPS * time_base))
        end = int(ticks[-1] + step)
    rate = len(ticks) / ((end - int(ticks[0])) * time_base)
    durations = np.diff(ticks, append=end)
    moments = list(zip(ticks.tolist(), durations.tolist(), strict=True))
    return _Clock(moments, time_base, rate.limit_denominator(1001), len(ticks))


def _usual_format(encoding: Encoding, dtype: np.dtype[Any]) -> str:
    """The pixel format for RGB of an element type."""
    if not encoding.is_lossless:
        return "yuv420p" if dtype == np.uint8 else "yuv420p10le"
    formats = encoding.encoder(is_rgb=True).pixel_formats(is_rgb=True)
    wanted = ("gbrp", "bgr0", "rgb24") if dtype == np.uint8 else ("gbrp16le",)
    found = next((name for name in wanted if name in formats), None)
    if found is None:
        raise ArgumentError(
            f'{encoding.codec} has no lossless format for {dtype} RGB; use codec="ffv1"'
        )
    return found


def _pictures(frames: Frames, layout: str, target: Path) -> Iterator[NDArray[Any]]:
    """Each frame as an array (H, W, 3)."""
    if isinstance(frames, Clip):
        frames = frames.frames
    if isinstance(frames, torch.Tensor | np.ndarray):
        if frames.ndim != 4:
            raise ArgumentError(
                f"{target}: frames have 4 dimensions, {layout}, got {tuple(frames.shape)}"
            )
        axis = layout.index("F")
        every: Iterable[Any] = (_frame_at(frames, axis, n) for n in range(frames.shape[axis]))
    elif isinstance(frames, Iterable):
        every = frames
    else:
        raise ArgumentTypeError(
            f"{target}: frames are a tensor, an array, a Clip, a Video or an iterable of frames, "
            f"got {type(frames).__name__}"
        )
    axes = [layout.replace("F", "").index(name) for name in "HWC"]
    if isinstance(frames, Video):
        axes = [0, 1, 2]
    for frame in every:
        if isinstance(frame, torch.Tensor):
            frame = frame.cpu() if frame.dtype in _TYPES else frame.float().cpu()
        array = np.asarray(frame)
        if array.ndim != 3 or array.dtype not in (np.uint8, np.uint16):
            raise ArgumentError(
                f"{target}: a frame has 3 dimensions of uint8 or uint16, got {array.dtype} "
                f"{array.shape}; scale floats to 0-255 and convert them"
            )
        picture = array.transpose(axes)
        if picture.shape[2] != 3 or 0 in picture.shape:
            raise ArgumentError(
                f"{target}: frames have 3 channels in layout {layout}, got a frame {array.shape}; "
                "pass the layout of yours: FHWC, FCHW or CFHW"
            )
        yield picture


def _frame_at(frames: Any, axis: int, number: int) -> Any:
    return frames[(slice(None),) * axis + (number,)]
