"""Codecs of video tracks (draft-ietf-cellar-codec): set-up data, and what it says of pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from videoloader.codecs import av1, h264, hevc, vpx
from videoloader.codecs.nal import split_units
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.records import (
    crop_to_container,
    parse_avc_record,
    parse_hevc_record,
)
from videoloader.indexing.matroska.tracks import Track
from videoloader.indexing.survey import Survey

__all__ = ["Description", "describe"]

CODECS = {
    "V_MPEG4/ISO/AVC": "h264",
    "V_MPEGH/ISO/HEVC": "hevc",
    "V_AV1": "av1",
    "V_VP8": "vp8",
    "V_VP9": "vp9",
}
_FRAMED = 1  # first byte of a set-up record; other data has start codes


@dataclass(frozen=True, slots=True)
class Description:
    """How the packets of a track are decoded.

    `length_size` is 0 for H.264 and HEVC whose units have start codes.
    """

    codec: str
    picture: PictureFormat
    extradata: bytes = b""
    length_size: int = 0


def describe(track: Track, sample: bytes) -> Description | None:
    """What a track holds; None if it is of a kind that is not read here.

    Args:
        track: with its set-up data.
        sample: the first packet, where those codecs say what they hold that have no set-up data.

    Raises:
        FormatError: the set-up data is damaged.
    """
    codec, private = CODECS[track.codec], track.private
    picture: PictureFormat | None
    match codec:
        case "h264" | "hevc":
            if private[:1] != bytes([_FRAMED]):
                return _start_coded(codec, track, sample)
            parsed = parse_avc_record(private) if codec == "h264" else parse_hevc_record(private)
            if parsed is None:
                return None
            picture, length_size = parsed
            if codec == "h264":
                picture = crop_to_container(picture, track.width, track.height)
            return Description(codec, picture, private, length_size)
        case "av1":
            sequence = av1.parse_sequence(private[4:]) or av1.parse_sequence(sample)
            picture = None if sequence is None else sequence.picture
            return None if picture is None else Description(codec, picture, private)
        case _:
            # The decoder needs no set-up data and takes the size from its own headers.
            picture = vpx.parse_picture(codec, sample)
            return None if picture is None else Description(codec, replace(picture))


def _start_coded(codec: str, track: Track, sample: bytes) -> Description | None:
    """H.264 or HEVC as a byte stream: its parameter sets stand in front, or in the first packet."""
    survey = Survey(codec)
    survey.take(split_units(track.private))
    survey.take(split_units(sample))
    if survey.sequence is None:
        return None
    if codec == "hevc":
        return Description(codec, hevc.parse_sps(survey.sequence), track.private)
    picture = crop_to_container(h264.parse_sps(survey.sequence), track.width, track.height)
    return Description(codec, picture, track.private)
