"""FLV (Adobe Flash Video File Format Specification 10.1, annex E, and Enhanced RTMP 1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from videoloader.codecs import tags as codec_tags
from videoloader.codecs.codec import Described
from videoloader.codecs.nal import is_random_access, length_units
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.order.picture_order import picture_order, with_order
from videoloader.indexing.packets import PacketFlags, order_is_known, packet_table
from videoloader.indexing.traits import NO_AUDIO, Audio, audio_of_aac
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

_AUDIO, _VIDEO, _SCRIPT = 8, 9, 18
_TAG_HEADER, _TAG_TRAILER = 11, 4
_BODY = 16  # bytes of a tag; enough for the fields before the payload
_KEY, _COMMAND = 1, 5  # frame types
_SETUP, _FRAMES, _END, _FRAMES_UNSHIFTED, _METADATA = range(5)  # packet types
_SORENSON, _AVC = 2, 7
_AUDIO_RATE = 44100  # halved for each step of the rate below 3
_GROWTH, _SMALL = 8, 1 << 16  # maximum tag size relative to earlier tags; bytes
_MAX_SETUPS = 1 << 16  # total bytes of extradata; most files have about 50
_FILE_SIZE = b"\0\x08filesize\0"  # a name with its length, and the type of a number


@dataclass(frozen=True, slots=True)
class _Tag:
    """A video tag: codec, frame type, packet type, and location of the payload."""

    codec: str
    frame: int
    packet: int
    offset: int
    size: int
    dts: int
    shift: int


@dataclass(slots=True)
class _Tags:
    """The video tags of a file in order, and FFmpeg's number of the video stream.

    `end` is where the file should end according to its tags.
    """

    video: list[_Tag] = field(default_factory=list)
    stream: int = 0
    end: int = 0
    audio: Audio = NO_AUDIO


def index_flv(source: Source, *, stream: int | None = None) -> Indexed:
    """Index an FLV file.

    Returns:
        The index, and whether timestamps determine the order of the frames; None if the file is
        of another format, or has unsupported features (several tracks, rare codecs).

    Raises:
        FormatError: the extradata of the codec is damaged.
    """
    header = source.read_up_to(0, 9)
    if len(header) < 9:
        return None
    source = nearby(source)
    tags = _read_tags(source, int.from_bytes(header[5:9], "big"))
    if tags is None or stream not in (None, tags.stream) or len({t.codec for t in tags.video}) != 1:
        return None
    setups: list[tuple[int, bytes]] = []
    frames: list[_Tag] = []
    room = _MAX_SETUPS
    for tag in tags.video:
        if tag.packet == _SETUP:
            setup = source.read(tag.offset, tag.size)
            if setups and setups[-1][0] == len(frames):
                setups.pop()  # no frame used it
            if not setups or setups[-1][1] != setup:
                setups.append((len(frames), setup))
                room -= len(setup)
            if room < 0:
                return None
        elif tag.packet in (_FRAMES, _FRAMES_UNSHIFTED) and tag.size:
            frames.append(tag)
    if not frames or (setups and setups[0][0] != 0):
        return None
    return _build(source, frames, setups, tags)


def _build(
    source: Source, frames: list[_Tag], setups: list[tuple[int, bytes]], tags: _Tags
) -> Indexed:
    codec, first = frames[0].codec, frames[0]
    described = _describe(codec, setups, source.read(first.offset, first.size))
    if described is None:
        return None
    picture, length_size = described.picture, described.length_size
    dts = np.array([tag.dts for tag in frames], dtype=np.int64)
    flags = [int(_flags(tag, source, length_size)) for tag in frames]
    table = packet_table(
        [tag.offset for tag in frames],
        [tag.size for tag in frames],
        pts=dts + np.array([tag.shift for tag in frames], dtype=np.int64),
        dts=dts,
        flags=flags,
    )
    index = table_index(
        source,
        picture,
        table,
        time_base=Fraction(1, 1000),
        codec=codec,
        stream=tags.stream,
        container=FLV.name,
        audio=tags.audio,
        extradata=tuple(setups) or ((0, b""),),
        length_size=length_size,
        warnings=past_the_end(source, "the last tag", tags.end),
    )
    # Composition time offsets that are all 0 mean decode order, but some writers omit them.
    if not order_is_known(table):
        return index, False
    if (table["pts"] != table["dts"]).any() or picture.reorders is False:
        return index, True
    return with_order(index, picture_order(index, source))


def _read_tags(source: Source, position: int) -> _Tags | None:
    """All complete video tags; None if one is of an unsupported kind."""
    tags, kinds = _Tags(), list[int]()
    promised = largest = 0
    position += _TAG_TRAILER
    while position + _TAG_HEADER <= source.size:
        head = source.read_up_to(position, _TAG_HEADER + _BODY)
        kind = head[0] & 31
        size = int.from_bytes(head[1:4], "big")
        body = position + _TAG_HEADER
        position = body + size + _TAG_TRAILER
        if kind not in (_AUDIO, _VIDEO, _SCRIPT):
            return None
        largest = max(largest, size if position <= source.size else 0)
        if position - _TAG_TRAILER > source.size:
            if size > _GROWTH * largest + _SMALL:
                return None  # probably damage; FFmpeg resynchronizes at the next tag
            break
        if kind == _SCRIPT:
            promised = max(promised, _file_size(source.read(body, size)))
        if kind == _SCRIPT or not size:
            continue
        if kind not in kinds:
            kinds.append(kind)
            if kind == _AUDIO:
                tags.audio = _audio(head[_TAG_HEADER : _TAG_HEADER + size])
        if kind == _VIDEO:
            dts = int.from_bytes(head[4:7], "big") | head[7] << 24
            tag = _read_tag(head[_TAG_HEADER : _TAG_HEADER + size], body, size, dts)
            if tag is None:
                return None
            if tag.frame != _COMMAND:
                tags.video.append(tag)
    if _VIDEO not in kinds:
        return None
    tags.stream = kinds.index(_VIDEO)
    tags.end = max(position + _TAG_HEADER * (position < source.size), promised)
    return tags


def _audio(body: bytes) -> Audio:
    """The audio stream, from the first bytes of its first tag."""
    codec = codec_tags.FLV_SOUND.get(body[0] >> 4)
    if codec == "aac":
        return audio_of_aac(body[2:]) if body[1:2] == b"\0" else Audio(codec=codec)
    rate = _AUDIO_RATE >> 3 - (body[0] >> 2 & 3)
    return Audio(codec=codec, sample_rate=rate, channels=1 + (body[0] & 1))


def _file_size(script: bytes) -> int:
    """The file size stated in the metadata, 0 if there is none."""
    at = script.find(_FILE_SIZE) + len(_FILE_SIZE)
    if at < len(_FILE_SIZE) or at + 8 > len(script):
        return 0
    (size,) = struct.unpack_from(">d", script, at)
    return int(size) if 0 <= size < 1 << 62 else 0


def _read_tag(body: bytes, offset: int, size: int, dts: int) -> _Tag | None:
    """Parse a video tag from the first bytes of its body, which is at `offset`."""
    frame, low = body[0] >> 4 & 7, body[0] & 15
    if not body[0] & 0x80:
        if frame == _COMMAND:
            return _Tag("", frame, _FRAMES, offset, 0, dts, 0)
        if low == _SORENSON:
            return _Tag("flv1", frame, _FRAMES, offset + 1, size - 1, dts, 0)
        if low != _AVC or len(body) < 5:
            return None
        packet, head, codec = body[1], 2, "h264"
        is_shifted = True
    else:
        four = body[1:5]
        if four not in codec_tags.FLV or low > _METADATA:
            return None
        packet, head, codec = low, 5, codec_tags.FLV[four]
        is_shifted = packet == _FRAMES and codec_of(codec).nal is not None
    shift = 0
    if is_shifted:
        if len(body) < head + 3:
            return None
        shift = int.from_bytes(body[head : head + 3], "big", signed=True)
        head += 3
    shift *= packet == _FRAMES
    return _Tag(codec, frame, packet, offset + head, size - head, dts, shift)


def _describe(codec: str, setups: list[tuple[int, bytes]], sample: bytes) -> Described | None:
    """Describe the stream; None if neither extradata nor the first packet has its properties."""
    known = codec_of(codec)
    assert known.describe is not None
    if known.nal is None:
        if known.self_described:
            setups.clear()
        return known.describe(setups[0][1] if setups else b"", sample)
    found = [known.describe(setup, sample) for _, setup in setups]
    sizes = {None if one is None else one.length_size for one in found}
    # Streams that change the size of lengths are left to FFmpeg.
    return found[0] if len(sizes) == 1 and None not in sizes else None


def _flags(tag: _Tag, source: Source, length_size: int) -> PacketFlags:
    """Flags of a frame; a keyframe must also be one by its own headers."""
    flags = PacketFlags(0)
    is_key, codec = tag.frame == _KEY, codec_of(tag.codec)
    if not is_key and codec.count_shown is None:
        return flags
    packet = source.read(tag.offset, tag.size)
    if codec.count_shown is not None:
        flags |= PacketFlags.HIDDEN * (codec.count_shown(packet) == 0)
    if codec.self_described:
        is_key = is_key and codec.describe is not None and codec.describe(b"", packet) is not None
    elif codec.nal is not None:
        is_key = is_key and is_random_access(
            codec.nal, length_units(memoryview(packet), length_size)
        )
    return flags | PacketFlags.KEY * is_key


FLV = Container(
    name="flv",
    endings=(".flv",),
    begins=lambda head: head.startswith(b"FLV\x01"),
    parser=index_flv,
    times="both",
)
