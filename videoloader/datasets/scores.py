"""`score_video`: how black, still, blurred, moving or silent a video is, from a few frames."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from videoloader.audio import Audio
from videoloader.datasets.pictures import AnyVideo, keyframes_of, opened, read_gray, spread
from videoloader.errors import FormatError, UnsupportedError
from videoloader.video import Video

_SHORTER = 256  # pixels of the shorter side of pictures, so that blur compares between sizes
_BLACK = 16  # luma of 255 of a pixel that counts as black
_LATER = 0.2  # seconds between two frames whose difference is motion
_STILL = 1.0  # of 255: mean difference of two frames where only coding noise changes
_WINDOW = 0.05  # seconds of sound whose level is taken
_SILENT = -60.0  # dB below full scale


class Scores(NamedTuple):
    """Scores of a video over some of its keyframes.

    Attributes:
        brightness: mean luma, 0 to 255.
        black: share of pixels with a luma of at most 16, 0 to 1.
        blur: median over the frames of the variance of the Laplacian of the luma, of pictures
            resized to 256 pixels on the shorter side; small for blurred or empty pictures.
        motion: mean absolute difference of the luma between a keyframe and the frame 0.2 seconds
            later, 0 to 255; None for videos of one frame.
        static: share of the keyframes after which nothing moves: a difference below 1; None for
            videos of one frame.
        loudness: level of the sound in dB below full scale (RMS over all channels), -inf for
            digital silence; None if there is no sound, or it was not asked for.
        silence: share of the sound, in windows of 50 ms, below -60 dB; None likewise.

    >>> scores = score_video("clip.mp4")  # without sound=True
    >>> scores.static, scores.loudness is None
    (0.0, True)
    """

    brightness: float
    black: float
    blur: float
    motion: float | None
    static: float | None
    loudness: float | None
    silence: float | None


def score_video(video: AnyVideo, *, count: int = 8, sound: bool = False) -> Scores:
    """Scores of a video; a function for `map_clips`.

    Args:
        video: to score.
        count: most keyframes that are looked at, spread evenly.
        sound: also decode its sound, all of it.

    >>> scores = score_video("clip.mp4", sound=True)
    >>> scores.static, scores.silence  # no still and no silent part
    (0.0, 0.0)
    """
    with opened(video) as found:
        index = found.index
        keys = spread(keyframes_of(index), count)
        times = index.boundaries
        later = np.searchsorted(times[1:-1], times[keys] + _LATER, side="right")
        later = np.clip(later, np.minimum(keys + 1, len(index) - 1), len(index) - 1)
        numbers, place = np.unique(np.concatenate([keys, later]), return_inverse=True)
        pictures = read_gray(found, numbers, size=_SHORTER)[place]
        loudness, silence = _sound_levels(found) if sound else (None, None)
    firsts, seconds = pictures[: len(keys)], pictures[len(keys) :]
    moved = np.abs(seconds.astype(np.int16) - firsts).mean(axis=(1, 2))[later > keys]
    return Scores(
        brightness=float(firsts.mean()),
        black=float((firsts <= _BLACK).mean()),
        blur=float(np.median([cv2.Laplacian(each, cv2.CV_64F).var() for each in firsts])),
        motion=float(moved.mean()) if len(moved) else None,
        static=float((moved < _STILL).mean()) if len(moved) else None,
        loudness=loudness,
        silence=silence,
    )


def _sound_levels(video: Video) -> tuple[float | None, float | None]:
    """Level of the sound in dB, and the share of it that is silent; None where there is none."""
    try:
        audio = Audio(video.source)
    except (FormatError, UnsupportedError):
        return None, None
    with audio:
        samples = audio.read_numbers(0, None).astype(np.float64)
        window = max(round(_WINDOW * audio.sample_rate), 1)
    if not samples.size:
        return None, None
    power = (samples**2).mean(axis=0)
    starts = np.arange(0, len(power), window)
    means = np.add.reduceat(power, starts) / np.diff([*starts, len(power)])
    quiet = means < 10 ** (_SILENT / 10)
    with np.errstate(divide="ignore"):
        return float(10 * np.log10(power.mean())), float(quiet.mean())
