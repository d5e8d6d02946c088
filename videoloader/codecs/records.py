"""Decoder configuration records in MP4 and Matroska (ISO/IEC 14496-15)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.h264 import sequence as h264
from videoloader.codecs.hevc import sequence as hevc
from videoloader.codecs.nal import split_units
from videoloader.codecs.picture import PictureFormat, pixel_format
from videoloader.errors import FormatError

_HEVC_SEQUENCE = 33
_SHORTEST_SET = 4  # bytes
_CUT = "a set-up record has a parameter set cut short"


def parse_avc_record(record: bytes) -> tuple[PictureFormat, int] | None:
    """Picture format and length size of an AVCDecoderConfigurationRecord (section 5.3.3.1).

    None if the record has no parameter sets; they are in the packets then.
    """
    lengths, count = _fields("BB", record, 4)
    if count & 31 == 0:
        return None
    sequence = _whole(next(avc_units(record)))
    return h264.parse_sequence(sequence).picture, (lengths & 3) + 1


def parse_hevc_record(record: bytes) -> tuple[PictureFormat, int] | None:
    """Picture format and length size of an HEVCDecoderConfigurationRecord (section 8.3.3.1).

    None if the record has no parameter sets; they are in the packets then.
    """
    (lengths,) = _fields("B", record, 21)
    for kind, unit in _hevc_arrays(record):
        _whole(unit)
        if kind == _HEVC_SEQUENCE:
            return hevc.parse_sequence(unit).picture, (lengths & 3) + 1
    return None


def parse_vp_record(record: bytes, width: int, height: int) -> PictureFormat:
    """A VPCodecConfigurationRecord (VP Codec ISO Media File Format Binding, version 1)."""
    packed, *codes = _fields("BBBB", record, 6)
    depth, chroma = packed >> 4, packed >> 1 & 7
    color = color_from_codes(*codes, full_range=bool(packed & 1))
    if depth not in (8, 10, 12):
        raise FormatError(f"a VP9 set-up record says {depth} bits a sample")
    # 0 and 1 are 4:2:0, 2 is 4:2:2, 3 is 4:4:4. FFmpeg's decoder never outputs yuvj formats.
    name = pixel_format(max(chroma, 1) if chroma < 4 else 1, depth, Color(matrix=color.matrix))
    return PictureFormat(width, height, name, depth, color, reorders=False)


def crop_to_container(picture: PictureFormat, width: int, height: int) -> PictureFormat:
    """The format with the size that FFmpeg's H.264 decoder outputs.

    FFmpeg uses the container's size if its right and bottom edges lie within the last column and
    row of macroblocks and the stream does not crop on the left or top.
    """

    def blocks(length: int) -> int:
        return (length + 15) // 16

    fits = blocks(width) == blocks(picture.width) and blocks(height) == blocks(picture.height)
    if not fits or picture.starts_cropped or width > picture.width or height > picture.height:
        return picture
    return replace(picture, width=width, height=height)


def _fields(layout: str, record: bytes, offset: int) -> tuple[int, ...]:
    if offset + struct.calcsize(f">{layout}") > len(record):
        raise FormatError(f"a set-up record of {len(record)} bytes is too short")
    return struct.unpack_from(f">{layout}", record, offset)


def _next_unit(record: bytes, position: int) -> tuple[bytes, int]:
    """The unit behind its size, and its end."""
    (size,) = _fields("H", record, position)
    stop = position + 2 + size
    if stop > len(record):
        raise FormatError(_CUT)
    return record[position + 2 : stop], stop


def _whole(unit: bytes) -> bytes:
    if len(unit) < _SHORTEST_SET:
        raise FormatError(_CUT)
    return unit


def setup_units(nal: NalSyntax, setup: bytes) -> list[bytes]:
    """The NAL units in the extradata of an H.264 or HEVC stream, a record or a byte stream.

    Empty if it is damaged.
    """
    try:
        units = parameter_sets(nal, setup)
    except FormatError:
        return []
    stripped = (unit.rstrip(b"\0") for unit in (split_units(setup) if units is None else units))
    return [unit for unit in stripped if unit]


def parameter_sets(nal: NalSyntax, record: bytes) -> list[bytes] | None:
    """The NAL units of an AVC or HEVC decoder configuration record (ISO/IEC 14496-15).

    None if the bytes are a byte stream instead of a record.

    Raises:
        FormatError: the record is truncated.
    """
    if record[:1] != b"\x01":
        return None
    try:
        return list(nal.record_units(record))
    except FormatError as error:
        raise FormatError(f"a set-up record of {len(record)} bytes is too short") from error


def avc_units(record: bytes) -> Iterator[bytes]:
    """The units in an AVC record (section 5.3.3.1); FormatError if it is truncated."""
    position = 5
    for mask in (31, 255):  # sequence, then picture parameter sets
        (count,) = _fields("B", record, position)
        position += 1
        for _ in range(count & mask):
            unit, position = _next_unit(record, position)
            yield unit


def hevc_units(record: bytes) -> Iterator[bytes]:
    """The units in an HEVC record (section 8.3.3.1); FormatError if it is truncated."""
    return (unit for _, unit in _hevc_arrays(record))


def _hevc_arrays(record: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and bytes of the units in an HEVC record."""
    (arrays,) = _fields("B", record, 22)
    position = 23
    for _ in range(arrays):
        kind, count = _fields("BH", record, position)
        position += 3
        for _ in range(count):
            unit, position = _next_unit(record, position)
            yield kind & 63, unit
