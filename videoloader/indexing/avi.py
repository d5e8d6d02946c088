"""AVI (Microsoft's RIFF files, and the indexes that OpenDML 1.02 added)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.bitstream import h264, mpeg4
from videoloader.indexing.bitstream.nal import annexb_units
from videoloader.indexing.bitstream.picture import PictureFormat
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.indexing.source import Source
from videoloader.indexing.survey import SLICE_HEADER, Survey
from videoloader.indexing.timing import NO_TIME, packet_table

__all__ = ["index_avi"]

_CODECS = {
    **dict.fromkeys((b"H264", b"X264", b"AVC1", b"DAVC"), "h264"),
    **dict.fromkeys((b"FMP4", b"XVID", b"DIVX", b"DX50", b"MP4V", b"M4S2"), "mpeg4"),
}
_LISTS = (b"LIST", b"RIFF")
_MAX_CHUNKS = 1 << 12  # beside those of the movie itself
_BITMAP_HEADER = 40
_INDEX = np.dtype([("id", "S4"), ("flags", "<u4"), ("offset", "<u4"), ("size", "<u4")])
_PIECE = np.dtype([("offset", "<u4"), ("size", "<u4")])
_SUPER = np.dtype([("offset", "<u8"), ("size", "<u4"), ("duration", "<u4")])
_I, _B = 0, 2  # vop_coding_type
_PICTURE = b"\0\0\1\xb6"


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk or list: its kind, the kind of list, and where its content lies."""

    kind: bytes
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Stream:
    """The headers of the video stream, and its indexes of the second kind, if any."""

    number: int
    tag: bytes
    time_base: Fraction
    extradata: bytes
    index: _Chunk | None


@dataclass(frozen=True, slots=True)
class _Pictures:
    """What the packets say: format, keyframes, presentation order if told, and set-up data."""

    picture: PictureFormat
    keys: list[bool]
    order: NDArray[np.int64] | None
    setups: tuple[tuple[int, bytes], ...]


def index_avi(source: Source, *, stream: int | None = None) -> tuple[VideoIndex, bool] | None:
    """Index an AVI file with H.264 or MPEG-4 part 2 video.

    Returns:
        The index, and whether the pictures tell their order: the container has no presentation
        times. None if the file is of another format, has an index that does not fit, several video
        streams, or another codec.

    Raises:
        FormatError: the headers of its codec are damaged.
    """
    head = source.read_up_to(0, 12)
    if head[:4] != b"RIFF" or head[8:] != b"AVI ":
        return None
    data = source.window(0, source.size)
    view = data.data
    chunks = list(_walk(view, 12, len(view)))
    header = next((c for c in chunks if c.kind == b"hdrl"), None)
    movie = next((c for c in chunks if c.kind == b"movi"), None)
    table = next((c for c in chunks if c.kind == b"idx1"), None)
    found = None if header is None else _video_stream(view, header)
    if found is None or movie is None or stream not in (None, found.number):
        return None
    places = _places(data, found, movie, table)
    if places is None:
        return None
    numbers = np.flatnonzero(places[:, 1])
    codec = _CODECS[found.tag.upper()]
    if not len(numbers):
        return None
    read = _h264 if codec == "h264" else _mpeg4
    pictures = read(view, places[numbers], found.extradata)
    if pictures is None:
        return None
    index = _build(source, found, codec, numbers, places[numbers], pictures)
    return index, pictures.order is not None


def _walk(view: memoryview, position: int, stop: int) -> Iterator[_Chunk]:
    """Chunks in a row; lists under the kind of list."""
    for _ in range(_MAX_CHUNKS):
        if position + 8 > stop:
            return
        kind, size = struct.unpack_from("<4sI", view, position)
        start, end = position + 8, min(position + 8 + size, stop)
        if kind in _LISTS and start + 4 <= end:
            kind, start = bytes(view[start : start + 4]), start + 4
        yield _Chunk(kind, start, end)
        position += 8 + size + size % 2


def _video_stream(view: memoryview, header: _Chunk) -> _Stream | None:
    """The only video stream, if there is but one and its codec is read here."""
    found = []
    lists = [c for c in _walk(view, header.start, header.stop) if c.kind == b"strl"]
    for number, one in enumerate(lists):
        parts = {c.kind: c for c in _walk(view, one.start, one.stop)}
        head, form = parts.get(b"strh"), parts.get(b"strf")
        if head is None or form is None or head.stop - head.start < 48:
            return None
        if bytes(view[head.start : head.start + 4]) != b"vids":
            continue
        scale, rate = struct.unpack_from("<II", view, head.start + 20)
        (sample_size,) = struct.unpack_from("<I", view, head.start + 44)
        tag = bytes(view[form.start + 16 : form.start + 20])
        if not scale or not rate or sample_size or tag.upper() not in _CODECS:
            return None
        extradata = bytes(view[form.start + _BITMAP_HEADER : form.stop])
        base = Fraction(scale, rate)
        found.append(_Stream(number, tag, base, extradata, parts.get(b"indx")))
    return found[0] if len(found) == 1 else None


def _places(
    data: NDArray[np.uint8], stream: _Stream, movie: _Chunk, table: _Chunk | None
) -> NDArray[np.int64] | None:
    """Offset and size of every chunk of the stream, empty ones included; None if they are wrong.

    Every entry must lead to a chunk of that size in the file.
    """
    kinds = [b"%02d%s" % (stream.number, kind) for kind in (b"dc", b"db")]
    if stream.index is not None:
        places = _opendml_places(data.data, stream.index)
    elif table is not None:
        count = (table.stop - table.start) // _INDEX.itemsize
        entries = np.frombuffer(data, dtype=_INDEX, count=count, offset=table.start)
        entries = entries[np.isin(entries["id"], kinds)]
        places = np.stack([entries["offset"], entries["size"]], axis=1).astype(np.int64)
        places[:, 0] += 8
        # Offsets are from the word 'movi' on, or from the beginning of the file.
        base = movie.start - 4
        if len(places) and _is_chunk(data, places[:1] + np.array([base, 0]), kinds):
            places[:, 0] += base
    else:
        return None
    return places if places is not None and _is_chunk(data, places, kinds) else None


def _opendml_places(view: memoryview, index: _Chunk) -> NDArray[np.int64] | None:
    """What the index of indexes leads to, or a single index."""
    pieces = []
    if index.stop - index.start < 24:
        return None
    longs, _, kind, count = struct.unpack_from("<HBBI", view, index.start)
    if kind == 1:
        return _piece(view, index.start, index.stop)
    if kind != 0 or longs != 4 or 24 + count * _SUPER.itemsize > index.stop - index.start:
        return None
    total = 0
    for entry in np.frombuffer(view, _SUPER, count, index.start + 24):
        start = int(entry["offset"]) + 8
        total += int(entry["size"])
        if start + 24 > len(view) or total > len(view):
            return None
        piece = _piece(view, start, min(start - 8 + int(entry["size"]), len(view)))
        if piece is None:
            return None
        pieces.append(piece)
    return np.concatenate(pieces) if pieces else None


def _piece(view: memoryview, start: int, stop: int) -> NDArray[np.int64] | None:
    if start + 24 > stop:
        return None
    longs, part, kind, count = struct.unpack_from("<HBBI", view, start)
    (base,) = struct.unpack_from("<Q", view, start + 12)
    if kind != 1 or longs != 2 or part or start + 24 + count * 8 > stop or base > len(view):
        return None
    entries = np.frombuffer(view, _PIECE, count, start + 24)
    sizes = entries["size"] & 0x7FFFFFFF
    return np.stack([entries["offset"].astype(np.int64) + base, sizes], axis=1).astype(np.int64)


def _is_chunk(data: NDArray[np.uint8], places: NDArray[np.int64], kinds: list[bytes]) -> bool:
    """Whether in front of every place stand the kind and size of a chunk, all within the file."""
    starts, sizes = places[:, 0], places[:, 1]
    if not ((starts >= 8) & (starts + sizes <= len(data))).all():
        return False
    heads = data[starts[:, None] + np.arange(-8, 0)]
    names = heads[:, :4].copy().view("S4")[:, 0]
    told = heads[:, 4:].copy().view("<u4")[:, 0]
    return bool((np.isin(names, kinds) & (told == sizes)).all())


def _h264(view: memoryview, places: NDArray[np.int64], extradata: bytes) -> _Pictures | None:
    """Packets with start codes, one picture each."""
    survey, firsts = Survey("h264"), []
    for packet in [extradata, *(view[at : at + size] for at, size in places.tolist())]:
        pictures = 0
        octets = bytes(packet)
        starts = list(annexb_units(octets))
        for start, after in pairwise([*starts, len(octets) + 3]):
            unit = octets[start : after - 3].rstrip(b"\0")
            kind = unit[0] & 31 if unit else 0
            if kind in (7, 8):
                survey.learn(unit)
                firsts += [unit] if kind == 7 else []
            elif kind == 6:
                survey.message(unit)
            elif kind in (1, 2, 5) and not pictures:
                survey.picture(unit[:SLICE_HEADER])
                pictures += 1
            elif kind in (1, 2, 5) and unit[1:2] >= b"\x80":
                pictures += 1
        if pictures != 1 and packet is not extradata:
            return None
    if not firsts or len(survey.keys) != len(places) or not survey.setups:
        return None
    if sum(len(sets) for _, sets in survey.setups) > len(view):
        return None
    picture = h264.parse_sps(firsts[0])
    return _Pictures(picture, survey.keys, survey.order(), tuple(survey.setups))


def _mpeg4(view: memoryview, places: NDArray[np.int64], extradata: bytes) -> _Pictures | None:
    """Packets with one picture each; the order is not told if one has none or several."""
    at, size = places[0].tolist()
    first = bytes(view[at : at + size])
    setup = extradata if mpeg4.parse_setup(extradata) else mpeg4.setup_of(first)
    layer = mpeg4.parse_setup(setup)
    if layer is None:
        return None
    kinds, is_told = [], True
    for at, size in places.tolist():
        packet = bytes(view[at : at + size])
        start = packet.find(_PICTURE) + 4
        kinds.append(packet[start] >> 6 if 4 <= start < len(packet) else -1)
        is_told = is_told and mpeg4.is_one_picture(packet, layer.time_bits, forwards=False)
    told = np.array(kinds)
    # B-pictures are shown before the other picture that they follow. A first one has none.
    anchors = np.cumsum(told != _B)
    order = np.lexsort((told != _B, anchors))
    is_told = is_told and kinds[0] == _I and not ((told == _B) & (anchors == 1)).any()
    return _Pictures(
        layer.picture, [kind == _I for kind in kinds], order if is_told else None, ((0, setup),)
    )


def _build(
    source: Source,
    stream: _Stream,
    codec: str,
    numbers: NDArray[np.int64],
    places: NDArray[np.int64],
    pictures: _Pictures,
) -> VideoIndex:
    """The index; a packet's number is its time, frames take those times in turn."""
    pts: Any = NO_TIME
    dts: Any = NO_TIME
    if pictures.order is not None:
        pts, dts = np.empty_like(numbers), numbers
        pts[pictures.order] = numbers
        dts = dts - int((dts - pts).max())
    table = packet_table(
        places[:, 0],
        places[:, 1],
        pts=pts,
        dts=dts,
        flags=np.array(pictures.keys) * np.uint16(PacketFlags.KEY),
        durations=np.ones(len(numbers), dtype=np.int64),
    )
    picture = pictures.picture
    return VideoIndex(
        packets=table,
        time_base=stream.time_base,
        codec=codec,
        width=picture.width,
        height=picture.height,
        exactness="tables",
        stream=stream.number,
        container="avi",
        pixel_format=picture.pixel_format,
        bit_depth=picture.bit_depth,
        color=picture.color,
        codec_tag=stream.tag.decode("latin-1"),
        extradata=pictures.setups,
        name=source.name,
        fingerprint=source.fingerprint,
    )
