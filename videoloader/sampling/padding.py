"""Maps frame numbers outside a video to frames inside it, or to the fill value."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.machinery.system.checks import one_of

PadMode: TypeAlias = Literal[
    "none",
    "edge",
    "repeat",
    "constant",
    "reflect_1001",
    "symmetric",
    "reflect_101",
    "reflect",
    "wrap",
]

FILLED = -1
"""Marks a frame of the fill value in a list of frame numbers."""

_ALIASES = {"repeat": "edge", "symmetric": "reflect_1001", "reflect": "reflect_101"}
PAD_MODES: tuple[str, ...] = get_args(PadMode)


def check_pad_mode(pad_mode: str) -> str:
    """The canonical name of a pad mode; raises `ArgumentError` for unknown names.

    >>> check_pad_mode("repeat"), check_pad_mode("wrap")
    ('edge', 'wrap')
    """
    one_of("pad_mode", pad_mode, PAD_MODES)
    return _ALIASES.get(pad_mode, pad_mode)


def pad_frames(
    frames: ArrayLike,
    num_frames: int,
    pad_mode: PadMode | str,
    *,
    start: int = 0,
    stop: int | None = None,
    name: str = "video",
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Map frame numbers outside a video onto frames inside it.

    Args:
        frames: frame numbers, any shape; negative numbers are before the first frame.
        num_frames: frames in the video.
        pad_mode: `none` raises; `edge` (`repeat`) repeats the first or last frame; `constant`
            gives `FILLED`; `reflect_1001` (`symmetric`) mirrors with the edge frame repeated,
            `reflect_101` (`reflect`) without repeating it; `wrap` continues at the other end.
        start: first frame of the valid range; frames before it count as outside.
        stop: end of that range, exclusive; the end of the video by default.
        name: of the video, for the error.

    Returns:
        Frame numbers of the same shape as `frames`, `FILLED` (-1) for the fill value; and a mask
        that is True for requested frames, False for other frames or fill values in their place.

    Raises:
        FrameRangeError: a frame is outside and the mode is `none`, or the video has no frames.

    >>> pad_frames([-2, -1, 0, 5], 5, "reflect_101")[0]
    array([2, 1, 0, 3])
    >>> pad_frames([-2, -1, 0, 5], 5, "reflect_1001")[0]
    array([1, 0, 0, 4])
    >>> pad_frames([3, 4], 4, "edge")
    (array([3, 3]), array([ True, False]))
    >>> pad_frames([3, 4], 4, "constant")
    (array([ 3, -1]), array([ True, False]))
    """
    mode = check_pad_mode(pad_mode)
    frames = np.array(frames, dtype=np.int64)
    stop = num_frames if stop is None else stop
    if not 0 <= start <= stop <= num_frames:
        raise ArgumentError(f"{name}: range {start} to {stop} outside the {num_frames} frames")
    numbers = frames.reshape(-1).tolist()  # compared in Python: of a few, that is quicker
    if not numbers or start <= min(numbers) <= max(numbers) < stop:
        return frames, np.ones(frames.shape, np.bool_)
    inside = (frames >= start) & (frames < stop)
    if mode == "constant":
        return np.where(inside, frames, FILLED), inside
    if mode == "none" or start == stop:
        frame = int(frames[~inside].flat[0])
        hint = 'pass pad_mode="edge" to repeat the edge frame'
        if frame < 0:
            hint += "; negative numbers lie before the video, video[-1] is its last frame"
        raise frame_range_error(frame, num_frames, name, start=start, stop=stop, hint=hint)
    folded = _fold(frames - start, stop - start, mode) + start
    return np.where(inside, frames, folded), inside


def _fold(offsets: NDArray[np.int64], length: int, mode: str) -> NDArray[np.int64]:
    match mode:
        case "edge":
            return offsets.clip(0, length - 1)
        case "wrap":
            return offsets % length
        case "reflect_1001":
            phase = offsets % (2 * length)
            return np.where(phase < length, phase, 2 * length - 1 - phase)
        case _:
            period = max(2 * length - 2, 1)  # 1: a single frame reflects onto itself
            phase = offsets % period
            return np.where(phase < length, phase, period - phase)


def frame_range_error(
    frame: int,
    num_frames: int,
    name: str,
    *,
    start: int = 0,
    stop: int | None = None,
    hint: str = "",
) -> FrameRangeError:
    """The error of a frame number that the video, or the range from `start` to `stop`, lacks.

    >>> frame_range_error(900, 900, "clip.mp4")
    FrameRangeError('clip.mp4: frame 900 requested, the video has 900 frames (0-899)')
    """
    stop = num_frames if stop is None else stop
    if start == stop:
        inside, hint = "but there is no frame to show or repeat", ""
    elif (start, stop) == (0, num_frames):
        inside = f"the video has {num_frames} frames (0-{num_frames - 1})"
    else:
        inside = f"the range has frames ({start}-{stop - 1})"
    return FrameRangeError(f"{name}: frame {frame} requested, {inside}{hint and '; '}{hint}")
