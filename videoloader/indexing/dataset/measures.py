"""Columns of a data set index that measure a video: rates, GOPs, audio, HDR."""

from __future__ import annotations

from typing import Any

import numpy as np

from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags
from videoloader.indexing.traits import Audio

_FINE = 4  # ticks a frame, from which on steps of evenly spaced frames may differ by rounding
_UNKNOWN_AUDIO = Audio()
_INT32, _INT64 = 1 << 31, 1 << 63
_DISCARD = np.uint16(PacketFlags.DISCARD)


def measures_of(index: VideoIndex) -> dict[str, Any]:
    """The values of these columns by name; docs/data-set-columns.md explains each."""
    traits, light = index.traits, index.traits.light
    audio = _UNKNOWN_AUDIO if traits.audio is None else traits.audio
    table, seconds = index.packets, index.duration
    size = int(table["size"].sum())
    is_whole = index.num_frames == len(table) and index.order is None  # each packet is shown
    variable, gap = _spacing(index)
    count, longest, interval, opened = _groups(index)
    return {
        "has_audio": None if traits.audio is None else audio.is_there,
        "audio_codec": audio.codec,
        "audio_sample_rate": _within(_INT32, audio.sample_rate),
        "audio_channels": _within(_INT32, audio.channels),
        "variable_rate": variable,
        "max_gap": gap,
        "bit_rate": _within(_INT64, round(size * 8 / seconds)) if seconds > 0 else None,
        "mean_gop": count,
        "max_gop": longest,
        "keyframe_interval": interval,
        "open_gops": opened,
        "sample_aspect_ratio": None if traits.aspect is None else float(traits.aspect),
        "interlaced": traits.interlaced,
        "is_hdr": index.color.is_hdr,
        "mastering_display": light.display,
        "max_cll": _within(_INT32, light.max_cll),
        "max_fall": _within(_INT32, light.max_fall),
        "edit_list": traits.has_edits,
        "num_discarded": 0 if is_whole else int(np.count_nonzero(table["flags"] & _DISCARD)),
    }


def _spacing(index: VideoIndex) -> tuple[bool, float | None]:
    """Whether the frame rate varies, and the longest time from one frame to the next."""
    pts = index.pts
    if len(pts) < 2:
        return False, None
    steps = pts[1:] - pts[:-1]
    longest, shortest = int(steps.max()), int(steps.min())
    is_even = longest - shortest <= (shortest >= _FINE) or index.even_rate is not None
    return not is_even, _seconds(longest, index)


def _groups(index: VideoIndex) -> tuple[float | None, int | None, float | None, int | None]:
    """Measures of GOPs in presentation order: mean and most frames, longest interval, open ones."""
    keys = index.keyframes
    count, packets = index.num_frames, index.frame_packets
    if not len(keys):
        return None, None, None, None
    last = count - int(keys[-1])
    # A frame before the keyframe that comes after it in decode order is a leading one.
    latest = np.maximum.accumulate(packets)[keys]
    opened = int(np.count_nonzero(latest > packets[keys]))
    if len(keys) == 1:
        return float(last), last, None, opened
    longest = max(last, int((keys[1:] - keys[:-1]).max()))
    times = index.pts[keys]
    interval = _seconds(int((times[1:] - times[:-1]).max()), index)
    return (count - int(keys[0])) / len(keys), longest, interval, opened


def _seconds(ticks: int, index: VideoIndex) -> float:
    return ticks * index.time_base.numerator / index.time_base.denominator


def _within(limit: int, value: int | None) -> int | None:
    """A number that its column can hold; files may state any."""
    return value if value is not None and value < limit else None
