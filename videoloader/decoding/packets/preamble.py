"""Headers that only the first packet of a stream has, and decoders need at every keyframe.

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
from collections.abc import Iterable, Iterator

from videoloader.codecs.bits import unescape
from videoloader.codecs.codec import NalSyntax, StartCodes
from videoloader.codecs.nal import length_units, split_units
from videoloader.codecs.records import setup_units
from videoloader.codecs.registry import codec_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import Packets

_START = b"\x00\x00\x01"

_GRAIN, _REGISTERED, _UNREGISTERED = 19, 4, 5  # types of messages (ITU-T H.274, section 8)
_AOM_GRAIN = b"\xb5\x58\x90\x00\x01"  # who registered the data: AOM, for AFGS1

_X264 = re.compile(rb"x264 - core\s{0,8}(\d{1,9})")
_X264_IDENTITY = bytes.fromhex("dc45e9bde6d948b7962cd820d923eeef")
_X264_FIRST_SOUND = 151  # FFmpeg takes this build and all later ones by the letter

_QUANTISERS, _HUFFMAN, _SCAN = 0xDB, 0xC4, 0xDA  # markers of JPEG segments


def preamble(index: VideoIndex, payload: bytes, begin: bytes, section: bytes) -> bytes:
    """The bytes to feed in front of a keyframe at which decoding begins.

    Args:
        index: of the video.
        payload: the packet of the keyframe.
        begin: beginning of the first packet of the stream, another than the keyframe's.
        section: beginning of the packet that came with the extradata that applies here; empty
            where that is the keyframe's.

    Returns:
        Bytes of the same framing as the packet's; empty where the packet says all.
    """
    codec = codec_of(index.codec)
    if codec.nal is not None:
        return _nal_units(index, codec.nal, payload, begin, section)
    if codec.start_codes is not None:
        return _headers(codec.start_codes, payload, begin, section)
    return _jpeg_tables(payload, section) if codec.shares_tables else b""


def has_film_grain(index: VideoIndex, packets: Packets) -> bool:
    """Whether the first packet asks for film grain, which FFmpeg adds and NVDEC does not."""
    nal = codec_of(index.codec).nal
    if nal is None or not nal.has_film_grain:
        return False
    return any(
        nal.kind(unit[0]) == nal.message and _sets_grain(unit)
        for unit in _units_before_slices(nal, packets[0], index.length_size)
    )


def _nal_units(
    index: VideoIndex, nal: NalSyntax, payload: bytes, begin: bytes, section: bytes
) -> bytes:
    size = index.length_size
    current = list(_units_before_slices(nal, section, size))
    units = [unit for unit in current if nal.kind(unit[0]) in nal.parameters]
    if units:
        own = _units_before_slices(nal, payload, size)
        known = {unit for _, data in index.extradata for unit in setup_units(nal, data)}
        has_own = any(nal.kind(unit[0]) in nal.parameters for unit in own)
        units = [] if has_own else [unit for unit in units if unit not in known]
    if section is not begin:
        current = [*_units_before_slices(nal, begin, size), *current]
    messages = [unit for unit in current if nal.kind(unit[0]) == nal.message]
    units += filter(_sets_grain, messages) if nal.has_film_grain else _writer(nal, messages)
    if size:
        return b"".join(len(unit).to_bytes(size, "big") + unit for unit in units)
    return b"".join(b"\0" + _START + unit for unit in units)


def _units_before_slices(nal: NalSyntax, data: bytes, length_size: int) -> Iterator[bytes]:
    for unit in _units(data, length_size):
        if nal.kind(unit[0]) in nal.pictures:
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


def _writer(nal: NalSyntax, messages: Iterable[bytes]) -> list[bytes]:
    """The last build of x264 that messages name, as one of its own, if FFmpeg goes by it."""
    named = [found for unit in messages if (found := _X264.search(unit))]
    if not named or int(named[-1][1]) >= _X264_FIRST_SOUND:
        return []
    data = _X264_IDENTITY + named[-1][0]
    return [bytes([nal.message, _UNREGISTERED, len(data)]) + data + b"\x80"]


def _sets_grain(unit: bytes) -> bool:
    """Whether an HEVC message sets film grain, which FFmpeg keeps up to the next one."""
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


_USER_DATA = 0xB2


def _headers(syntax: StartCodes, payload: bytes, begin: bytes, section: bytes) -> bytes:
    current = list(_before_pictures(syntax, section))
    units: list[bytes] = []
    if not any(unit[0] in syntax.sequence for unit in _before_pictures(syntax, payload)):
        units += filter(syntax.is_header, current)
    if section is not begin:
        current = [*_before_pictures(syntax, begin), *current]
    units += [unit for unit in current if unit[0] == _USER_DATA and syntax.marker in unit]
    return b"".join(_START + unit for unit in units)


def _before_pictures(syntax: StartCodes, data: bytes) -> Iterator[bytes]:
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
