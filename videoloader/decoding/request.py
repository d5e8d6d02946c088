"""`ClipRequest`: one clip that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.arguments import as_frame_numbers
from videoloader.decoding.framing import check_resizing
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import PadMode, Snap, check_snap, frames_at_times
from videoloader.sources.address import public
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource

__all__ = ["ClipRequest", "as_request"]


@dataclass(frozen=True, slots=True, eq=False)
class ClipRequest:
    """One clip to decode.

    Args:
        source: path, URL, bytes, a seekable binary file, an item of a data set (`dataset.item`), or
            a `Source`, which stays open.
        frames: frame numbers in any order, repeated, or none; None for all frames of the video,
            unless there are `times`.
        index: of this very file, to save making one.
        pad_mode: what stands for frames outside the video, see `sampling.pad_frames`.
        fill_value: of frames filled with `constant`, and of masked ones: one number from 0 to
            255, or one for each channel.
        size: (height, width) to resize to, or one number for both: pictures of another aspect
            ratio are stretched. By default that of the batch, or else that of the crop or the
            video.
        crop: (top, left, height, width) in pixels of the picture as it is displayed.
        flip: mirror left and right.
        times: presentation times in seconds, in place of `frames`: see `Video.get_frames_at_times`.
        nearest: give the frame nearest to each time, not the one on screen.
        tolerance: the most seconds between a time and the presentation time of its frame.
        window: (top, left, height, width) of the resized picture, such as a crop after resizing;
            all of it by default.
        snap: `keyframe` gives, in place of each frame, the last keyframe at or before it, which
            decodes alone; `Clip.indices` says which.
        resize_shorter: length of the shorter side instead of `size`, which keeps the aspect ratio;
            as for `size` that of the batch by default.
        resolve: called with the index of the video once it is open; gives the request to decode in
            place of this one, of the same source.
    """

    source: VideoSource | Source | Item
    frames: ArrayLike | None = None
    index: VideoIndex | None = None
    pad_mode: PadMode | str = "none"
    fill_value: int | Sequence[int] = 0
    size: int | tuple[int, int] | None = None
    crop: tuple[int, int, int, int] | None = None
    flip: bool = False
    times: ArrayLike | None = None
    nearest: bool = False
    tolerance: float | None = None
    window: tuple[int, int, int, int] | None = None
    resolve: Callable[[VideoIndex], ClipRequest] | None = None
    snap: Snap = "none"
    resize_shorter: int | None = None

    def __post_init__(self) -> None:
        if self.index is not None and not isinstance(self.index, VideoIndex):
            raise ArgumentTypeError(
                "index is a VideoIndex of the file (index_video), or None; got "
                f"{type(self.index).__name__} {self.index!r:.80}"
            )
        if self.snap != "none":
            check_snap(self.snap)
        if self.resize_shorter is not None:
            check_resizing(self.size, self.resize_shorter)
        if self.times is None:
            if self.nearest or self.tolerance is not None:
                raise ArgumentError("nearest and tolerance go with times")
        elif self.frames is not None:
            raise ArgumentError("give frames or times, not both")

    @property
    def length(self) -> int:
        """Frames that are wanted; 0 where only the video tells."""
        wanted = self.frames if self.times is None else self.times
        return 0 if wanted is None else int(np.asarray(wanted).size)

    def frame_numbers(self, index: VideoIndex, name: str) -> NDArray[np.int64]:
        """Frames that are wanted of the video; numbers outside it are left to `pad_mode`."""
        if self.times is not None:
            return frames_at_times(
                self.times,
                index,
                nearest=self.nearest,
                tolerance=self.tolerance,
                pad_mode=self.pad_mode,
                name=name,
            )
        return as_frame_numbers(np.arange(len(index)) if self.frames is None else self.frames)

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if isinstance(self.source, str):
            values["source"] = public(self.source)
        return f"ClipRequest({', '.join(f'{name}={value!r}' for name, value in values.items())})"


def as_request(request: ClipRequest | tuple[Any, ArrayLike], place: int) -> ClipRequest:
    """A request as it may be given: itself, or (source, frames).

    Args:
        request: what was given.
        place: its number, for messages.
    """
    if isinstance(request, ClipRequest):
        return request
    if isinstance(request, tuple | list) and len(request) == 2:
        return ClipRequest(*request)
    what = type(request).__name__
    if isinstance(request, tuple | list):
        what += f" of {len(request)}"
    raise ArgumentTypeError(
        f"request {place} is a {what}: {request!r:.200}; a request is (source, frames), or "
        "ClipRequest(source, frames, ...) where more is to be said"
    )
