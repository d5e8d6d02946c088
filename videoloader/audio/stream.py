"""Decodes the sound of a file in pieces, as FFmpeg decodes the whole stream.

FFmpeg applies encoder delay, padding and edit lists while it decodes from the beginning. Most
codecs keep state between packets, so decoding starts at the beginning. The exceptions are
uncompressed sound and FLAC, whose packets are independent and whose times follow from file offsets;
AAC and MP3; and uncompressed sound in MP4 files, see `seeking.py`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from videoloader.audio.flac import STRICT, FlacFrames, NoFrameError, is_flac
from videoloader.audio.mixing import Mixer
from videoloader.audio.pieces import Piece, StreamHeader
from videoloader.audio.seeking import (
    InexactSeekError,
    PacketTable,
    Passed,
    SeekPoint,
    TwinDecoder,
    can_pass,
)
from videoloader.codecs.contexts import most_pixels, reason_of
from videoloader.errors import DecodeError, FormatError, NoSoundError, UnsupportedError
from videoloader.indexing.containers.registry import container_of
from videoloader.machinery.system.forking import cached_property
from videoloader.sources.demuxer import open_container
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import av
    from av.audio.stream import AudioStream
    from av.container import InputContainer

_DISCARD_ALL = 48  # FFmpeg's AVDISCARD_ALL: demuxers skip the stream where they can

_LEADING, _CUT = 64, 2  # undecodable packets allowed before the first frame and after the last

_MP3_TAGS = b"Xing", b"Info"  # of the frame in which MP3 files state their duration
_MP3_SEARCHED = 1 << 20  # bytes to search for them; pictures may precede them

_GAP = Fraction(40, 1000)  # seconds; timestamps in Matroska are off by up to half of this

_SAFE = 0.039  # seconds below which a difference of rounded times is no gap


class SoundStream:
    """One audio stream of an open file, decoded forward. Not thread-safe.

    Attributes:
        header: of the stream.
        sample_rate: samples a second.
        num_channels: channels after mixing.
        is_counted: whether any seek is exact, since times follow from file offsets.
        first: the first piece.
        last: the piece that was decoded last.
        is_broken: whether decoding ended with an error and has to restart with a new stream.
        warning: missing parts of the file; complete at the end of the stream.
    """

    def __init__(
        self,
        source: Source,
        stream: int | None,
        num_channels: int | None,
        *,
        is_bounded: bool,
        fills_gaps: bool = False,
        may_seek: bool = True,
    ) -> None:
        """Open a stream and decode its first piece.

        Args:
            source: of the file; stays open.
            stream: number of the stream; by default the one FFmpeg selects.
            num_channels: mix to this number of channels, by FFmpeg's rules for channel layouts.
            is_bounded: scale the mix down if it could exceed -1 to 1.
            fills_gaps: give silence where timestamps jump ahead, as a piece of its own.
            may_seek: whether `seek` may use a `PacketTable`.

        Raises:
            VideoError: there is no such stream, or none of it can be decoded.
        """
        self._stack = ExitStack()
        self.is_broken = False
        self.warning = ""
        self._is_cut = False
        self._fills_gaps = fills_gaps
        self._after_silence: Piece | None = None
        self._ahead: av.AudioFrame | None = None  # decoded, and not yet a piece
        self._flac: FlacFrames | None = None
        self._twin: TwinDecoder | None = None
        try:
            # Limits of the cover pictures and videos that FFmpeg may decode while probing.
            limits = {"max_pixels": str(most_pixels(source.size))}
            opened = open_container(source, "file with sound", limits)
            container = self._stack.enter_context(opened)
            self._container = container
            self._stream = _choose(container, stream)
            self._time_base = _fraction(self._stream.time_base)
            context = self._stream.codec_context
            self._codec = context.codec.canonical_name
            if self._codec == "flac":
                context.options = STRICT
                setup, rate = context.extradata or b"", context.sample_rate
                name = container.format.name
                self._flac = FlacFrames(source, name, setup, rate, gap=float(_GAP))
            self._decoded = self._frames(at_start=True)
            frame = next(self._decoded, None)
            if frame is None:
                raise FormatError(f"nothing in stream {self._stream.index} decodes; it is damaged")
            self._kind = _kind(frame)
            self.header = self._read_header()
            self.sample_rate = self.header.sample_rate
            kind = container_of(container.format.name.split(",")[0])
            self.is_counted = kind.counts_samples and (
                self.header.codec == "flac" or self.header.codec.startswith("pcm_")
            )
            self._mixer = Mixer(frame, num_channels, is_bounded=is_bounded)
            self.num_channels = self._mixer.num_channels
            begin = Fraction(0) if frame.pts is None else frame.pts * self._time_base
            self.first = self.last = Piece(0, begin, self._mixer.samples(frame))
            self._stated = self._find_stated(source)
            self._may_seek = may_seek and kind.has_sample_table
            self._may_pass = may_seek and can_pass(self._stream.codec_context)
        except BaseException:
            self._stack.close()
            raise

    def _read_header(self) -> StreamHeader:
        stream = self._stream
        context = stream.codec_context
        whole = _seconds(self._container.duration, Fraction(1, 1_000_000))
        own = _seconds(stream.duration, self._time_base)
        return StreamHeader(
            context.codec.canonical_name,
            stream.index,
            *self._kind,
            context.bit_rate or 0,
            _seconds(stream.start_time, self._time_base),
            whole if own is None else own,
        )

    def advance(self) -> bool:
        """Decode the next piece, which is then `last`; False at the end of the stream.

        Raises:
            DecodeError: a packet in the middle cannot be decoded, or the sample format changes.
        """
        if self._after_silence is not None:
            self.last, self._after_silence = self._after_silence, None
            return True
        self.is_broken = True
        frame, self._ahead = self._ahead or next(self._decoded, None), None
        if frame is not None and _kind(frame) != self._kind:
            raise UnsupportedError(
                f"the sound changes at sample {self.last.stop} from {_words(self._kind)} to "
                f"{_words(_kind(frame))}"
            )
        if frame is not None:
            seconds = self.last.seconds + Fraction(self.last.samples.shape[1], self.sample_rate)
            expected, number = seconds, self.last.stop
            if frame.pts is not None:
                seconds = _after_gap(expected, frame.pts * self._time_base)
            samples = self._mixer.samples(frame)
            missing = round((seconds - expected) * self.sample_rate)
            if self._fills_gaps and missing:
                seconds = expected + Fraction(missing, self.sample_rate)
                self._after_silence = Piece(number + missing, seconds, samples)
                self.last = Piece(number, expected, _silence(samples, missing))
            else:
                self.last = Piece(number, seconds, samples)
        else:
            self.warning = self._missing()
        self.is_broken = False
        return frame is not None

    def skip(self, number: int) -> None:
        """Decode up to the frame with a sample, or to a gap before it; `last` is empty then.

        Samples are not converted, and times not made exact, which take most of the time.
        """
        if self._after_silence is not None or number < self.last.stop + 1:
            return
        if self._may_pass and self._ahead is None and number > self.last.stop + self.sample_rate:
            is_cut = self.last is self.first  # so that it does not tell the size of a packet
            if is_cut and (not self.advance() or self._after_silence is not None):
                return
            self._pass(number)
        begin, rate, tick = self.last.stop, self.sample_rate, float(self._time_base)
        end = self.last.seconds + Fraction(self.last.samples.shape[1], rate)
        at, offset = begin, float(end) - begin / rate  # seconds of sample 0
        self.is_broken = True
        for frame in self._decoded if self._ahead is None else ():
            late = 0.0 if frame.pts is None else frame.pts * tick - offset - at / rate
            if at + frame.samples > number or late > _SAFE or _kind(frame) != self._kind:
                self._ahead = frame
                break
            at += frame.samples
        if at > begin:
            nothing = self.last.samples[:, :0]
            self.last = Piece(at, end + Fraction(at - begin, rate), nothing)
        self.is_broken = False

    def _pass(self, number: int) -> None:
        """Demux packets up to one with a sample, or to a gap, and decode the last of them alone.

        Raises:
            InexactSeekError: the decoder does not come to where it would be.
        """
        import av

        context, last = self._stream.codec_context, self.last
        samples, rate, tick = last.samples.shape[1], self.sample_rate, float(self._time_base)
        end = last.seconds + Fraction(samples, rate)
        passed = Passed(context.codec.name)
        packets, packet = self._container.demux(self._stream), None
        self.is_broken = True
        for packet in packets:
            ahead = passed.count * samples
            late = 0.0 if packet.pts is None else packet.pts * tick - float(end) - ahead / rate
            if last.stop + ahead + samples > number or late > _SAFE or not passed.take(packet):
                break
        rest = [] if packet is None else [packet]
        rest = passed.give_back(is_end=packet is None or not packet.size) + rest
        if passed.count:
            self._decoded.close()
            context.flush_buffers()
            try:
                self._decode_preroll(passed.preroll(), samples)
            except av.error.FFmpegError as error:
                raise InexactSeekError from error
            count = passed.count * samples
            seconds = end + Fraction(count, rate)
            self.last = Piece(last.stop + count, seconds, last.samples[:, :0])
        self._decoded = self._frames(chain(rest, packets), has_frames=True)
        self.is_broken = False

    def _find_stated(self, source: Source) -> tuple[float, float] | None:
        """The duration in the header and its tolerance in seconds; None if not stated."""
        name = self._container.format.name.split(",")[0]
        slack = container_of(name).duration_slack
        if slack is None or self.header.duration is None:
            return None
        if name == "mp3":
            head = source.read_up_to(0, _MP3_SEARCHED)
            if not any(tag in head for tag in _MP3_TAGS):
                return None  # FFmpeg's guess
        whole = _seconds(self._container.duration, Fraction(1, 1_000_000))
        stated = self.header.duration if whole is None else min(whole, self.header.duration)
        return stated, slack + 1.5 / self.sample_rate

    def _missing(self) -> str:
        """The warning of a truncated file, after all of it is decoded."""
        if self._is_cut:
            return "truncated: the last packet is not whole"
        end = self.last.seconds + Fraction(self.last.samples.shape[1], self.sample_rate)
        found = float(end - self.first.seconds)
        if self._stated is None or self._stated[0] - found <= self._stated[1]:
            return ""
        stated = f"{self._stated[0]:.3f} s of sound"
        return f"truncated: the header states {stated}, {found:.3f} s are there"

    def seek(self, number: int) -> bool:
        """Seek to the piece with a sample, or to an earlier one; False if that is not exact."""
        if not self.is_counted:
            point = self._table.find(number) if self._table is not None else None
            if point is None or point.number <= self.last.stop <= number:  # nothing to skip
                return False
            return self._seek_to_packet(point)
        self.is_broken = True
        wanted = self.first.seconds + Fraction(number, self.sample_rate)
        if not self._seek_container(int(wanted / self._time_base)):
            return False
        self._decoded = self._frames()
        frame = next(self._decoded, None)
        if frame is None or frame.pts is None:
            return False
        seconds = frame.pts * self._time_base
        at = (seconds - self.first.seconds) * self.sample_rate
        self.last = Piece(int(at), seconds, self._mixer.samples(frame))
        self.is_broken = at.denominator != 1 or at > number
        if self._flac is not None:  # times behind damage are wrong
            self.is_broken |= self._flac.begin != seconds * self.sample_rate
        return not self.is_broken

    @cached_property
    def _table(self) -> PacketTable | None:
        if not self._may_seek:
            return None
        return PacketTable.of(self._stream, self.first.seconds, self.first.stop)

    def _seek_container(self, timestamp: int) -> bool:
        """Seek to the packet with a timestamp, or before it; False if FFmpeg does not."""
        import av

        try:
            self._container.seek(timestamp, stream=self._stream)
        except av.error.FFmpegError:  # FFmpeg's search of FLAC fails near the end of some files
            return False
        self._after_silence = self._ahead = None
        return True

    def _seek_to_packet(self, point: SeekPoint) -> bool:
        """Seek to a packet of the table, and decode the earlier packets that it needs."""
        import av

        self.is_broken = True
        if not self._seek_container(point.begin):
            return False
        packets = self._container.demux(self._stream)
        preroll: list[av.Packet[AudioStream]] = []
        try:
            for packet in packets:
                if packet.pts is None or packet.pts >= point.timestamp:
                    break
                preroll.append(packet)
            if point.begin not in (point.timestamp, *(each.pts for each in preroll)):
                return False
            self._decode_preroll(preroll, point.samples)
            self._decoded = self._frames(chain([packet], packets), has_frames=True)
            frame = next(self._decoded, None)
        except av.error.FFmpegError:
            return False
        if frame is None or frame.pts != point.timestamp or _kind(frame) != self._kind:
            return False
        seconds = self.first.seconds + Fraction(point.number, self.sample_rate)
        self.last = Piece(point.number, seconds, self._mixer.samples(frame))
        self.is_broken = False
        return True

    def _decode_preroll(self, packets: list[av.Packet[AudioStream]], samples: int) -> None:
        """Bring an empty decoder to the end of some packets.

        Raises:
            InexactSeekError: one of them does not have this number of samples.
            FFmpegError: one does not decode.
        """
        context = self._stream.codec_context
        self._twin = TwinDecoder(context, packets[0]) if context.codec.name == "aac" else None
        for packet in packets:
            frames = context.decode(packet)
            if [frame.samples for frame in frames] != [samples]:
                raise InexactSeekError
            if self._twin is not None:
                self._twin.decode(packet)

    def _frames(
        self,
        packets: Iterator[av.Packet[AudioStream]] | None = None,
        *,
        has_frames: bool = False,
        at_start: bool = False,
    ) -> Generator[av.AudioFrame, None, None]:
        """Decoded frames of packets, by default of all from the current position on.

        A few undecodable packets before the first frame or after the last one are ignored: they
        are tags or the rest of a truncated packet. Elsewhere they count as damage.
        """
        import av

        context, flac = self._stream.codec_context, self._flac
        if flac is not None:
            flac.restart()
        problem, failures = "", 0
        for packet in packets or self._container.demux(self._stream):
            if packet.size:
                self._is_cut = packet.is_corrupt
                self._is_cut |= self._codec == "aac" and _is_cut_adts(packet)
            try:
                frames = context.decode(packet if packet.size else None)
                if packet.size and flac is not None:
                    is_first = at_start and not has_frames
                    flac.follow(packet, frames, is_first=is_first, is_behind_fault=bool(problem))
            except av.error.EOFError:
                return
            except (av.error.FFmpegError, NoFrameError) as error:
                where = _place(packet)
                problem = problem or f"a packet at {where} does not decode ({reason_of(error)})"
                self._is_cut |= flac is not None and is_flac(packet)
                failures += 1
                if failures > (_CUT if has_frames else _LEADING):
                    raise DecodeError(problem) from error
                continue
            if self._twin is not None and packet.size:
                self._twin.check(packet, frames)
            for position, frame in enumerate(frame for frame in frames if frame.samples):
                if problem and has_frames:
                    raise DecodeError(problem)
                problem, has_frames, failures = "", True, 0
                if position:
                    frame.pts = None  # FFmpeg sets the packet's time for all of its frames
                yield frame

    def close(self) -> None:
        """Close the file, and let go of the mixer.

        Its threads would be waited for where garbage of this process is collected in a fork.
        """
        self.is_broken = True
        self._decoded.close()
        self._mixer.close()
        self._stack.close()


def _choose(container: InputContainer, stream: int | None) -> AudioStream:
    """The requested stream, or FFmpeg's default; demuxers skip all others."""
    streams = container.streams
    if stream is None:
        best = streams.best("audio") or next(iter(streams.audio), None)
        if best is None:
            kinds = ", ".join(sorted({each.type for each in streams})) or "none"
            raise NoSoundError(f"there is no sound in it (streams: {kinds})")
    else:
        best = next((each for each in streams.audio if each.index == stream), None)
        if best is None:
            numbers = [each.index for each in streams.audio]
            raise FormatError(f"stream {stream} is no sound; those are {numbers}")
    if best.codec_context is None:
        raise UnsupportedError(f"the codec of stream {best.index} has no decoder")
    for each in streams:
        if each.index != best.index:
            with suppress(
                AttributeError
            ):  # PyAV before 17, where their packets are read and dropped
                each.discard = cast(Any, _DISCARD_ALL)
    return cast("AudioStream", best)


def _after_gap(expected: Fraction, stamp: Fraction) -> Fraction:
    """Start time of a frame: the end of the previous one, or its timestamp after a real gap.

    Small differences are ignored, and sound never overlaps.
    """
    return stamp if stamp - expected > _GAP else expected


def _silence(samples: NDArray[Any], count: int) -> NDArray[Any]:
    """So much silence in the form of some samples, without memory: damaged gaps may be years."""
    middle = 128 if samples.dtype == np.uint8 else 0
    return np.broadcast_to(np.full((len(samples), 1), middle, samples.dtype), (len(samples), count))


def _kind(frame: av.AudioFrame) -> tuple[int, int, str]:
    return frame.sample_rate, frame.layout.nb_channels, frame.format.name


def _words(kind: tuple[int, int, str]) -> str:
    return f"{kind[1]} channels at {kind[0]} Hz ({kind[2]})"


def _is_cut_adts(packet: av.Packet[Any]) -> bool:
    """Whether a packet is an ADTS frame shorter than its header states."""
    head = bytes(memoryview(packet)[:6])
    if len(head) < 6 or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:
        return False
    return (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5 > packet.size


def _place(packet: av.Packet[Any]) -> str:
    if packet.pts is None or packet.time_base is None:
        return f"byte {packet.pos}"
    return f"{float(packet.pts * _fraction(packet.time_base)):.3f} s"


def _fraction(value: Any) -> Fraction:
    """A rational of PyAV as a `Fraction`; its type depends on PyAV's version."""
    return Fraction(value.numerator, value.denominator)


def _seconds(ticks: int | None, time_base: Fraction) -> float | None:
    return None if ticks is None else float(ticks * time_base)
