"""Encodes the packet table of an index as columns of small integers, and decodes it.

The table is regular: packets are contiguous and equally spaced in time. So each column stores the
residual of a prediction, minus its first value and divided by the greatest common divisor of all
values. Most residuals are zero; a constant column takes no bytes.

Decoding takes at most 128 bytes of memory for each byte of the columns, and for each
of the first `FREE_PACKETS` packets, which may take no bytes in the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.packets import PACKET_DTYPE, PacketFlags

Ints = NDArray[np.int64]

MAX_PACKETS = 1 << 26
"""More than three weeks of 30 frames a second."""
FREE_PACKETS = 1 << 20
"""Packets that may take no bytes in any column; more than nine hours of 30 frames a second."""

_NAMES = ("offset", "size", "pts", "dts", "duration", "flags")
_FLAGS = sum(PacketFlags)
_INT = np.iinfo(np.int64)


def encode_columns(packets: NDArray[Any], order: Ints | None) -> tuple[list[Any], bytes]:
    """Encode the packet table; returns column specs (packet count first) and column bytes.

    Sums and differences may overflow, which decoding undoes: both are modulo 2**64.

    Raises:
        UnsupportedError: there are more packets than `MAX_PACKETS`.
        FormatError: the table or the order is none that `decode_columns` gives.
    """
    count = len(packets)
    if max(count, 0 if order is None else len(order)) > MAX_PACKETS:
        raise UnsupportedError(f"an index of {count} packets is too large to be stored")
    if packets.dtype != PACKET_DTYPE or (order is not None and order.dtype != np.int64):
        raise FormatError("its table is not one of packets")
    columns = np.empty((len(_NAMES), count), dtype=np.int64)
    for column, name in zip(columns, _NAMES, strict=True):
        column[:] = packets[name]
    offset, size, pts, dts, duration, _ = columns
    if count:
        lows, highs = columns.min(axis=1).tolist(), columns.max(axis=1).tolist()
        _check_packets(lows[0], (lows[1], highs[1]), (lows[5], highs[5]))
    start = int(dts[0]) if count else 0
    offset[1:] -= (offset + size)[:-1]  # gaps between packets
    pts -= dts
    dts[:-1] = dts[1:] - dts[:-1]  # steps to the next packet; undefined for the last one
    dts[-1:] = dts[-2:-1] if count > 1 else 0
    duration -= dts
    # Packet and frame counts are bounded by the bytes that they take; see the module.
    specs, packed = _pack(columns, first_takes_room=count > FREE_PACKETS)
    if order is not None:
        _check_order(order, count)
        steps = np.diff(order, prepend=0)
        spec, octets = _pack(steps[None], first_takes_room=len(order) > count)
        specs, packed = specs + spec, packed + octets
    return [count, start, *specs], b"".join(packed)


def decode_columns(specs: Any, data: memoryview) -> tuple[NDArray[Any], Ints | None]:
    """Invert `encode_columns`: the packet table and the order.

    Raises:
        FormatError: the columns are invalid.
    """
    if not isinstance(specs, list) or not 8 <= len(specs) <= 9:
        raise FormatError("its columns are not those of an index")
    count, start, *described = specs
    if not _is_int(count, 0, min(MAX_PACKETS, FREE_PACKETS + len(data))) or not _is_int(start):
        raise FormatError(f"its columns of {len(data)} bytes cannot be of {count!r:.40} packets")
    columns, position = [], 0
    for number, spec in enumerate(described):
        column, position = _unpack(spec, data, position, count, is_order=number == 6)
        columns.append(column)
    if position != len(data):
        raise FormatError("its columns are not as long as they say")
    return _table(columns, start), _order(columns[6], count) if len(columns) > 6 else None


def _table(columns: list[Ints], start: int) -> NDArray[Any]:
    gaps, size, lead, steps, excess, flags = columns[:6]
    packets = np.zeros(len(size), dtype=PACKET_DTYPE)
    if not len(packets):
        return packets
    offset = packets["offset"]
    offset[:] = gaps
    offset[1:] += size[:-1]
    np.cumsum(offset, out=offset)
    ranges = [(int(column.min()), int(column.max())) for column in (size, flags)]
    _check_packets(int(offset.min()), *ranges)
    packets["size"], packets["flags"] = size, flags
    packets["dts"][0] = start
    packets["dts"][1:] = steps[:-1]
    np.cumsum(packets["dts"], out=packets["dts"])
    np.add(lead, packets["dts"], out=packets["pts"])
    np.add(excess, steps, out=packets["duration"])
    return packets


def _order(steps: Ints, count: int) -> Ints:
    order = np.cumsum(steps)
    _check_order(order, count)
    return order


def _check_packets(offset: int, sizes: tuple[int, int], flags: tuple[int, int]) -> None:
    """Check the least offset, and the least and greatest size and flags."""
    if sizes[0] < 0 or sizes[1] >= 1 << 31 or flags[0] < 0 or flags[1] > _FLAGS:
        raise FormatError("its columns are not those of packets")
    if offset < -1:
        raise FormatError("its packets lie before their file")


def _check_order(order: Ints, count: int) -> None:
    if len(order) and (order.min() < 0 or order.max() >= count):
        raise FormatError("its frames are of packets that it does not have")


def _pack(columns: Ints, *, first_takes_room: bool) -> tuple[list[list[int]], list[bytes]]:
    """(first value, common factor, bytes per value, values) of each column, and its byte planes.

    Args:
        columns: shape (columns, values); together, since most tables are short.
        first_takes_room: store the values of the first column even if they are all equal.
    """
    count = columns.shape[1]
    if not count:
        return [[0, 1, 0, 0]] * len(columns), [b""] * len(columns)
    firsts = columns[:, :1]
    rest = columns - firsts
    factors = np.gcd.reduce(rest, axis=1, keepdims=True)  # 0 if all values are equal
    rest //= factors + (factors == 0)
    lows, highs = rest.min(axis=1).tolist(), rest.max(axis=1).tolist()
    specs, packed = [], []
    described = zip(firsts[:, 0].tolist(), factors[:, 0].tolist(), lows, highs, strict=True)
    for number, (first, factor, low, high) in enumerate(described):
        if not factor:
            room = int(first_takes_room and number == 0)
            specs.append([first, 1, room, count])
            packed.append(bytes(count * room))
            continue
        width = next(w for w in (1, 2, 4, 8) if max(-low - 1, high) >> (8 * w - 1) == 0)
        octets = rest[number].astype(f"<i{width}").view(np.uint8).reshape(-1, width)
        specs.append([first, factor, width, count])
        packed.append(octets.T.tobytes())
    return specs, packed


def _unpack(
    spec: Any, data: memoryview, position: int, count: int, *, is_order: bool
) -> tuple[Ints, int]:
    """Decode a column; returns also its end in `data`."""
    if not isinstance(spec, list) or len(spec) != 4 or not all(map(_is_int, spec)):
        raise FormatError("a column is not what a column can be")
    first, factor, width, length = spec
    # One value per packet. There may be more frames than packets if their column takes bytes.
    is_fitting = length == count or (is_order and (0 <= length < count or width > 0))
    end = position + width * length
    if width not in (0, 1, 2, 4, 8) or not is_fitting or not position <= end <= len(data):
        raise FormatError("a column is not what a column can be")
    if width == 0:
        return np.ndarray((length,), np.int64, np.int64(first), strides=(0,)), position
    octets = np.frombuffer(data, dtype=np.uint8, count=width * length, offset=position)
    small = np.ascontiguousarray(octets.reshape(width, length).T).view(f"<i{width}").reshape(-1)
    column = small.astype(np.int64)
    column *= factor
    column += first
    return column, end


def _is_int(value: Any, low: int = _INT.min, high: int = _INT.max) -> bool:
    return type(value) is int and low <= value <= high
