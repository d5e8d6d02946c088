"""IVF: a header, then packets, each preceded by its size and time (VP8, VP9 and AV1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import tags, vpx
from videoloader.codecs.av1 import units as av1
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.frame_flags import av1_flags, vpx_flags
from videoloader.indexing.packets import order_is_known, packet_table
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

Ints = NDArray[np.int64]

_HEADER, _FRAME_HEADER = 32, 12
_UNKNOWN = 0xFFFFFFFF  # length field of a file that its writer did not finish
_HEAD = 64  # bytes of a VP8 or VP9 packet; enough for the header of its first frame


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Read from packets: format of the first one, flags of each, and extradata."""

    picture: PictureFormat
    flags: NDArray[np.uint16]
    extradata: bytes = b""
    order_known: bool = True


def index_ivf(source: Source, *, stream: int | None = None) -> Indexed:
    """Index an IVF file.

    Returns:
        The index, and whether timestamps determine the order of the frames; None if the file is
        of another format or has another codec.
    """
    header = source.read_up_to(0, _HEADER)
    if len(header) < _HEADER or stream not in (None, 0):
        return None
    tag = header[8:12]
    rate, scale = struct.unpack_from("<II", header, 16)
    if tag not in tags.IVF or not rate or not scale:
        return None
    codec = tags.IVF[tag]
    source = nearby(source)
    packets, end = _walk(source)
    if not packets:
        return None
    offsets, sizes, pts = np.array(packets, dtype=np.int64).T
    found = _pictures(codec, source, offsets, sizes)
    if found is None:
        return None
    table = packet_table(offsets, sizes, pts=pts, dts=pts, flags=found.flags)
    warnings = past_the_end(source, "the last packet", end)
    (length,) = struct.unpack_from("<I", header, 24)
    if not warnings and _longest(table) < length < _UNKNOWN:
        warnings = (
            f"{source.name}: truncated: the header says a length of {length}, but there are "
            f"{len(table)} packets",
        )
    index = table_index(
        source,
        found.picture,
        table,
        time_base=Fraction(scale, rate),
        codec=codec,
        container=IVF.name,
        codec_tag=tag.decode("ascii"),
        extradata=((0, found.extradata),),
        warnings=warnings,
    )
    return index, found.order_known and order_is_known(table)


def _walk(source: Source) -> tuple[list[tuple[int, int, int]], int]:
    """Offset, size and time of each complete packet, and where the last should end.

    The list is empty if the sizes are implausible.
    """
    packets: list[tuple[int, int, int]] = []
    position = _HEADER
    while position + _FRAME_HEADER <= source.size:
        size, pts = struct.unpack("<Iq", source.read(position, _FRAME_HEADER))
        if not 0 <= pts < 1 << 62 or size >= 1 << 31:
            return [], position
        position += _FRAME_HEADER
        if position + size > source.size:
            return packets, position + size
        if size:
            packets.append((position, size, pts))
        position += size
    return packets, position if position == source.size else position + _FRAME_HEADER


def _longest(table: NDArray[Any]) -> int:
    """Largest plausible length field of the header: some writers count packets, others ticks."""
    spacing = int(np.diff(np.sort(table["pts"])).max(initial=0))
    return max(len(table), int(np.ptp(table["pts"])) + spacing)


def _pictures(codec: str, source: Source, offsets: Ints, sizes: Ints) -> _Pictures | None:
    """Read from the headers of packets; None if decoding cannot begin with the first one."""
    first = source.read(int(offsets[0]), int(sizes[0]))
    if codec_of(codec).self_described:
        picture = vpx.parse_picture(codec, first[:_HEAD])
        if picture is None:
            return None
        flags, most = vpx_flags(codec, source, offsets, sizes)
        return _Pictures(picture, flags, order_known=most < 2)
    extradata = av1.sequence_unit(first)
    sequence = av1.parse_sequence(extradata)
    if sequence is None:
        return None
    flags, shown = av1_flags(source, offsets.tolist(), sizes.tolist(), sequence)
    # With spatial layers, the decoder's output may differ from one frame a packet.
    return _Pictures(sequence.picture, flags, extradata, all(count == 1 for count in shown))


IVF = Container(
    name="ivf", endings=(".ivf",), begins=lambda head: head.startswith(b"DKIF"), parser=index_ivf
)
