"""`StreamTraits`: facts about a video that decoding does not need."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

_LONGEST = 1 << 32  # above any number in an aspect ratio
_SQUARE = Fraction(1)
_AAC_RATES = (
    *(96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350),
)
_EXTENDED, _PARAMETRIC_STEREO = (5, 29), 29  # audio object types of HE-AAC
_AAC_CHANNELS = (0, 1, 2, 3, 4, 5, 6, 8)


class Audio(NamedTuple):
    """The first audio stream, or that there is none.

    Attributes:
        codec: FFmpeg's name, None if unknown.
        sample_rate: samples a second, None if the tables do not say.
        channels: their number, None if the tables do not say.
        is_there: whether the file has an audio stream.
    """

    codec: str | None = None
    sample_rate: int | None = None
    channels: int | None = None
    is_there: bool = True


NO_AUDIO = Audio(is_there=False)


class Light(NamedTuple):
    """The brightness of HDR pictures.

    Attributes:
        display: of the mastering display (SMPTE ST 2086): coordinates of its primaries and white
            point in units of 0.00002, largest and smallest luminance in 0.0001 cd/m2, as x265
            writes them: `G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min)`.
        max_cll: maximum content light level in cd/m2.
        max_fall: maximum frame-average light level in cd/m2.
    """

    display: str | None = None
    max_cll: int | None = None
    max_fall: int | None = None


NO_LIGHT = Light()


class StreamTraits(NamedTuple):
    """Facts about a video that decoding does not need; None where the file states none.

    Attributes:
        audio: the first audio stream.
        aspect: width of a pixel relative to its height, of the container or else the codec.
        interlaced: whether pictures may consist of fields.
        has_edits: whether an edit list says which part is shown, and when.
        light: of HDR pictures, in the container.
    """

    audio: Audio | None = None
    aspect: Fraction | None = None
    interlaced: bool | None = None
    has_edits: bool | None = None
    light: Light = Light()


UNKNOWN = StreamTraits()


def display_text(primaries: Sequence[tuple[int, int]], most: int, least: int) -> str:
    """`Light.display` of (x, y) of green, blue, red and white, and of the luminances."""
    names = zip(("G", "B", "R", "WP"), primaries, strict=True)
    points = "".join(f"{name}({x},{y})" for name, (x, y) in names)
    return f"{points}L({most},{least})"


def as_aspect(across: int, down: int) -> Fraction | None:
    """An aspect ratio; None where a number is 0 or larger than any that means something.

    >>> as_aspect(40, 30)
    Fraction(4, 3)
    """
    if not (0 < across < _LONGEST and 0 < down < _LONGEST):
        return None
    return _SQUARE if across == down else Fraction(across, down)


def audio_of_aac(setup: bytes) -> Audio:
    """AAC by its AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1).

    >>> audio_of_aac(bytes([0x12, 0x10]))
    Audio(codec='aac', sample_rate=44100, channels=2, is_there=True)
    """
    bits = int.from_bytes(setup[:5].ljust(5, b"\0"), "big")
    kind, place = bits >> 35, bits >> 31 & 15
    if len(setup) < 2 or kind == 31:  # a type of more than 5 bits
        return Audio(codec="aac")
    if place == 15:  # the rate itself follows
        rate, number = bits >> 7 & 0xFFFFFF, bits >> 3 & 15
    else:
        number = bits >> 27 & 15
        if kind in _EXTENDED:
            place = bits >> 23 & 15  # of the output, after the rate that is coded
        rate = _AAC_RATES[place] if place < len(_AAC_RATES) else 0
    channels = _AAC_CHANNELS[number] if number < len(_AAC_CHANNELS) else 0
    if kind == _PARAMETRIC_STEREO and channels == 1:
        channels = 2
    return Audio("aac", rate or None, channels or None)
