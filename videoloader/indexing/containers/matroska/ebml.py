"""EBML elements (RFC 8794) and the element IDs of Matroska (RFC 9559)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from videoloader.errors import FormatError

MAX_HEAD = 12
"""Maximum bytes of an element header: 4 of ID, 8 of size."""


class Id:
    """Element IDs, length marker included."""

    EBML = 0x1A45DFA3
    DOC_TYPE = 0x4282
    VOID = 0xEC
    CRC = 0xBF

    SEGMENT = 0x18538067
    SEEK_HEAD = 0x114D9B74
    SEEK = 0x4DBB
    SEEK_ID = 0x53AB
    SEEK_POSITION = 0x53AC
    INFO = 0x1549A966
    TRACKS = 0x1654AE6B
    CLUSTER = 0x1F43B675
    CUES = 0x1C53BB6B
    CHAPTERS = 0x1043A770
    ATTACHMENTS = 0x1941A469
    TAGS = 0x1254C367

    TIMESTAMP_SCALE = 0x2AD7B1

    TRACK = 0xAE
    TRACK_NUMBER = 0xD7
    TRACK_TYPE = 0x83
    CODEC = 0x86
    CODEC_PRIVATE = 0x63A2
    CODEC_DELAY = 0x56AA
    DEFAULT_FLAG = 0x88
    HEARING_FLAG = 0x55AB
    VISUAL_FLAG = 0x55AC
    DEFAULT_DURATION = 0x23E383
    TRACK_SCALE = 0x23314F

    VIDEO = 0xE0
    PIXEL_WIDTH = 0xB0
    PIXEL_HEIGHT = 0xBA
    FRAME_RATE = 0x2383E3
    COLOR = 0x55B0
    MATRIX = 0x55B1
    RANGE = 0x55B9
    TRANSFER = 0x55BA
    PRIMARIES = 0x55BB
    MAX_CLL = 0x55BC
    MAX_FALL = 0x55BD
    MASTERING = 0x55D0
    RED_X = 0x55D1  # then the other coordinates, up to the white point's
    MAX_LUMINANCE = 0x55D9
    MIN_LUMINANCE = 0x55DA
    INTERLACED = 0x9A
    DISPLAY_WIDTH = 0x54B0
    DISPLAY_HEIGHT = 0x54BA
    DISPLAY_UNIT = 0x54B2
    CROP_TOP = 0x54BB
    CROP_BOTTOM = 0x54AA
    CROP_LEFT = 0x54CC
    CROP_RIGHT = 0x54DD

    AUDIO = 0xE1
    SAMPLING_RATE = 0xB5
    OUTPUT_RATE = 0x78B5
    CHANNELS = 0x9F
    BIT_DEPTH = 0x6264

    PROJECTION = 0x7670
    PROJECTION_TYPE = 0x7671
    PROJECTION_PRIVATE = 0x7672
    YAW = 0x7673
    PITCH = 0x7674
    ROLL = 0x7675

    ENCODINGS = 0x6D80
    ENCODING = 0x6240
    ENCODING_SCOPE = 0x5032
    ENCODING_TYPE = 0x5033
    COMPRESSION = 0x5034
    COMPRESSION_ALGORITHM = 0x4254
    COMPRESSION_SETTINGS = 0x4255

    TIMESTAMP = 0xE7
    SILENT_TRACKS = 0x5854
    POSITION = 0xA7
    PREVIOUS_SIZE = 0xAB
    ENCRYPTED_BLOCK = 0xAF
    SIMPLE_BLOCK = 0xA3
    GROUP = 0xA0
    BLOCK = 0xA1
    BLOCK_DURATION = 0x9B
    REFERENCE = 0xFB


LEVEL_1 = frozenset(
    {
        Id.SEEK_HEAD,
        Id.INFO,
        Id.TRACKS,
        Id.CLUSTER,
        Id.CUES,
        Id.CHAPTERS,
        Id.ATTACHMENTS,
        Id.TAGS,
        Id.VOID,
        Id.CRC,
    }
)
"""Elements that a segment may contain."""


class NeedsDemuxerError(FormatError):
    """The file is damaged or uses a rare feature; FFmpeg's demuxer has to read it."""


def read_head(data: bytes, at: int) -> tuple[int, int, int | None]:
    """ID, header length and content size of the element at the beginning of `data`.

    The size is None if unknown. `at` is the offset in the file, for messages.
    """
    first = data[0] if data else 0
    wide = 9 - first.bit_length()
    if wide > 4 or len(data) < wide + 1:
        raise NeedsDemuxerError(f"no Matroska element at byte {at}")
    long = 9 - data[wide].bit_length()
    if long > 8 or len(data) < wide + long:
        raise NeedsDemuxerError(f"the Matroska element at byte {at} has no size")
    mask = (1 << 7 * long) - 1
    size = int.from_bytes(data[wide : wide + long], "big") & mask
    return int.from_bytes(data[:wide], "big"), wide + long, None if size == mask else size


@dataclass(frozen=True, slots=True)
class Element:
    """The content of one element, and its offset in the file."""

    kind: int
    data: bytes
    at: int

    def children(self) -> Iterator[Element]:
        """The elements inside."""
        position = 0
        while position < len(self.data):
            kind, head, size = read_head(
                self.data[position : position + MAX_HEAD], self.at + position
            )
            body = position + head
            if size is None or body + size > len(self.data):
                raise NeedsDemuxerError(
                    f"the element at byte {self.at + position} runs past the one that it is in"
                )
            yield Element(kind, self.data[body : body + size], self.at + body)
            position = body + size

    def fields(self) -> dict[int, Element]:
        """The child elements by ID; the last one if several have the same ID."""
        return {child.kind: child for child in self.children()}

    def uint(self) -> int:
        """The content as an unsigned number."""
        if len(self.data) > 8:
            raise NeedsDemuxerError(f"the number at byte {self.at} has {len(self.data)} bytes")
        return int.from_bytes(self.data, "big")

    def float(self) -> float:
        """The content as a floating-point number."""
        layout = {0: "", 4: ">f", 8: ">d"}.get(len(self.data))
        if layout is None:
            raise NeedsDemuxerError(f"the number at byte {self.at} has {len(self.data)} bytes")
        return float(struct.unpack(layout, self.data)[0]) if layout else 0.0

    def text(self) -> str:
        """The content as text, up to the first zero byte."""
        return self.data.split(b"\0")[0].decode("utf-8", "replace")
