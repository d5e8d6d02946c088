"""The sound of one file: any range of samples by number or time."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from videoloader.audio.elements import CONVERSIONS, to_float32
from videoloader.audio.pieces import Piece
from videoloader.audio.resampling import Filter, check_rates
from videoloader.audio.seeking import InexactSeekError
from videoloader.audio.stream import SoundStream
from videoloader.audio.wav import WavStream, open_wav
from videoloader.errors import ArgumentError, ArgumentTypeError, FrameRangeError, VideoError
from videoloader.machinery.system.address import absolute
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.machinery.system.spelling import suggests_names
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource

if TYPE_CHECKING:
    import torch

_Read = TypeVar("_Read")

_Place: TypeAlias = "Callable[[Piece], Fraction | float]"
"""Maps a piece to a boundary of a range, as a sample number; a time is mapped by the piece."""

_log = logging.getLogger(__name__)

MOST_VALUES = 1 << 31  # in one range, over all channels
_FAR = 2  # seconds; skip further ahead than this by seeking, where seeking is exact


@suggests_names
class Audio(Closing):
    """The sound of an audio file or of a video, exact to the sample.

    Samples are those of FFmpeg's decode of the whole stream, without encoder delay and padding and
    with edit lists applied. Reading forward continues where the last read ended. Reading backward
    restarts at the beginning of the file unless it is WAV or FLAC. Thread-safe.

    >>> audio = Audio("clip.mp4", sample_rate=16000, num_channels=1)
    >>> audio.get_samples(1.0, 2.5).shape
    torch.Size([1, 24000])

    Attributes:
        name: of the file, for messages.
        sample_rate: samples a second.
        num_channels: channels.
        begin_seconds: when the first sample is played, on the clock of the video's frames.
        header: stream properties.
        warnings: missing parts of a truncated file, found by reading so far; also logged.
    """

    def __init__(
        self,
        source: VideoSource | Source,
        *,
        sample_rate: int | None = None,
        num_channels: int | None = None,
        dtype: Literal["float32", "int16", "int32", "stored"] = "float32",
        stream: int | None = None,
        mix: Literal["bounded", "plain"] = "bounded",
        fill_gaps: bool = False,
    ) -> None:
        """Open a file and decode the first samples.

        Args:
            source: a path, a URL, bytes or a seekable file.
            sample_rate: resample to this rate; that of the stream by default.
            num_channels: mix to this number of channels like FFmpeg, 1 for mono; by default those
                of the stream.
            dtype: of the samples: `float32` from -1 to 1, `int16`, `int32`, or `stored`: element
                type and memory layout of the decoder.
            stream: number of the stream in the file; by default the one FFmpeg selects.
            mix: weights of the channels in a mix. `bounded` keeps the sum between -1 and 1, so
                mono is the mean of stereo. `plain` uses the weights of FFmpeg's resampler for
                floating point values, with which mono is 1.41 times as loud.
            fill_gaps: give silence where timestamps jump ahead by more than 40 ms, so that sample
                n is always played n / sample_rate seconds after the first.

        Raises:
            VideoError: the file cannot be read, or has no sound that can be decoded.
        """
        one_of("dtype", dtype, CONVERSIONS)
        one_of("mix", mix, ("bounded", "plain"))
        for name, value in (("sample_rate", sample_rate), ("num_channels", num_channels)):
            if value is not None:
                whole_number(name, value, least=1)
        self._arguments: dict[str, Any] = {
            "sample_rate": sample_rate,
            "num_channels": num_channels,
            "dtype": dtype,
            "stream": stream,
            "mix": mix,
            "fill_gaps": fill_gaps,
        }
        self._dtype = dtype
        self._given = absolute(source) if isinstance(source, str | os.PathLike) else source
        self._may_seek = True  # in compressed sound; False where that was found to be inexact
        self._lock = ForkSafeLock()
        self._source = open_source(source)
        self.name = self._source.name
        try:
            with _naming(self.name):
                self._stream = self._open()
        except BaseException:
            self._close_source()
            raise
        self.header = self._stream.header
        self.begin_seconds = float(self._stream.first.seconds)
        self.warnings: tuple[str, ...] = ()
        self._note_missing()
        self.num_channels = self._stream.num_channels
        self.sample_rate = sample_rate or self._stream.sample_rate
        self._speed = Fraction(self.sample_rate, self._stream.sample_rate)
        self._filter = None
        if self._speed != 1:
            try:
                with _naming(self.name):
                    check_rates(self._stream.sample_rate, self.sample_rate)
            except BaseException:
                self.close()
                raise
            self._filter = Filter(1 / self._speed)
        self._num_samples: int | None = None

    def _open(self) -> SoundStream | WavStream:
        if self._arguments["stream"] in (None, 0):
            plain = open_wav(self._source)
            if plain and self._arguments["num_channels"] in (None, plain.num_channels):
                return plain
        return SoundStream(
            self._source,
            self._arguments["stream"],
            self._arguments["num_channels"],
            is_bounded=self._arguments["mix"] == "bounded",
            fills_gaps=self._arguments["fill_gaps"],
            may_seek=self._may_seek,
        )

    @property
    def duration(self) -> float:
        """Seconds of sound, from the header; if unknown there, samples are counted."""
        if self.header.duration is None:
            return len(self) / self.sample_rate
        return self.header.duration

    @property
    def num_samples(self) -> int:
        """Samples of each channel; decodes the file once to count them."""
        if self._num_samples is None:
            with self._lock, _naming(self.name):
                self._mend()
                self._exactly(self._read_to_end)
                self._num_samples = math.ceil(self._stream.last.stop * self._speed)
        return self._num_samples

    def __len__(self) -> int:
        return self.num_samples

    def get_samples(
        self,
        start_seconds: float | None = None,
        stop_seconds: float | None = None,
        *,
        pad: bool = False,
    ) -> torch.Tensor:
        """The samples with times in [start_seconds, stop_seconds).

        Args:
            start_seconds: on the clock of the video's frames; the beginning by default.
            stop_seconds: the end by default.
            pad: return exactly as many samples as fit into the range, zeros outside the sound.
                Otherwise only the samples inside the sound are returned.

        Returns:
            (channels, n), in new memory.
        """
        return _tensor(self.read_seconds(start_seconds, stop_seconds, pad=pad))

    def read_seconds(
        self, start_seconds: float | None, stop_seconds: float | None, *, pad: bool
    ) -> NDArray[Any]:
        """`get_samples` as a numpy array, for programs without torch."""
        start = None if start_seconds is None else _as_fraction("start_seconds", start_seconds)
        stop = None if stop_seconds is None else _as_fraction("stop_seconds", stop_seconds)
        if start is not None and stop is not None and stop < start:
            raise ArgumentError(
                f"{self.name}: stop_seconds ({stop_seconds}) lies before start_seconds "
                f"({start_seconds})"
            )
        rate = self._stream.sample_rate
        samples = self._read(
            (lambda piece: piece.number_at(start, rate)) if start is not None else _beginning,
            (lambda piece: piece.number_at(stop, rate)) if stop is not None else _end,
        )
        if not pad:
            return samples
        if start is None or stop is None:
            raise ArgumentError(f"{self.name}: pad=True needs start_seconds and stop_seconds")
        count = round((stop - start) * self.sample_rate)
        if count * self.num_channels > MOST_VALUES:
            raise ArgumentError(f"{self.name}: more than {MOST_VALUES} values; read it in parts")
        late = self._stream.first.seconds - start
        before = math.ceil(late * self.sample_rate - Fraction(1, 1000))
        before = min(max(before, 0), count)
        samples = samples[:, : count - before]
        behind = count - before - samples.shape[1]
        return np.pad(samples, ((0, 0), (before, behind)))

    def number_at(self, seconds: float) -> int:
        """The number of the first sample at or after a time, as if there were no gaps.

        Below 0 before the sound; the tolerance is that of `get_samples`. So samples
        [number_at(a), number_at(b)) and [number_at(b), number_at(c)) leave nothing out and have
        nothing in common.
        """
        time = _as_fraction("seconds", seconds)
        return math.ceil(self._stream.first.number_at(time, self._stream.sample_rate) * self._speed)

    def __getitem__(self, numbers: slice) -> torch.Tensor:
        """Samples by number, as a slice without a step: (channels, n).

        Raises:
            ArgumentTypeError: not a slice.
        """
        if not isinstance(numbers, slice) or numbers.step not in (None, 1):
            raise ArgumentTypeError(
                f"{self.name}: samples are taken by slices without a step, such as audio[100:200]; "
                f"got {numbers!r}"
            )
        start, stop = numbers.start or 0, numbers.stop
        if start < 0 or (stop is not None and stop < 0):
            start, stop, _ = numbers.indices(len(self))
        return _tensor(self.read_numbers(start, stop))

    def read_numbers(self, start: int, stop: int | None) -> NDArray[Any]:
        """The samples from number `start` to before `stop`, or the end; for programs without torch.

        Samples outside the sound are left out.
        """
        if stop is not None and stop <= start:
            stop = start
        return self._read(
            lambda _: start / self._speed, _end if stop is None else lambda _: stop / self._speed
        )

    def get_range(self, start: int, stop: int) -> torch.Tensor:
        """Exactly the samples with numbers [start, stop).

        Raises:
            FrameRangeError: some of them are outside the sound.
        """
        if not 0 <= start <= stop:
            raise FrameRangeError(f"{self.name}: samples {start} to {stop} of a sound")
        samples = self[start:stop]
        if samples.shape[1] != stop - start:
            raise FrameRangeError(
                f"{self.name}: samples {start} to {stop} requested, the sound has {len(self)}; "
                "get_samples(..., pad=True) fills up with zeros"
            )
        return samples

    def _read(self, start: _Place, stop: _Place) -> NDArray[Any]:
        """The converted samples between two boundaries."""
        with self._lock, _naming(self.name):
            signal, base, first, last = self._exactly(lambda: self._gather(start, stop))
            decoded = self._stream.last.stop
        begin, end = math.ceil(first * self._speed), math.ceil(last * self._speed)
        if self._filter is None:
            part = signal[:, begin - base : end - base]
            return self._convert(part)
        levels, base = self._mirrored(to_float32(signal), base, decoded)
        made = self._filter.apply(levels, base, begin, end)
        return self._convert(made)

    def _exactly(self, read: Callable[[], _Read]) -> _Read:
        """Call a function that reads, and again without seeks if these turn out to be inexact."""
        try:
            return read()
        except InexactSeekError:
            self._may_seek = False
            self._start_over()
            return read()

    def _read_to_end(self) -> None:
        while self._advance():
            pass

    def _mirrored(
        self, levels: NDArray[np.float32], base: int, decoded: int
    ) -> tuple[NDArray[np.float32], int]:
        """Extend samples beyond the ends of the sound by mirroring, as FFmpeg does.

        The first sample is not repeated, the last one is.
        """
        assert self._filter is not None
        reach, count = self._filter.reach, levels.shape[1]
        before = behind = 0
        if base == 0:
            before = min(reach, max(count - 1, 0))
        if (
            base + count == decoded
        ):  # the end of what is decoded: the end of the sound, or beyond the reach of the filter
            behind = min(reach, count)
        mirrored = [levels[:, before:0:-1], levels, levels[:, count - behind :][:, ::-1]]
        return np.concatenate(mirrored, axis=1), base - before

    def _convert(self, samples: NDArray[Any]) -> NDArray[Any]:
        order: Literal["C", "K"] = "K" if self._dtype == "stored" else "C"
        return np.array(CONVERSIONS[self._dtype](samples), order=order)  # new memory

    def _gather(self, start: _Place, stop: _Place) -> tuple[NDArray[Any], int, Fraction, Fraction]:
        """Decode the samples of a range.

        Returns:
            Samples of the stream, the number of the first, and start and stop of the range in
            sample numbers.
        """
        margin = 0 if self._filter is None else self._filter.reach + 1
        parts: list[NDArray[Any]] = []
        base = size = 0
        first, last = None, Fraction(0)
        for piece in self._pieces(start, margin):
            begin, end = start(piece), stop(piece)
            if first is None and begin < piece.stop:
                first = Fraction(max(begin, piece.number))
            if end > piece.number:
                last = Fraction(min(end, piece.stop))
            low = _inside(begin - margin, piece)
            high = _inside(end + margin + 1, piece)
            if low < high:
                base = base if parts else low
                parts.append(piece.samples[:, low - piece.number : high - piece.number])
                size += parts[-1].size
            if size > MOST_VALUES:
                raise ArgumentError(f"more than {MOST_VALUES} values; read it in parts")
            if end + margin <= piece.stop:
                break
        if first is None or not parts or last < first:
            return self._stream.first.samples[:, :0], 0, Fraction(0), Fraction(0)
        signal = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return signal, base, first, last

    def _pieces(self, start: _Place, margin: int) -> Iterator[Piece]:
        """The pieces from `margin` samples before a boundary on."""
        self._mend()
        stream = self._stream
        wanted = start(stream.last) - margin
        is_back = stream.last.number > max(wanted, 0)
        if is_back or wanted > stream.last.stop + _FAR * stream.sample_rate:
            self._go_to(max(math.floor(wanted), 0), is_back=is_back)
        yield self._stream.last
        while True:
            self._stream.skip(math.floor(start(self._stream.last)) - margin)
            if not self._advance():
                return
            yield self._stream.last

    def _advance(self) -> bool:
        """Decode the next piece; False at the end, where missing parts are noted."""
        if self._stream.advance():
            return True
        self._note_missing()
        return False

    def _note_missing(self) -> None:
        warning = f"{self.name}: {self._stream.warning}"
        if self._stream.warning and warning not in self.warnings:
            self.warnings += (warning,)
            _log.warning("%s", warning)

    def _go_to(self, number: int, *, is_back: bool) -> None:
        """Move to a piece that begins at or before a sample."""
        if self._stream.seek(number):
            return
        if is_back or self._stream.is_broken:
            self._may_seek = self._may_seek and not self._stream.is_broken
            self._start_over()

    def _start_over(self) -> None:
        self._stream.close()
        self._stream = self._open()

    def _mend(self) -> None:
        """Restart after an error, which would otherwise look like the end."""
        if self._stream.is_broken:
            self._start_over()

    def __reduce__(self) -> Any:
        return partial(Audio, **self._arguments), (self._given,)

    def __repr__(self) -> str:
        return (
            f"Audio({self.name!r}: {self.num_channels} channels at {self.sample_rate} Hz, "
            f"{self.duration:.3f} s, {self.header.codec})"
        )

    def close(self) -> None:
        """Close the file; a file object that was passed in stays open."""
        self._stream.close()
        self._close_source()

    def _close_source(self) -> None:
        if self._source is not self._given:
            self._source.close()


def _tensor(samples: NDArray[Any]) -> torch.Tensor:
    import torch

    return torch.from_numpy(samples)


def _beginning(piece: Piece) -> float:  # noqa: ARG001  (a `_Place`)
    return 0


def _end(piece: Piece) -> float:  # noqa: ARG001  (a `_Place`)
    return math.inf


def _inside(number: Fraction | float, piece: Piece) -> int:
    """The nearest sample number within a piece, or its end."""
    return math.floor(min(max(number, piece.number), piece.stop))


def _as_fraction(name: str, seconds: float) -> Fraction:
    try:
        return Fraction(float(seconds))
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(f"{name} must be a time in seconds, got {seconds!r}") from error


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Convert errors to `VideoError` subclasses that name the file."""
    try:
        with blamed_on(name):
            yield
    except VideoError as error:
        if str(error).startswith(name):
            raise
        raise type(error)(f"{name}: {error}") from error
