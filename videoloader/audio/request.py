"""Requests for decoded sound, which are sent to worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from videoloader.audio.audio import Audio
from videoloader.errors import FormatError
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source

__all__ = ["DecodedSound", "SoundRequest"]


class DecodedSound(NamedTuple):
    """Samples (channels, n) and the sample rate."""

    samples: NDArray[Any]
    sample_rate: int


@dataclass(frozen=True, slots=True)
class SoundRequest:
    """A part of a sound, by the clock of the video or in whole samples.

    Attributes:
        source: of the file.
        name: of the file, for messages.
        dtype: of the samples, see `Audio`.
        played: (start, stop) in seconds on the clock of the video; gives exactly the samples that
            fit between them, zeros outside the sound. Replaces `offset` and `length`.
        offset: seconds to skip at the beginning, in whole samples.
        length: seconds to read, in whole samples; up to the end by default.
    """

    source: str | bytes | Item
    name: str
    dtype: Literal["float32", "stored"] = "float32"
    played: tuple[float, float] | None = None
    offset: float = 0.0
    length: float | None = None

    def decode(self) -> DecodedSound:
        """Read the samples; `offset` and `length` may give fewer at the end of the sound.

        Raises:
            VideoError: the sound cannot be decoded, or ends before `offset`.
        """
        given = self.source
        opened = given.open() if isinstance(given, Item) else open_source(given)
        with opened, Audio(opened, dtype=self.dtype) as audio:
            return DecodedSound(self._read(audio), audio.sample_rate)

    def _read(self, audio: Audio) -> NDArray[Any]:
        if self.played is not None:
            return audio.read_seconds(*self.played, pad=True)
        start, stop = int(self.offset * audio.sample_rate), None
        if self.length is not None:
            stop = start + int(self.length * audio.sample_rate)
        samples = audio.read_numbers(start, stop)
        if not samples.shape[1] and start and start >= len(audio):
            raise FormatError(
                f"{self.name}: what begins at {self.offset:g} s is wanted; the sound has "
                f"{len(audio) / audio.sample_rate:.3f} s"
            )
        return samples
