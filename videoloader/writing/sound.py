"""The sound of a file that is being written: encoded from samples, or packets that are copied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.audio import Audio
from videoloader.errors import ArgumentError
from videoloader.indexing.libav import fraction_of
from videoloader.sources.demuxer import open_container
from videoloader.sources.source import Source
from videoloader.writing.edits import Shown
from videoloader.writing.formats import Muxer

if TYPE_CHECKING:
    from av.container import OutputContainer

# Lengths of Vorbis packets depend on their neighbours, which a cut parts; FFmpeg writes PCM in MP4
# only with a known order of channels, which many files do not have.
_NOT_COPIED = {"vorbis", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le"}
_MOST_BITS = 6  # a sample, of AAC
_RATE = 48000  # where an encoder does not take that of the samples
_MOST_CHANNELS = 8  # of AAC and FLAC
_CHUNK = 1 << 14  # samples encoded at a time
# Containers whose tables FFmpeg seeks in, and how far before the wanted packet.
_SEEKABLE, _FAR = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"), 1
_SLACK = Fraction(1, 1000)  # samples by which a time may be late through rounding
_PREROLL = Fraction(1, 4)  # seconds before a cut that decoders may need: Opus takes 80 ms

Sound: TypeAlias = "EncodedSound | CopiedSound"
"""The sound that `VideoOutput` writes beside the pictures."""


class EncodedSound:
    """Samples that are encoded: AAC in MP4 and MOV, FLAC in Matroska, Opus in WebM.

    Args:
        pieces: float32, int16 or int32 arrays (channels, n), which follow on one another.
        rate: samples a second.
        audio: that they are read from, closed in the end.
    """

    def __init__(
        self, pieces: Iterable[NDArray[Any]], rate: int, audio: Audio | None = None
    ) -> None:
        self._audio = audio
        self._pieces = iter(pieces)
        self._rate = rate
        self._first = next(self._pieces, None)
        self._done = 0
        self._stream: Any = None

    def attach(self, container: OutputContainer, muxer: Muxer) -> None:
        """Add the stream, unless there are no samples."""
        if self._first is None:
            return
        rates = muxer.sound_rates
        rate = self._rate if not rates or self._rate in rates else _RATE
        self._container = container
        self._stream = container.add_stream(muxer.sound, rate=rate, layout=f"{len(self._first)}c")
        if muxer.sound_bits:
            self._stream.bit_rate = min(muxer.sound_bits * len(self._first), _MOST_BITS * rate)
        formats = [each.name for each in self._stream.codec_context.codec.audio_formats or ()]
        given = "s16" if self._first.dtype == np.int16 else "s32"
        wanted = [given, f"{given}p", "fltp", "flt", "s16"]
        self._stream.codec_context.format = next(
            (name for name in wanted if name in formats), formats[0]
        )

    def write_until(self, seconds: Fraction | None) -> None:
        """Encode the sound up to a time, or all of the rest."""
        import av

        if self._stream is None:
            return
        while seconds is None or self._done < seconds * self._rate:
            piece = self._first if self._first is not None else next(self._pieces, None)
            self._first = None
            if piece is None:
                self._container.mux(self._stream.encode(None))
                self._stream = None
                return
            for start in range(0, piece.shape[1], _CHUNK):
                part = np.ascontiguousarray(piece[:, start : start + _CHUNK].T).reshape(1, -1)
                name = {"f": "flt", "i": f"s{8 * part.dtype.itemsize}"}[part.dtype.kind]
                frame = av.AudioFrame.from_ndarray(part, name, f"{len(piece)}c")
                frame.sample_rate, frame.time_base = self._rate, Fraction(1, self._rate)
                frame.pts = self._done
                self._done += frame.samples
                self._container.mux(self._stream.encode(frame))

    def shown(self, duration: Fraction) -> Shown | None:  # noqa: ARG002
        """The edit list of the track; None, since FFmpeg's muxer leaves out the encoder's delay."""
        return None

    def close(self) -> None:
        """Close the file."""
        if self._audio is not None:
            self._audio.close()


def samples_of(audio: Any, name: str) -> EncodedSound:
    """The sound of an argument: (samples, rate), or an `Audio`.

    Raises:
        ArgumentError: neither of them, or samples of another type or shape.
    """
    if isinstance(audio, Audio):
        samples, rate = audio.read_seconds(None, None, pad=False), audio.sample_rate
    else:
        try:
            samples, rate = audio
            samples = np.asarray(samples.cpu() if hasattr(samples, "cpu") else samples)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"{name}: audio is (samples, rate) or a videoloader.Audio, got {audio!r:.80}"
            ) from error
    if samples.dtype == np.float64:
        samples = samples.astype(np.float32)
    is_known = samples.dtype in (np.float32, np.int16, np.int32)
    if samples.ndim != 2 or not is_known or int(rate) < 1:
        raise ArgumentError(
            f"{name}: audio has samples (channels, n) of float32, int16 or int32 and a rate, got "
            f"{samples.dtype} {samples.shape} at {rate}"
        )
    if len(samples) > _MOST_CHANNELS:
        raise ArgumentError(
            f"{name}: audio has samples (channels, n) of up to {_MOST_CHANNELS} channels, got "
            f"{samples.shape}; transpose the sound of a Clip"
        )
    pieces = [samples] if samples.size else []
    return EncodedSound(pieces, int(rate))


def sound_of_span(source: Source, start: Fraction, stop: Fraction, muxer: Muxer) -> Sound | None:
    """The sound of a file between two times in seconds, None if it has none.

    Packets are copied where the container has edit lists and takes the codec. Elsewhere samples are
    encoded, silence where the file has none.
    """
    copied = CopiedSound(source, start, stop)
    is_copied = muxer.takes(copied.codec) and copied.codec not in _NOT_COPIED
    if muxer.has_edit_lists and is_copied:
        return copied
    copied.close()
    return None if copied.codec is None else _read_span(source, start, stop)


def _read_span(source: Source, start: Fraction, stop: Fraction) -> EncodedSound:
    audio = Audio(source)

    def pieces() -> Iterator[NDArray[Any]]:
        begin = start
        while begin < stop:
            end = min(begin + 1, stop)
            yield audio.read_seconds(begin, end, pad=True)  # type: ignore[arg-type]
            begin = end

    return EncodedSound(pieces(), audio.sample_rate, audio)


class CopiedSound:
    """The packets of a file's sound that cover a span, for MP4; times begin with the span.

    Close it after use. Decoders need packets before the span; `shown` says what is to be played.

    Args:
        source: the file.
        start: of the span in seconds.
        stop: end of the span.
    """

    def __init__(self, source: Source, start: Fraction, stop: Fraction) -> None:
        self._start, self._stop = start, stop
        self._stack = ExitStack()
        self._container = self._stack.enter_context(open_container(source))
        streams = self._container.streams
        stream: Any = streams.best("audio") or next(iter(streams.audio), None)
        self._stream = stream
        self._begins: Fraction | None = None  # when the first packet begins in the source
        self._target: Any = None
        self.codec: str | None = None
        """FFmpeg's name of the codec; None where there is no sound that FFmpeg decodes."""
        context = None if stream is None else stream.codec_context
        if context is not None:
            self.codec = context.codec.canonical_name
            self._tick = fraction_of(stream.time_base)
            self._rate: int = context.sample_rate
            self._shift = round(start / self._tick)

    def attach(self, container: OutputContainer, muxer: Muxer) -> None:  # noqa: ARG002
        """Add the stream."""
        self._packets = self._cover()
        self._next = next(self._packets, None)
        if self._next is not None:
            self._output = container
            self._target = container.add_stream_from_template(self._stream)

    def _cover(self) -> Iterator[Any]:
        first = self._start - _PREROLL
        if self._container.format.name in _SEEKABLE and first > _FAR:
            self._container.seek(int((first - _FAR) / self._tick), stream=self._stream)
        for packet in self._container.demux(self._stream):
            if packet.pts is None or not packet.size:
                continue
            if (packet.pts + (packet.duration or 0)) * self._tick <= first:
                continue
            if packet.pts * self._tick >= self._stop:
                return
            yield packet

    def write_until(self, seconds: Fraction | None) -> None:
        """Copy the packets that are played before a time, or all that are left."""
        while self._target is not None and self._next is not None:
            packet = self._next
            moved = packet.pts - self._shift
            if seconds is not None and moved * self._tick >= seconds:
                return
            if self._begins is None:
                self._begins = packet.pts * self._tick
            packet.pts = packet.dts = moved
            packet.stream = self._target
            self._output.mux(packet)
            self._next = next(self._packets, None)

    def shown(self, duration: Fraction) -> Shown | None:
        """The edit list of the track in a file of so many seconds.

        It leaves out the packets before the span, which only decoders need.
        """
        if self._begins is None:
            return None
        # Whole samples: the first is the one that a reader takes for the start of the span.
        skipped = math.ceil((self._start - self._begins) * self._rate - _SLACK)
        return Shown(Fraction(skipped, self._rate), duration)

    def close(self) -> None:
        """Close the file."""
        self._stack.close()
