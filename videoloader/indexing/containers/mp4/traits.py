"""What tables of MP4 files say beyond the packets: audio, shape of the pixels, light of HDR."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction

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
_CODECS = {
    b"Opus": "opus",
    b"fLaC": "flac",
    b"ac-3": "ac3",
    b"ec-3": "eac3",
    b"alac": "alac",
    b".mp3": "mp3",
    b"sowt": "pcm_s16le",
    b"twos": "pcm_s16be",
    b"lpcm": "pcm_s16le",
    b"ulaw": "pcm_mulaw",
    b"alaw": "pcm_alaw",
    b"samr": "amr_nb",
    b"sawb": "amr_wb",
    b"dtsc": "dts",
    b"mlpa": "truehd",
}
# objectTypeIndication (ISO/IEC 14496-1, table 5)
_OBJECTS = {
    **dict.fromkeys((0x40, 0x66, 0x67, 0x68), "aac"),
    **dict.fromkeys((0x69, 0x6B), "mp3"),
    0xA5: "ac3",
    0xA6: "eac3",
    0xA9: "dts",
    0xAD: "opus",
    0xDD: "vorbis",
}


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
    codec = _CODECS.get(kind)
    if version > 1:
        return Audio(codec)  # QuickTime states the rest in another place
    rate >>= 16
    if kind == b"mp4a":
        box = Box(kind, data, start + 8 + _ENTRY.size, descriptions.stop).find(b"esds")
        told = None if box is None or version else read_descriptors(box)
        if told is None:
            return Audio("aac", rate or None, channels or None)
        codec = _OBJECTS.get(told[0])
        if codec == "aac":
            return audio_of_aac(told[1])
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
