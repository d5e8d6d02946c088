"""AVI: codecs without references between pictures, files in several parts, broken indexes."""

import random
import struct

import av
import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing import open_source
from videoloader.indexing.containers.avi import index_avi
from videoloader.indexing.demuxing import index_by_demuxing

FRAMES = 24
# codec: (pixel format, how it is indexed)
INTRA = {
    "mjpeg": ("yuvj420p", "tables"),
    "huffyuv": ("yuv422p", "demux"),
    "ffvhuff": ("yuv420p", "demux"),
    "utvideo": ("yuv420p", "demux"),
    "magicyuv": ("yuv420p", "demux"),
    "rawvideo": ("yuv420p", "demux"),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("avi")

    def make(codec, pixel_format="yuv420p"):
        path = folder / f"{codec}-{pixel_format}.avi"
        if not path.exists():
            encode_video(
                path, codec=codec, size=(128, 96), frames=FRAMES, pixel_format=pixel_format
            )
        return path

    return make


def samples_of(frame):
    """The planes of a frame of 8 bits one after another; PyAV 15 gives no array of yuv422p."""
    planes = [
        np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:, : plane.width]
        for plane in frame.planes
    ]
    return np.concatenate([plane.reshape(-1) for plane in planes])


@pytest.mark.parametrize("codec", INTRA)
def test_pictures_that_stand_alone_need_no_decoding(clip, codec):
    pixel_format, exactness = INTRA[codec]
    path = clip(codec, pixel_format)
    index = vl.index_video(path)
    with open_source(path) as source:
        expected, is_told = index_by_demuxing(source)
    assert is_told
    assert index.exactness == exactness
    assert (index.packets == expected.packets).all()
    for name in ("time_base", "codec", "width", "height", "pixel_format", "bit_depth", "codec_tag"):
        assert getattr(index, name) == getattr(expected, name), name
    assert index.num_frames == len(index.keyframes) == FRAMES
    with av.open(str(path)) as container:
        reference = [samples_of(frame) for frame in container.decode(video=0)]
    with vl.Video(path, index=index) as video:
        for number in random.Random(codec).sample(range(FRAMES), 5):
            ((_, surface),) = video.decode([number])
            rows = np.concatenate([plane.reshape(-1) for plane in surface.planes])
            assert (rows == reference[number]).all()


@pytest.mark.parametrize("pixel_format", ["yuvj420p", "yuvj422p", "yuvj444p"])
def test_layouts_of_jpeg(clip, pixel_format):
    index = vl.index_video(clip("mjpeg", pixel_format))
    assert (index.exactness, index.pixel_format) == ("tables", pixel_format)


def test_jpeg_pictures_of_half_the_height_are_fields(clip):
    """Capture cards put two of them into a packet; what they become is left to FFmpeg."""
    data = bytearray(clip("mjpeg", "yuvj420p").read_bytes())
    header = data.find(b"strf") + 8
    struct.pack_into("<i", data, header + 8, 192)
    with open_source(bytes(data)) as source:
        assert index_avi(source) is None


def chunk(kind, content):
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def parts(data):
    """The lists in front of the movie, and the packets of the movie with their kinds."""
    movie = data.find(b"movi") - 8
    packets = [
        (data[at - 8 : at - 4], data[at : at + size])
        for at, size in vl.index_video(data).packets[["offset", "size"]].tolist()
    ]
    return data[12:movie], packets


def riff(kind, *content):
    return chunk(b"RIFF", kind + b"".join(content))


def movi(packets, *, wrap=1):
    """A movie, with so many packets in a `rec ` list each."""
    chunks = [chunk(kind, content) for kind, content in packets]
    if wrap > 1:
        chunks = [
            chunk(b"LIST", b"rec " + b"".join(chunks[n : n + wrap]))
            for n in range(0, len(chunks), wrap)
        ]
    return chunk(b"LIST", b"movi" + b"".join(chunks))


def table(packets, *, count=None, shift=0):
    at, rows = 4, []
    for kind, content in packets:
        rows.append(kind + struct.pack("<III", 0x10, at + shift, len(content)))
        at += 8 + len(content) + len(content) % 2
    return chunk(b"idx1", b"".join(rows[:count]))


def same(changed, data):
    """The same packets in the same order, wherever they lie."""
    index, expected = vl.index_video(changed), vl.index_video(data)
    assert index.exactness == "tables"
    assert (index.packets["size"] == expected.packets["size"]).all()
    for name in ("pts", "dts", "flags"):
        assert (index.packets[name] == expected.packets[name]).all()
    with vl.Video(changed, index=index) as video:
        for number in (0, 7, FRAMES - 1):
            assert read_frame_number(video[number].numpy()) == number
    assert index.warnings == ()


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
@pytest.mark.parametrize("shape", ["no table", "short table", "wrong table", "lists", "two parts"])
def test_packets_are_found_whatever_the_index_lacks(clip, codec, shape):
    data = clip(codec).read_bytes()
    head, packets = parts(data)
    match shape:
        case "no table":
            changed = riff(b"AVI ", head, movi(packets))
        case "short table":
            changed = riff(b"AVI ", head, movi(packets), table(packets, count=9))
        case "wrong table":
            changed = riff(b"AVI ", head, movi(packets), table(packets, shift=6))
        case "lists":
            changed = riff(b"AVI ", head, movi(packets, wrap=5))
        case _:
            first = riff(b"AVI ", head, movi(packets[:10]), table(packets[:10]))
            changed = first + riff(b"AVIX", movi(packets[10:]))
    same(changed, data)


def test_a_second_part_that_is_missing_is_told(clip):
    data = clip("libx264").read_bytes()
    head, packets = parts(data)
    first = riff(b"AVI ", head, movi(packets[:10]), table(packets[:10]))
    second = riff(b"AVIX", movi(packets[10:]))
    index = vl.index_video(first + second[: len(second) // 2])
    assert 10 < index.num_frames < FRAMES
    assert "truncated" in index.warnings[0]


def test_damage_between_packets_without_a_table_is_left_to_ffmpeg(clip):
    head, packets = parts(clip("mpeg4").read_bytes())
    broken = riff(b"AVI ", head, movi([*packets[:10], (b"\xff\xfe\0\1", b"?" * 50), *packets[10:]]))
    with open_source(broken) as source:
        assert index_avi(source) is None
