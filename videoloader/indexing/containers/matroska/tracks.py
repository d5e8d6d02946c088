"""Track entries (RFC 9559, section 5.1.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from videoloader.codecs.color import Color, color_from_codes
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.containers.matroska.ebml import Element, Id, NeedsDemuxerError
from videoloader.indexing.containers.matroska.traits import (
    read_aspect,
    read_audio,
    read_interlaced,
    read_light,
)
from videoloader.indexing.packets import Orientation
from videoloader.indexing.traits import Audio, Light

VIDEO, AUDIO = 1, 2
# Track type and first letter of the codec ID of tracks that FFmpeg makes streams of.
_STREAMS = {1: "V", 2: "A", 0x11: "DS", 0x21: "DS"}
_HEADER_STRIPPING = 3
_RECTANGULAR = 0
_MAX_FRAME_NS = 1 << 52


@dataclass(frozen=True, slots=True)
class Track:
    """One entry; `stream` is the number of FFmpeg's stream.

    `frame_ns` is the default duration of a frame in nanoseconds, 0 if unknown. `prefix` has to be
    prepended to the content of every block; None if the content encoding is not supported.
    """

    stream: int
    number: int
    kind: int
    codec: str
    private: bytes
    preference: int
    frame_ns: int
    scale: float
    delay: int
    prefix: bytes | None
    is_encrypted: bool
    audio: Audio | None = None
    aspect: Fraction | None = None
    interlaced: bool | None = None
    light: Light = field(default_factory=Light)
    width: int = 0
    height: int = 0
    color: Color = field(default_factory=Color)
    orientation: Orientation = field(default_factory=Orientation)


def read_tracks(table: Element) -> list[Track]:
    """The tracks of a `Tracks` element that FFmpeg makes streams of, in order."""
    tracks: list[Track] = []
    for entry in table.children():
        if entry.kind != Id.TRACK:
            continue
        fields = entry.fields()
        if Id.CODEC not in fields:
            continue
        kind, codec = _uint(fields, Id.TRACK_TYPE, 0), fields[Id.CODEC].text()
        if codec[:1] and codec[0] in _STREAMS.get(kind, ""):
            tracks.append(_track(fields, len(tracks), kind, codec))
    return tracks


def _track(fields: dict[int, Element], stream: int, kind: int, codec: str) -> Track:
    video = fields[Id.VIDEO].fields() if Id.VIDEO in fields else {}
    prefix, is_encrypted = _stripped(fields.get(Id.ENCODINGS))
    frame_ns = _uint(fields, Id.DEFAULT_DURATION, 0)
    if not frame_ns and Id.FRAME_RATE in video and (rate := video[Id.FRAME_RATE].float()) > 0:
        frame_ns = int(1e9 / rate) if rate > 1e-9 else 0
    width, height = _uint(video, Id.PIXEL_WIDTH, 0), _uint(video, Id.PIXEL_HEIGHT, 0)
    impaired = _uint(fields, Id.HEARING_FLAG, 0) or _uint(fields, Id.VISUAL_FLAG, 0)
    return Track(
        stream=stream,
        number=_uint(fields, Id.TRACK_NUMBER, 0),
        kind=kind,
        codec=codec,
        private=fields[Id.CODEC_PRIVATE].data if Id.CODEC_PRIVATE in fields else b"",
        preference=int(_uint(fields, Id.DEFAULT_FLAG, 1) != 0) + int(not impaired),
        frame_ns=frame_ns if frame_ns < _MAX_FRAME_NS else 0,
        scale=fields[Id.TRACK_SCALE].float() if Id.TRACK_SCALE in fields else 1.0,
        delay=_uint(fields, Id.CODEC_DELAY, 0),
        prefix=prefix,
        is_encrypted=is_encrypted,
        audio=read_audio(fields, codec) if kind == AUDIO else None,
        aspect=read_aspect(video, width, height),
        interlaced=read_interlaced(video),
        light=read_light(video.get(Id.COLOR)),
        width=width,
        height=height,
        color=_color(video.get(Id.COLOR)),
        orientation=_orientation(video.get(Id.PROJECTION)),
    )


def _uint(fields: dict[int, Element], kind: int, default: int) -> int:
    return fields[kind].uint() if kind in fields and fields[kind].data else default


def _stripped(encodings: Element | None) -> tuple[bytes | None, bool]:
    """The header bytes stripped from every block, and whether blocks are encrypted."""
    if encodings is None:
        return b"", False
    entries = [child.fields() for child in encodings.children() if child.kind == Id.ENCODING]
    if any(_uint(fields, Id.ENCODING_TYPE, 0) == 1 for fields in entries):
        return None, True
    if not entries:
        return b"", False
    fields = entries[0]
    if len(entries) > 1 or _uint(fields, Id.ENCODING_SCOPE, 1) != 1 or Id.COMPRESSION not in fields:
        return None, False
    compression = fields[Id.COMPRESSION].fields()
    if _uint(compression, Id.COMPRESSION_ALGORITHM, 0) != _HEADER_STRIPPING:
        return None, False
    settings = compression.get(Id.COMPRESSION_SETTINGS)
    return b"" if settings is None else settings.data, False


def _color(element: Element | None) -> Color:
    if element is None:
        return Color()
    fields = element.fields()
    codes = (_uint(fields, kind, 2) for kind in (Id.PRIMARIES, Id.TRANSFER, Id.MATRIX))
    full = {1: False, 2: True}.get(_uint(fields, Id.RANGE, 0))
    return color_from_codes(*codes, full_range=full)


def _orientation(projection: Element | None) -> Orientation:
    """Orientation of a flat projection: a mirror (yaw of 180), then a counter-clockwise roll."""
    if projection is None:
        return Orientation()
    fields = projection.fields()
    yaw, pitch, roll = (
        fields[kind].float() if kind in fields else 0.0 for kind in (Id.YAW, Id.PITCH, Id.ROLL)
    )
    private = fields.get(Id.PROJECTION_PRIVATE)
    is_flat = _uint(fields, Id.PROJECTION_TYPE, 0) == _RECTANGULAR
    if not is_flat or (private is not None and private.data[:1] not in (b"", b"\0")):
        return Orientation()
    if pitch != 0 or abs(yaw) not in (0, 180) or not math.isfinite(roll):
        return Orientation()
    mirror = -1 if yaw else 1
    angle = math.radians(mirror * roll)
    cosine, sine = round(math.cos(angle) * 65536), round(math.sin(angle) * 65536)
    return Orientation.from_matrix(mirror * cosine, -sine, mirror * sine, cosine)


def check_is_readable(track: Track) -> None:
    """Check that a decoder can take the blocks of a track as stored.

    Raises:
        UnsupportedError: they are encrypted.
        NeedsDemuxerError: they are compressed, or their times are modified.
    """
    if track.is_encrypted:
        raise UnsupportedError("the video track is encrypted; decrypt the file first")
    if track.prefix is None:
        raise NeedsDemuxerError("the blocks of the video track are compressed")
    if track.scale != 1 or track.delay:
        raise NeedsDemuxerError("the video track has a clock of its own")
    if not (0 < track.width < 1 << 16 and 0 < track.height < 1 << 16):
        raise FormatError(f"the video track says {track.width}x{track.height} pixels")
