"""The base of clip samplers, and the frames that one selects from a video.

Every sampler has `frames(num_frames, fps=, rng=)`, which returns frame numbers in presentation
order. They may be past the end of a short video; the decoder's pad mode decides what is shown
there. Samplers are stateless: equal arguments and generators give equal clips.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from types import MethodType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, ArgumentTypeError

Frames: TypeAlias = NDArray[np.int64]


@runtime_checkable
class ClipSampler(Protocol):
    """The interface of clip samplers.

    A sampler that uses times has one more argument, `boundaries=None`: the start of each frame in
    seconds, ascending, and the end of the last, shape (num_frames + 1,). See `sample_frames`.

    >>> class FirstFrames:
    ...     def frames(self, num_frames, *, fps=None, rng=None):
    ...         return np.arange(4)
    >>> isinstance(FirstFrames(), ClipSampler)
    True
    """

    def frames(
        self, num_frames: int, *, fps: float | None = None, rng: np.random.Generator | None = None
    ) -> Frames:
        """Frame numbers of the clip, shape (F,), or of all clips, shape (clips, F).

        Args:
            num_frames: frames in the video, at least 1.
            fps: average frame rate of the video. Without the times of the frames, a sampler with a
                target rate assumes that it is constant.
            rng: random generator; without one, a random sampler takes the middle choice.
        """
        ...


class SampledVideo(Protocol):
    """Properties of a video that sampling needs; `VideoIndex` has them."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""

    @property
    def num_frames(self) -> int:
        """Number of frames."""

    @property
    def average_fps(self) -> float | Fraction:
        """Frames a second, 0 if unknown."""

    @property
    def boundaries(self) -> NDArray[np.float64]:
        """Start of each frame and end of the last, in seconds, (num_frames + 1,)."""


def check_sampler(name: str, sampler: object) -> None:
    """Raise an error for a value that is not a clip sampler, such as the class of one.

    Raises:
        ArgumentTypeError: it is not one; names `name`.
    """
    if isinstance(sampler, type):
        called = sampler.__name__
        raise ArgumentTypeError(f"{name} is the class {called}; call it, such as {called}(16)")
    if not isinstance(sampler, ClipSampler):
        raise ArgumentTypeError(
            f"{name} must be a clip sampler such as RandomClip(16), got {sampler!r:.80}"
        )


def sample_frames(
    sampler: ClipSampler,
    video: SampledVideo,
    *,
    start: int = 0,
    stop: int | None = None,
    rng: np.random.Generator | None = None,
) -> Frames:
    """The frame numbers that a sampler selects from a video, or from a range of it.

    Args:
        sampler: any sampler; if its `frames` takes `boundaries`, it gets the times of the frames.
        video: its index.
        start: first frame of the range.
        stop: end of the range, exclusive; the end of the video by default.
        rng: random generator.

    Raises:
        ArgumentError: the sampler does not accept this video; the message names it.
        ArgumentTypeError: the sampler gives something else than frame numbers.

    >>> from videoloader import UniformClip, index_video
    >>> sample_frames(UniformClip(4), index_video("clip.mp4"), stop=40)
    array([ 0, 13, 26, 39])
    """
    stop = video.num_frames if stop is None else stop
    times: dict[str, Any] = {}
    frames = sampler.frames
    if isinstance(frames, MethodType):
        takes_boundaries = _method_takes_boundaries(frames.__func__)
    else:  # of a user, perhaps without a hash
        takes_boundaries = _takes_boundaries(frames)
    if takes_boundaries:
        times["boundaries"] = video.boundaries[start : stop + 1]
    fps = float(video.average_fps) or None
    try:
        found = np.asarray(frames(stop - start, fps=fps, rng=rng, **times))
    except ArgumentError as error:
        raise ArgumentError(f"{video.name}: {error}") from error
    if found.dtype.kind not in "iu" and found.size:
        raise ArgumentTypeError(
            f"{video.name}: frames() of {sampler!r:.80} must give whole numbers, got {found!r:.80}"
        )
    return start + found.astype(np.int64, copy=False)


def _takes_boundaries(frames: Callable[..., Any]) -> bool:
    return "boundaries" in signature(frames).parameters


_method_takes_boundaries = lru_cache(maxsize=64)(_takes_boundaries)
