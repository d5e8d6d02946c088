"""Formats to write: one `Encoder` for each encoder of FFmpeg, one `Muxer` for each container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from videoloader.codecs.registry import closest_name
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.spelling import did_you_mean

_DEFAULT_CODEC = "h264"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """An encoder of FFmpeg.

    Attributes:
        codec: FFmpeg's name of the codec.
        name: FFmpeg's name of the encoder.
        options: that it always gets.
        quality: option for the quality; None if it has none.
        default: the quality by default.
        worst: largest value of the quality; 0 is the best.
        lossless: options that keep every sample; None if it cannot.
        rgb: FFmpeg's name of the encoder for RGB, if it is another one.
        parameters: the option that holds further parameters of the library, joined by colons.
        intra_only: every frame is a keyframe.
        odd_sides: takes odd sides where chroma is halved.
        tag: FourCC for MP4 and MOV, if FFmpeg's choice does not play everywhere.
        not_in: FFmpeg's name of a container that it lists for the codec, and does not write.
    """

    codec: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    quality: str | None = "crf"
    default: int = 0
    worst: int = 0
    lossless: Mapping[str, str] | None = None
    rgb: str | None = None
    parameters: str = ""
    intra_only: bool = False
    odd_sides: bool = False
    tag: str = ""
    not_in: str = ""

    def name_for(self, *, is_rgb: bool) -> str:
        """FFmpeg's name of the encoder for RGB, or for Y'CbCr."""
        return self.rgb if is_rgb and self.rgb else self.name

    def pixel_formats(self, *, is_rgb: bool = False) -> list[str]:
        """FFmpeg's names of the pixel formats that it takes."""
        codec = _codec(self.name_for(is_rgb=is_rgb))
        return [] if codec is None else [form.name for form in codec.video_formats or ()]


_QUICKTIME = "mov"
_AV1 = {"libsvtav1": {"preset": "8"}, "libaom-av1": {"cpu-used": "6"}}

# Of the encoders of a codec, the first one that FFmpeg has is used.
_ENCODERS = (
    Encoder(
        codec=_DEFAULT_CODEC,
        name="libx264",
        default=18,
        worst=51,
        lossless={"qp": "0"},
        rgb="libx264rgb",
    ),
    Encoder(
        codec="hevc",
        name="libx265",
        # Leading frames of open groups would need the group before.
        options={"x265-params": "log-level=none:open-gop=0"},
        default=20,
        worst=51,
        lossless={"x265-params": "lossless=1"},
        parameters="x265-params",
        tag="hvc1",  # players of Apple take no other
    ),
    *(
        Encoder(codec="av1", name=name, options=options, default=24, worst=63, not_in=_QUICKTIME)
        for name, options in _AV1.items()
    ),
    Encoder(
        codec="vp9",
        name="libvpx-vp9",
        options={"b": "0", "deadline": "good", "cpu-used": "4", "row-mt": "1"},
        default=24,
        worst=63,
        lossless={"lossless": "1"},
        odd_sides=True,
        not_in=_QUICKTIME,
    ),
    Encoder(
        codec="ffv1",
        name="ffv1",
        options={"level": "3", "g": "1", "slicecrc": "1"},
        quality=None,
        lossless={},
        intra_only=True,
        odd_sides=True,
    ),
)

# Ends of FFmpeg's names of encoders in hardware. NVIDIA's H100 and H200 have none.
_OF_HARDWARE = ("_nvenc", "_qsv", "_vaapi", "_amf", "_videotoolbox")

CODECS = tuple(dict.fromkeys(encoder.codec for encoder in _ENCODERS))
"""FFmpeg's names of the codecs that can be written."""


def encoders_of(codec: str) -> list[Encoder]:
    """The encoders of a codec, whether or not FFmpeg has them.

    Raises:
        ArgumentError: the codec cannot be written.
    """
    if codec.endswith(_OF_HARDWARE):
        hint = "videos are encoded on the CPU, not by encoders of a GPU"
    else:
        hint = did_you_mean(CODECS, closest_name(codec), most=1)
    one_of("codec", codec, CODECS, hint=hint)
    return [encoder for encoder in _ENCODERS if encoder.codec == codec]


def find_encoder(codec: str, *, is_rgb: bool = False) -> Encoder:
    """The first encoder of a codec that FFmpeg has.

    Raises:
        UnsupportedError: it has none; the message names the codecs that can be written.
    """
    known = encoders_of(codec)
    for encoder in known:
        if _codec(encoder.name_for(is_rgb=is_rgb)) is not None:
            return encoder
    raise UnsupportedError(
        f"this FFmpeg has no encoder of {codec} ({' or '.join(each.name for each in known)}); it "
        f"writes: {', '.join(codecs_here()) or 'none'}"
    )


def codecs_here() -> list[str]:
    """The codecs that the installed FFmpeg can encode."""
    available = [encoder.codec for encoder in _ENCODERS if _codec(encoder.name) is not None]
    return list(dict.fromkeys(available))


def _codec(name: str) -> Any:
    """PyAV's description of an encoder, None if FFmpeg lacks it."""
    import av

    try:
        return av.Codec(name, "w")
    except av.codec.codec.UnknownCodecError:
        return None


_IN_FRONT = {"movflags": "+faststart"}  # tables before the packets: one request less to a server
_AAC_RATES = (7350, 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Muxer:
    """A container that FFmpeg writes.

    Attributes:
        name: FFmpeg's name.
        suffixes: of its files.
        has_edit_lists: it can say which part of a track is shown.
        codec: of pictures, where nothing else is asked for.
        sound: FFmpeg's name of the encoder of sound.
        sound_rates: samples a second that this takes; empty for all.
        sound_bits: bits a second for each channel of sound; 0 for the encoder's choice.
        options: of the muxer.
    """

    name: str
    suffixes: tuple[str, ...]
    has_edit_lists: bool = False
    codec: str = _DEFAULT_CODEC
    sound: str
    sound_rates: tuple[int, ...] = ()
    sound_bits: int = 0
    options: Mapping[str, str] = field(default_factory=dict)

    def takes(self, codec: str | None) -> bool:
        """Whether FFmpeg writes a codec of pictures or sound to this container."""
        is_refused = any(each.codec == codec and each.not_in == self.name for each in _ENCODERS)
        return codec in _codecs_of(self.name) and not is_refused


_WITH_EDIT_LISTS = {".mp4 .m4v": "mp4", ".mov": _QUICKTIME}
_MUXERS = (
    *(
        Muxer(
            name=name,
            suffixes=tuple(suffixes.split()),
            has_edit_lists=True,
            sound="aac",
            sound_rates=(*_AAC_RATES, 96000),
            sound_bits=96_000,  # FFmpeg's choice, 128 kbit/s in all, is not enough for its encoder
            options=_IN_FRONT,
        )
        for suffixes, name in _WITH_EDIT_LISTS.items()
    ),
    Muxer(name="matroska", suffixes=(".mkv",), sound="flac"),
    Muxer(name="webm", suffixes=(".webm",), codec="vp9", sound="libopus", sound_rates=(48000,)),
)


def muxer_of(path: Path) -> Muxer:
    """The container for the suffix of a path.

    Raises:
        ArgumentError: another suffix than those that can be written.
    """
    suffix = path.suffix.lower()
    for muxer in _MUXERS:
        if suffix in muxer.suffixes:
            return muxer
    known = ", ".join(suffix for muxer in _MUXERS for suffix in muxer.suffixes)
    raise ArgumentError(f"{path}: the suffix of the file chooses its container, one of {known}")


@cache
def _codecs_of(name: str) -> frozenset[str]:
    import io

    import av

    with av.open(io.BytesIO(), "w", format=name) as container:
        return frozenset(container.supported_codecs)
