"""Matroska written by hand, byte by byte, and what FFmpeg's demuxer makes of it."""

import io
import itertools
import struct

import av

__all__ = ["block", "cluster", "demuxed", "element", "laced", "matroska", "track", "unknown"]

EBML, SEGMENT, INFO, TRACKS, CLUSTER = 0x1A45DFA3, 0x18538067, 0x1549A966, 0x1654AE6B, 0x1F43B675


def element(kind, *content):
    """An element of a number and what is in it: bytes, text or a whole number."""
    body = b"".join(map(_content, content))
    return _number(kind) + (0x10000000 | len(body)).to_bytes(4, "big") + body


def unknown(kind, *content):
    """The same with a size that is not told."""
    return _number(kind) + b"\x01" + b"\xff" * 7 + b"".join(content)


def _number(kind):
    return kind.to_bytes((kind.bit_length() + 7) // 8, "big")


def _content(value):
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, int):
        return value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big")
    return value.encode() if isinstance(value, str) else value


def track(*more, number=1, codec="V_MPEG4/ISO/AVC", private=b"", size=(64, 48), kind=1):
    """A track entry; `more` are further elements of it."""
    video = element(0xE0, element(0xB0, size[0]), element(0xBA, size[1]))
    return element(
        0xAE,
        element(0xD7, number),
        element(0x73C5, number),
        element(0x83, kind),
        element(0x86, codec),
        *([element(0x63A2, private)] if private else []),
        *([video] if kind == 1 else []),
        *more,
    )


def block(payload, time, *, number=1, key=False, flags=0, group=None):
    """A simple block, or a group with the elements of `group` behind the block."""
    head = bytes([0x80 | number]) + struct.pack(">h", time)
    if group is None:
        return element(0xA3, head, bytes([0x80 * key | flags]), payload)
    return element(0xA0, element(0xA1, head, bytes([flags]), payload), *group)


def laced(frames, kind):
    """The flags and the payload of a laced block; `kind` is xiph, fixed or ebml."""
    sizes = [len(frame) for frame in frames]
    head = bytes([len(frames) - 1])
    if kind == "xiph":
        head += b"".join(b"\xff" * (size // 255) + bytes([size % 255]) for size in sizes[:-1])
    if kind == "ebml":
        head += (0x4000 | sizes[0]).to_bytes(2, "big")
        for before, size in itertools.pairwise(sizes[:-1]):
            head += (0x200000 | size - before + (1 << 20) - 1).to_bytes(3, "big")
    return {"xiph": 2, "fixed": 4, "ebml": 6}[kind], head + b"".join(frames)


def cluster(time, *blocks, head=element):
    """A cluster; `head=unknown` leaves its size out."""
    return head(CLUSTER, element(0xE7, time), *blocks)


def matroska(tracks, *clusters, scale=1_000_000, head=element, doctype="matroska"):
    """A file; `head=unknown` leaves the size of the segment out."""
    return element(EBML, element(0x4282, doctype)) + head(
        SEGMENT, element(INFO, element(0x2AD7B1, scale)), element(TRACKS, *tracks), *clusters
    )


def demuxed(data, stream=0):
    """What FFmpeg's demuxer gives: pts and payload of each packet."""
    with av.open(io.BytesIO(data)) as container:
        packets = container.demux(container.streams[stream])
        return [(packet.pts, bytes(packet)) for packet in packets if packet.size]
