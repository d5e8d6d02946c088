"""Converts packets of containers to the elementary streams that NVDEC parses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NoReturn

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.h264 import sequence as h264
from videoloader.codecs.hevc import sequence as hevc
from videoloader.codecs.nal import annexb_units
from videoloader.codecs.records import parameter_sets, setup_units
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.index import VideoIndex

__all__ = ["ElementaryStream", "first_sequence"]

_START_CODE = b"\x00\x00\x00\x01"
_LENGTH = struct.Struct(">I")


class ElementaryStream:
    """Converts packets of one video to an elementary stream.

    H.264 and HEVC become Annex B byte streams: start codes instead of length prefixes, parameter
    sets before the first packet. Other codecs are unchanged.
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
        self.is_delimited = self._codec.is_delimited
        """Whether packets may be concatenated, since start codes delimit them."""

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

    def join(self, payloads: Sequence[bytes], head: bytes = b"") -> bytes | bytearray:
        """Concatenate packets of the elementary stream, after `head`.

        Raises:
            UnsupportedError: the size of pictures differs from the index, or changes; or a length
                prefix is damaged.
        """
        if self._codec.stated_sizes is not None:
            self._check_sizes(self._codec.stated_sizes, payloads)
        if not self._length_size:
            stream = b"".join(payloads)
            self._check_stream(stream)
            return head + stream if head else stream
        if self._length_size == len(_START_CODE):
            return self._with_start_codes(payloads, head)
        parts = (
            part
            for payload in payloads
            for start, stop in self._units(payload)
            for part in (_START_CODE, payload[start:stop])
        )
        return head + b"".join(parts)

    def _with_start_codes(self, payloads: Sequence[bytes], head: bytes) -> bytearray:
        """Replace length prefixes by start codes in place."""
        joined = bytearray().join((head, *payloads))
        mask, sequence = self._sequence_type
        position = len(head)
        for payload in payloads:
            end = position + len(payload)
            while position + 4 < end:
                (length,) = _LENGTH.unpack_from(joined, position)
                joined[position : position + 4] = _START_CODE
                position += 4
                stop = position + length
                if stop > end:
                    self._refuse_length()
                if joined[position] & mask == sequence:
                    self._check(bytes(joined[position:stop]))
                position = stop
            position = end
        return joined

    def _units(self, payload: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of each NAL unit of a packet."""
        size, position = self._length_size, 0
        while position + size < len(payload):
            length = int.from_bytes(payload[position : position + size], "big")
            position += size
            stop = position + length
            if stop > len(payload):
                self._refuse_length()
            if self._is_sequence(payload[position]):
                self._check(payload[position:stop])
            yield position, stop
            position = stop

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

    def _check_sizes(
        self, stated: Callable[[bytes], list[tuple[int, int]]], payloads: Sequence[bytes]
    ) -> None:
        """Check the sizes in frame headers."""
        index = self._index
        for payload in payloads:
            try:
                others = set(stated(payload)) - {(index.width, index.height)}
            except FormatError as error:
                raise UnsupportedError(f"{index.name}: {error}") from error
            if others:
                width, height = min(others)
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
