"""Frames for callers that ask for one frame at a time: decoded ahead, or kept by GOP."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.side_data import read_picture_types
from videoloader.errors import DecodeError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.video import Video

_IN_A_ROW = 4  # consecutive single frames, after which more are decoded than asked for
_AHEAD = 4  # frames decoded at a time
LIMIT = 256 << 20  # bytes of frames kept
_UNREAD = "?"
_PATIENCE = 2  # decoded packets of a GOP, as a multiple of its length, after which it is kept


class FramesAhead:
    """Decodes a few frames at a time for callers that read a video frame by frame.

    The Python cost of a request does not grow with its frames. Fewer frames are decoded in vain
    than were requested before. Threads may share it.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._state: tuple[int, int, tuple[torch.Tensor, ...]] = (0, 0, ())
        """The number of the next frame, the requests in a row so far, the frames decoded ahead."""

    def __reduce__(self) -> tuple[Any, ...]:
        return FramesAhead, (self._count,)

    def frame(self, number: int, decode: Callable[[Sequence[int]], torch.Tensor]) -> torch.Tensor:
        """A frame by number; `decode` gives several."""
        position, row, ahead = self._state  # read and written at once, for threads
        if number != position:
            row, ahead = 0, ()
        if not ahead and row >= _IN_A_ROW:
            with suppress(VideoError):  # a later frame may be damaged
                ahead = decode(range(number, min(number + _AHEAD, self._count))).unbind()
        if not ahead:
            ahead = decode([number]).unbind()
        self._state = number + 1, row + 1, ahead[1:]
        return ahead[0]


class KeptFrames:
    """Keeps the GOPs that single frames were requested from most recently.

    A single frame costs all packets from its keyframe on. Once single frames of a GOP have cost
    twice its packets, the GOP is decoded as a whole and kept; at most 256 MB are kept in all.

    Args:
        index: of the video.
        decode: gives frames (F, H, W, C) on the CPU by number.
        frame_shape: of a frame of uint8.
    """

    def __init__(
        self,
        index: VideoIndex,
        decode: Callable[[NDArray[np.int64]], torch.Tensor],
        frame_shape: tuple[int, ...],
    ) -> None:
        self._index = index
        self._decode = decode
        self._frame_bytes = math.prod(frame_shape)
        self._spent: Counter[int] = Counter()  # packets, by first frame of the GOP
        self._kept: OrderedDict[int, torch.Tensor] = OrderedDict()

    def frame(self, number: int) -> torch.Tensor:
        """One frame (H, W, C), in memory of its own."""
        first, stop = _gop(self._index, number)
        if first not in self._kept and not self._is_worth_it(number, first, stop):
            return self._decode(np.array([number]))[0]
        if first not in self._kept:
            room = LIMIT - (stop - first) * self._frame_bytes
            while self._kept and sum(kept.numel() for kept in self._kept.values()) > room:
                self._kept.popitem(last=False)
            self._kept[first] = self._decode(np.arange(first, stop))
        self._kept.move_to_end(first)
        frame = self._kept[first].numpy()[number - first]
        return torch.from_numpy(frame.copy())  # torch would wake its threads for this

    def _is_worth_it(self, number: int, first: int, stop: int) -> bool:
        """Count the packets of one more frame of a GOP; True if the GOP is to be decoded now."""
        if (stop - first) * self._frame_bytes > LIMIT:
            return False
        spent = self._spent[first]
        packets = self._index.frame_packets[number] - self._index.seek_packets[number] + 1
        self._spent[first] = spent + int(packets)
        return spent >= _PATIENCE * (stop - first)


class PictureTypes:
    """Types of pictures, `I`, `P` or `B`, read for a whole GOP at once."""

    def __init__(self, video: Video) -> None:
        self._video = video
        self._known: NDArray[np.str_] = np.full(len(video), _UNREAD)

    def of(self, number: int) -> str:
        """The type of a frame; `?` where the decoder tells none."""
        if self._known[number] == _UNREAD:
            try:
                self._known = self._read(np.arange(*_gop(self._video.index, number)))
            except DecodeError:  # another frame of the GOP may be damaged
                self._known = self._read(np.array([number]))
        return str(self._known[number])

    def _read(self, frames: NDArray[np.int64]) -> NDArray[np.str_]:
        index, source = self._video.index, self._video.source
        return read_picture_types(index, source, threads=1, max_pixels=None, frames=frames)


def _gop(index: VideoIndex, number: int) -> tuple[int, int]:
    """The first frame of a frame's GOP, and of the next one."""
    keyframes = index.keyframes
    place = int(np.searchsorted(keyframes, number, side="right"))
    first = int(keyframes[place - 1]) if place else 0
    return first, int(keyframes[place]) if place < len(keyframes) else len(index)
