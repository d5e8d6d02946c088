"""Sample descriptions of older codecs: MPEG-1, MPEG-2, MPEG-4 part 2, H.263, JPEG, ProRes.

Picture properties are in the stream itself, so the first sample is read too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from videoloader.codecs import tags
from videoloader.codecs.codec import Described
from videoloader.codecs.intra import parse_prores
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.samples import Samples
from videoloader.sources.source import Source

_PRORES = {b"apch": 10, b"apcn": 10, b"apcs": 10, b"apco": 10, b"ap4h": 12, b"ap4x": 12}
_ES, _DECODER, _SETUP = 3, 4, 5  # tags of descriptors (section 7.2.2.1)
_NOT_CODED = 32  # maximum bytes of a packet whose picture is not coded (vop_coded 0)


def declared_codec(kind: bytes, config: Box | None) -> tuple[str, bytes] | None:
    """The codec and extradata that a description of one of `tags.MP4_OLDER` declares, if known.

    `config` is the `esds` box. MPEG-1 declared as MPEG-2, or the reverse, is common.
    """
    if kind != b"mp4v":
        return tags.MP4_OLDER[kind], b""
    found = None if config is None else read_descriptors(config)
    if found is None or found[0] not in tags.MP4_OBJECTS:
        return None
    return tags.MP4_OBJECTS[found[0]], found[1]


def describe(kind: bytes, codec: str, setup: bytes, sample: bytes) -> Described | None:
    """The stream of a sample description; None if FFmpeg's demuxer is needed.

    `sample` is the first sample.
    """
    if kind in _PRORES:
        picture = parse_prores(sample, depth=_PRORES[kind])
        return None if picture is None else Described(codec, picture, setup)
    describe_packet = codec_of(codec).describe
    return None if describe_packet is None else describe_packet(setup, sample)


def read_descriptors(config: Box) -> tuple[int, bytes] | None:
    """The object type and the extradata of an `esds` box."""
    data = config.data[config.start + 4 : config.stop]
    position, kind = 0, None
    while position + 2 <= len(data):
        tag = data[position]
        size, position = 0, position + 1
        for _ in range(4):
            if position >= len(data):
                return None
            octet = data[position]
            size, position = size << 7 | octet & 0x7F, position + 1
            if octet < 0x80:
                break
        if tag == _ES and position + 3 <= len(data):
            flags = data[position + 2]
            position += 3 + 2 * (flags >> 7) + 2 * (flags >> 5 & 1)
            if flags >> 6 & 1 and position < len(data):
                position += 1 + data[position]
        elif tag == _DECODER and position < len(data):
            kind = data[position]
            position += 13
        elif tag == _SETUP and kind is not None:
            return kind, data[position : position + size]
        else:
            position += size
    return None if kind is None else (kind, b"")


def tells_order(
    codec: str, samples: Samples, setup: bytes, source: Source, *, reorders: bool | None
) -> bool:
    """Whether each sample is one frame, in the order of the timestamps.

    Without composition times, no sample may be a B-picture. MPEG-4 has packets with two pictures,
    and uncoded pictures that repeat the last one; only decoding shows what these output.
    `reorders` is False if the headers rule out B-pictures.
    """
    known = codec_of(codec)
    is_one = known.picture_check and known.picture_check(setup)
    if is_one is None:
        return False
    chosen: Any = slice(None)
    forwards = samples.composition is None and reorders is not False
    if not forwards:
        if not known.packs_pictures:
            return True
        chosen = np.flatnonzero(samples.sizes <= _NOT_CODED)
    return all(is_one(packet, forwards=forwards) for packet in _packets(samples, source, chosen))


def _packets(samples: Samples, source: Source, chosen: Any) -> Any:
    places = zip(samples.offsets[chosen].tolist(), samples.sizes[chosen].tolist(), strict=True)
    return (source.read(start, size) for start, size in places)
