"""Codecs of video tracks (draft-ietf-cellar-codec): extradata and picture format."""

from __future__ import annotations

from videoloader.codecs.codec import Described, NalSyntax
from videoloader.codecs.nal import split_units
from videoloader.codecs.records import crop_to_container
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.matroska.tracks import Track
from videoloader.indexing.order.nal_scan import NalScan

__all__ = ["CODECS", "describe"]

CODECS = {
    "V_MPEG4/ISO/AVC": "h264",
    "V_MPEGH/ISO/HEVC": "hevc",
    "V_AV1": "av1",
    "V_VP8": "vp8",
    "V_VP9": "vp9",
}
_FRAMED = 1  # first byte of a configuration record; other data has start codes


def describe(track: Track, sample: bytes) -> Described | None:
    """Describe the stream of a track; None if its codec is not supported here.

    Args:
        track: with its extradata.
        sample: the first packet, for codecs that have no extradata.

    Raises:
        FormatError: the extradata is damaged.
    """
    codec, private = codec_of(CODECS[track.codec]), track.private
    assert codec.describe is not None
    if codec.nal is not None and private[:1] != bytes([_FRAMED]):
        return _start_coded(codec.name, codec.nal, track, sample)
    found = codec.describe(private, sample)
    if found is not None and codec.nal is not None and codec.nal.fits_container:
        cropped = crop_to_container(found.picture, track.width, track.height)
        return found._replace(picture=cropped)
    return found


def _start_coded(codec: str, nal: NalSyntax, track: Track, sample: bytes) -> Described | None:
    """H.264 or HEVC byte stream; its parameter sets are in the extradata or the first packet."""
    scan = NalScan(nal)
    scan.take(split_units(track.private))
    scan.take(split_units(sample))
    if scan.sequence is None:
        return None
    picture = nal.parse_sequence(scan.sequence).picture
    if nal.fits_container:
        picture = crop_to_container(picture, track.width, track.height)
    return Described(codec, picture, track.private)
