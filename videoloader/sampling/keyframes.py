"""Replaces frames by keyframes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

__all__ = ["SNAPS", "Snap", "check_snap", "snap_to_keyframes"]

Snap: TypeAlias = Literal["none", "keyframe"]
SNAPS = ("none", "keyframe")


def check_snap(snap: str) -> None:
    """Raise unless `snap` is one of `SNAPS`."""
    if snap not in SNAPS:
        raise ArgumentError(f"snap must be one of {', '.join(SNAPS)}, got {snap!r}")


def snap_to_keyframes(
    frames: NDArray[np.int64], keyframes: NDArray[np.int64], name: str = "video"
) -> NDArray[np.int64]:
    """The last keyframe at or before each frame; before the first keyframe, that one.

    Args:
        frames: frame numbers inside the video; -1 (a filled frame) is unchanged.
        keyframes: frame numbers of the keyframes, ascending.
        name: of the video, for errors.

    Raises:
        ArgumentError: the video has no keyframes.

    >>> snap_to_keyframes(np.array([0, 11, 12, 30, -1]), np.array([0, 12, 24]))
    array([ 0,  0, 12, 24, -1])
    """
    if not len(keyframes):
        raise ArgumentError(f'{name}: no frame is a keyframe; use snap="none"')
    places = np.searchsorted(keyframes, frames, side="right") - 1
    return np.where(frames < 0, frames, keyframes[places.clip(0)])
