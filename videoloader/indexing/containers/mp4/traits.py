"""Facts in MP4's tables beyond the packets: audio, shape of the pixels, light of HDR."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction

from videoloader.codecs import tags
from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.older import read_descriptors
from videoloader.indexing.traits import (
    NO_LIGHT,
    Audio,
    Light,
    as_aspect,
    audio_of_aac,
    display_text,
)

# AudioSampleEntry before its boxes: version (of QuickTime), channels, rate (16.16 bits).
_ENTRY = struct.Struct(">8xH6xH6xI")
_FIXED = {"opus": (48000, 0), "amr_nb": (8000, 1), "amr_wb": (16000, 1)}


def read_audio(table: Box | None) -> Audio:
    """An audio track by its `stbl` box."""
    with suppress(FormatError):  # of the audio, which does not concern the video
        descriptions = None if table is None else table.find(b"stsd")
        if descriptions is not None:
            return _read_entry(descriptions)
    return Audio()


def _read_entry(descriptions: Box) -> Audio:
    """The first description of an `stsd` box."""
    data, start = descriptions.data, descriptions.start + 8
    if start + _ENTRY.size + 8 > descriptions.stop:
        return Audio()
    kind = data[start + 4 : start + 8]
    version, channels, rate = _ENTRY.unpack_from(data, start + 8)
    codec = tags.MP4_SOUND.get(kind)
    if version > 1:
        return Audio(codec)  # QuickTime states the rest in another place
    rate >>= 16
    if kind == b"mp4a":
        box = Box(kind, data, start + 8 + _ENTRY.size, descriptions.stop).find(b"esds")
        described = None if box is None or version else read_descriptors(box)
        if described is None:
            return Audio("aac", rate or None, channels or None)
        codec = tags.MP4_SOUND_OBJECTS.get(described[0])
        if codec == "aac":
            return audio_of_aac(described[1])
    elif codec in _FIXED:  # whatever the entry says
        rate, channels = _FIXED[codec][0], _FIXED[codec][1] or channels
    return Audio(codec, rate or None, channels or None)


def read_aspect(inside: Mapping[bytes, Box]) -> Fraction | None:
    """The aspect ratio of pixels in a sample entry, from its `pasp` box."""
    box = inside.get(b"pasp")
    return None if box is None or box.size < 8 else as_aspect(*box.unpack("II"))


def read_light(inside: Mapping[bytes, Box]) -> Light:
    """The brightness of HDR pictures in a sample entry, from `mdcv` and `clli` boxes."""
    display, content = inside.get(b"mdcv"), inside.get(b"clli")
    if display is None and content is None:
        return NO_LIGHT
    text = most = average = None
    if display is not None and display.size >= 24:
        values = display.unpack("8HII")
        points = list(zip(values[:8:2], values[1:8:2], strict=True))
        text = display_text(points, *values[8:])
    if content is not None and content.size >= 4:
        most, average = content.unpack("HH")
    return Light(text, most, average)
