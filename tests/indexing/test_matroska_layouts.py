"""Rare but rightful layouts of Matroska: packet for packet what FFmpeg's demuxer gives."""

import io
import subprocess
import sys

import av
import numpy as np
import pytest
from matroska_files import block, cluster, demuxed, element, laced, matroska, track, unknown

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import PacketFlags, open_source
from videoloader.indexing.containers.matroska import clusters
from videoloader.indexing.containers.matroska.file import index_matroska
from videoloader.indexing.payloads import read_packets
from videoloader.sources import local

FRAME_NS = 40_000_000
VOID = element(0xEC, bytes(300))
CRC = element(0xBF, b"\1\2\3\4")
CUES = element(0x1C53BB6B, element(0xBB, element(0xB3, 0), element(0xB7, element(0xF7, 1))))
TAGS = element(0x1254C367, b"")
REFERENCE = element(0xFB, b"\xff")


def native(data):
    """The index of the native reader, which must take the file and give FFmpeg's packets."""
    with open_source(data) as source:
        found = index_matroska(source)
        assert found is not None
        index, is_told = found
        payloads = list(read_packets(index, source))
    with open_source(io.BytesIO(data)) as source:  # by pieces, nothing mapped
        assert (index_matroska(source)[0].packets == index.packets).all()
    assert list(zip(index.packets["pts"].tolist(), payloads, strict=True)) == demuxed(data)
    assert keys_of(index) == demuxed_keys(data)
    assert is_told
    return index


def keys_of(index):
    return (index.packets["flags"] & PacketFlags.KEY > 0).tolist()


def demuxed_keys(data):
    with av.open(io.BytesIO(data)) as container:
        return [packet.is_keyframe for packet in container.demux(video=0) if packet.size]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("layouts") / "clip.mp4"
    return encode_video(path, frames=24, size=(64, 48), fps=25, options={"g": "8"})


@pytest.fixture(scope="module")
def coded(clip):
    """(pts in ms, payload, is a keyframe) of every packet of the clip."""
    index = vl.index_video(clip)
    with open_source(clip) as source:
        payloads = list(read_packets(index, source))
    times = (index.packets["pts"] * 1000 * index.time_base).astype(int).tolist()
    return list(zip(times, payloads, keys_of(index), strict=True))


@pytest.fixture(scope="module")
def entry(clip):
    return track(private=vl.index_video(clip).extradata_of(0))


@pytest.fixture(scope="module")
def blocks(coded):
    return [block(payload, pts, key=key) for pts, payload, key in coded]


def grouped(coded, *more):
    """Groups with further elements before and behind the block."""
    groups = []
    for pts, payload, key in coded:
        inner = element(0xA1, b"\x81" + pts.to_bytes(2, "big") + b"\0", payload)
        references = [] if key else [REFERENCE]
        groups.append(element(0xA0, *more, inner, *references, *more))
    return groups


@pytest.mark.parametrize("head", [element, unknown])
@pytest.mark.parametrize("between", [CUES, TAGS, VOID, VOID + VOID + CRC, CUES + VOID + TAGS])
def test_other_elements_between_and_behind_clusters(entry, blocks, head, between):
    parts = [cluster(0, *blocks[:9], head=head), cluster(0, *blocks[9:], head=head)]
    for layout in ([between, *parts], [parts[0], between, parts[1]], [*parts, between]):
        for segment in (element, unknown):
            data = matroska([entry], *layout, head=segment)
            assert len(native(data).packets) == 24


@pytest.mark.parametrize("filler", [VOID, CRC, VOID + CRC + element(0xEC, b"")])
def test_void_and_check_sums_in_odd_places(entry, coded, blocks, filler):
    time = element(0xE7, 0)
    body = b"".join(one + filler for one in blocks)
    data = [
        matroska([entry, filler], element(0x1F43B675, filler, time, body)),
        matroska([filler, entry], element(0x1F43B675, time, filler, body)),
        matroska([entry], unknown(0x1F43B675, filler, time, filler, body), head=unknown),
        matroska([entry], cluster(0, *grouped(coded, filler))),
        matroska([entry], filler, cluster(0, *grouped(coded)), filler),
    ]
    for one in data:
        assert len(native(one).packets) == 24


@pytest.mark.parametrize(
    "more",
    [
        element(0x75A2, b"\x01\x00"),  # DiscardPadding
        element(0x75A1, element(0xA6, element(0xEE, 1), element(0xA5, b"alpha"))),  # BlockAdditions
        element(0xA4, b"state"),  # CodecState
        element(0xFA, 0),  # ReferencePriority
        element(0xEC, b""),
    ],
    ids=["padding", "additions", "state", "priority", "void"],
)
def test_what_else_stands_in_groups_changes_nothing(entry, coded, more):
    index = native(matroska([entry], cluster(0, *grouped(coded, more))))
    assert keys_of(index) == [key for *_, key in coded]


def test_times_before_that_of_their_cluster(entry, coded):
    blocks = [block(payload, pts - 500, key=key) for pts, payload, key in coded]
    index = native(matroska([entry], cluster(500, *blocks)))
    assert index.packets["pts"].tolist() == [pts for pts, *_ in coded]
    first, _, last = (payload for _, payload, key in coded if key)
    parts = cluster(32768, block(first, -32768, key=True)), cluster(0, block(last, 32767, key=True))
    assert native(matroska([entry], *parts)).pts.tolist() == [0, 32767]


def test_a_block_without_content_is_no_packet(entry, blocks):
    for empty in (block(b"", 20), block(b"", 20, group=[element(0x9B, 5)])):
        data = matroska([entry], cluster(0, *blocks[:5], empty, *blocks[5:]))
        assert len(native(data).packets) == 24


def test_frames_without_durations_last_until_the_next(entry, coded):
    key = coded[0][1]
    blocks = [block(key, time, key=True) for time in (0, 40, 140, 150)]
    index = native(matroska([entry], cluster(0, *blocks)))
    assert index.packets["duration"].tolist() == [40, 100, 10, 10]


def test_a_cluster_that_tells_its_time_twice(entry, blocks):
    data = matroska([entry], cluster(0, *blocks[:8], element(0xE7, 3000), *blocks[8:]))
    assert native(data).pts[-1] > 3000


@pytest.mark.parametrize("kind", ["xiph", "ebml", "fixed"])
def test_laces_of_stripped_packets(clip, coded, kind):
    prefix = coded[0][1][:1]
    stripping = element(
        0x6D80, element(0x6240, element(0x5034, element(0x4254, 3), element(0x4255, prefix)))
    )
    entry = track(
        stripping, element(0x23E383, FRAME_NS), private=vl.index_video(clip).extradata_of(0)
    )
    for count in (1, 2, 5):
        frames = [payload[1:] for _, payload, _ in coded[:count]]
        if kind == "fixed":
            frames = [frame.ljust(max(map(len, frames)), b"\0") for frame in frames]
        flags, payload = laced(frames, kind)
        data = matroska([entry], cluster(0, block(payload, 0, key=True, flags=flags)))
        with open_source(data) as source:
            found = index_matroska(source)
            if kind == "ebml" and count == 1:
                assert found is None
                continue
            given = list(read_packets(found[0], source))
        assert list(zip(found[0].packets["pts"].tolist(), given, strict=True)) == demuxed(data)
        assert len(given) == count


def test_a_lace_of_xiph_with_sizes_of_many_octets(entry, coded):
    frames = [bytes([7]) * size for size in (254, 255, 256, 510, 511, 1)]
    flags, payload = laced(frames, "xiph")
    timed = block(payload, 0, flags=flags, group=[element(0x9B, 600)])
    data = matroska([entry], cluster(0, timed))
    with open_source(data) as source:
        index = index_matroska(source)[0]
        assert list(read_packets(index, source)) == frames
    assert index.packets["pts"].tolist() == [0, 100, 200, 300, 400, 500]
    assert index.packets["duration"].tolist() == [100] * 6
    assert [payload for _, payload in demuxed(data)] == frames


@pytest.mark.parametrize("head", [element, unknown])
@pytest.mark.parametrize("open_cues", [b"", unknown(0x1C53BB6B)])
def test_a_second_segment_is_left_to_the_demuxer(entry, blocks, head, open_cues):
    one = matroska([entry], cluster(0, *blocks[:8]), open_cues, head=head)
    data = one + matroska([entry], cluster(4000, *blocks[8:]), head=head)
    with open_source(data) as source:
        assert index_matroska(source) is None
    assert len(vl.index_video(data).packets) == len(demuxed(data))


def test_clusters_behind_4_gigabytes(entry, coded, blocks, tmp_path):
    """Nearly all of the file is a hole."""
    path = tmp_path / "huge.mkv"
    hole = 5 << 30
    data = matroska([entry], cluster(0, *blocks[:8]), head=unknown)
    with open(path, "wb") as file:
        file.write(data + b"\xec\x01" + hole.to_bytes(7, "big"))
        file.seek(hole, 1)
        file.write(cluster(0, *blocks[8:]))
    index = vl.index_video(path)
    assert index.exactness == "tables"
    assert (index.packets["offset"][8:] > hole).all()
    with open_source(path) as source:  # FFmpeg reads all of the hole
        given = zip(index.packets["pts"].tolist(), read_packets(index, source), strict=True)
        assert list(given) == [(pts, payload) for pts, payload, _ in coded]
    index.save(tmp_path / "huge.index")
    assert (vl.VideoIndex.load(tmp_path / "huge.index").packets == index.packets).all()


def test_vp9_with_alpha_is_read_as_what_is_decoded(tmp_path):
    """Additions are taken from a file of the same size: what they hold is not looked at."""
    path = encode_video(
        tmp_path / "a.mkv", codec="libvpx-vp9", frames=8, size=(64, 48), options={"g": "4"}
    )
    with av.open(str(path)) as container:
        coded = [(p.pts, bytes(p), p.is_keyframe) for p in container.demux(video=0) if p.size]
    addition = element(0x75A1, element(0xA6, element(0xEE, 1), element(0xA5, coded[0][1])))
    video = element(0xE0, element(0xB0, 64), element(0xBA, 48), element(0x53C0, 1))
    entry = track(video, codec="V_VP9")
    index = native(matroska([entry], cluster(0, *grouped(coded, addition)), doctype="webm"))
    assert index.num_frames == 8
    assert index.pixel_format == "yuv420p"


def test_numbers_of_every_length(entry, blocks, coded):
    """Sizes of blocks written with one to eight bytes, and tracks with one to four."""
    sized = []
    for number, (pts, payload, key) in enumerate(coded):
        long = 2 + number % 7
        body = b"\x81" + pts.to_bytes(2, "big") + bytes([0x80 * key]) + payload
        sized.append(b"\xa3" + (len(body) | 1 << 7 * long).to_bytes(long, "big") + body)
    for count in (1, 20):
        data = matroska([entry], *(cluster(1000 * n, *sized) for n in range(count)))
        assert len(native(data).packets) == 24 * count


def test_a_walk_over_many_clusters_in_pieces(entry, coded):
    """Blocks of all sizes about the pieces that a file is read by when it is not mapped."""
    rng = np.random.default_rng(1)
    parts = []
    for number in range(40):
        padding = bytes(int(rng.integers(1, 60_000)))
        inside = [
            block(payload + padding, pts, key=key)
            if rng.random() < 0.5
            else grouped([(pts, payload + padding, key)])[0]
            for pts, payload, key in coded[:3]
        ]
        parts.append(cluster(400 * number, *inside))
    with open_source(io.BytesIO(matroska([entry], *parts))) as pieces:
        found = index_matroska(pieces)[0]
        assert [pts for pts, _ in demuxed(matroska([entry], *parts))] == found.packets[
            "pts"
        ].tolist()


def test_what_lies_between_blocks_is_not_read(clip, tmp_path):
    """The hole of a sparse file is never looked at: the job is done with little memory."""
    path = tmp_path / "sparse.mkv"
    entry = track(private=vl.index_video(clip).extradata_of(0))
    with open_source(clip) as source:
        first = next(read_packets(vl.index_video(clip), source))
    with open(path, "wb") as file:
        file.write(matroska([entry], cluster(0, block(first, 0, key=True)), head=unknown))
        file.write(b"\xec\x01" + (1 << 40).to_bytes(7, "big"))
        file.truncate(file.tell() + (1 << 40))
    program = (
        "import resource, sys, videoloader as vl\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert vl.index_video(sys.argv[1]).num_frames == 1\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 50_000


@pytest.mark.parametrize("sample", [1, 20])
def test_a_file_has_one_index_however_it_is_read(tmp_path, monkeypatch, sample):
    """All of it in pieces, a read a block, and the one after the other."""
    options = {"cluster_time_limit": "200"}
    path = encode_video(tmp_path / "a.mkv", frames=200, size=(96, 64), container_options=options)
    with av.open(str(path)) as container:
        expected = sorted(packet.pts for packet in container.demux(video=0) if packet.size)
    monkeypatch.setattr(clusters, "SAMPLE", sample)
    found = [vl.index_video(path)]  # read at once
    monkeypatch.setattr(local, "SMALL_FILE", 0)
    for small, chunk, more, less, near in (
        (0, 1 << 18, 1 << 17, 1 << 12, 1 << 15),
        (1 << 40, 1 << 18, 1 << 17, 1 << 12, 1 << 15),
        (1 << 40, 64, 65, 64, 0),
        (1 << 40, 24, 25, 24, 0),
        (300, 1000, 2000, 32, 100),
        (0, 1000, 500, 24, 300),
    ):
        monkeypatch.setattr(clusters, "SMALL", small)
        monkeypatch.setattr(clusters, "CHUNK", chunk)
        monkeypatch.setattr(clusters, "_MORE", more)
        monkeypatch.setattr(clusters, "_LESS", less)
        monkeypatch.setattr(clusters, "_NEAR", near)
        found.append(vl.index_video(path))
    assert found[0].pts.tolist() == expected
    assert all(index == found[0] and index.exactness == "tables" for index in found)
