"""`Encoding`: which encoder of FFmpeg writes a video, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from videoloader.errors import ArgumentError, UnsupportedError

__all__ = [
    "FORMATS",
    "CodecName",
    "Encoder",
    "Encoding",
    "Quality",
    "codecs_here",
    "format_of",
    "pixel_formats",
]

CodecName: TypeAlias = Literal["h264", "hevc", "av1", "vp9", "ffv1"]
Quality: TypeAlias = "int | Literal['lossless'] | None"

FORMATS = {
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mov",
    ".mkv": "matroska",
    ".webm": "webm",
}
"""FFmpeg's name of the container for each suffix that can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """An encoder of FFmpeg.

    Attributes:
        name: FFmpeg's name.
        options: that it always gets.
        quality: option for the quality; None if it has none.
        default: the quality by default.
        worst: largest value of the quality; 0 is the best.
        lossless: options that keep every sample; None if it cannot.
        rgb: FFmpeg's name of the encoder for RGB, if it is another one.
        parameters: the option that holds further parameters of the codec's library, joined by
            colons.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    quality: str | None = "crf"
    default: int = 0
    worst: int = 0
    lossless: Mapping[str, str] | None = None
    rgb: str | None = None
    parameters: str = ""


# For each codec, in the order of preference.
_ENCODERS: dict[str, tuple[Encoder, ...]] = {
    "h264": (
        Encoder(name="libx264", default=18, worst=51, lossless={"qp": "0"}, rgb="libx264rgb"),
    ),
    "hevc": (
        Encoder(
            name="libx265",
            # Leading frames of open GOPs would need the GOP before.
            options={"x265-params": "log-level=none:open-gop=0"},
            default=20,
            worst=51,
            lossless={"x265-params": "lossless=1"},
            parameters="x265-params",
        ),
    ),
    "av1": (
        Encoder(name="libsvtav1", options={"preset": "8"}, default=24, worst=63),
        Encoder(name="libaom-av1", options={"cpu-used": "6"}, default=24, worst=63),
    ),
    "vp9": (
        Encoder(
            name="libvpx-vp9",
            options={"b": "0", "deadline": "good", "cpu-used": "4", "row-mt": "1"},
            default=24,
            worst=63,
            lossless={"lossless": "1"},
        ),
    ),
    "ffv1": (
        Encoder(
            name="ffv1",
            options={"level": "3", "g": "1", "slicecrc": "1"},
            quality=None,
            lossless={},
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How a video is encoded.

    Args:
        codec: `h264`, `hevc`, `av1`, `vp9` or `ffv1`.
        quality: the encoder's constant rate factor: 0 to 51 for H.264 and HEVC, 0 to 63 for AV1
            and VP9, less is better; by default 18, 20, 24 and 24. `lossless`: every sample is
            kept, and RGB is not converted; not for AV1. FFV1 is always lossless.
        gop: most frames from one keyframe to the next; the encoder's choice by default (250 for
            H.264). Groups are closed. FFV1 has keyframes only.
        options: of FFmpeg's encoder, such as `{"preset": "fast"}`; they override all others.

    Raises:
        ArgumentError: no such codec, or a quality that it does not have.
    """

    codec: CodecName = "h264"
    quality: Quality = None
    gop: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.codec not in _ENCODERS:
            raise ArgumentError(f"codec must be one of {', '.join(_ENCODERS)}, got {self.codec!r}")
        if self.gop is not None and self.gop < 1:
            raise ArgumentError(f"gop must be at least 1, got {self.gop}")
        first = _ENCODERS[self.codec][0]
        if self.quality == "lossless":
            if first.lossless is None:
                raise ArgumentError(f"{self.codec} has no lossless encoder here; use h264 or ffv1")
        elif self.quality is not None:
            if first.quality is None:
                raise ArgumentError(f"{self.codec} is lossless; leave quality out")
            is_number = isinstance(self.quality, int) and not isinstance(self.quality, bool)
            if not is_number or not 0 <= self.quality <= first.worst:
                raise ArgumentError(
                    f"quality of {self.codec} is 0 (best) to {first.worst} or 'lossless', got "
                    f"{self.quality!r}"
                )

    @property
    def is_lossless(self) -> bool:
        """Whether every sample is kept."""
        return self.quality == "lossless" or self.codec == "ffv1"

    def encoder(self, *, is_rgb: bool = False) -> Encoder:
        """The first encoder of the codec that FFmpeg has.

        Raises:
            UnsupportedError: it has none; the message names the codecs that can be written.
        """
        for encoder in _ENCODERS[self.codec]:
            if _codec(encoder.rgb if is_rgb and encoder.rgb else encoder.name) is not None:
                return encoder
        here = ", ".join(codecs_here()) or "none"
        raise UnsupportedError(
            f"this FFmpeg has no encoder of {self.codec} "
            f"({' or '.join(each.name for each in _ENCODERS[self.codec])}); it writes: {here}"
        )

    def settings(self, encoder: Encoder) -> dict[str, str]:
        """The options of an encoder."""
        chosen = dict(encoder.options)
        if self.gop is not None and self.codec != "ffv1":
            chosen["g"] = str(self.gop)
        added: Mapping[str, str] = {}
        if self.is_lossless:
            added = encoder.lossless or {}
        elif encoder.quality is not None:
            quality = encoder.default if self.quality is None else self.quality
            added = {encoder.quality: str(quality)}
        for name, value in [*added.items(), *self.options.items()]:
            if name == encoder.parameters and name in chosen:
                value = f"{chosen[name]}:{value}"
            chosen[name] = str(value)
        return chosen


def codecs_here() -> list[CodecName]:
    """The codecs that the installed FFmpeg can encode."""
    return [
        name
        for name in get_args(CodecName)
        if any(_codec(encoder.name) is not None for encoder in _ENCODERS[name])
    ]


def _codec(name: str) -> Any:
    """PyAV's description of an encoder, None if FFmpeg lacks it."""
    import av

    try:
        return av.Codec(name, "w")
    except av.codec.codec.UnknownCodecError:
        return None


def pixel_formats(encoder: Encoder, *, is_rgb: bool = False) -> list[str]:
    """FFmpeg's names of the pixel formats that an encoder takes."""
    found = _codec(encoder.rgb if is_rgb and encoder.rgb else encoder.name)
    return [form.name for form in found.video_formats or ()]


def format_of(path: Path) -> str:
    """FFmpeg's name of the container for the suffix of a path.

    Raises:
        ArgumentError: another suffix than those that can be written.
    """
    name = FORMATS.get(path.suffix.lower())
    if name is None:
        raise ArgumentError(
            f"{path}: the suffix of the file chooses its container, one of {', '.join(FORMATS)}"
        )
    return name
