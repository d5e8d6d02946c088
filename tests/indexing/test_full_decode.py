"""Frame i of an index is frame i of FFmpeg's full decode, where demuxers and decoders differ."""

from dataclasses import replace

import av
import pytest
from corpus_files import md5_of
from matroska_files import block, cluster, matroska
from matroska_files import track as matroska_track
from mp4_files import movie, read_clip

import videoloader as vl
from videoloader.codecs.mpeg4 import parse_setup
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import encode_video

FRAMES, GOP = 30, 12
PICTURE, B_PICTURE = b"\0\0\1\xb6", 2
DIVX = b"\0\0\1\xb2DivX503b1393p"  # user data by which decoders know packed B-pictures
DECLARED = {"mpeg1video": 0x6A, "mpeg2video": 0x61}
MATROSKA_CODECS = {
    "mpeg1video": "V_MPEG1",
    "mpeg2video": "V_MPEG2",
    "mpeg4": "V_MPEG4/ISO/ASP",
}


def encode(path, codec, b_frames):
    options = {"g": str(GOP), "bf": str(b_frames)}
    encode_video(path, codec=codec, options=options, frames=FRAMES, size=(96, 80))
    return path


@pytest.fixture(scope="module", params=["mp4", "mov"])
def suffix(request):
    return request.param


@pytest.fixture(scope="module", params=DECLARED)
def codec(request):
    return request.param


@pytest.fixture(scope="module", params=[0, 2])
def clip(request, codec, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / f"clip.{suffix}"
    return read_clip(encode(path, codec, request.param))


def decoded(path):
    """Time and picture of each frame that FFmpeg's full decode gives."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_count = 1
        return [(frame.pts, md5_of(Surface(frame))) for frame in container.decode(stream)]


def agree(path):
    """Ours are FFmpeg's, in a pass and by number; returns the index."""
    expected = decoded(path)
    with vl.Video(path) as video:
        assert video.index.pts.tolist() == [pts for pts, _ in expected]
        for wanted in (range(len(expected)), [len(expected) - 1], [len(expected) // 2]):
            found = {number: md5_of(surface) for number, surface in video.decode(wanted)}
            assert found == {number: expected[number][1] for number in wanted}
        return video.index


EDITS = {
    "inside a group": [(400, 3100, 1)],
    "up to the end": [(1200, 7000, 1)],
    "after a pause": [(250, -1, 1), (400, 3100, 1)],
    "before the media": [(600, -1800, 1)],
    "twice": [(300, 4000, 1), (300, 1200, 1)],
    "whole": [(1000, 0, 1)],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_edit_lists_hide_the_frames_that_ffmpeg_hides(clip, edits, tmp_path):
    path = tmp_path / "edited.mp4"
    path.write_bytes(movie(clip, clip.samples, edits=edits))
    agree(path)


def test_the_declared_codec_and_not_the_real_one_matters(tmp_path):
    for codec, declared in (("mpeg1video", "mpeg2video"), ("mpeg2video", "mpeg1video")):
        clip = read_clip(encode(tmp_path / f"{codec}.mp4", codec, 2))
        description = bytearray(clip.description)
        at = description.index(DECLARED[codec], description.index(b"esds"))
        description[at] = DECLARED[declared]
        clip = replace(clip, description=bytes(description))
        path = tmp_path / f"as_{declared}.mp4"
        path.write_bytes(movie(clip, clip.samples, edits=EDITS["inside a group"]))
        is_reparsed = declared == "mpeg1video"
        assert agree(path).exactness == ("decode" if is_reparsed else "tables")


def packets_of(path):
    """Extradata, and payload and keyframe flag of each packet."""
    with av.open(str(path)) as container:
        video = container.streams.video[0]
        packets = [(bytes(p), p.is_keyframe) for p in container.demux(video) if p.size]
        return video.codec_context.extradata or b"", packets


def in_blocks(path, codec, setup, packets):
    """Write a Matroska file whose blocks have ascending times."""
    blocks = [block(data, 33 * n, key=key) for n, (data, key) in enumerate(packets)]
    track = matroska_track(codec=MATROSKA_CODECS[codec], private=setup, size=(96, 80))
    path.write_bytes(matroska([track], cluster(0, *blocks)))
    return path


@pytest.mark.parametrize("b_frames", [0, 2])
@pytest.mark.parametrize("codec", MATROSKA_CODECS)
def test_decode_times_in_blocks_are_not_the_order_of_frames(codec, b_frames, tmp_path):
    setup, packets = packets_of(encode(tmp_path / "clip.mp4", codec, b_frames))
    path = in_blocks(tmp_path / "decode_times.mkv", codec, setup, packets)
    assert agree(path).exactness == ("decode" if b_frames else "demux")


def test_packed_b_frames_in_blocks_are_those_of_a_decode(tmp_path):
    """A packet has a picture and the B-picture after it; an uncoded picture takes up its time."""
    setup, packets = packets_of(encode(tmp_path / "clip.mp4", "mpeg4", 1))
    bits = parse_setup(setup).time_bits
    uncoded = f"0101{0:0{bits}b}10"  # type P, no second, marker, time, marker, not coded
    uncoded += "1" * (-len(uncoded) % 8)
    uncoded = PICTURE + int(uncoded, 2).to_bytes(len(uncoded) // 8, "big") + b"\x7f"
    packed = []
    for data, key in packets:
        if data[data.index(PICTURE) + 4] >> 6 == B_PICTURE:
            packed[-1] = (packed[-1][0] + data, packed[-1][1])
            packed.append((uncoded, False))
        else:
            packed.append((data, key))
    assert len(packed) == FRAMES
    path = in_blocks(tmp_path / "packed.mkv", "mpeg4", setup + DIVX, packed)
    index = agree(path)
    assert (index.exactness, index.num_frames) == ("decode", FRAMES)
