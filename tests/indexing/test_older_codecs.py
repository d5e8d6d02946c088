"""Older codecs in MP4 and MOV: the tables and a few headers say what FFmpeg's demuxer says."""

from dataclasses import replace

import av
import numpy as np
import pytest
from corpus_files import md5_of
from pyav_versions import IS_BEFORE_17

import videoloader as vl
from videoloader.codecs import mpeg2, mpeg4
from videoloader.decoding.pictures.surface import Surface
from videoloader.indexing import open_source
from videoloader.indexing.containers.mp4.movie import index_mp4
from videoloader.indexing.demuxing import index_by_demuxing
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.payloads import read_packets

WIDTH, HEIGHT = 176, 144
KINDS = {
    "mpeg4.mp4": ("mpeg4", "yuv420p", {}),
    "mpeg4.mov": ("mpeg4", "yuv420p", {}),
    "mpeg4_b.mp4": ("mpeg4", "yuv420p", {"bf": "2"}),
    "mpeg2.mp4": ("mpeg2video", "yuv420p", {}),
    "mpeg2.mov": ("mpeg2video", "yuv420p", {}),
    "mpeg2_b.mp4": ("mpeg2video", "yuv420p", {"bf": "2"}),
    "mpeg2_422.mp4": ("mpeg2video", "yuv422p", {}),
    "mpeg1.mp4": ("mpeg1video", "yuv420p", {}),
    "h263.3gp": ("h263", "yuv420p", {}),
    "h263.mov": ("h263", "yuv420p", {}),
    "jpeg.mp4": ("mjpeg", "yuvj420p", {}),
    "jpeg_422.mov": ("mjpeg", "yuvj422p", {}),
    "jpeg_444.mov": ("mjpeg", "yuvj444p", {}),
    "prores_proxy.mov": ("prores_ks", "yuv422p10le", {"profile": "0"}),
    "prores.mov": ("prores_ks", "yuv422p10le", {}),
    "prores_4444.mov": ("prores_ks", "yuv444p10le", {"profile": "4"}),
    "prores_alpha.mov": ("prores_ks", "yuva444p10le", {"profile": "4"}),
    "prores_xq.mov": ("prores_ks", "yuv444p10le", {"profile": "5"}),
}


def picture(number):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    planes = columns * 3 + number * 4, rows * 2 + number * 9, columns + rows
    return np.stack(planes, axis=-1).astype(np.uint8)


@pytest.fixture(scope="module", params=KINDS)
def file(request, tmp_path_factory):
    codec, pixels, options = KINDS[request.param]
    path = tmp_path_factory.mktemp("older") / request.param
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options={"g": "8", **options})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        for number in range(20):
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
            frame = frame.reformat(format=pixels)
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def test_the_index_is_that_of_the_demuxer(file):
    with open_source(file) as source:
        index, is_told = index_mp4(source)
        expected, is_told = index_by_demuxing(source)
        if not is_told:
            expected = scan_order(expected, read_packets(expected, source))
    assert is_told
    assert index.exactness == "tables"
    if index.codec == "prores" and IS_BEFORE_17:
        assert (index.color.range, expected.color.range) == ("tv", None)
        expected = replace(expected, color=replace(expected.color, range="tv"))
    for name in ("codec", "codec_tag", "width", "height", "pixel_format", "bit_depth", "color"):
        assert getattr(index, name) == getattr(expected, name), name
    for name in ("offset", "size", "pts", "flags"):
        assert index.packets[name].tolist() == expected.packets[name].tolist(), name
    if index.codec != "mpeg2video" or file.suffix == ".mp4":
        assert index.extradata == expected.extradata


def test_frames_are_those_of_a_full_decode(file):
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        stream.thread_count = 1
        expected = [md5_of(Surface(frame)) for frame in container.decode(stream)]
    with vl.Video(file) as video:
        assert len(video) == len(expected) == 20
        for number in (0, 7, 8, 19, 3):
            decoded = video.decode([number])
            assert [md5_of(surface) for _, surface in decoded] == [expected[number]]


def test_pictures_that_are_not_coded_or_come_in_twos_are_told():
    # Type P, no whole second, marker, five bits of time, marker, then whether it is coded.
    coded, empty = (bytes([0, 0, 1, 0xB6, 0x50, bit, 0, 0]) for bit in (0x60, 0x40))
    assert mpeg4.is_one_picture(coded, 5, forwards=True)
    assert not mpeg4.is_one_picture(empty, 5, forwards=True)
    assert not mpeg4.is_one_picture(coded + coded, 5, forwards=True)
    assert not mpeg4.is_one_picture(b"", 5, forwards=True)
    bidirectional = bytes([0, 0, 1, 0xB6, 0x90, 0x60, 0, 0])
    assert not mpeg4.is_one_picture(bidirectional, 5, forwards=True)
    assert mpeg4.is_one_picture(bidirectional, 5, forwards=False)


def test_b_pictures_and_fields_of_mpeg2_are_told():
    def of_type(kind):
        return bytes([0, 0, 1, 0, 0, kind << 3, 0, 0])

    assert [mpeg2.is_b_picture(of_type(kind)) for kind in (1, 2, 3)] == [False, False, True]
    for structure, splits in ((1, True), (2, True), (3, False)):
        extension = bytes([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF0 | structure, 0x80, 0])
        assert mpeg2.splits_fields(of_type(1) + extension) == splits
    top = bytes([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF1, 0x80, 0])
    assert not mpeg2.splits_fields(of_type(1) + top + of_type(2) + top)
