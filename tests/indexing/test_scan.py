"""Decoding to find out which frames there are: bounded by the size of the file."""

import os
import resource
from dataclasses import replace

import pytest

import videoloader as vl
from videoloader.codecs.contexts import open_decoder
from videoloader.demo.videos import encode_video
from videoloader.indexing import Fingerprint, open_source
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.payloads import read_packets

X264 = {"x264-params": "keyint=20:bframes=0:threads=1", "preset": "ultrafast", "crf": "51"}
SMALL = Fingerprint(1 << 20)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Pictures of 1280x720 in few bytes each."""
    path = tmp_path_factory.mktemp("scan") / "large.h264"
    return encode_video(path, size=(1280, 720), frames=40, options=X264)


def without_its_keyframe(path):
    data = path.read_bytes()
    index = vl.index_video(data)
    return index.extradata_of(0) + data[int(index.packets["offset"][1]) :]


def test_a_small_file_is_decoded_to_be_known(large):
    index = vl.index_video(without_its_keyframe(large))
    assert index.exactness == "decode"
    assert 0 < index.num_frames < 40


def test_a_small_file_of_many_large_pictures_is_refused_at_once(large):
    data = large.read_bytes()
    packets = vl.index_video(data).packets
    tiny = min(range(1, 40), key=lambda n: packets["size"][n])
    at, size = (int(packets[name][tiny]) for name in ("offset", "size"))
    many = without_its_keyframe(large) + data[at : at + size] * 500
    assert len(many) < 1 << 20
    with pytest.raises(vl.errors.UnsupportedError, match="pixels"):
        vl.index_video(many)


def test_pictures_are_counted_as_they_are_decoded_whatever_the_container_says(large):
    with open_source(large) as source:
        index = vl.index_video(source)
        payloads = list(read_packets(index, source))
    lying = replace(
        index, width=16, height=16, packets=index.packets.repeat(100), fingerprint=SMALL
    )
    taken = []

    def endless():
        for number in range(4000):
            taken.append(number)
            yield payloads[number % 40]

    with pytest.raises(vl.errors.UnsupportedError, match="pixels"):
        scan_order(lying, endless())
    assert len(taken) * 1280 * 720 == pytest.approx(400e6, rel=0.01)


def test_packets_that_do_not_decode_are_counted_too(large):
    with open_source(large) as source:
        index = vl.index_video(source)
        first = next(read_packets(index, source))
    lying = replace(
        index, width=16, height=16, packets=index.packets.repeat(100), fingerprint=SMALL
    )
    taken = []

    def endless():
        yield first
        for number in range(4000):
            taken.append(number)
            yield first[:-200] + bytes(100)

    with pytest.raises(vl.errors.UnsupportedError, match="pixels"):
        scan_order(lying, endless())
    assert len(taken) < 500


def test_a_large_file_may_cost_more(large):
    with open_source(large) as source:
        index = vl.index_video(source)
        payloads = list(read_packets(index, source))
    index = replace(index, packets=index.packets.repeat(15), fingerprint=Fingerprint(1 << 22))
    assert scan_order(index, payloads).num_frames == 40
    with pytest.raises(vl.errors.UnsupportedError):
        scan_order(replace(index, fingerprint=SMALL), payloads)


def test_pictures_that_memory_does_not_hold_are_refused(tmp_path):
    path = encode_video(tmp_path / "huge.h264", size=(4096, 2304), frames=20, options=X264)
    with open_source(path) as source:
        index = vl.index_video(source)
        payloads = list(read_packets(index, source))
    lying = replace(index, width=16, height=16, fingerprint=SMALL)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(vl.errors.UnsupportedError, match="bytes"):
        scan_order(lying, payloads)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < 100 << 20


NULL_PACKET = b"\x47\x1f\xff\x10".ljust(188, b"\xff")


def joined_late(path):
    """A transport stream from the middle of its first group of pictures on."""
    index = vl.index_video(path)
    data = path.read_bytes()
    return data[: 3 * 188] + data[int(index.packets["offset"][5]) :]


@pytest.mark.parametrize("kind", ["wmv", "mpg", "ts"])
def test_files_over_30_mib_are_decoded_to_be_known(tmp_path, kind):
    """The memory that such a file may take is more than FFmpeg counts pixels to."""
    path = tmp_path / f"clip.{kind}"
    if kind == "wmv":
        encode_video(path, codec="wmv2", frames=20, size=(64, 48))
    else:
        encode_video(path, frames=40, size=(64, 48), options=X264)
    if kind == "ts":
        path.write_bytes(joined_late(path))
    small = vl.index_video(path)
    assert small.exactness == "decode"
    assert small.num_frames >= 20
    if kind == "ts":
        path.write_bytes(path.read_bytes() + NULL_PACKET * ((40 << 20) // 188))
    else:
        os.truncate(path, 40 << 20)
    large = vl.index_video(path)
    assert large.exactness == "decode"
    assert large.pts.tolist() == small.pts.tolist()


@pytest.mark.parametrize("bound", [1 << 31, 1 << 40])
def test_decoders_take_any_bound_of_pixels(bound):
    assert open_decoder("h264", max_pixels=bound).is_open
