"""The files in an uncompressed tar archive, by its headers.

`tarfile` of Python 3.11 takes quadratic time for some archives (CVE-2024-6232), recurses without a
limit, and keeps all members. This module takes linear time and the memory of one member. It reads
ustar, GNU long names, pax headers and older formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from videoloader.sources.source import Source

BLOCK = 512
"""Bytes of a header; members begin at multiples."""

_MOST_EXTENDED = 1 << 20  # bytes of a pax header or a long name
_LONGEST_NAME = 1 << 14  # bytes; file systems take 4096
_LENGTH = re.compile(rb"([0-9]{1,20}) ")
_REGULAR, _SPARSE, _LONG_NAME, _LONG_LINK = b"\x0007", b"S", b"L", b"K"
_WITHOUT_CONTENT = b"123456"  # links, devices, folders
_PAX, _PAX_OF_ALL = b"xX", b"g"


class Member(NamedTuple):
    """A regular file in an archive.

    Attributes:
        name: bytes that are no UTF-8 are surrogates (`surrogateescape`).
        offset: of its content in the archive.
        size: of its content there, which the archive has.
        is_sparse: whether it is stored with holes, so that its content is not that of the file.
    """

    name: str
    offset: int
    size: int
    is_sparse: bool


def read_members(source: Source, begin: int = 0) -> Iterator[Member]:
    """The regular files of an archive, in its order.

    Args:
        source: the archive.
        begin: offset of a header to start at.

    Raises:
        ValueError: a header is missing or invalid, or a member extends past the end of the
            archive; the message states where. Members before it were given.
        SourceError: the archive cannot be read.
    """
    at = begin
    extended: dict[str, bytes] = {}
    while block := source.read_up_to(at, BLOCK):
        if len(block) == BLOCK and not block.strip(b"\0"):
            break
        kind, size = _checked(block, at), _number(block[124:136], at)
        content = at + BLOCK
        if kind in _PAX or kind in (_LONG_NAME, _LONG_LINK):
            if size > _MOST_EXTENDED:
                raise ValueError(
                    f"an extended header of {size} bytes at byte {at}, more than {_MOST_EXTENDED}"
                )
            data = source.read_up_to(content, size)
            if len(data) < size:
                raise ValueError(f"the archive ends within the header at byte {at}")
            if kind in _PAX:
                extended |= _records(data, content)
            elif kind == _LONG_NAME:
                extended["name"] = _text(data)
            at = content + _padded(size)
            continue
        if kind == _SPARSE:
            is_extended = block[482]
            while is_extended:
                is_extended = source.read(content, BLOCK)[504]
                content += BLOCK
        if "size" in extended and kind != _PAX_OF_ALL:
            size = int(extended["size"])
        if kind in _REGULAR or kind == _SPARSE:
            if content + size > source.size:
                raise _truncated(source)
            name = extended.get("path") or extended.get("name") or _name(block, kind)
            if len(name) > _LONGEST_NAME:
                raise ValueError(f"a name of {len(name)} bytes at byte {at}")
            is_sparse = kind == _SPARSE or "GNU.sparse" in extended
            yield Member(name.decode(errors="surrogateescape"), content, size, is_sparse)
        at = content if kind in _WITHOUT_CONTENT else content + _padded(size)
        if kind != _PAX_OF_ALL:
            extended = {}
    if at > source.size or extended:
        raise _truncated(source)


def _truncated(source: Source) -> ValueError:
    return ValueError(f"the archive ends at byte {source.size}, within a member")


def _checked(block: bytes, at: int) -> bytes:
    """The kind of a member, if its header is whole."""
    if len(block) == BLOCK:
        wanted = _number(block[148:156], at)
        fields = block[:148] + block[156:]
        total = sum(fields) + 8 * ord(" ")
        signed = total - 256 * sum(byte > 127 for byte in fields) if wanted != total else total
        if wanted in (total, signed):
            return block[156:157]
    raise ValueError(f"no header of a member at byte {at}")


def _number(field: bytes, at: int) -> int:
    """Octal digits, or binary with the highest bit set."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    try:
        number = int(_text(field).strip() or b"0", 8)
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError(f"no number in the header at byte {at}")
    return number


def _name(block: bytes, kind: bytes) -> bytes:
    name, prefix = _text(block[:100]), _text(block[345:500])
    return prefix + b"/" + name if prefix and kind != _SPARSE else name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _records(data: bytes, begin: int) -> dict[str, bytes]:
    """The path, the size and the sparse marker in a pax header."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(data) and data[at]:
        head = _LENGTH.match(data, at)
        end = at + int(head[1]) if head else 0
        key, equals, value = data[head.end() if head else 0 : end - 1].partition(b"=")
        is_whole = bool(key and equals) and end <= len(data) and data[end - 1 : end] == b"\n"
        if not is_whole or (key == b"size" and not re.fullmatch(rb"[0-9]{1,20}", value)):
            raise ValueError(f"no record of a pax header at byte {begin + at}")
        if key in (b"path", b"size"):
            found[key.decode()] = value.rstrip(b"/")
        elif key.startswith(b"GNU.sparse."):
            found["GNU.sparse"] = b""
        at = end
    return found
