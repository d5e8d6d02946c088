"""Sizes of the decoded picture buffer, from the sequence parameter set and the level."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 16  # frames, at any level

# MaxDpbMbs (ITU-T H.264, table A-1) by level_idc; 9 is level 1b.
_H264_BLOCKS = {
    9: 396,
    10: 396,
    11: 900,
    12: 2376,
    13: 2376,
    20: 2376,
    21: 4752,
    22: 8100,
    30: 8100,
    31: 18000,
    32: 20480,
    40: 32768,
    41: 32768,
    42: 34816,
    50: 110400,
    51: 184320,
    52: 184320,
    **dict.fromkeys((60, 61, 62), 696320),
}

# MaxLumaPs (ITU-T H.265, table A.8) by general_level_idc.
_HEVC_SAMPLES = {
    30: 36864,
    60: 122880,
    63: 245760,
    90: 552960,
    93: 983040,
    **dict.fromkeys((120, 123), 2228224),
    **dict.fromkeys((150, 153, 156), 8912896),
    **dict.fromkeys((180, 183, 186), 35651584),
}


class Buffering(NamedTuple):
    """Sizes of a stream's decoded picture buffer, in frames.

    Attributes:
        level: maximum that the level allows for pictures of this size.
        references: maximum number of reference frames, 0 if the codec does not state it.
        buffered: maximum number of frames that are references or wait for output.
        reordered: reorder delay: frames that may precede a frame in decode order and follow it in
            presentation order.
    """

    level: int = 0
    references: int = 0
    buffered: int = 0
    reordered: int = 0

    def within(self, other: Buffering) -> bool:
        """Whether none of these numbers is larger than the other's.

        >>> Buffering(4, 1, 1, 0).within(Buffering(4, 4, 4, 2))
        True
        >>> Buffering(16, 1, 1, 0).within(Buffering(4, 4, 4, 2))
        False
        """
        return all(mine <= its for mine, its in zip(self, other, strict=True))


def h264_level_frames(level: int, blocks: int) -> int:
    """MaxDpbFrames (section A.3.1) by level_idc (9 for level 1b) and macroblocks of a frame.

    >>> h264_level_frames(40, 120 * 68)
    4
    """
    return min(_H264_BLOCKS[level] // max(blocks, 1), _MOST) if level in _H264_BLOCKS else _MOST


def hevc_level_frames(level: int, samples: int) -> int:
    """MaxDpbSize (section A.4.2) by general_level_idc and luma samples of a picture.

    >>> hevc_level_frames(120, 1920 * 1080)
    6
    """
    if level not in _HEVC_SAMPLES:
        return _MOST
    most = _HEVC_SAMPLES[level]
    for limit, frames in ((most >> 2, 16), (most >> 1, 12), (3 * most >> 2, 8)):
        if samples <= limit:
            return frames
    return 6
