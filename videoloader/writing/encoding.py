"""`Encoding`: how a video is encoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import whole_number
from videoloader.writing.formats import Encoder, encoders_of, find_encoder

Quality: TypeAlias = "int | Literal['lossless'] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How a video is encoded.

    Args:
        codec: one of `formats.CODECS`.
        quality: as for `write_video`.
        gop: most frames from one keyframe to the next; the encoder's choice by default (250 for
            H.264). Groups are closed.
        options: of FFmpeg's encoder; they override all others.

    Raises:
        ArgumentError: no such codec, or a quality that it does not have.
    """

    codec: str
    quality: Quality = None
    gop: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = encoders_of(self.codec)[0]
        if self.gop is not None:
            whole_number("gop", self.gop, least=1)
        if self.quality == "lossless":
            if first.lossless is None:
                raise ArgumentError(f"{self.codec} cannot be written without loss; use h264, ffv1")
        elif self.quality is not None:
            if first.quality is None:
                raise ArgumentError(f"{self.codec} is lossless; leave quality out")
            name = f"quality of {self.codec} (0 is best, or 'lossless')"
            whole_number(name, self.quality, most=first.worst)

    @property
    def is_lossless(self) -> bool:
        """Whether every sample is kept."""
        return self.quality == "lossless" or encoders_of(self.codec)[0].quality is None

    def encoder(self, *, is_rgb: bool = False) -> Encoder:
        """The encoder to use; raises as `find_encoder`."""
        return find_encoder(self.codec, is_rgb=is_rgb)

    def settings(self, encoder: Encoder) -> dict[str, str]:
        """The options of an encoder."""
        chosen = dict(encoder.options)
        if self.gop is not None and not encoder.intra_only:
            chosen["g"] = str(self.gop)
        added: Mapping[str, str] = {}
        if self.is_lossless:
            added = encoder.lossless or {}
        elif encoder.quality is not None:
            quality = encoder.default if self.quality is None else self.quality
            added = {encoder.quality: str(quality)}
        for name, value in [*added.items(), *self.options.items()]:
            known = chosen.get(name) if name == encoder.parameters else None
            chosen[name] = str(value) if known is None else f"{known}:{value}"
        return chosen
