"""Seeking in a sound: where decoding has to begin to give the same samples as a whole decode.

In MP4 files the tables say how many samples the packets before it have (`PacketTable`); elsewhere
packets are read and counted, but not decoded (`Passed`). Decoders of AAC and MP3
carry state from packet to packet, which is complete after the packets of a preroll: two of AAC,
whose windows overlap; for MP3 those that fill the bit reservoir, and two more.

Other codecs are decoded from the beginning: what Opus, AC-3 and layer II of MPEG audio give depends
on all packets before, if only in the last bits, and packets of Vorbis differ in their samples.

AAC may have bands of noise, which a decoder draws from a generator that it never resets. Then
samples depend on all packets before, and only decoding from the beginning is exact. Nothing short
of decoding tells whether a packet has such bands. So a second decoder, which has drawn other
random numbers, decodes the same packets after a seek: where both agree there is no noise.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.contexts import make_packet

if TYPE_CHECKING:
    import av
    from av.audio.codeccontext import AudioCodecContext
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream

_PREROLL = {"aac": 2, "mp3float": 2}  # packets; for MP3 besides those of the reservoir
_AAC_CHANNELS = (1, 2, 6)  # whose packets begin with the element of `_noise`
_MP3_RESERVOIR = 511  # bytes before a packet that may be part of it
_MP3_HEADERS = 38  # bytes of a packet that are not: header, checksum and side information

_KEPT, _UNSURE = 48, 4  # last packets: that a preroll may need; that may end before their end
_HEAD = 7  # bytes of a packet that tell its form

_KEYFRAME = 1  # the flags of an index entry that is not discarded

# A channel of an AAC packet: gain, one long window of one band, coded as noise; no other tools.
_NOISE = ((200, 8), (0, 1), (0, 2), (0, 1), (1, 6), (0, 1), (13, 4), (1, 5), (256, 9), (0, 3))
_END = (7, 3)
_DRAWS = 37  # packets of noise; that another decoder drew as many numbers is next to impossible


class InexactSeekError(Exception):
    """The samples after a seek depend on packets before it: decode from the beginning."""


@dataclass(frozen=True, slots=True)
class SeekPoint:
    """Where to seek to.

    Attributes:
        number: of the first sample of the packet that is wanted.
        timestamp: of this packet.
        begin: timestamp of the first packet of the preroll.
        samples: that each packet of the preroll has.
    """

    number: int
    timestamp: int
    begin: int
    samples: int


@dataclass(frozen=True, slots=True, eq=False)
class PacketTable:
    """Packets that follow each other without a gap, from the second piece of a sound on.

    Attributes:
        codec: FFmpeg's name of the decoder.
        first: timestamp of sample 0, in samples.
        timestamps: of the packets, int64, in samples.
        sizes: of the packets, in bytes.
    """

    codec: str
    first: int
    timestamps: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, stream: AudioStream, first: Fraction, count: int) -> PacketTable | None:
        """The table of a stream, if seeking in it can be exact.

        Args:
            stream: of an MP4 file.
            first: seconds of the first decoded sample.
            count: samples that were decoded first.
        """
        context = stream.codec_context
        base, rate, name = stream.time_base, context.sample_rate, context.codec.name
        entries: Any = getattr(stream, "index_entries", ())  # none before PyAV 16
        begin = first * rate
        if not entries or base is None or begin.denominator != 1:
            return None
        if Fraction(base.numerator, base.denominator) * rate != 1:
            return None
        if not (can_pass(context) or name.startswith("pcm_")):
            return None
        fields = map(attrgetter("timestamp", "size", "flags"), entries)
        table = np.fromiter(chain.from_iterable(fields), np.int64)
        stamps, sizes, flags = table.reshape(-1, 3).T
        (at,) = np.nonzero(stamps == int(begin) + count)
        if len(at) != 1:
            return None
        stamps, sizes, flags = stamps[at[0] :], sizes[at[0] :], flags[at[0] :]
        steps = np.diff(stamps)
        if name.startswith("pcm_"):
            frame = context.format.bytes * context.channels
            is_next = steps * frame == sizes[:-1]
        else:
            is_next = steps == steps[:1]
        is_next &= (flags[:-1] == _KEYFRAME) & (flags[1:] == _KEYFRAME)
        length = len(stamps) if is_next.all() else int(is_next.argmin()) + 1
        return cls(name, int(begin), stamps[:length], sizes[:length])

    def find(self, number: int) -> SeekPoint | None:
        """The packet that has a sample, or the nearest before it; None near the beginning."""
        at = int(np.searchsorted(self.timestamps, number + self.first, side="right")) - 1
        at = min(at, len(self.timestamps) - 2)  # the last one may be cut, or end before a gap
        begin = _begin_of_preroll(self.codec, self.sizes[: max(at, 0)])
        if begin < 1:
            return None
        wanted, first = int(self.timestamps[at]), int(self.timestamps[begin])
        step = int(self.timestamps[at + 1]) - wanted
        return SeekPoint(wanted - self.first, wanted, first, step)


def can_pass(context: AudioCodecContext) -> bool:
    """Whether packets of a stream may be passed over without decoding them, see `Passed`."""
    name = context.codec.name
    if name == "aac":
        return context.profile == "LC" and context.channels in _AAC_CHANNELS
    return name in _PREROLL


class Passed:
    """Packets that were demuxed and not decoded: their number of samples, and the last packets.

    Packets of AAC-LC and of MPEG audio in one form have as many samples each. The form is in the
    header of a packet, of MPEG audio and of AAC in ADTS; elsewhere AAC does not change it.

    Args:
        codec: FFmpeg's name of the decoder.
    """

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._form: tuple[int, ...] | None = None
        self._last: deque[av.Packet[Any]] = deque(maxlen=_KEPT + _UNSURE)
        self.count = 0

    def take(self, packet: av.Packet[Any]) -> bool:
        """Pass over a packet; False if it may have another number of samples."""
        if not packet.size or packet.is_corrupt or packet.is_discard:
            return False
        if packet.has_sidedata("skip_samples") or packet.has_sidedata("new_extradata"):
            return False
        form = self._form_of(bytes(memoryview(packet)[:_HEAD]))
        if self._form is None:
            self._form = form
        if form is None or form != self._form:
            return False
        self._last.append(packet)
        self.count += 1
        return True

    def _form_of(self, head: bytes) -> tuple[int, ...] | None:
        is_synchronized = len(head) == _HEAD and head[0] == 0xFF and head[1] & 0xE0 == 0xE0
        if self._codec != "aac":
            return (head[1] & 0xFE, head[2] & 0x0C) if is_synchronized else None
        if is_synchronized and head[1] & 0xF6 == 0xF0:  # ADTS
            return None if head[6] & 3 else (head[1], head[2], head[3] & 0xC0)
        return ()

    def give_back(self, *, is_end: bool) -> list[av.Packet[Any]]:
        """Packets to decode after all: all if they are few, else the last ones of the stream.

        Of those at the end some samples are no sound.
        """
        are_few = self.count <= len(self._last)
        count = self.count if are_few else _UNSURE * is_end
        self.count -= count
        return [self._last.pop() for _ in range(count)][::-1]

    def preroll(self) -> list[av.Packet[Any]]:
        """The packets to decode to bring an empty decoder to where these end.

        Raises:
            InexactSeekError: those that are kept do not suffice.
        """
        packets = [*self._last]
        begin = _begin_of_preroll(self._codec, np.array([packet.size for packet in packets]))
        if begin < 0:
            raise InexactSeekError
        return packets[begin:]


def _begin_of_preroll(codec: str, sizes: NDArray[np.int64]) -> int:
    """Which packet decoding has to begin with; below 0 if there are too few.

    Args:
        codec: FFmpeg's name of the decoder.
        sizes: bytes of the packets before the one that is wanted.
    """
    begin = len(sizes) - _PREROLL.get(codec, 0)
    if codec == "mp3float" and begin > 0:
        filled = np.cumsum(np.maximum(sizes[begin - 1 :: -1] - _MP3_HEADERS, 0))
        begin -= int(np.searchsorted(filled, _MP3_RESERVOIR)) + 1
    return begin


class TwinDecoder:
    """A decoder of AAC with other random numbers than any other.

    Args:
        context: of the decoder that it is compared with.
        packet: of the stream; states its form if the context does not.
    """

    def __init__(self, context: AudioCodecContext, packet: av.Packet[Any]) -> None:
        import av

        self._context: Any = av.CodecContext.create("aac", "r")
        self._context.extradata = context.extradata
        if not context.extradata:
            self._context.extradata = _config(bytes(memoryview(packet)[:4]))
        noise = _noise(context.channels)
        for _ in range(_DRAWS):
            self._context.decode(make_packet(noise, 0))

    def decode(self, packet: av.Packet[Any]) -> list[AudioFrame]:
        """The frames of a packet."""
        frames: list[AudioFrame] = self._context.decode(packet)
        return frames

    def check(self, packet: av.Packet[Any], frames: list[AudioFrame]) -> None:
        """Decode a packet, and compare.

        Raises:
            InexactSeekError: the frames are others.
        """
        own = self.decode(packet)
        pairs = zip(own, frames, strict=False)
        if len(own) != len(frames) or not all(
            np.array_equal(one.to_ndarray(), other.to_ndarray()) for one, other in pairs
        ):
            raise InexactSeekError


def _config(head: bytes) -> bytes:
    """The AudioSpecificConfig of the header of an ADTS packet: ISO/IEC 14496-3, 1.6.2 and 1.A."""
    kind, rate = (head[2] >> 6) + 1, head[2] >> 2 & 15
    channels = (head[2] & 1) << 2 | head[3] >> 6
    return (kind << 11 | rate << 7 | channels << 3).to_bytes(2, "big")


def _noise(channels: int) -> bytes:
    """An AAC packet of noise in its first channel, or in the first two: ISO/IEC 14496-3, 4.4.2."""
    if channels == 2:
        fields = [(1, 3), (0, 4), (0, 1), *_NOISE, *_NOISE, _END]
    else:
        fields = [(0, 3), (0, 4), *_NOISE, _END]
    text = "".join(f"{value:0{bits}b}" for value, bits in fields)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")
