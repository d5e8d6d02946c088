"""What only the first packet of a stream says, and decoders need at every keyframe.

FFmpeg keeps some facts from where it first meets them to the end of the stream, and they change
pixels. A decoder that begins at a later keyframe has to be told again:

- H.264: which build of x264 wrote the stream. FFmpeg makes up for faults of builds before 151 in
  4:4:4, and before 34 in B-frames.
- H.264, HEVC: parameter sets that differ from the container's and stand in the first packet alone.
- HEVC: film grain, which FFmpeg adds until it is told to stop.
- MPEG-4: headers, and the user data that names DivX, XviD or libavcodec and its build. FFmpeg
  chooses the inverse transform and makes up for faults by it.
- MPEG-1, MPEG-2: headers, quantiser matrices, and the user data of one encoder (TMPGEnc XS).
- JPEG: quantiser and Huffman tables, which streams may send once.

Nothing else of FFmpeg's decoders outlives a keyframe: AV1, VP8 and VP9 start anew there, VC-1,
Theora, RealVideo and the like have all such facts in the extradata, MS-MPEG-4 repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from videoloader.codecs import h264, hevc
from videoloader.codecs.bits import unescape
from videoloader.codecs.nal import length_units, split_units
from videoloader.codecs.records import setup_units
from videoloader.indexing.index import VideoIndex

__all__ = ["LEARNING", "has_film_grain", "preamble"]

LEARNING = frozenset({"h264", "hevc", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4"})
"""Codecs whose first packet may say what later keyframes do not."""

_START = b"\x00\x00\x01"

_SETS = {"h264": frozenset({7, 8}), "hevc": hevc.PARAMETER_SETS}
_MESSAGE = {"h264": 6, "hevc": 39}
_GRAIN, _REGISTERED, _UNREGISTERED = 19, 4, 5  # types of messages (ITU-T H.274, section 8)
_AOM_GRAIN = b"\xb5\x58\x90\x00\x01"  # who registered the data: AOM, for AFGS1

_X264 = re.compile(rb"x264 - core\s{0,8}(\d{1,9})")
_X264_IDENTITY = bytes.fromhex("dc45e9bde6d948b7962cd820d923eeef")
_X264_FIRST_SOUND = 151  # FFmpeg takes this build and all later ones by the letter

_QUANTISERS, _HUFFMAN, _SCAN = 0xDB, 0xC4, 0xDA  # markers of JPEG segments


def preamble(index: VideoIndex, payload: bytes, begin: bytes, section: bytes) -> bytes:
    """What to feed in front of a keyframe at which decoding begins.

    Args:
        index: of the video.
        payload: the packet of the keyframe.
        begin: beginning of the first packet of the stream, another than the keyframe's.
        section: beginning of the packet that came with the extradata that applies here; empty
            where that is the keyframe's.

    Returns:
        Bytes of the same framing as the packet's; empty where the packet says all.
    """
    match index.codec:
        case "h264" | "hevc":
            return _nal_units(index, payload, begin, section)
        case "mpeg4" | "mpeg1video" | "mpeg2video":
            return _headers(_SYNTAX[index.codec], payload, begin, section)
        case "mjpeg":
            return _jpeg_tables(payload, section)
    return b""


def has_film_grain(index: VideoIndex, payload: bytes) -> bool:
    """Whether a packet asks for film grain, which FFmpeg adds and NVDEC does not."""
    if index.codec != "hevc":
        return False
    return any(
        _kind("hevc", unit) == _MESSAGE["hevc"] and _sets_grain(unit)
        for unit in _units_before_slices("hevc", payload, index.length_size)
    )


def _nal_units(index: VideoIndex, payload: bytes, begin: bytes, section: bytes) -> bytes:
    codec, size = index.codec, index.length_size
    own = _units_before_slices(codec, payload, size)
    current = list(_units_before_slices(codec, section, size))
    units = []
    if current and not any(_kind(codec, unit) in _SETS[codec] for unit in own):
        known = {unit for _, data in index.extradata for unit in setup_units(codec, data)}
        units += [u for u in current if _kind(codec, u) in _SETS[codec] and u not in known]
    if section is not begin:
        current = [*_units_before_slices(codec, begin, size), *current]
    messages = [unit for unit in current if _kind(codec, unit) == _MESSAGE[codec]]
    units += _writer(messages) if codec == "h264" else filter(_sets_grain, messages)
    if size:
        return b"".join(len(unit).to_bytes(size, "big") + unit for unit in units)
    return b"".join(b"\0" + _START + unit for unit in units)


def _kind(codec: str, unit: bytes) -> int:
    return unit[0] & 31 if codec == "h264" else unit[0] >> 1 & 63


def _units_before_slices(codec: str, data: bytes, length_size: int) -> Iterator[bytes]:
    slices = h264.SLICES if codec == "h264" else range(32)
    for unit in _units(data, length_size):
        if _kind(codec, unit) in slices:
            return
        yield unit


def _units(data: bytes, length_size: int) -> Iterator[bytes]:
    """The NAL units of a packet, as they come."""
    if length_size:
        units: Iterable[bytes] = map(bytes, length_units(memoryview(data), length_size))
    else:
        units = split_units(data)
    for unit in units:
        if len(whole := unit.rstrip(b"\0")) > 1:
            yield whole


def _writer(messages: Iterable[bytes]) -> list[bytes]:
    """The last build of x264 that messages name, as one of its own, if FFmpeg goes by it."""
    named = [found for unit in messages if (found := _X264.search(unit))]
    if not named or int(named[-1][1]) >= _X264_FIRST_SOUND:
        return []
    data = _X264_IDENTITY + named[-1][0]
    return [bytes([_MESSAGE["h264"], _UNREGISTERED, len(data)]) + data + b"\x80"]


def _sets_grain(unit: bytes) -> bool:
    """Whether an HEVC message sets film grain; FFmpeg keeps that up to the next such message."""
    data = unescape(unit[2:])
    while len(data) > 2:
        numbers = []
        for _ in ("type", "size"):
            rest = data.lstrip(b"\xff")
            numbers.append(255 * (len(data) - len(rest)) + (rest[0] if rest else 0))
            data = rest[1:]
        kind, size = numbers
        if kind == _GRAIN or (kind == _REGISTERED and data.startswith(_AOM_GRAIN)):
            return True
        data = data[size:]
    return False


class _Syntax(NamedTuple):
    """Start codes of a codec.

    Attributes:
        headers: of what holds until it is said anew.
        sequence: the one of those that begins them.
        pictures: with which a picture begins, or what is part of one.
        told_by: what user data holds if FFmpeg goes by it.
    """

    headers: Callable[[bytes], bool]
    sequence: range
    pictures: range
    told_by: bytes


_USER_DATA = 0xB2
_MPEG4 = _Syntax(
    headers=lambda unit: unit[0] < 0x30 or unit[0] in (0xB0, 0xB5),
    sequence=range(0x20, 0x30),  # video object layers
    pictures=range(0xB6, 0xB7),
    told_by=b"",
)
_MPEG2 = _Syntax(
    # Extensions of a sequence, its display, and quantiser matrices.
    headers=lambda unit: unit[0] == 0xB3 or (unit[0] == 0xB5 and unit[1] >> 4 in (1, 2, 3)),
    sequence=range(0xB3, 0xB4),
    pictures=range(1, 0xB0),
    told_by=b"TMPGEXS",
)
_SYNTAX = {"mpeg4": _MPEG4, "mpeg1video": _MPEG2, "mpeg2video": _MPEG2}


def _headers(syntax: _Syntax, payload: bytes, begin: bytes, section: bytes) -> bytes:
    current = list(_before_pictures(syntax, section))
    units: list[bytes] = []
    if not any(unit[0] in syntax.sequence for unit in _before_pictures(syntax, payload)):
        units += filter(syntax.headers, current)
    if section is not begin:
        current = [*_before_pictures(syntax, begin), *current]
    units += [unit for unit in current if unit[0] == _USER_DATA and syntax.told_by in unit]
    return b"".join(_START + unit for unit in units)


def _before_pictures(syntax: _Syntax, data: bytes) -> Iterator[bytes]:
    for unit in split_units(data):
        if len(unit) > 1:
            if unit[0] in syntax.pictures:
                return
            yield unit


def _jpeg_tables(payload: bytes, section: bytes) -> bytes:
    own = {kind for kind, _ in _segments(payload)}
    missing = {_QUANTISERS, _HUFFMAN} - own
    tables = b"".join(data for kind, data in _segments(section) if kind in missing)
    return b"\xff\xd8" + tables if tables else b""


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Markers of a JPEG in front of its scan, each with its segment, marker included."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != _SCAN:
        if data[at + 1] == 0xFF:  # fills
            at += 1
            continue
        after = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if after > len(data):
            return
        yield data[at + 1], data[at:after]
        at = after
