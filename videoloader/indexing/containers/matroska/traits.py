"""Facts in Matroska's track entries beyond the packets: audio, shape of pixels, light of HDR."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TypeAlias

from videoloader.codecs import tags
from videoloader.errors import FormatError
from videoloader.indexing.containers.matroska.ebml import Element, Id
from videoloader.indexing.traits import (
    NO_LIGHT,
    Audio,
    Light,
    as_aspect,
    audio_of_aac,
    display_text,
)

Fields: TypeAlias = Mapping[int, Element]

_RATE, _CHANNELS = 8000.0, 1  # unless stated
_OPUS_RATE = 48000
_PIXELS, _RATIO = 0, 3  # units of the display size
_INTERLACED, _PROGRESSIVE = 1, 2
_COORDINATE, _LUMINANCE = 50_000, 10_000  # units of `Light.display`


def read_audio(fields: Fields, codec: str) -> Audio:
    """An audio track, from its entry."""
    inside = _inside(fields, Id.AUDIO)
    # Longer ones too: `A_AAC/MPEG4/LC`
    longer = (name for start, name in tags.MATROSKA_SOUND.items() if codec.startswith(start))
    known = tags.MATROSKA_SOUND.get(codec) or next(longer, None)
    if known is None and codec.startswith("A_PCM/INT"):
        depth = _uint(inside, Id.BIT_DEPTH, 16)
        known = f"pcm_s{depth}{'be' if codec.endswith('BIG') else 'le'}" if depth > 8 else "pcm_u8"
    if known == "aac" and Id.CODEC_PRIVATE in fields:
        found = audio_of_aac(fields[Id.CODEC_PRIVATE].data)
        if found.sample_rate is not None and found.channels is not None:
            return found
    rate = _float(inside, Id.SAMPLING_RATE, _RATE)
    rate = _float(inside, Id.OUTPUT_RATE, rate) if known != "opus" else _OPUS_RATE
    return Audio(
        codec=known,
        sample_rate=int(rate) if 0 < rate < 1 << 31 else None,
        channels=_uint(inside, Id.CHANNELS, _CHANNELS) or None,
    )


def read_aspect(video: Fields, width: int, height: int) -> Fraction | None:
    """Aspect ratio of pixels, from the display size and the size of the picture in pixels."""
    if _uint(video, Id.DISPLAY_UNIT, _PIXELS) > _RATIO:
        return None
    width -= _uint(video, Id.CROP_LEFT, 0) + _uint(video, Id.CROP_RIGHT, 0)
    height -= _uint(video, Id.CROP_TOP, 0) + _uint(video, Id.CROP_BOTTOM, 0)
    across = _uint(video, Id.DISPLAY_WIDTH, width)
    down = _uint(video, Id.DISPLAY_HEIGHT, height)
    if (across, down) == (width, height):
        return as_aspect(1, 1)
    display, stored = as_aspect(across, down), as_aspect(width, height)
    return None if display is None or stored is None else display / stored


def read_interlaced(video: Fields) -> bool | None:
    """Whether pictures consist of fields."""
    flag = _uint(video, Id.INTERLACED, 0)
    return {_INTERLACED: True, _PROGRESSIVE: False}.get(flag)


def read_light(color: Element | None) -> Light:
    """The brightness of HDR pictures."""
    if color is None:
        return NO_LIGHT
    fields, text = color.fields(), None
    if Id.MASTERING in fields:
        inside = _inside(fields, Id.MASTERING)
        places = [_scaled(inside, Id.RED_X + number, _COORDINATE) for number in range(8)]
        red, green, blue, white = zip(places[::2], places[1::2], strict=True)
        most = _scaled(inside, Id.MAX_LUMINANCE, _LUMINANCE)
        least = _scaled(inside, Id.MIN_LUMINANCE, _LUMINANCE)
        text = display_text([green, blue, red, white], most, least)
    return Light(
        text,
        _uint(fields, Id.MAX_CLL, 0) if Id.MAX_CLL in fields else None,
        _uint(fields, Id.MAX_FALL, 0) if Id.MAX_FALL in fields else None,
    )


def _scaled(fields: Fields, kind: int, unit: int) -> int:
    return round(_float(fields, kind, 0.0) * unit)


def _inside(fields: Fields, kind: int) -> Fields:
    """The fields in one of these; none where they are damaged, which does not concern decoding."""
    with suppress(FormatError):
        return fields[kind].fields() if kind in fields else {}
    return {}


def _uint(fields: Fields, kind: int, default: int) -> int:
    with suppress(FormatError):
        return fields[kind].uint() if kind in fields and fields[kind].data else default
    return default


def _float(fields: Fields, kind: int, default: float) -> float:
    with suppress(FormatError):
        found = fields[kind].float() if kind in fields and fields[kind].data else default
        return found if math.isfinite(found) else default
    return default
