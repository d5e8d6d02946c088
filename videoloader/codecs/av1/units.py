"""AV1 OBU and sequence headers (AV1 Bitstream & Decoding Process Specification, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.picture import PictureFormat, pixel_format
from videoloader.errors import FormatError

SEQUENCE_HEADER, _DELIMITER, FRAME_HEADER, FRAME = 1, 2, 3, 6
KEY_FRAME = 0
_LONGEST_HEAD = 10  # maximum bytes of an OBU's header and size
SELECT = 2  # SELECT_SCREEN_CONTENT_TOOLS, SELECT_INTEGER_MV


@dataclass(frozen=True, slots=True)
class Sequence:
    """Fields of a sequence header that frame headers depend on (section 5.5)."""

    picture: PictureFormat
    reduced_still: bool
    order_hint_bits: int
    frame_id_bits: int
    frame_id_delta_bits: int
    screen_content: int
    integer_mv: int
    decoder_model: bool
    equal_interval: bool
    time_bits: int
    removal_bits: int
    operating_points: tuple[tuple[int, bool], ...]  # idc, decoder model present


def parse_sequence(data: bytes) -> Sequence | None:
    """The first sequence header among the OBUs of `data`, or None if there is no valid one."""
    try:
        payload = _sequence_payload(data)
        return None if payload is None else _sequence(BitReader(payload))
    except FormatError:
        return None


def sequence_unit(data: bytes) -> bytes:
    """The bytes of the first sequence header OBU in `data`, empty if there is none."""
    try:
        payload = _sequence_payload(data)
    except FormatError:
        return b""
    if payload is None:
        return b""
    size = len(payload)
    groups = [size >> shift & 0x7F for shift in range(0, max(size.bit_length(), 1), 7)]
    octets = [group | 0x80 for group in groups[:-1]] + groups[-1:]
    return bytes([SEQUENCE_HEADER << 3 | 2, *octets]) + payload


def _sequence_payload(data: bytes) -> bytes | None:
    return next((bytes(one) for kind, _, one, _ in units(data) if kind == SEQUENCE_HEADER), None)


def temporal_units(read: Callable[[int, int], bytes], length: int) -> tuple[list[int], int] | None:
    """Find the temporal units of a stream.

    Args:
        read: (offset, size) -> at most `size` bytes of the stream from `offset` on.
        length: of the stream, in bytes.

    Returns:
        Offsets of the temporal units, and the end of the last one, which is past the end of a
        truncated stream; None if the OBU sizes are inconsistent.
    """
    begins = []
    position = start = 0
    try:
        while position < length:
            head, start = read(position, _LONGEST_HEAD), position
            header = head[0]
            if header & 0x83 != 2:  # forbidden or reserved bit set, or no size field
                return None
            if header >> 3 & 15 == _DELIMITER:
                begins.append(position)
            size, octets = _leb128(head, 1 + (header >> 2 & 1))
            position += octets + size
    except FormatError:
        if length - start > _LONGEST_HEAD:
            return None
        position = length + 1  # truncated within a size field, or before it
    return (begins, position) if begins[:1] == [0] else None


def shown_frames(packet: bytes | memoryview, sequence: Sequence) -> tuple[int, bool]:
    """Number of shown frames of a temporal unit, and whether decoding can begin with it.

    Decoding can begin if a sequence header and a shown key frame come first. A temporal unit
    that cannot be parsed counts as showing no frame.
    """
    shown, frames, headers, is_key = 0, 0, 0, False
    try:
        for kind, _, payload, _ in units(packet):
            headers += kind == SEQUENCE_HEADER
            if kind not in (FRAME_HEADER, FRAME) or not len(payload):
                continue
            octet = payload[0]
            existing = octet >> 7 and not sequence.reduced_still
            is_shown = sequence.reduced_still or existing or octet >> 4 & 1
            frame_type = KEY_FRAME if sequence.reduced_still else octet >> 5 & 3
            if not frames and is_shown and not existing:
                is_key = headers > 0 and frame_type == KEY_FRAME
            frames += 1
            shown += bool(is_shown)
    except FormatError:
        return 0, False
    return shown, is_key


def units(data: bytes | memoryview) -> Iterator[tuple[int, int, bytes | memoryview, int]]:
    """Type, extension byte, payload and end offset of each of consecutive OBUs (section 5.3)."""
    position = 0
    while position < len(data):
        header = data[position]
        position += 1
        extension = 0
        if header & 4:
            if position >= len(data):
                raise FormatError("an AV1 unit ends in its header")
            extension = data[position]
            position += 1
        size = len(data) - position
        if header & 2:
            size, position = _leb128(data, position)
        if position + size > len(data):
            raise FormatError(f"an AV1 unit of {size} bytes runs past its packet")
        end = position + size
        yield (header >> 3) & 15, extension, data[position:end], end
        position = end


def _leb128(data: bytes | memoryview, position: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        if position + place >= len(data):
            break
        byte = data[position + place]
        value |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            return value, position + place + 1
    raise FormatError("an AV1 unit has a size that does not end")


def _uvlc(bits: BitReader) -> int:
    zeros = 0
    while not bits.flag():
        zeros += 1
        if zeros >= 32:
            return (1 << 32) - 1
    return bits.u(zeros) + (1 << zeros) - 1


def _sequence(bits: BitReader) -> Sequence:
    profile = bits.u(3)
    bits.flag()  # still_picture
    reduced = bits.flag()
    decoder_model = equal_interval = False
    time_bits = removal_bits = delay_bits = 0
    points: list[tuple[int, bool]] = []
    if reduced:
        bits.u(5)
        points.append((0, False))
    else:
        if bits.flag():
            bits.u(64)
            equal_interval = bits.flag()
            if equal_interval:
                _uvlc(bits)
            decoder_model = bits.flag()
            if decoder_model:
                delay_bits = bits.u(5) + 1
                bits.u(32)
                removal_bits = bits.u(5) + 1
                time_bits = bits.u(5) + 1
        display_delay = bits.flag()
        for _ in range(bits.u(5) + 1):
            idc = bits.u(12)
            if bits.u(5) > 7:
                bits.flag()
            present = decoder_model and bits.flag()
            if present:
                bits.u(2 * delay_bits + 1)
            if display_delay and bits.flag():
                bits.u(4)
            points.append((idc, present))
    width_bits, height_bits = bits.u(4) + 1, bits.u(4) + 1
    width, height = bits.u(width_bits) + 1, bits.u(height_bits) + 1
    frame_id_bits = frame_id_delta_bits = 0
    if not reduced and bits.flag():
        frame_id_delta_bits = bits.u(4) + 2
        frame_id_bits = bits.u(3) + frame_id_delta_bits + 1
    bits.u(3)  # superblock size, filter intra, intra edge filter
    screen, integer, hint_bits = SELECT, SELECT, 0
    if not reduced:
        bits.u(4)
        if bits.flag():
            bits.u(2)
            hint_bits = -1  # read below, after two other fields
        screen = SELECT if bits.flag() else bits.u(1)
        if screen > 0:
            integer = SELECT if bits.flag() else bits.u(1)
        if hint_bits:
            hint_bits = bits.u(3) + 1
    bits.u(3)  # superres, cdef, restoration
    return Sequence(
        picture=_picture(bits, profile, width, height),
        reduced_still=reduced,
        order_hint_bits=hint_bits,
        frame_id_bits=frame_id_bits,
        frame_id_delta_bits=frame_id_delta_bits,
        screen_content=screen,
        integer_mv=integer,
        decoder_model=decoder_model,
        equal_interval=equal_interval,
        time_bits=time_bits,
        removal_bits=removal_bits,
        operating_points=tuple(points),
    )


def _picture(bits: BitReader, profile: int, width: int, height: int) -> PictureFormat:
    """Colour configuration (section 5.5.2)."""
    high = bits.flag()
    depth = 10 if high else 8
    if profile == 2 and high:
        depth = 12 if bits.flag() else 10
    mono = profile != 1 and bits.flag()
    codes = (bits.u(8), bits.u(8), bits.u(8)) if bits.flag() else (2, 2, 2)
    chroma = 0
    if mono:
        full_range = bits.flag()
    elif codes == (1, 13, 0):  # sRGB
        full_range, chroma = True, 3
    else:
        full_range = bits.flag()
        if profile < 2:
            chroma = 3 if profile == 1 else 1
        elif depth == 12:
            chroma = 3 if not bits.flag() else (1 if bits.flag() else 2)
        else:
            chroma = 2
    color = color_from_codes(*codes, full_range=full_range)
    # dav1d's formats have no separate full-range names.
    name = pixel_format(chroma, depth, Color(matrix=color.matrix))
    return PictureFormat(width, height, name, depth, color, reorders=False)
