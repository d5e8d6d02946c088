"""Set-up records that MP4 and Matroska share: what they say of the pictures (ISO/IEC 14496-15)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from videoloader.errors import FormatError
from videoloader.indexing.bitstream import h264, hevc
from videoloader.indexing.bitstream.color import Color, color_from_codes
from videoloader.indexing.bitstream.picture import PictureFormat, pixel_format

__all__ = [
    "crop_to_container",
    "hevc_parameter_sets",
    "parse_avc_record",
    "parse_hevc_record",
    "parse_vp_record",
]

_HEVC_SEQUENCE = 33


def parse_avc_record(record: bytes) -> tuple[PictureFormat, int] | None:
    """Pictures and length size of an AVCDecoderConfigurationRecord (section 5.3.3.1).

    None if the parameter sets are not in it, but in the packets.
    """
    lengths, count = _fields("BB", record, 4)
    if count & 31 == 0:
        return None
    (size,) = _fields("H", record, 6)
    return h264.parse_sps(_unit(record, 8, size)), (lengths & 3) + 1


def parse_hevc_record(record: bytes) -> tuple[PictureFormat, int] | None:
    """Pictures and length size of an HEVCDecoderConfigurationRecord (section 8.3.3.1).

    None if the parameter sets are not in it, but in the packets.
    """
    (lengths,) = _fields("B", record, 21)
    for kind, unit in hevc_parameter_sets(record):
        if kind == _HEVC_SEQUENCE:
            return hevc.parse_sps(unit), (lengths & 3) + 1
    return None


def hevc_parameter_sets(record: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and bytes of the units in an HEVCDecoderConfigurationRecord.

    Raises:
        FormatError: it is damaged.
    """
    (arrays,) = _fields("B", record, 22)
    position = 23
    for _ in range(arrays):
        kind, count = _fields("BH", record, position)
        position += 3
        for _ in range(count):
            (size,) = _fields("H", record, position)
            yield kind & 63, _unit(record, position + 2, size)
            position += 2 + size


def parse_vp_record(record: bytes, width: int, height: int) -> PictureFormat:
    """A VPCodecConfigurationRecord (VP Codec ISO Media File Format Binding, version 1)."""
    packed, *codes = _fields("BBBB", record, 6)
    depth, chroma = packed >> 4, packed >> 1 & 7
    color = color_from_codes(*codes, full_range=bool(packed & 1))
    if depth not in (8, 10, 12):
        raise FormatError(f"a VP9 set-up record says {depth} bits a sample")
    # 0 and 1 are 4:2:0, 2 is 4:2:2 and 3 is 4:4:4; the decoder has no full-range format names.
    name = pixel_format(max(chroma, 1) if chroma < 4 else 1, depth, Color(matrix=color.matrix))
    return PictureFormat(width, height, name, depth, color, reorders=False)


def crop_to_container(picture: PictureFormat, width: int, height: int) -> PictureFormat:
    """The size that an H.264 decoder of FFmpeg shows.

    Where the container's size lies within the last row and column of macroblocks, and the stream
    does not crop on the left or top, the container is believed.
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


def _unit(record: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(record) or size < 4:
        raise FormatError("a set-up record has a parameter set cut short")
    return record[offset : offset + size]
