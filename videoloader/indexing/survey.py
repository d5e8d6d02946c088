"""What the NAL units of an H.264 or HEVC stream tell, gone through from front to back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.bitstream.h264_order import H264Order
from videoloader.indexing.bitstream.hevc_order import HevcOrder
from videoloader.indexing.bitstream.nal import recovers_at_once

__all__ = ["SLICE_HEADER", "Survey"]

SLICE_HEADER = 160
"""Bytes of a slice that are enough for its header."""

_START = b"\0\0\1"


class Survey:
    """Goes through the units that matter from front to back, and keeps what they tell.

    `keys` and `ranks` have one entry a picture, `ranks` only while `is_told`; `setups` are the
    parameter sets that apply from a packet on.
    """

    def __init__(self, codec: str) -> None:
        self.codec = codec
        self.keys: list[bool] = []
        self.ranks: list[tuple[int, int]] = []
        self.setups: list[tuple[int, bytes]] = []
        self.is_told = True
        self._order = H264Order() if codec == "h264" else HevcOrder()
        self._sets: dict[tuple[int, int], bytes] = {}
        self._changed = False
        self._recovers = False

    def learn(self, unit: bytes) -> None:
        """A parameter set."""
        try:
            name = self._order.learn(unit)
        except (FormatError, IndexError):
            self.is_told = False
            return
        self._changed |= self._sets.get(name) != unit
        self._sets[name] = unit

    def message(self, unit: bytes) -> None:
        """An H.264 message."""
        self._recovers |= recovers_at_once(unit)

    def picture(self, head: bytes) -> None:
        """The first slice of a picture."""
        kind = head[0] & 31 if self.codec == "h264" else head[0] >> 1
        if self.codec == "hevc":
            is_key = kind >= 16
        else:  # an IDR picture is referred to, or it is none
            is_key = (kind == 5 and head[0] >> 5 > 0) or self._recovers
        if self._changed and (is_key or not self.keys):
            sets = b"".join(_START + unit for _, unit in sorted(self._sets.items()))
            self.setups.append((len(self.keys), sets))
            self._changed = False
        self.keys.append(is_key)
        self._recovers = False
        if self.is_told:
            try:
                self.ranks.append(self._order.count(head))
            except (FormatError, IndexError):
                self.is_told = False

    def order(self) -> NDArray[np.int64] | None:
        """The pictures in presentation order, None if that is not told."""
        ranks = np.array(self.ranks, dtype=np.int64).reshape(-1, 2)
        shown = np.lexsort((ranks[:, 1], ranks[:, 0]))
        ranks = ranks[shown]
        if not self.is_told or (ranks[1:] == ranks[:-1]).all(axis=1).any():
            self.is_told = False
            return None
        return shown
