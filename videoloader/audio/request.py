"""Requests for decoded sound, which are sent to worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from videoloader.audio.audio import Audio
from videoloader.errors import ArgumentError, FormatError, NoSoundError
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source

Made = TypeVar("Made", covariant=True)

_MOST_VALUES = 1 << 28  # of a clip, over all channels: 1 GiB; jumps in timestamps may span hours
_NEAR = 1.0  # seconds between two ranges that are read at once: going back restarts the decoder


class SoundWork(Protocol[Made]):
    """A request for sound that a worker decodes."""

    @property
    def name(self) -> str:
        """The name of the file, for messages."""

    def decode(self) -> Made:
        """Decode the sound; raises a `VideoError` if that fails."""


class SoundSpan(NamedTuple):
    """A time span of sound, in seconds on the clock of the video, and how it is played."""

    begin: float
    end: float
    play: Literal["forward", "backward", "silence"] = "forward"


class DecodedSound(NamedTuple):
    """Samples (channels, n) and the sample rate."""

    samples: NDArray[Any]
    sample_rate: int


@dataclass(frozen=True, slots=True)
class SoundRequest:
    """A part of a sound, in whole samples.

    Attributes:
        source: of the file.
        name: of the file, for messages.
        dtype: of the samples, see `Audio`.
        offset: seconds to skip at the beginning, in whole samples.
        length: seconds to read, in whole samples; up to the end by default.
    """

    source: str | bytes | Item
    name: str
    dtype: Literal["float32", "stored"] = "float32"
    offset: float = 0.0
    length: float | None = None

    def decode(self) -> DecodedSound:
        """Read the samples; `offset` and `length` may give fewer at the end of the sound.

        Raises:
            VideoError: the sound cannot be decoded, or ends before `offset`.
        """
        with _opened(self.source) as opened, Audio(opened, dtype=self.dtype) as audio:
            return DecodedSound(self._read(audio), audio.sample_rate)

    def _read(self, audio: Audio) -> NDArray[Any]:
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


@dataclass(frozen=True, slots=True)
class ClipSoundRequest:
    """The sounds of several clips of one video; each is the spans of its clip, joined in order.

    Attributes:
        source: of the video; a `Source` stays open.
        name: of the video, for messages.
        clips: the spans of each clip.
        sample_rate: resample to this rate; that of the stream by default.
        num_channels: mix to this number of channels; those of the stream by default.
    """

    source: str | bytes | Item | Source
    name: str
    clips: tuple[tuple[SoundSpan, ...], ...]
    sample_rate: int | None = None
    num_channels: int | None = None

    def decode(self) -> list[DecodedSound]:
        """The sound of each clip, float32; zeros where the span is silent or there is no sound.

        Without a soundtrack no samples, (channels, 0), at the rate 0.

        Raises:
            VideoError: the soundtrack cannot be decoded.
        """
        try:
            with (
                _opened(self.source) as opened,
                Audio(
                    opened,
                    sample_rate=self.sample_rate,
                    num_channels=self.num_channels,
                    fill_gaps=True,
                ) as audio,
            ):
                return self._read(audio)
        except NoSoundError:
            nothing = np.zeros((self.num_channels or 1, 0), np.float32)
            return [DecodedSound(nothing, 0) for _ in self.clips]

    def _read(self, audio: Audio) -> list[DecodedSound]:
        numbers = [
            [(audio.number_at(span.begin), audio.number_at(span.end)) for span in clip]
            for clip in self.clips
        ]
        for ranges in numbers:
            length = sum(stop - start for start, stop in ranges)
            if length * audio.num_channels > _MOST_VALUES:
                raise ArgumentError(
                    f"{self.name}: the frames of a clip span {length / audio.sample_rate:.0f} s, "
                    f"whose sound has more than {_MOST_VALUES} samples over all channels; take "
                    "frames that are nearer to each other, or fewer samples by "
                    "audio_sample_rate and audio_channels (where timestamps jump, the span counts)"
                )
        heard = {
            pair
            for clip, ranges in zip(self.clips, numbers, strict=True)
            for span, pair in zip(clip, ranges, strict=True)
            if span.play != "silence"
        }
        parts = _read_ranges(audio, heard)
        return [
            DecodedSound(_joined(clip, ranges, parts, audio.num_channels), audio.sample_rate)
            for clip, ranges in zip(self.clips, numbers, strict=True)
        ]


def _read_ranges(
    audio: Audio, ranges: set[tuple[int, int]]
) -> dict[tuple[int, int], NDArray[np.float32]]:
    """The samples of each range (start, stop), zeros outside the sound; near ones in one read."""
    groups: list[tuple[int, list[tuple[int, int]]]] = []  # with the end of each
    for start, stop in sorted(ranges):
        if groups and start <= groups[-1][0] + _NEAR * audio.sample_rate:
            end, group = groups[-1]
            groups[-1] = max(end, stop), [*group, (start, stop)]
        else:
            groups.append((stop, [(start, stop)]))
    parts = {}
    for end, group in groups:
        begin = max(group[0][0], 0)
        samples = audio.read_numbers(begin, max(end, 0))
        for start, stop in group:
            part = np.zeros((audio.num_channels, stop - start), np.float32)
            found = samples[:, max(start - begin, 0) : max(stop - begin, 0)]
            before = max(begin - start, 0)
            part[:, before : before + found.shape[1]] = found
            parts[start, stop] = part
    return parts


def _joined(
    clip: tuple[SoundSpan, ...],
    ranges: list[tuple[int, int]],
    parts: dict[tuple[int, int], NDArray[np.float32]],
    num_channels: int,
) -> NDArray[np.float32]:
    """The samples of the spans of a clip, one after another."""
    pieces = [np.zeros((num_channels, 0), np.float32)]
    for span, (start, stop) in zip(clip, ranges, strict=True):
        if span.play == "silence":
            pieces.append(np.zeros((num_channels, stop - start), np.float32))
        else:
            pieces.append(parts[start, stop][:, :: 1 if span.play == "forward" else -1])
    return np.concatenate(pieces, axis=1)


@contextmanager
def _opened(given: str | bytes | Item | Source) -> Iterator[Source]:
    """A source, closed at the end if it was opened here."""
    if isinstance(given, Source):
        yield given
        return
    with given.open() if isinstance(given, Item) else open_source(given) as opened:
        yield opened
