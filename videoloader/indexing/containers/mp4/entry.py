"""Sample descriptions (ISO/IEC 14496-12, section 8.5.2, and 14496-15): codec, extradata, color."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from videoloader.codecs import tags
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.records import crop_to_container, parse_vp_record
from videoloader.codecs.registry import codec_of
from videoloader.errors import UnsupportedError
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.older import declared_codec, describe
from videoloader.indexing.containers.mp4.traits import read_aspect, read_light
from videoloader.indexing.order.nal_scan import describe_start_coded
from videoloader.indexing.traits import Light

_HEADER = 8  # bytes of a box before its content, unless it is long
_VISUAL_HEADER = 78  # bytes before the boxes inside a visual sample entry
_FRAMED = b"\1"  # first byte of a configuration record
_MAX_DESCRIPTIONS = 1 << 16  # bytes to read; a description has a few hundred
_ENCRYPTED, _BIT_RATE = b"encv", b"btrt"
VIDEO_KINDS = {*tags.MP4, *tags.MP4_OLDER, _ENCRYPTED}
"""Types of sample entries that are only used for video."""


@dataclass(frozen=True, slots=True)
class VisualEntry:
    """Decoding parameters of the samples of one description.

    `length_size` is 0 for H.264 and HEVC whose units have start codes. `is_reparsed` is that of
    the declared codec, which may differ from the codec of the samples.
    """

    codec: str
    tag: str
    picture: PictureFormat
    extradata: bytes = b""
    length_size: int = 0
    color: Color = field(default_factory=Color)
    aspect: Fraction | None = None
    light: Light = field(default_factory=Light)
    is_reparsed: bool = False


def read_entries(table: Box, sample: Callable[[], bytes]) -> list[VisualEntry] | None:
    """All descriptions of an `stsd` box; None if any is of an unsupported kind.

    `table` is the `stbl` box. `sample` reads the first sample, which may have headers that the
    description lacks.

    Raises:
        UnsupportedError: the track is encrypted.
        FormatError: a description is damaged.
    """
    entries = []
    descriptions = table.need(b"stsd")
    (count,) = descriptions.unpack("I", 4)
    if count > 1 and descriptions.size > _MAX_DESCRIPTIONS:
        return None
    for box in islice(descriptions.children(skip=8), count):
        if box.kind == _ENCRYPTED:
            raise UnsupportedError("the video track is encrypted; decrypt the file first")
        if box.kind not in VIDEO_KINDS:
            return None
        entry = _known_entry(box, sample)
        if entry is None:
            return None
        entries.append(entry)
    if not entries or len({entry.codec for entry in entries}) > 1:
        return None
    return entries


class _SampleNeededError(Exception):
    """A description does not suffice."""


def _known_entry(box: Box, sample: Callable[[], bytes]) -> VisualEntry | None:
    """`_entry`, which reads equal descriptions once: most files of a data set have one of a few.

    The bit rates of files, which encoders write behind all else, count for nothing here.
    """
    if box.size <= _MAX_DESCRIPTIONS:
        stop = box.stop
        for child in box.children(skip=_VISUAL_HEADER):
            header = child.start - _HEADER
            if child.stop == box.stop and box.data[header + 4 : child.start] == _BIT_RATE:
                stop = header
        with suppress(_SampleNeededError):
            return _entry_alone(box.kind, box.data[box.start : stop])
    return _entry(box, sample)


def _no_sample() -> bytes:
    raise _SampleNeededError


@lru_cache(maxsize=64)
def _entry_alone(kind: bytes, content: bytes) -> VisualEntry | None:
    return _entry(Box(kind, content, 0, len(content)), _no_sample)


def _entry(box: Box, sample: Callable[[], bytes]) -> VisualEntry | None:
    tag = box.kind.decode("latin-1")
    width, height = box.unpack("HH", 24)
    inside = {child.kind: child for child in box.children(skip=_VISUAL_HEADER)}
    color, aspect, light = _color(inside.get(b"colr")), read_aspect(inside), read_light(inside)
    rest: dict[str, Any] = {"color": color, "aspect": aspect, "light": light}
    if box.kind in tags.MP4_OLDER:
        declared = declared_codec(box.kind, inside.get(b"esds"))
        described = None if declared is None else describe(box.kind, *declared, sample())
        if declared is None or described is None:
            return None
        rest["is_reparsed"] = codec_of(declared[0]).is_reparsed
        return VisualEntry(described[0], tag, described[1], described[2], **rest)
    codec = codec_of(tags.MP4[box.kind])
    name, nal = codec.name, codec.nal
    assert codec.describe is not None
    config = inside.get(b"vpcC" if codec.self_described else nal.record_box if nal else b"av1C")
    record = b"" if config is None else config.data[config.start : config.stop]
    if nal is not None:
        if record[:1] != _FRAMED or len(record) < nal.shortest_record:
            # Start codes, which FFmpeg accepts. The parameter sets may be in the first sample.
            found = describe_start_coded(name, nal, record, sample())
        else:
            found = codec.describe(record, b"")
        if found is None or not found.extradata:
            return None
        picture = found.picture
        if nal.fits_container:
            picture = crop_to_container(picture, width, height)
        return VisualEntry(name, tag, picture, found.extradata, found.length_size, **rest)
    if codec.self_described:  # the decoder takes its parameters from keyframes
        picture = PictureFormat(width, height, "yuv420p", 8, reorders=False)
        if config is not None:
            picture = parse_vp_record(record, width, height)
        return VisualEntry(name, tag, picture, **rest)
    if config is None:
        return None
    found = codec.describe(record, b"") or codec.describe(record, sample())
    return None if found is None else VisualEntry(name, tag, found.picture, record, **rest)


def _color(box: Box | None) -> Color:
    if box is None or box.size < 10:
        return Color()
    kind = box.data[box.start : box.start + 4]
    if kind not in (b"nclx", b"nclc"):
        return Color()
    full_range = box.unpack("B", 10)[0] >= 0x80 if kind == b"nclx" and box.size > 10 else None
    return color_from_codes(*box.unpack("HHH", 4), full_range=full_range)
