"""`find_suspects`: where the packet sizes of a video suggest cuts; nothing is decoded.

At a cut nothing of the picture can be predicted, so a packet there is about as large as a keyframe.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags

_LARGE = 0.3  # between a usual packet (0) and a keyframe (1)
_LARGE_HIDDEN = 0.8  # the same where packets hold hidden frames, which are large without a cut
_SUDDEN = 2.5  # times as large as the packets just before: may be of a cut
_SUDDEN_LEAST = 0.05  # share of a keyframe that such a packet has at least
_JUST_BEFORE = 16  # packets
_FAR = 40  # packets on each side that tell what is usual
_STEP = 8  # packets for which the same size is usual
_USUAL = 0.85  # quantile; above the B-frames, so that it is a size of P-frames
_AHEAD = 32  # frames that a packet with hidden frames may be about


class Suspect(NamedTuple):
    """A packet as large as after a cut: a shot may begin with one of the frames `first` to `last`.

    `size` is 0 for a usual packet and 1 for one as large as a keyframe.
    """

    first: int
    last: int
    size: float


def find_suspects(index: VideoIndex) -> list[Suspect]:
    """Where the packet sizes of a video suggest cuts between keyframes; nothing is decoded."""
    sizes, is_key, usual, whole = usual_sizes(index)
    relative = (sizes - usual) / np.maximum(whole - usual, 1)
    shown = np.full(len(sizes), -1)
    shown[index.frame_packets] = np.arange(len(index))
    before = np.maximum.accumulate(np.concatenate([[-1], shown[:-1]]))  # frames decoded earlier
    hides = hides_frames(index)
    found = []
    is_large = relative >= (_LARGE_HIDDEN if hides else _LARGE)
    if not hides:
        # Behind the last keyframe no later one tells by its picture that a cut was missed. The last
        # may be the first of the file, whose size tells little: look at the packets among them.
        last = slice(int(np.flatnonzero(is_key).max(initial=-1)) + 1, None)
        if not is_large[last][_JUST_BEFORE:].any():
            is_large[last] |= _stand_out(sizes[last], whole[last])
    for packet in np.flatnonzero(is_large & ~is_key).tolist():
        first = int(before[packet]) + 1
        until = max(int(shown[packet]), first) + (_AHEAD if hides else 0)
        found.append(Suspect(first, min(until, len(index) - 1), float(relative[packet])))
    return sorted(found)


def hides_frames(index: VideoIndex) -> bool:
    """Whether a packet may also hold a frame that is shown later, as in AV1 and VP9."""
    return codec_of(index.codec).reorders is False


def usual_sizes(
    index: VideoIndex,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Packets, in decode order, and how large they usually are.

    Returns:
        Bytes of each; which are keyframes; bytes of the larger packets around each one, keyframes
        apart; bytes of a keyframe there.
    """
    is_key = (index.packets["flags"] & np.uint16(PacketFlags.KEY)) != 0
    sizes = index.packets["size"].astype(np.float64)
    whole = _nearest_keyframes(sizes, is_key)
    others = np.flatnonzero(~is_key)
    usual = whole.copy()
    if len(others):
        padded = np.pad(sizes[others], _FAR, mode="reflect" if len(others) > _FAR else "edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _FAR + 1)[::_STEP]
        usual[others] = np.repeat(np.quantile(windows, _USUAL, axis=1), _STEP)[: len(others)]
    return sizes, is_key, usual, whole


def _nearest_keyframes(
    sizes: NDArray[np.float64], is_key: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """For each packet the bytes of a keyframe near it: the median of three, of two the smaller.

    They are the one before it and the two behind, at the end the last three. An encoder that keeps
    to a bitrate may spend several times as much on the first keyframe of a file as on later ones.
    """
    keys = sizes[is_key]
    if not len(keys):
        return np.full(len(sizes), sizes.max(initial=1))
    width = min(3, len(keys))
    near = np.sort(np.lib.stride_tricks.sliding_window_view(keys, width))[:, (width - 1) // 2]
    before = np.maximum(np.cumsum(is_key) - 1, 0)
    chosen: NDArray[np.float64] = near[np.minimum(before, len(near) - 1)]
    return chosen


def _stand_out(sizes: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of packets that are much larger than the packets just before them."""
    if not len(sizes):
        return np.zeros(0, dtype=np.bool_)
    padded = np.pad(sizes, (_JUST_BEFORE, 0), mode="edge")[:-1]
    windows = np.lib.stride_tricks.sliding_window_view(padded, _JUST_BEFORE)
    usual = np.quantile(windows, _USUAL, axis=1)
    is_larger: NDArray[np.bool_] = (sizes >= _SUDDEN * usual) & (sizes >= _SUDDEN_LEAST * whole)
    return is_larger
