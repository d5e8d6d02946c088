"""Frames kept for readers that are asked for one frame at a time, again and again in one GOP."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.indexing.index import VideoIndex

__all__ = ["KeptFrames"]

_LIMIT = 256 << 20  # bytes of frames kept
_PATIENCE = 2  # times the packets of a GOP, spent on single frames of it, after which it is kept


class KeptFrames:
    """The frames of the GOPs that single frames were asked of most recently.

    A frame by itself costs all packets from its keyframe on. Once a GOP has cost twice its packets
    this way, it is decoded as a whole and kept, at most 256 MB in all: so what is asked for never
    costs much more than it has to, and frames asked for once cost no memory.

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
        first, stop = self._gop(number)
        if first not in self._kept and not self._is_worth_it(number, first, stop):
            return self._decode(np.array([number]))[0]
        if first not in self._kept:
            room = _LIMIT - (stop - first) * self._frame_bytes
            while self._kept and sum(kept.numel() for kept in self._kept.values()) > room:
                self._kept.popitem(last=False)
            self._kept[first] = self._decode(np.arange(first, stop))
        self._kept.move_to_end(first)
        frame = self._kept[first].numpy()[number - first]
        return torch.from_numpy(frame.copy())  # torch would wake its threads for this

    def _gop(self, number: int) -> tuple[int, int]:
        """First frame and end of the GOP that a frame is shown in."""
        keyframes = self._index.keyframes
        place = int(np.searchsorted(keyframes, number, side="right"))
        first = int(keyframes[place - 1]) if place else 0
        return first, int(keyframes[place]) if place < len(keyframes) else len(self._index)

    def _is_worth_it(self, number: int, first: int, stop: int) -> bool:
        """Count the packets of one more frame of a GOP; whether to decode all of it now."""
        if (stop - first) * self._frame_bytes > _LIMIT:
            return False
        spent = self._spent[first]
        packets = self._index.frame_packets[number] - self._index.seek_packets[number] + 1
        self._spent[first] = spent + int(packets)
        return spent >= _PATIENCE * (stop - first)
