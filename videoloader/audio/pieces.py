"""`Piece` and `StreamHeader`: the values that streams of sound give."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive samples of a stream.

    Args:
        number: of the first sample, in the order of decoding.
        seconds: time of the first sample.
        samples: (channels, n), in the codec's own element type.
    """

    number: int
    seconds: Fraction
    samples: NDArray[Any]

    @property
    def stop(self) -> int:
        """The sample number after the last one."""
        return self.number + int(self.samples.shape[1])

    def number_at(self, seconds: Fraction, rate: int) -> Fraction:
        """Sample number of a time, extrapolated from this piece; may be outside the piece.

        A time rounded to a float can lie slightly after its sample, hence a thousandth of a sample.
        """
        return self.number + (seconds - self.seconds) * rate - Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class StreamHeader:
    """Properties of a stream, from the container and from its first decoded frame.

    Attributes:
        codec: FFmpeg's name.
        stream: number of the stream in the file.
        sample_rate: samples a second.
        num_channels: channels.
        sample_format: FFmpeg's name of the decoder's element type.
        bit_rate: bits a second, 0 if unknown.
        begin: seconds, None if unknown.
        duration: seconds, None if unknown.
    """

    codec: str
    stream: int
    sample_rate: int
    num_channels: int
    sample_format: str
    bit_rate: int
    begin: float | None
    duration: float | None
