"""Classification of H.264 and HEVC packets by the headers of their NAL units."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.bits import unescape
from videoloader.codecs.codec import NalSyntax, UnitRole

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

ByteReader: TypeAlias = Callable[[Ints, int], Bytes]
"""(offsets, count) -> `count` bytes at each offset, zeros past the end; shape (offsets, count)."""

Walked: TypeAlias = tuple[Ints, Ints | None, Bytes]
"""Packet numbers, the offset of one unit of each, and its first two bytes; see `walk_units`."""

RECOVERY_POINT = 6
"""payloadType of an H.264 SEI message."""
_MESSAGES = 1 << 10  # bytes of an SEI unit to search for a recovery point


def disposable_packets(
    nal: NalSyntax, walked: Iterable[Walked], count: int, *, sub_layers: int = 1
) -> NDArray[np.bool_]:
    """Mask of the packets that no other packet refers to.

    A packet is disposable if it has slices, all of them are non-reference slices (`nal_ref_idc`
    0 in H.264; a sub-layer non-reference picture of the highest sub-layer in HEVC), and it
    carries no parameter set. A packet whose unit lengths are inconsistent is not disposable.
    `walked` is the result of `walk_units`, `count` the number of packets.
    """
    seen = np.zeros(count, dtype=np.uint8)
    for packets, units, heads in walked:
        if units is None:
            seen[packets] |= UnitRole.REFERENCE
            continue
        roles = nal.roles[heads[:, 0]]
        if nal.has_sub_layers:
            is_lower = (roles == UnitRole.DISPOSABLE) & (heads[:, 1] & 7 != sub_layers)
            roles = np.where(is_lower, np.uint8(UnitRole.REFERENCE), roles)
        seen[packets] |= roles
    return np.equal(seen, UnitRole.DISPOSABLE)


def disposable_in_memory(
    nal: NalSyntax,
    memory: bytes,
    places: Iterable[tuple[int, int]],
    length_size: int,
    *,
    sub_layers: int = 1,
) -> NDArray[np.bool_]:
    """`disposable_packets` for the packets at some places of memory.

    Their units have start codes if `length_size` is 0.
    """
    # In Python, as decoders look at few packets at a time: each call of NumPy in a thread that was
    # just woken takes 10 to 20 us.
    roles, has_sub_layers, found = nal.roles.tobytes(), nal.has_sub_layers, []
    reference, disposable = UnitRole.REFERENCE, UnitRole.DISPOSABLE
    for begin, end in places:
        seen = 0
        for unit in _units_at(memory, begin, end, length_size):
            role = roles[memory[unit]] if unit >= 0 else reference
            if has_sub_layers and role == disposable:
                octet = memory[unit + 1] if unit + 1 < end else 0
                role = role if octet & 7 == sub_layers else reference
            seen |= role
        found.append(seen == disposable)
    return np.array(found, dtype=np.bool_)


def _units_at(memory: bytes, position: int, end: int, length_size: int) -> Iterator[int]:
    """Where each unit of a packet begins; -1 for one that exceeds the packet, which is the last."""
    if not length_size:
        yield from (unit for unit in annexb_units(memory, end, start=position) if unit < end)
        return
    while position + length_size < end:
        unit = position + length_size
        position = unit + int.from_bytes(memory[position:unit], "big")
        if not unit < position <= end:
            yield -1
            return
        yield unit


def walk_units(read: ByteReader, starts: Ints, sizes: Ints, length_size: int) -> Iterator[Walked]:
    """Yield the first unit of every packet, then the second unit of every packet, and so on.

    Each item holds packet numbers, offsets of their units, and the first two bytes of the units,
    shape (units, 2). Packets whose units exceed the packet are yielded once, without offsets.
    """
    ends = starts + sizes
    active = np.flatnonzero(sizes > length_size)
    position = starts[active]
    while len(active):
        rows = read(position, length_size + 2)
        length = np.zeros(len(active), dtype=np.int64)
        for byte in range(length_size):
            length = length << 8 | rows[:, byte]
        unit, heads = position + length_size, rows[:, length_size:]
        after = unit + length
        sound = (length >= 1) & (after <= ends[active])
        if not sound.all():
            yield active[~sound], None, heads[:0]
            active, unit, after, heads = active[sound], unit[sound], after[sound], heads[sound]
        yield active, unit, heads
        more = after + length_size < ends[active]
        active, position = active[more], after[more]


def annexb_units(data: bytes, stop: int | None = None, start: int = 0) -> Iterator[int]:
    """Offset of each NAL unit of a byte stream, after its start code.

    That begins at `start` or later, and ends before `stop`.
    """
    position = data.find(b"\x00\x00\x01", start, stop)
    while position >= 0:
        yield position + 3
        position = data.find(b"\x00\x00\x01", position + 3, stop)


def split_units(data: bytes) -> Iterator[bytes]:
    """The units between the start codes of a byte stream, trailing zeros included."""
    for start, after in itertools.pairwise(itertools.chain(annexb_units(data), [len(data) + 3])):
        yield data[start : after - 3]


def has_b_slices(walked: Iterable[Walked]) -> bool:
    """Whether any H.264 picture begins with a B slice, so presentation order may be reordered.

    Only slices with first_mb_in_slice 0, the first of their pictures, are examined
    (section 7.3.3: first_mb_in_slice, then slice_type, both Exp-Golomb codes).
    """
    for _, _, heads in walked:
        # '1' is first_mb_in_slice 0; '010' and '00111' are slice_type 1 and 6, both B.
        first = heads[np.isin(heads[:, 0] & 31, (1, 2, 5)), 1]
        if (((first & 0xF0) == 0xA0) | ((first & 0xFC) == 0x9C)).any():
            return True
    return False


def length_units(packet: memoryview, length_size: int) -> Iterator[memoryview]:
    """The NAL units of a packet with length prefixes; the last one may be truncated."""
    position = 0
    while position + length_size < len(packet):
        length = int.from_bytes(packet[position : position + length_size], "big")
        position += length_size
        yield packet[position : position + length]
        position += length


def is_random_access(nal: NalSyntax, units: Iterable[bytes | memoryview]) -> bool:
    """Whether decoding can begin with a packet; examines its NAL units up to the first slice.

    H.264: an IDR picture, or one with a recovery point SEI of recovery_frame_cnt 0. HEVC: any
    intra random access point (IRAP) picture.
    """
    recovers = False
    for unit in units:
        if not len(unit):
            continue
        kind = nal.kind(unit[0])
        if kind in nal.pictures:
            return recovers or bool(nal.random_access[unit[0]])
        recovers |= kind == nal.recovery_message and recovers_at_once(unit)
    return False


def recovers_at_once(unit: bytes | memoryview, *, limit: int | None = _MESSAGES) -> bool:
    """Whether an H.264 SEI unit has a recovery point with recovery_frame_cnt 0 (annex D.1.8).

    Only the first `limit` bytes of it are searched.
    """
    for kind, payload in read_messages(unit, limit=limit):
        if kind == RECOVERY_POINT and payload:
            return payload[0] >= 0x80  # recovery_frame_cnt is 0
    return False


def read_messages(
    unit: bytes | memoryview, *, limit: int | None = _MESSAGES
) -> Iterator[tuple[int, bytes]]:
    """Type and payload of each message in an H.264 SEI unit; see `recovers_at_once`."""
    message = unescape(bytes(unit[1:limit]))
    while len(message) > 2:
        kind, message = _message_number(message)
        size, message = _message_number(message)
        yield kind, message[:size]
        message = message[size:]


def _message_number(message: bytes) -> tuple[int, bytes]:
    """Read a type or size (a run of 0xFF bytes and a last byte, summed); returns also the rest."""
    rest = message.lstrip(b"\xff")
    return 255 * (len(message) - len(rest)) + (rest[0] if rest else 0), rest[1:]
