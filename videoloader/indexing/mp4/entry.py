"""Sample descriptions (ISO/IEC 14496-12, section 8.5.2, and 14496-15): codec, set-up, colour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.bitstream import av1, h264, hevc
from videoloader.indexing.bitstream.color import Color, color_from_codes
from videoloader.indexing.bitstream.picture import PictureFormat, pixel_format
from videoloader.indexing.mp4.boxes import Box

__all__ = ["VisualEntry", "read_entries"]

_VISUAL_HEADER = 78  # bytes before the boxes inside a visual sample entry
_CODECS = {
    b"avc1": "h264",
    b"avc2": "h264",
    b"avc3": "h264",
    b"avc4": "h264",
    b"hvc1": "hevc",
    b"hev1": "hevc",
    b"dvh1": "hevc",
    b"dvhe": "hevc",
    b"av01": "av1",
    b"vp08": "vp8",
    b"vp09": "vp9",
}
_ENCRYPTED = b"encv"


@dataclass(frozen=True, slots=True)
class VisualEntry:
    """How the samples of one description are decoded."""

    codec: str
    tag: str
    picture: PictureFormat
    extradata: bytes = b""
    length_size: int = 0
    color: Color = field(default_factory=Color)


def read_entries(table: Box, sample: Callable[[], bytes]) -> list[VisualEntry] | None:
    """All descriptions of an `stsd` box; None if any is of a kind that is not read here.

    Args:
        table: the `stbl` box.
        sample: reads the first sample, where AV1 may have the sequence header that `av1C` leaves
            out.

    Raises:
        UnsupportedError: the track is encrypted.
        FormatError: a description is damaged.
    """
    entries = []
    for box in table.need(b"stsd").children(skip=8):
        if box.kind == _ENCRYPTED:
            raise UnsupportedError("the video track is encrypted; decrypt the file first")
        if box.kind not in _CODECS:
            return None
        entry = _entry(box, sample)
        if entry is None:
            return None
        entries.append(entry)
    if not entries or len({entry.codec for entry in entries}) > 1:
        return None
    return entries


def _entry(box: Box, sample: Callable[[], bytes]) -> VisualEntry | None:
    codec, tag = _CODECS[box.kind], box.kind.decode("latin-1")
    width, height = box.unpack("HH", 24)
    inside = {child.kind: child for child in box.children(skip=_VISUAL_HEADER)}
    color = _color(inside.get(b"colr"))
    match codec:
        case "h264" | "hevc":
            kind = b"avcC" if codec == "h264" else b"hvcC"
            if kind not in inside:
                return None  # the parameter sets are in the samples
            config = inside[kind]
            extradata = config.data[config.start : config.stop]
            parsed = _avc_picture(config) if codec == "h264" else _hevc_picture(config)
            if parsed is None:
                return None
            picture, length_size = parsed
            picture = _crop(picture, width, height) if codec == "h264" else picture
            return VisualEntry(codec, tag, picture, extradata, length_size, color)
        case "av1":
            if b"av1C" not in inside:
                return None
            config = inside[b"av1C"]
            extradata = config.data[config.start : config.stop]
            sequence = av1.parse_sequence(extradata[4:]) or av1.parse_sequence(sample())
            if sequence is None:
                return None
            return VisualEntry(codec, tag, sequence.picture, extradata, color=color)
        case _:
            picture = PictureFormat(width, height, "yuv420p", 8, reorders=False)
            if b"vpcC" in inside:
                picture = _vp_picture(inside[b"vpcC"], width, height)
            return VisualEntry(codec, tag, picture, color=color)


def _avc_picture(config: Box) -> tuple[PictureFormat, int] | None:
    """The first parameter set of an AVCDecoderConfigurationRecord (14496-15, section 5.3.3.1)."""
    lengths, count = config.unpack("BB", 4)
    if count & 31 == 0:
        return None
    (size,) = config.unpack("H", 6)
    unit = _slice(config, 8, size)
    return h264.parse_sps(unit), (lengths & 3) + 1


def _hevc_picture(config: Box) -> tuple[PictureFormat, int] | None:
    """The first parameter set of an HEVCDecoderConfigurationRecord (14496-15, section 8.3.3.1)."""
    lengths, arrays = config.unpack("BB", 21)
    position = 23
    for _ in range(arrays):
        kind, count = config.unpack("BH", position)
        position += 3
        for _ in range(count):
            (size,) = config.unpack("H", position)
            unit = _slice(config, position + 2, size)
            if kind & 63 == 33:
                return hevc.parse_sps(unit), (lengths & 3) + 1
            position += 2 + size
    return None


def _crop(picture: PictureFormat, width: int, height: int) -> PictureFormat:
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


def _vp_picture(config: Box, width: int, height: int) -> PictureFormat:
    """A VPCodecConfigurationRecord (VP Codec ISO Media File Format Binding, version 1)."""
    packed, *codes = config.unpack("BBBB", 6)
    depth, chroma = packed >> 4, packed >> 1 & 7
    color = color_from_codes(*codes, full_range=bool(packed & 1))
    if depth not in (8, 10, 12):
        raise FormatError(f"box 'vpcC' says {depth} bits a sample")
    # 0 and 1 are 4:2:0, 2 is 4:2:2 and 3 is 4:4:4; the decoder has no full-range format names.
    name = pixel_format(max(chroma, 1) if chroma < 4 else 1, depth, Color(matrix=color.matrix))
    return PictureFormat(width, height, name, depth, color, reorders=False)


def _slice(box: Box, offset: int, size: int) -> bytes:
    if box.start + offset + size > box.stop or size < 4:
        raise FormatError(f"box {box.kind.decode('latin-1')!r} has a parameter set cut short")
    return box.data[box.start + offset : box.start + offset + size]


def _color(box: Box | None) -> Color:
    if box is None or box.size < 10:
        return Color()
    kind = box.data[box.start : box.start + 4]
    if kind not in (b"nclx", b"nclc"):
        return Color()
    full_range = box.unpack("B", 10)[0] >= 0x80 if kind == b"nclx" and box.size > 10 else None
    return color_from_codes(*box.unpack("HHH", 4), full_range=full_range)
