"""An index in a file: a JSON head, then the packet table as compressed columns.

The table is regular: packets lie behind one another, a tick of time apart. So each column is
stored as what its own rule does not foretell, mostly zeros, which deflate takes to little.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.bitstream.color import Color
from videoloader.indexing.index import PACKET_DTYPE, Orientation, VideoIndex
from videoloader.indexing.source import Fingerprint

__all__ = ["load_index", "save_index"]

_MAGIC = b"VLINDEX1"
_PLAIN = (
    "codec",
    "width",
    "height",
    "exactness",
    "stream",
    "container",
    "pixel_format",
    "bit_depth",
    "codec_tag",
    "length_size",
    "sub_layers",
    "packing",
    "has_headers",
    "name",
)
_COLUMNS = ("offset", "size", "pts", "dts", "duration", "flags")


def save_index(index: VideoIndex, path: str | os.PathLike[str]) -> None:
    """Write `index` to `path`, whole or not at all."""
    head: dict[str, Any] = {name: getattr(index, name) for name in _PLAIN}
    head["time_base"] = str(index.time_base)
    head["color"] = asdict(index.color)
    head["orientation"] = asdict(index.orientation)
    head["fingerprint"] = asdict(index.fingerprint)
    head["extradata"] = [(at, base64.b64encode(data).decode()) for at, data in index.extradata]
    columns = _residuals(index.packets)
    if index.order is not None:
        columns.append(_steps(index.order))
    blobs = [_pack(column) for column in columns]
    head["columns"] = [
        (len(column), len(blob)) for column, blob in zip(columns, blobs, strict=True)
    ]
    text = json.dumps(head, separators=(",", ":")).encode()
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.write_bytes(b"".join([_MAGIC, len(text).to_bytes(4, "little"), text, *blobs]))
    partial.replace(target)


def load_index(path: str | os.PathLike[str]) -> VideoIndex:
    """Read an index file."""
    data = Path(path).read_bytes()
    try:
        return _parse(data)
    except (FormatError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise FormatError(f"{path}: no index file of videoloader, or damaged ({error})") from error


def _parse(data: bytes) -> VideoIndex:
    if data[: len(_MAGIC)] != _MAGIC:
        raise FormatError("it does not begin as one")
    position = len(_MAGIC) + 4
    end = position + int.from_bytes(data[len(_MAGIC) : position], "little")
    head = json.loads(data[position:end])
    columns = []
    for length, size in head["columns"]:
        columns.append(_unpack(data[end : end + size], length))
        end += size
    if end != len(data) or len(columns) not in (len(_COLUMNS), len(_COLUMNS) + 1):
        raise FormatError("its size is not what it says")
    return VideoIndex(
        packets=_table(columns[: len(_COLUMNS)]),
        order=np.cumsum(columns[-1]) if len(columns) > len(_COLUMNS) else None,
        time_base=Fraction(head["time_base"]),
        color=Color(**head["color"]),
        orientation=Orientation(**head["orientation"]),
        fingerprint=Fingerprint(**head["fingerprint"]),
        extradata=tuple((at, base64.b64decode(text)) for at, text in head["extradata"]),
        **{name: head[name] for name in _PLAIN},
    )


def _residuals(packets: NDArray[Any]) -> list[NDArray[np.int64]]:
    offset, size, pts, dts, duration, flags = (packets[name].astype(np.int64) for name in _COLUMNS)
    behind = np.zeros_like(offset)
    behind[1:] = (offset + size)[:-1]
    return [
        offset - behind,
        size,
        pts - dts,
        _steps(_steps(dts)),
        _steps(duration),
        flags,
    ]


def _table(columns: list[NDArray[np.int64]]) -> NDArray[Any]:
    gaps, size, lead, bends, changes, flags = columns
    packets = np.empty(len(size), dtype=PACKET_DTYPE)
    dts = np.cumsum(np.cumsum(bends))
    packets["offset"] = np.cumsum(gaps + np.append(0, size[:-1])[: len(size)])
    packets["size"] = size
    packets["pts"] = lead + dts
    packets["dts"] = dts
    packets["duration"] = np.cumsum(changes)
    packets["flags"] = flags
    return packets


def _steps(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.diff(values, prepend=0)


def _pack(column: NDArray[np.int64]) -> bytes:
    """Deflate a column, its bytes sorted by weight so that the empty ones lie together."""
    octets = column.astype("<i8").view(np.uint8).reshape(-1, 8).T
    return zlib.compress(np.ascontiguousarray(octets).tobytes(), 6)


def _unpack(blob: bytes, length: int) -> NDArray[np.int64]:
    # The size is foretold, so a file that unpacks to more is never let grow.
    raw = zlib.decompressobj().decompress(blob, 8 * length + 1)
    if len(raw) != 8 * length:
        raise FormatError("a column has not the length it should have")
    octets = np.frombuffer(raw, dtype=np.uint8).reshape(8, length).T
    return np.ascontiguousarray(octets).view("<i8").reshape(-1)
