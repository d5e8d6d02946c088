"""AVI: stream headers, and packets parsed for order, since AVI has no presentation times."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import mpeg4, tags
from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.intra import parse_jpeg
from videoloader.codecs.nal import split_units
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.riff import Chunk, find_packets, riff_end, walk_chunks
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.nal_scan import NalScan
from videoloader.indexing.packets import NO_TIME, PacketFlags, packet_table
from videoloader.indexing.traits import NO_AUDIO, Audio
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

_PCM = 1
_WAVE_HEADER = 16
_BITMAP_HEADER = 40
_MAX_FORM = 1 << 20  # maximum bytes of a `strf` chunk, extradata included
_STREAM = struct.Struct("<4s16xII16xI")  # `strh`: fccType, dwScale, dwRate, dwSampleSize
_I, _B = 0, 2  # vop_coding_type
_PICTURE = b"\0\0\1\xb6"
_JPEG = b"\xff\xd8"


@dataclass(frozen=True, slots=True)
class _Stream:
    """The headers of the video stream, and its OpenDML index, if any."""

    number: int
    tag: bytes
    time_base: Fraction
    size: tuple[int, int]
    extradata: bytes
    index: Chunk | None
    audio: Audio = NO_AUDIO


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Read from packets: format, keyframes, presentation order if known, and extradata."""

    picture: PictureFormat
    keys: list[bool]
    order: NDArray[np.int64] | None
    setups: tuple[tuple[int, bytes], ...]
    warnings: tuple[str, ...] = ()


def index_avi(source: Source, *, stream: int | None = None) -> Indexed:
    """Index an AVI file with H.264, MPEG-4 part 2 or JPEG video.

    Returns:
        The index, and whether presentation order could be read from the pictures, since the
        container has no presentation times. None if the file is of another format, is damaged
        between its packets, or has several video streams or another codec.

    Raises:
        FormatError: the headers of the codec are damaged.
    """
    if source.read_up_to(8, 4) != b"AVI ":
        return None
    source = nearby(source)
    header = next((c for c in walk_chunks(source, 12, source.size) if c.kind == b"hdrl"), None)
    video = None if header is None else _video_stream(source, header)
    if video is None or stream not in (None, video.number):
        return None
    found = find_packets(source, stream=video.number, index=video.index)
    if found is None:
        return None
    numbers = np.flatnonzero(found.places[:, 1])
    places = found.places[numbers]
    if not len(numbers):
        return None
    pictures: _Pictures | None
    codec = codec_of(tags.AVI[video.tag.upper()])
    if codec.nal is not None:
        pictures = _nal(codec.nal, source, places, video.extradata)
    elif codec.packs_pictures:
        pictures = _mpeg4(source, places, video.extradata)
    else:
        pictures = _jpeg(source, places, video.size)
    if pictures is None:
        return None
    index = _build(source, video, codec.name, numbers, places, pictures)
    end = max(found.end, riff_end(source))
    cut = past_the_end(source, "what the headers announce", end)
    index = replace(index, warnings=cut + pictures.warnings)
    return index, pictures.order is not None


def _video_stream(source: Source, header: Chunk) -> _Stream | None:
    """The video stream, if there is exactly one and its codec is supported."""
    found, audio = [], NO_AUDIO
    lists = [c for c in walk_chunks(source, header.start, header.stop) if c.kind == b"strl"]
    for number, one in enumerate(lists):
        parts = {c.kind: c for c in walk_chunks(source, one.start, one.stop)}
        head, form = parts.get(b"strh"), parts.get(b"strf")
        if head is None or form is None or head.stop - head.start < 48:
            return None
        kind, scale, rate, sample_size = _STREAM.unpack(source.read(head.start, _STREAM.size))
        if kind == b"auds" and not audio.is_there:
            audio = _audio(source.read(form.start, min(form.stop - form.start, _WAVE_HEADER)))
        if kind != b"vids":
            continue
        if not _BITMAP_HEADER <= form.stop - form.start <= _MAX_FORM:
            return None
        form_data = source.read(form.start, form.stop - form.start)
        width, height = struct.unpack_from("<ii", form_data, 4)
        tag = form_data[16:20]
        if not scale or not rate or sample_size or tag.upper() not in tags.AVI:
            return None
        extradata = form_data[_BITMAP_HEADER:]
        base = Fraction(scale, rate)
        index, size = parts.get(b"indx"), (width, abs(height))
        found.append(_Stream(number, tag, base, size, extradata, index))
    return replace(found[0], audio=audio) if len(found) == 1 else None


def _audio(form: bytes) -> Audio:
    if len(form) < _WAVE_HEADER:
        return Audio()
    tag, channels, rate, depth = struct.unpack("<HHI6xH", form)
    codec = tags.AVI_SOUND.get(tag)
    if tag == _PCM:
        codec = f"pcm_s{depth}le" if depth > 8 else "pcm_u8"
    return Audio(codec=codec, sample_rate=rate or None, channels=channels or None)


def _nal(
    nal: NalSyntax, source: Source, places: NDArray[np.int64], extradata: bytes
) -> _Pictures | None:
    """Packets with start codes, one picture each."""
    scan = NalScan(nal, room=source.size)
    scan.take(split_units(extradata))
    for packet in starmap(source.read, places.tolist()):
        if scan.take(split_units(packet)) != 1:
            return None
    if len(scan.keys) != len(places) or not scan.setups or scan.sequence is None:
        return None
    if scan.is_excessive:
        return None
    picture = nal.parse_sequence(scan.sequence).picture
    order = scan.order()
    return _Pictures(picture, scan.keys, order, tuple(scan.setups), scan.warnings(source.name))


def _mpeg4(source: Source, places: NDArray[np.int64], extradata: bytes) -> _Pictures | None:
    """Packets with one picture each; the order is unknown if one has none or several."""
    first = source.read(*places[0].tolist())
    setup = extradata if mpeg4.parse_setup(extradata) else mpeg4.setup_of(first)
    layer = mpeg4.parse_setup(setup)
    if layer is None:
        return None
    kinds, order_known = [], True
    for packet in starmap(source.read, places.tolist()):
        start = packet.find(_PICTURE) + 4
        kinds.append(packet[start] >> 6 if 4 <= start < len(packet) else -1)
        order_known = order_known and mpeg4.is_one_picture(packet, layer.time_bits, forwards=False)
    types = np.array(kinds)
    # A B-picture is shown before the reference picture that it follows in decode order. B-pictures
    # at the beginning follow none.
    anchors = np.cumsum(types != _B)
    order = np.lexsort((types != _B, anchors))
    order_known = order_known and kinds[0] == _I and not ((types == _B) & (anchors == 1)).any()
    return _Pictures(
        layer.picture, [kind == _I for kind in kinds], order if order_known else None, ((0, setup),)
    )


def _jpeg(source: Source, places: NDArray[np.int64], size: tuple[int, int]) -> _Pictures | None:
    """Packets with one picture each; None where a packet is two fields of half the height."""
    picture = parse_jpeg(source.read(*places[0].tolist()))
    if picture is None or (picture.width, picture.height) != size:
        return None
    if (source.gather(places[:, 0], 2) != np.frombuffer(_JPEG, dtype=np.uint8)).any():
        return None
    return _Pictures(picture, [True] * len(places), np.arange(len(places)), ((0, b""),))


def _build(
    source: Source,
    stream: _Stream,
    codec: str,
    numbers: NDArray[np.int64],
    places: NDArray[np.int64],
    pictures: _Pictures,
) -> VideoIndex:
    """Build the index. The dts is the packet number; frames get these times in output order."""
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
    return table_index(
        source,
        pictures.picture,
        table,
        time_base=stream.time_base,
        codec=codec,
        audio=stream.audio,
        stream=stream.number,
        container=AVI.name,
        codec_tag=stream.tag.decode("latin-1"),
        extradata=pictures.setups,
    )


AVI = Container(
    name="avi",
    endings=(".avi",),
    begins=lambda head: head.startswith(b"RIFF"),
    parser=index_avi,
    stated_end=riff_end,
    times="decode",
)
