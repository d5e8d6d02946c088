"""torchcodec's `AudioDecoder` over an `Audio`."""

from __future__ import annotations

from typing import Any

from videoloader.audio import Audio
from videoloader.compat.opening import ClosedWhenCollected, nearest_samples
from videoloader.compat.runtime_errors import (
    PlayedOutsideError,
    ValueRuntimeError,
    as_runtime_errors,
)
from videoloader.compat.torchcodec.arguments import as_integer, check_range
from videoloader.compat.torchcodec.frames import AudioSamples
from videoloader.compat.torchcodec.metadata import AudioStreamMetadata
from videoloader.compat.torchcodec.opening import as_source, naming_stream


class AudioDecoder:
    """The sound of a file as torchcodec gives it: float32 (channels, samples).

    Samples are those of FFmpeg's decode of the whole stream. Reading forward continues where the
    last read ended.

    Args:
        source: path, URL, bytes, uint8 tensor, or file with `read` and `seek`.
        stream_index: number of the stream in the file; FFmpeg's best by default.
        sample_rate: to resample to; that of the stream by default.
        num_channels: to mix to; those of the stream by default.

    Attributes:
        metadata: of the stream, as it is stored.
        stream_index: number of the stream.
    """

    def __init__(
        self,
        source: Any,
        *,
        stream_index: int | None = None,
        sample_rate: int | None = None,
        num_channels: int | None = None,
    ) -> None:
        opened = as_source(source)
        stream = None if stream_index is None else as_integer(stream_index, "stream_index")
        rate = _positive(sample_rate, "sample_rate")
        channels = _positive(num_channels, "num_channels")
        with as_runtime_errors, naming_stream(stream, "an audio"):
            self._audio = Audio(
                opened, stream=stream, sample_rate=rate, num_channels=channels, mix="plain"
            )
        self._closing = ClosedWhenCollected(self._audio)
        header = self._audio.header
        self.stream_index = header.stream
        self.metadata = AudioStreamMetadata(
            duration_seconds_from_header=header.duration,
            begin_stream_seconds_from_header=header.begin,
            bit_rate=header.bit_rate,
            codec=header.codec,
            stream_index=header.stream,
            media_type="audio",
            sample_rate=header.sample_rate,
            num_channels=header.num_channels,
            sample_format=header.sample_format,
            duration_seconds=header.duration,
            begin_stream_seconds=header.begin or 0,
        )

    def get_all_samples(self) -> AudioSamples:
        """All samples, from the beginning to the end."""
        return self.get_samples_played_in_range()

    def get_samples_played_in_range(
        self, start_seconds: float = 0.0, stop_seconds: float | None = None
    ) -> AudioSamples:
        """The samples played in [start_seconds, stop_seconds), to the nearest sample.

        Raises:
            ArgumentError: the range ends before it begins.
            PlayedOutsideError: the range lies before the sound or after it.
        """
        if stop_seconds is not None:
            check_range(start_seconds, stop_seconds)
        audio, rate = self._audio, self._audio.sample_rate
        with as_runtime_errors:
            data = nearest_samples(audio, start_seconds, stop_seconds)
        if not data.shape[1] and self._is_outside(start_seconds, stop_seconds):
            raise PlayedOutsideError(
                f"{audio.name}: No audio frames were decoded: nothing is played from "
                f"{start_seconds} to {stop_seconds} s; the sound begins at "
                f"{audio.begin_seconds:g} s and lasts for about {audio.duration:g} s"
            )
        begin = max(start_seconds, audio.begin_seconds)
        return AudioSamples(data, begin, data.shape[1] / rate, rate)

    def _is_outside(self, start: float, stop: float | None) -> bool:
        """Whether a range does not overlap the sound; False for an empty range."""
        audio = self._audio
        if start == stop:
            return False
        if stop is not None and stop <= audio.begin_seconds:
            return True
        with as_runtime_errors:
            return start >= audio.begin_seconds + audio.num_samples / audio.sample_rate


class WavDecoder(AudioDecoder):
    """The sound of a WAV file, as it is stored.

    Args:
        source: as for `AudioDecoder`.
    """

    def __init__(self, source: Any) -> None:
        super().__init__(source)


def _positive(given: Any, name: str) -> int | None:
    """A number of channels, or a sample rate.

    Raises:
        TypeRuntimeError: no integer.
        ValueRuntimeError: not positive.
    """
    if given is None:
        return None
    number = as_integer(given, name)
    if number <= 0:
        raise ValueRuntimeError(f"{name} must be > 0. Got: {number}")
    return number
