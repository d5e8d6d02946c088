"""Serializes an index: a JSON head, extradata and columns, deflated together in a file.

Reading takes time and memory proportional to the number of bytes, even for malicious files; see
`columns`. A file inflates to at most `_RATIO` times its size, beyond the first `_FREE_BYTES`; the
few indexes that compress better are stored uncompressed.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from videoloader.codecs.color import Color
from videoloader.errors import FormatError, SourceError, UnsupportedError
from videoloader.indexing.columns import decode_columns, encode_columns
from videoloader.indexing.packets import Exactness, Orientation
from videoloader.indexing.packing import PacketLayout
from videoloader.machinery.system.writing import written_whole
from videoloader.sources.source import Fingerprint

_MAGIC = b"VLINDEX4"
_OLDER = (b"VLINDEX3",)  # older versions, without a hash of the first bytes of the file
_LENGTHS = struct.Struct("<IIII")  # checksum of the rest; bytes of head, extradata, columns
_JSON = json.JSONEncoder(separators=(",", ":"))
_MAX_BYTES = 1 << 31
_FREE_BYTES, _RATIO = 1 << 20, 128
_RATIONAL = re.compile(r"([1-9][0-9]{0,63})(?:/([1-9][0-9]{0,63}))?")

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
"""Fields of an index that are stored unchanged, and their types; `packing` as text."""

_PARTS: dict[str, dict[str, type | UnionType]] = {
    "color": dict.fromkeys(Color.__slots__, str | None),
    "orientation": dict.fromkeys(Orientation.__slots__, bool),
    "fingerprint": {"size": int, "mtime_ns": int | None, "etag": str | None, "head": str | None},
}
_SHARED_PARTS = ("color", "orientation")
_SHARED_FACTS = [name for name in FACTS if name != "name"]
_SHARED = {name: FACTS[name] for name in _SHARED_FACTS}
_SHARED |= {name: kind for part in _SHARED_PARTS for name, kind in _PARTS[part].items()}
_BOUNDS = {
    "length_size": (0, 4),
    "sub_layers": (0, 8),
    "bit_depth": (0, 64),
    "size": (0, 1 << 63),
    "mtime_ns": (-1 << 63, 1 << 63),
}
_USUAL_BOUNDS = (0, (1 << 31) - 1)
_LONG, _ANY_LENGTH = 256, ("name", "etag", "packing")  # maximum characters of a string


def save_fields(fields: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the fields of an index to `path` atomically.

    Raises:
        SourceError: the file cannot be written.
        UnsupportedError: the index holds values that cannot be stored.
    """
    data = encode_fields(fields)
    packed = zlib.compress(data, 9)
    if len(data) > _most_bytes(len(packed)):
        packed = zlib.compress(data, 0)
    with written_whole(Path(path)) as partial:
        partial.write_bytes(_MAGIC + packed)


def load_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of an index from a file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    try:
        if data[: len(_MAGIC)] not in (_MAGIC, *_OLDER):
            raise FormatError("it does not begin as one")
        return decode_fields(_inflate(data[len(_MAGIC) :]))
    except FormatError as error:
        raise FormatError(f"{path}: no index file of videoloader, or damaged ({error})") from error


def encode_fields(fields: Mapping[str, Any]) -> bytes:
    """Serialize the fields of an index for `decode_fields`; the bytes compress well.

    What decoding would refuse is refused here, by the same checks.

    Raises:
        UnsupportedError: the index holds values that cannot be stored.
    """
    try:
        return _pack(fields)
    except (*_UNFORESEEN, FormatError) as error:
        raise UnsupportedError(
            f"{fields['name']}: this index cannot be stored ({error})"
        ) from error


def decode_fields(data: bytes) -> dict[str, Any]:
    """Decode the stored fields from the bytes of `encode_fields`.

    Raises:
        FormatError: the bytes are not an index, or are damaged.
    """
    try:
        return _unpack(data)
    except _UNFORESEEN as error:
        raise FormatError(f"bytes of an index are damaged ({error})") from error


def _most_bytes(packed: int) -> int:
    """Maximum inflated size of `packed` bytes."""
    return min(_FREE_BYTES + _RATIO * packed, _MAX_BYTES)


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    most = _most_bytes(len(data))
    try:
        raw = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise FormatError(str(error)) from error
    if len(raw) > most or inflater.unused_data or not inflater.eof:
        raise FormatError("its size is not what it says")
    return raw


def _pack(fields: Mapping[str, Any]) -> bytes:
    head: dict[str, Any] = {fact: fields[fact] for fact in FACTS}
    head["packing"] = str(head["packing"])
    head["time_base"] = str(fields["time_base"])
    _rational(head["time_base"])
    if fields["warnings"]:
        head["warnings"] = _warnings([*fields["warnings"]])
    if fields["stated_rate"] is not None:
        head["stated_rate"] = str(fields["stated_rate"])
        _rational(head["stated_rate"])
    for part in _PARTS:
        value = fields[part]
        head[part] = {name: getattr(value, name) for name in value.__slots__}
    _facts(head)
    head["extradata"] = [(at, len(data)) for at, data in fields["extradata"]]
    setup = b"".join([data for _, data in fields["extradata"]])
    _extradata(head["extradata"], setup)
    head["columns"], columns = encode_columns(fields["packets"], fields["order"])
    text = _JSON.encode(head).encode()
    body = text + setup + columns
    return _LENGTHS.pack(zlib.crc32(body), len(text), len(setup), len(columns)) + body


def _unpack(raw: bytes) -> dict[str, Any]:
    checksum, head_size, setup_size, columns_size = _LENGTHS.unpack_from(raw)
    begin = _LENGTHS.size + head_size
    if begin + setup_size + columns_size != len(raw):
        raise FormatError("its size is not what it says")
    body = memoryview(raw)
    if zlib.crc32(body[_LENGTHS.size :]) != checksum:
        raise FormatError("its check sum is not that of what it holds")
    head = json.loads(raw[_LENGTHS.size : begin])
    head["fingerprint"] = {"head": None, **head["fingerprint"]}
    facts = _facts(head)
    packets, order = decode_columns(head["columns"], body[begin + setup_size :])
    return dict(
        packets=packets,
        order=order,
        time_base=_rational(head["time_base"]),
        stated_rate=_rational(head["stated_rate"]) if "stated_rate" in head else None,
        color=Color(**head["color"]),
        orientation=Orientation(**head["orientation"]),
        fingerprint=Fingerprint(**head["fingerprint"]),
        extradata=_extradata(head["extradata"], raw[begin : begin + setup_size]),
        warnings=_warnings(head.get("warnings", [])),
        **(facts | {"packing": PacketLayout.parse(facts["packing"])}),
    )


def _facts(head: dict[str, Any]) -> dict[str, Any]:
    """The fields in a JSON head, after checking the type of each."""
    facts = {name: head[name] for name in FACTS}
    shared = [facts[name] for name in _SHARED_FACTS]
    for part in _SHARED_PARTS:
        shared += [head[part][name] for name in _PARTS[part]]
    _check_shared(*shared)
    _check({"name": str}, [facts["name"]])
    fingerprint = _PARTS["fingerprint"]
    _check(fingerprint, [head["fingerprint"][name] for name in fingerprint])
    return facts


@lru_cache(maxsize=64, typed=True)  # typed: 1 is not True
def _check_shared(*values: Any) -> None:
    """Check the fields that most videos of a data set have alike."""
    _check(_SHARED, values)
    facts = dict(zip(_SHARED, values, strict=True))
    if facts["exactness"] not in get_args(Exactness):
        raise FormatError(f"exactness cannot be {facts['exactness']!r:.80}")
    PacketLayout.parse(facts["packing"])


def _check(kinds: dict[str, type | UnionType], values: Sequence[Any]) -> None:
    for (name, kind), value in zip(kinds.items(), values, strict=True):
        if not _is_sound(name, value, kind):
            raise FormatError(f"{name} cannot be {value!r:.80}")


def _is_sound(name: str, value: Any, kind: type | UnionType) -> bool:
    if type(value) is bool:  # bool is a subclass of int
        return kind is bool
    if type(value) is int:
        low, high = _BOUNDS.get(name, _USUAL_BOUNDS)
        return isinstance(value, kind) and low <= value <= high
    if isinstance(value, str) and len(value) > _LONG and name not in _ANY_LENGTH:
        return False
    return isinstance(value, kind)


def _rational(text: Any) -> Fraction:
    found = _RATIONAL.fullmatch(text)
    if found is None:
        raise FormatError(f"a time base or rate cannot be {text!r:.80}")
    return Fraction(int(found[1]), int(found[2] or 1))


def _extradata(described: list[Any], setup: bytes) -> tuple[tuple[int, bytes], ...]:
    extradata: list[tuple[int, bytes]] = []
    last = position = 0
    for at, size in described:
        if type(at) is not int or type(size) is not int or at < last or size < 0:
            raise FormatError("its extradata is not what extradata can be")
        extradata.append((at, setup[position : position + size]))
        last, position = at, position + size
    if position != len(setup):
        raise FormatError("its extradata is not as long as it says")
    return tuple(extradata)


def _warnings(found: Any) -> tuple[str, ...]:
    if not (isinstance(found, list) and all(isinstance(text, str) for text in found)):
        raise FormatError(f"warnings cannot be {found!r:.80}")
    return tuple(found)
