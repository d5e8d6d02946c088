"""The values of codecs: what they claim holds for FFmpeg and for the packets of its encoders."""

import av
import numpy as np
import pytest

import videoloader as vl
from videoloader.codecs.codec import Codec
from videoloader.codecs.registry import CODECS, codec_of, nal_syntax
from videoloader.errors import FormatError

# Encoder, container, and options that give streams with several keyframes and other pictures.
ENCODERS = {
    "h264": ("libx264", "mp4", {"g": "5", "x264-params": "log-level=none"}),
    "hevc": ("libx265", "mp4", {"x265-params": "keyint=5:log-level=none"}),
    "vp8": ("libvpx", "webm", {"g": "5"}),
    "vp9": ("libvpx-vp9", "webm", {"g": "5"}),
    "mpeg4": ("mpeg4", "mp4", {"g": "5"}),
}


def test_a_codec_is_found_by_its_name():
    for name, codec in CODECS.items():
        assert codec.name == name
        assert codec_of(name) is codec


def test_the_decoder_of_a_codec_is_one_of_ffmpeg_for_it():
    for name, codec in CODECS.items():
        decoder = av.Codec(codec.ffmpeg or name, "r")
        assert decoder.canonical_name == name


def test_ffmpeg_knows_which_codecs_never_reorder():
    for name, codec in CODECS.items():
        if av.Codec(codec.ffmpeg or name, "r").intra_only and name != "h261":
            assert codec.reorders is False


def test_an_unknown_codec_claims_nothing():
    assert codec_of("theora") == codec_of("theora")
    unknown, plain = codec_of("theora"), Codec(name="theora")
    for field in Codec.__dataclass_fields__:
        assert getattr(unknown, field) == getattr(plain, field)
    assert not unknown.learns
    with pytest.raises(FormatError, match="theora"):
        nal_syntax("theora")


@pytest.mark.parametrize("name", ["h264", "hevc"])
def test_types_of_units_are_the_same_one_by_one_and_together(name):
    nal = nal_syntax(name)
    octets = np.arange(256, dtype=np.uint8)
    one_by_one = [nal.kind(octet) for octet in octets.tolist()]
    assert nal.kinds(octets).tolist() == one_by_one
    for kinds in (nal.slices, nal.before, nal.parameters):
        assert nal.are_of(kinds, octets).tolist() == [kind in kinds for kind in one_by_one]
    assert nal.slices <= nal.pictures
    assert nal.sequence in nal.parameters <= nal.before
    assert nal.sequence_octet == next(o for o in range(256) if nal.kind(o) == nal.sequence)


@pytest.mark.parametrize("name", ENCODERS)
def test_keyframes_are_those_of_the_encoder(tmp_path, name):
    encoder, suffix, options = ENCODERS[name]
    path = tmp_path / f"clip.{suffix}"
    told = []
    with av.open(str(path), "w") as container:
        stream = container.add_stream(encoder, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(14):
            picture = np.add.outer(np.arange(72), np.arange(64) + number).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            frame.pts = number
            packets = stream.encode(frame)
            told += [packet.is_keyframe for packet in packets]
            container.mux(packets)
        packets = stream.encode()
        told += [packet.is_keyframe for packet in packets]
        container.mux(packets)
    index, codec = vl.index_video(path), codec_of(name)
    data = path.read_bytes()
    payloads = [data[row["offset"] : row["offset"] + row["size"]] for row in index.packets]
    found = [codec.is_keyframe(payload, index.length_size) for payload in payloads]
    assert found == told
    assert 2 <= sum(found) < len(found)
    described = codec.describe(index.extradata_of(0), payloads[0])
    assert described.codec == name
    assert (described.picture.width, described.picture.height) == (64, 48)
    assert described.length_size == index.length_size
