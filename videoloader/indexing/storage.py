"""An index as bytes: a JSON head and the packet table as columns, deflated together.

The table is regular: packets lie behind one another, a tick of time apart. So each column holds
what its own rule does not foretell, less its first value and divided by what all values have in
common. What remains are small numbers, mostly zeros; a column of zeros takes no room at all.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError, SourceError
from videoloader.indexing.bitstream.color import Color
from videoloader.indexing.index import PACKET_DTYPE, Exactness, Orientation, VideoIndex
from videoloader.indexing.payloads import check_packing
from videoloader.indexing.source import Fingerprint
from videoloader.indexing.writing import written_whole

__all__ = ["FACTS", "decode_index", "encode_index", "load_index", "save_index"]

Ints = NDArray[np.int64]

_MAGIC = b"VLINDEX4"
_OLDER = (b"VLINDEX3",)  # which have no hash of the first bytes of the file
_LENGTHS = struct.Struct("<IIII")  # check sum of the rest; bytes of head, set-up data, columns
_JSON = json.JSONEncoder(separators=(",", ":"))
_MAX_BYTES = 1 << 31
_MAX_PACKETS = 1 << 27

_UNFORESEEN = (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, struct.error)

FACTS: dict[str, type | UnionType] = {
    "codec": str,
    "width": int,
    "height": int,
    "exactness": str,
    "stream": int,
    "container": str,
    "pixel_format": str | None,
    "bit_depth": int | None,
    "codec_tag": str,
    "length_size": int,
    "sub_layers": int,
    "packing": str,
    "has_headers": bool,
    "name": str,
}
"""Fields of an index that are stored as they are, and what they hold."""

_PARTS: dict[str, dict[str, type | UnionType]] = {
    "color": dict.fromkeys(Color.__slots__, str | None),
    "orientation": dict.fromkeys(Orientation.__slots__, bool),
    "fingerprint": {
        "size": int,
        "mtime_ns": int | None,
        "etag": str | None,
        "head": str | None,
    },
}


def save_index(index: VideoIndex, path: str | os.PathLike[str]) -> None:
    """Write `index` to `path`, whole or not at all."""
    with written_whole(Path(path)) as partial:
        partial.write_bytes(_MAGIC + zlib.compress(encode_index(index), 9))


def load_index(path: str | os.PathLike[str]) -> VideoIndex:
    """Read an index file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    try:
        if data[: len(_MAGIC)] not in (_MAGIC, *_OLDER):
            raise FormatError("it does not begin as one")
        return decode_index(_inflate(data[len(_MAGIC) :]))
    except FormatError as error:
        raise FormatError(f"{path}: no index file of videoloader, or damaged ({error})") from error


def encode_index(index: VideoIndex) -> bytes:
    """Everything that `decode_index` needs to make the same index; compresses well."""
    head: dict[str, Any] = {name: getattr(index, name) for name in FACTS}
    head["time_base"] = str(index.time_base)
    if index.warnings:
        head["warnings"] = index.warnings
    for name in ("color", "orientation", "fingerprint"):
        value = getattr(index, name)
        head[name] = {field: getattr(value, field) for field in value.__slots__}
    head["extradata"] = [(at, len(data)) for at, data in index.extradata]
    specs, columns = _tables(index)
    head["columns"] = specs
    text = _JSON.encode(head).encode()
    setup = b"".join(data for _, data in index.extradata)
    body = text + setup + columns
    return _LENGTHS.pack(zlib.crc32(body), len(text), len(setup), len(columns)) + body


def decode_index(data: bytes) -> VideoIndex:
    """The index that `encode_index` made bytes of.

    Raises:
        FormatError: it did not make them, or they are damaged.
    """
    try:
        return _unpack(data)
    except _UNFORESEEN as error:
        raise FormatError(f"bytes of an index are damaged ({error})") from error


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise FormatError(str(error)) from error
    if inflater.unconsumed_tail or inflater.unused_data or not inflater.eof:
        raise FormatError("its size is not what it says")
    return raw


def _unpack(raw: bytes) -> VideoIndex:
    checksum, head_size, setup_size, columns_size = _LENGTHS.unpack_from(raw)
    begin = _LENGTHS.size + head_size
    if begin + setup_size + columns_size != len(raw):
        raise FormatError("its size is not what it says")
    if zlib.crc32(memoryview(raw)[_LENGTHS.size :]) != checksum:
        raise FormatError("its check sum is not that of what it holds")
    head = json.loads(raw[_LENGTHS.size : begin])
    head["fingerprint"] = {"head": None, **head["fingerprint"]}
    facts = _checked(head)
    extradata = []
    position = begin
    for at, size in head["extradata"]:
        if not isinstance(at, int) or size < 0:
            raise FormatError("its set-up data is not what set-up data can be")
        extradata.append((at, raw[position : position + size]))
        position += size
    if position != begin + setup_size:
        raise FormatError("its set-up data is not as long as it says")
    packets, order = _unpack_tables(head["columns"], raw, begin + setup_size)
    warnings = head.get("warnings", [])
    if not (isinstance(warnings, list) and all(isinstance(text, str) for text in warnings)):
        raise FormatError(f"warnings cannot be {warnings!r}")
    return VideoIndex(
        packets=packets,
        order=order,
        time_base=Fraction(head["time_base"]),
        color=Color(**head["color"]),
        orientation=Orientation(**head["orientation"]),
        fingerprint=Fingerprint(**head["fingerprint"]),
        extradata=tuple(extradata),
        warnings=tuple(warnings),
        **facts,
    )


def _checked(head: dict[str, Any]) -> dict[str, Any]:
    """The facts that a head tells, each of its kind."""
    facts = {name: head[name] for name in FACTS}
    for name, kind in FACTS.items():
        if not isinstance(facts[name], kind) or (kind is int and facts[name] < 0):
            raise FormatError(f"{name} cannot be {facts[name]!r}")
    if facts["exactness"] not in get_args(Exactness):
        raise FormatError(f"exactness cannot be {facts['exactness']!r}")
    check_packing(facts["packing"])
    for name, kinds in _PARTS.items():
        if any(not isinstance(head[name][part], kind) for part, kind in kinds.items()):
            raise FormatError(f"{name} cannot be {head[name]!r}")
    return facts


def _tables(index: VideoIndex) -> tuple[list[Any], bytes]:
    """Descriptions of the columns (number of packets, then what each is made from), and them."""
    table, count = index.packets, len(index.packets)
    offset, size, pts, dts, duration, flags = (
        table[name].astype(np.int64) for name in PACKET_DTYPE.names or ()
    )
    gaps = offset.copy()
    gaps[1:] -= (offset + size)[:-1]
    steps = np.zeros_like(dts)  # to the next packet
    np.subtract(dts[1:], dts[:-1], out=steps[:-1])
    columns = [gaps, size, pts - dts, steps, duration - steps, flags]
    if index.order is not None:
        columns.append(np.diff(index.order, prepend=0))
    specs: list[Any] = [count, int(dts[0]) if count else 0]
    packed = []
    for column in columns:
        spec, octets = _pack(column)
        specs.append(spec)
        packed.append(octets)
    return specs, b"".join(packed)


def _unpack_tables(specs: list[Any], raw: bytes, position: int) -> tuple[NDArray[Any], Ints | None]:
    count, start, *described = specs
    # Columns of one repeated value take no room, so the number of packets needs a bound of its own.
    if not 0 <= count <= _MAX_PACKETS or not 6 <= len(described) <= 7:
        raise FormatError("its columns are not those of an index")
    columns = []
    for spec in described:
        column, position = _unpack_column(spec, raw, position, count)
        columns.append(column)
    if position != len(raw):
        raise FormatError("its columns are not as long as they say")
    gaps, size, lead, steps, excess, flags = columns[:6]
    order = np.cumsum(columns[6]) if len(columns) > 6 else None
    if any(len(column) != count for column in columns[:6]) or (size < 0).any():
        raise FormatError("its columns are not those of packets")
    if order is not None and ((order < 0) | (order >= count)).any():
        raise FormatError("its frames are of packets that it does not have")
    packets = np.empty(count, dtype=PACKET_DTYPE)
    dts = np.empty(count, dtype=np.int64)
    if count:
        dts[0] = start
        np.cumsum(steps[:-1], out=dts[1:])
        dts[1:] += start
        gaps[1:] += size[:-1]
    packets["offset"] = np.cumsum(gaps)
    packets["size"] = size
    packets["pts"] = lead + dts
    packets["dts"] = dts
    packets["duration"] = excess + steps
    packets["flags"] = flags
    return packets, order


def _pack(column: Ints) -> tuple[list[int], bytes]:
    """(first value, common factor, bytes a value, values) and the bytes, sorted by weight."""
    if not len(column):
        return [0, 1, 0, 0], b""
    first = int(column[0])
    rest = column - first
    if not rest.any():
        return [first, 1, 0, len(column)], b""
    factor = int(np.gcd.reduce(rest))
    small = rest // factor
    low, high = int(small.min()), int(small.max())
    width = next(w for w in (1, 2, 4, 8) if max(-low - 1, high) >> (8 * w - 1) == 0)
    octets = small.astype(f"<i{width}").view(np.uint8).reshape(-1, width).T
    return [first, factor, width, len(column)], np.ascontiguousarray(octets).tobytes()


def _unpack_column(spec: list[int], raw: bytes, position: int, count: int) -> tuple[Ints, int]:
    first, factor, width, length = spec
    if width not in (0, 1, 2, 4, 8) or not 0 <= length <= count:
        raise FormatError("a column is not what a column can be")
    if width == 0:
        return np.full(length, first, dtype=np.int64), position
    octets = np.frombuffer(raw, dtype=np.uint8, count=width * length, offset=position)
    small = np.ascontiguousarray(octets.reshape(width, length).T).view(f"<i{width}").reshape(-1)
    return small.astype(np.int64) * factor + first, position + width * length
