"""Converts packets of containers to the elementary streams that NVDEC parses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NoReturn

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.h264 import sequence as h264
from videoloader.codecs.hevc import sequence as hevc
from videoloader.codecs.nal import annexb_units
from videoloader.codecs.records import parameter_sets, setup_units
from videoloader.codecs.registry import codec_of
from videoloader.codecs.vpx import (
    SUPERFRAME,
    count_joinable,
    is_plain,
    join_frames,
    shows_earlier,
)
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import Packets

_START_CODE = b"\x00\x00\x00\x01"


class ElementaryStream:
    """Converts packets of one video to an elementary stream.

    H.264 and HEVC become Annex B byte streams: start codes instead of length prefixes, parameter
    sets before the first packet. VP9 packets of one call become a superframe. Others are unchanged.
    """

    def __init__(self, index: VideoIndex) -> None:
        self._index = index
        self._length_size = index.length_size
        self._sequence: bytes | None = None
        self._codec = codec_of(index.codec)
        self._nal = self._codec.nal
        # Mask and value of the first byte of a sequence parameter set.
        self._sequence_type = (0, 1)
        if self._nal is not None:
            self._sequence_type = (self._nal.type_bits, self._nal.sequence_octet)

    def head(self, packet: int) -> bytes:
        """Headers that a decoder needs before a packet; empty if the packet has all of them.

        Raises:
            UnsupportedError: as `join`.
        """
        setup = self._index.extradata_of(packet)
        if self._nal is None:
            return setup if self._codec.has_stream_headers else b""
        units = parameter_sets(self._nal, setup)
        if units is None:  # a byte stream already, or empty
            self._check_stream(setup)
            return setup
        for unit in units:
            self._check(unit)
        return b"".join(part for unit in units for part in (_START_CODE, unit))

    def count_joinable(self, packets: Packets) -> int:
        """How many packets, from the first on, `join` may put together."""
        if self._codec.is_delimited:
            return len(packets)
        if self._codec.has_superframes:
            places = packets.some(slice(SUPERFRAME)).places()
            return count_joinable(packets.memory[end - 1] for begin, end in places if end > begin)
        return 1

    def join(self, payloads: Packets | Sequence[bytes], head: bytes = b"") -> bytes:
        """Put packets together behind a head: a part of the elementary stream.

        Raises:
            UnsupportedError: the size of pictures differs from the index, or changes; a length
                prefix is damaged; or a packet of VP9 shows an earlier frame.
        """
        packets = payloads if isinstance(payloads, Packets) else Packets.of(payloads)
        if self._length_size:
            return _START_CODE.join((head, *self._units(packets)))
        if self._codec.has_superframes:
            whole = [*packets.views()]
            if unusual := [bytes(packet) for packet in whole if not is_plain(packet)]:
                self._check_sizes(unusual)
                if any(map(shows_earlier, unusual)):
                    reason = "a packet shows an earlier frame, which NVDEC does not give"
                    raise UnsupportedError(f"{self._index.name}: {reason}")
            return head + join_frames(whole)
        self._check_sizes(packets)
        stream = b"".join(packets)
        self._check_stream(stream)
        return head + stream

    def _units(self, packets: Packets) -> list[memoryview]:
        memory, size = memoryview(packets.memory), self._length_size
        mask, sequence = self._sequence_type
        units: list[memoryview] = []
        for position, end in packets.places():
            while position + size < end:
                begin = position + size
                position = begin + int.from_bytes(memory[position:begin], "big")
                if position > end:
                    self._refuse_length()
                unit = memory[begin:position]
                if memory[begin] & mask == sequence:
                    self._check(bytes(unit))
                units.append(unit)
        return units

    def _refuse_length(self) -> NoReturn:
        # The decoder would conceal the damage silently.
        raise UnsupportedError(f"{self._index.name}: a NAL unit ends outside its packet")

    def _is_sequence(self, octet: int) -> bool:
        """Whether a unit with this first byte is a sequence parameter set."""
        mask, sequence = self._sequence_type
        return octet & mask == sequence

    def _check_stream(self, stream: bytes) -> None:
        """Check the sequence parameter sets of a byte stream."""
        if self._nal is None:
            return
        for start in annexb_units(stream):
            if start < len(stream) and self._is_sequence(stream[start]):
                stop = stream.find(_START_CODE[1:], start)
                self._check(stream[start : stop if stop >= 0 else None])

    def _check_sizes(self, packets: Iterable[bytes]) -> None:
        """Check the sizes in the frame headers of packets, if the codec states any there."""
        index, stated = self._index, self._codec.stated_sizes
        if stated is None:
            return
        try:
            found = [size for packet in packets for size in stated(packet)]
        except FormatError as error:
            raise UnsupportedError(f"{index.name}: {error}") from error
        for width, height in found:
            if (width, height) != (index.width, index.height):
                raise UnsupportedError(
                    f"{index.name}: frames of {width}x{height}, where the index says "
                    f"{index.width}x{index.height}"
                )

    def _check(self, unit: bytes) -> None:
        """Refuse sizes that differ from the index: the hardware would scale or crop them."""
        unit = unit.rstrip(b"\x00")
        if self._nal is None or unit == self._sequence:
            return
        if not (unit and self._is_sequence(unit[0])):
            return
        index = self._index
        if self._sequence is not None:
            raise UnsupportedError(f"{index.name}: the sequence parameter set changes on the way")
        self._sequence = unit
        found = self._nal.parse_sequence(unit).picture
        if (found.width, found.height) != (index.width, index.height) or found.starts_cropped:
            raise UnsupportedError(
                f"{index.name}: pictures of {found.width}x{found.height} or cropped on the left "
                f"or top, where the index says {index.width}x{index.height}"
            )


def first_sequence(nal: NalSyntax, setup: bytes) -> h264.Sequence | hevc.Sequence | None:
    """The first sequence parameter set in the extradata of a stream of NAL units.

    None if there is none, or if it is damaged.
    """
    for unit in setup_units(nal, setup):
        if nal.kind(unit[0]) == nal.sequence:
            with suppress(FormatError):
                return nal.parse_sequence(unit)
            break
    return None
