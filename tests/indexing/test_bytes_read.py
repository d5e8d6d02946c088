"""What is read of a file for its index: its tables and 64 KB, whatever the kind of source.

MP4 and MOV have tables of all frames. Other containers do not, and are exempt: Matroska (cues
name keyframes alone), FLV, IVF and transport streams have frames one behind the other; AVI lists
packets, but neither times nor order, which only pictures tell; raw streams have pictures alone.
"""

import io
import os
import struct
from dataclasses import replace

import pytest
from mp4_files import Part, Run, movie, read_clip
from object_server import serve
from remuxing import remux_file
from sequential import agrees

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.sources.source import Source

ROOM = 64 << 10
PICTURE = "mandelbrot=maxiter=300"
FRAGMENTS = "empty_moov+default_base_moof"
# name: (encoder, its options, suffix, options of the container)
X264 = "threads=1:keyint=24:scenecut=0"
CLIPS = {
    "h264": ("libx264", {"x264-params": f"{X264}:bframes=2", "crf": "4"}),
    "h264 no B-frames": ("libx264", {"x264-params": f"{X264}:bframes=0", "crf": "4"}),
    "h264 all keyframes": ("libx264", {"x264-params": "threads=1:keyint=1", "crf": "4"}),
    "hevc": ("libx265", {"x265-params": "log-level=none:pools=none:keyint=24:crf=4"}),
    "av1": ("libsvtav1", {"preset": "12", "g": "24", "crf": "5"}),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "g": "24", "b": "9M"}),
}
LAYOUTS = {
    "behind.mp4": "",
    "front.mp4": "faststart",
    "clip.mov": "",
    "keyframes.mp4": f"frag_keyframe+{FRAGMENTS}",
    "each.mp4": f"frag_every_frame+{FRAGMENTS}",
    "segments.mp4": f"frag_every_frame+{FRAGMENTS}+global_sidx",
}


class Counting(Source):
    """Bytes that count how many of them are read."""

    def __init__(self, data, *, is_local):
        super().__init__(name="counted", size=len(data))
        self.is_local, self.count, self._data = is_local, 0, data

    @property
    def fingerprint(self):
        with open_source(self._data) as source:
            return source.fingerprint

    def _read(self, offset, size):
        self.count += size
        return self._data[offset : offset + size]


class CountingFile(io.BytesIO):
    count = 0

    def read(self, size=-1):
        data = super().read(size)
        self.count += len(data)
        return data


def tables_of(data):
    """Bytes of all boxes at the top but those of media, whose heads count."""
    at = size = 0
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        size += 16 if kind in (b"mdat", b"free") else length
        at += length
    return size


def reads(data, **options):
    """What is read of a local source, a distant one, and a file object; the index."""
    counts = []
    for is_local in (True, False):
        source = Counting(data, is_local=is_local)
        index = vl.index_video(source, **options)
        counts.append(source.count)
    file = CountingFile(data)
    assert (vl.index_video(file, **options).packets == index.packets).all()
    return [*counts, file.count], index


@pytest.fixture(scope="module", params=CLIPS)
def large(request, tmp_path_factory):
    """A clip of much more than 64 KB beside its tables."""
    encoder, options = CLIPS[request.param]
    path = tmp_path_factory.mktemp(request.param.replace(" ", "")) / "clip.mp4"
    return encode_video(
        path, codec=encoder, frames=60, size=(192, 128), options=options, picture=PICTURE
    )


def remux(path, name):
    if path.parent.name.startswith(("av1", "vp9")) and name == "clip.mov":
        pytest.skip("FFmpeg does not write this codec into MOV")
    made = path.with_name(name)
    options = {"movflags": LAYOUTS[name]} if LAYOUTS[name] else {}
    remux_file(path, str(made), opaque=True, options=options)
    return made.read_bytes()


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_more_than_the_tables_is_read(large, name):
    data = remux(large, name)
    tables = tables_of(data)
    assert len(data) > tables + 2 * ROOM
    counts, index = reads(data)
    assert index.exactness == "tables"
    assert index.num_frames == 60
    assert max(counts) <= tables + ROOM


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.webm", "libvpx-vp9"),
        ("a.mkv", "libx264"),
        ("a.avi", "mpeg4"),
        ("a.flv", "libx264"),
        ("a.ivf", "libvpx-vp9"),
    ],
)
def test_a_small_file_without_a_table_of_all_frames_is_read_at_once(
    tmp_path, monkeypatch, name, codec
):
    """A read lets go of the interpreter, and waits for it again where many threads open files."""
    path = encode_video(tmp_path / name, codec=codec, frames=60, size=(192, 128), picture=PICTURE)
    count, read = 0, os.pread

    def pread(*place):
        nonlocal count
        count += 1
        return read(*place)

    monkeypatch.setattr(os, "pread", pread)
    index = vl.index_video(path)
    assert (index.num_frames, index.exactness) == (60, "tables")
    assert 0 < count <= 4


def test_many_small_fragments_are_read_without_what_is_between(tmp_path):
    path = encode_video(tmp_path / "a.mp4", frames=60, size=(96, 64), options={"g": "12"})
    clip = read_clip(path)
    samples = [replace(sample, data=sample.data + bytes(900)) for sample in clip.samples] * 60
    parts, place = [], 0
    while place < len(samples):
        count = 1 + place % 7
        parts.append([Part([Run(samples[place : place + count])], time=512 * place)])
        place += count
    data = movie(clip, fragments=parts)
    tables = tables_of(data)
    assert len(data) > tables + 2 * ROOM
    counts, _ = reads(data)
    assert max(counts) <= tables + ROOM


@pytest.fixture(scope="module")
def delimited(tmp_path_factory):
    """Packets of a delimiter and several slices, whose lengths are found one after the other."""
    options = {"x264-params": f"{X264}:bframes=2:slices=4:aud=1", "crf": "30"}
    path = tmp_path_factory.mktemp("delimited") / "clip.mp4"
    return encode_video(path, frames=60, size=(192, 128), options=options)


@pytest.mark.parametrize("padding", [0, 1 << 14])
def test_headers_are_read_at_once_of_small_packets_and_alone_of_large_ones(delimited, padding):
    clip = read_clip(delimited)
    filler = struct.pack(">IB", padding + 1, 12) + bytes(padding)  # a unit that says nothing
    samples = [replace(sample, data=sample.data + filler) for sample in clip.samples]
    data = movie(clip, samples)
    found = []
    for is_local in (True, False):
        source = Counting(data, is_local=is_local)
        found.append(vl.index_video(source, headers=True))
        if is_local:
            share = 256 * len(samples) if padding else len(data) - tables_of(data)
            assert source.count <= tables_of(data) + 8192 + share
    here, far = (index.packets["flags"].tolist() for index in found)
    assert here == far
    assert found[0].disposable.sum() > 10
    plain = vl.index_video(delimited, headers=True)
    assert found[0].disposable.tolist() == plain.disposable.tolist()


@pytest.mark.parametrize("name", ["front.mp4", "behind.mp4"])
def test_a_url_brings_no_more_than_the_tables_and_a_block(large, name):
    """A request brings 64 KB at least, so those of the first come on top."""
    data = remux(large, name)
    with serve(objects={"/clip.mp4": data}) as server:
        index = vl.index_video(f"{server.url}/clip.mp4")
        assert index.exactness == "tables"
        assert server.sent <= tables_of(data) + 2 * ROOM


# --- H.264 without composition times


def without_composition(path):
    """The same clip in decode order times, its parameter sets as they are."""
    clip = read_clip(path)
    return movie(clip, [replace(sample, composition=0) for sample in clip.samples])


@pytest.fixture(scope="module")
def forward(tmp_path_factory):
    """P pictures alone, where parameter sets allow B pictures."""
    path = tmp_path_factory.mktemp("forward") / "clip.mp4"
    options = {"x264-params": f"{X264}:bframes=2:b-bias=-100", "crf": "4"}
    encode_video(path, frames=400, size=(96, 64), options=options, picture=PICTURE)
    return without_composition(path)


def test_a_bounded_number_of_packets_is_looked_at(forward):
    counts, index = reads(forward)
    assert index.exactness == "tables"
    assert index.order is None
    assert len(forward) > tables_of(forward) + 2 * ROOM
    assert max(counts) <= tables_of(forward) + ROOM / 2
    assert agrees(forward, vl.index_video(forward))
    with serve(objects={"/clip.mp4": forward}) as server:
        assert (vl.index_video(f"{server.url}/clip.mp4").packets == index.packets).all()
        assert server.sent <= tables_of(forward) + 2 * ROOM
        assert len(server.requests) <= 1 + 1 + 64


@pytest.mark.parametrize("kind", ["type 2", "baseline"])
def test_parameter_sets_without_b_frames_need_no_look(tmp_path, kind):
    bframes = "0" if kind == "type 2" else "2:b-bias=-100"
    options = {"x264-params": f"{X264}:bframes={bframes}:8x8dct=0", "crf": "4"}
    path = encode_video(tmp_path / "a.mp4", frames=40, size=(96, 64), options=options)
    data = without_composition(path)
    if kind == "baseline":
        profile = data.find(b"avcC") + 4 + 8 + 1
        data = data[:profile] + bytes([66]) + data[profile + 1 :]
    counts, index = reads(data)
    assert index.exactness == "tables"
    # The head of the file is read once more, for the fingerprint.
    assert max(counts) <= tables_of(data) + 1024 + 4096


@pytest.mark.parametrize("bframes", [1, 2, 3, 7])
def test_b_frames_that_no_time_tells_of_are_found(tmp_path, bframes):
    options = {"x264-params": f"{X264}:bframes={bframes}:b-adapt=0", "crf": "30"}
    path = encode_video(tmp_path / "a.mp4", frames=300, size=(64, 48), options=options)
    data = without_composition(path)
    index = vl.index_video(data)
    assert index.order is not None
    assert agrees(data, index)


def sets_of(clip):
    """The parameter sets of a description."""
    at = clip.description.find(b"avcC")
    return clip.description[at : at + clip.description[at - 1]]


def test_the_headers_of_all_packets_are_proof(tmp_path):
    """One B picture among 1200 is missed by looks, and is found where all headers are read."""
    common = {"crf": "40", "preset": "ultrafast"}
    with_b = {"x264-params": "threads=1:keyint=30:scenecut=0:bframes=2:b-adapt=0", **common}
    without = {
        "x264-params": "threads=1:keyint=30:scenecut=0:bframes=2:b-bias=-100:b-adapt=1",
        **common,
    }
    one = read_clip(encode_video(tmp_path / "a.mp4", frames=3, size=(32, 32), options=with_b))
    many = read_clip(encode_video(tmp_path / "b.mp4", frames=1200, size=(32, 32), options=without))
    assert sets_of(one) == sets_of(many)
    found = {}
    for place in range(0, 1200, 30):
        samples = [*many.samples[:place], *one.samples, *many.samples[place + 30 :]]
        data = movie(many, [replace(sample, composition=0) for sample in samples])
        found[place] = data, vl.index_video(data)
        if found[place][1].order is None:
            break
    data, index = found[place]
    assert index.order is None
    assert not agrees(data, index)
    proven = vl.index_video(data, headers=True)
    assert proven.order is not None
    assert agrees(data, proven)
