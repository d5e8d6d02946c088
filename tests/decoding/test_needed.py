"""Leaving out what no wanted frame depends on: every frame stays bit for bit what it was."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from corpus_files import corpus_files, has_reference, md5_of, packets_fed
from hypothesis import given
from hypothesis import strategies as st

import videoloader as vl
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.packets import needed
from videoloader.decoding.packets.feed import PacketFeed
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import encode_video
from videoloader.errors import FormatError
from videoloader.indexing import open_source
from videoloader.indexing.payloads import PacketReader
from videoloader.indexing.references import PictureReader
from videoloader.sampling import plan_decode

CORPUS = corpus_files(
    lambda file: (
        has_reference(file) and not file.is_damaged and file.facts["codec"] in ("av1", "hevc")
    )
)

# Structure, file, encoder, its options, and whether some pictures that are referred to can go.
STREAMS = {
    "av1": ("a.mp4", "libsvtav1", {"preset": "10"}, True),
    "av1 low delay": (
        "a.mkv",
        "libsvtav1",
        {"preset": "10", "svtav1-params": "pred-struct=1"},
        True,
    ),
    "av1 with film grain": (
        "a.mp4",
        "libsvtav1",
        {"preset": "10", "svtav1-params": "film-grain=20"},
        True,
    ),
    "av1, several keyframes": ("a.ivf", "libsvtav1", {"preset": "10", "g": "30"}, True),
    "hevc": ("a.mp4", "libx265", {"x265-params": "log-level=error"}, False),
    "hevc of short groups": (
        "a.mp4",
        "libx265",
        {"x265-params": "log-level=error:keyint=20:bframes=8:ref=1:open-gop=1"},
        True,
    ),
    "hevc of one reference": (
        "a.mkv",
        "libx265",
        {"x265-params": "log-level=error:bframes=8:ref=1:b-adapt=0"},
        False,
    ),
    "hevc of sub-layers": (
        "a.ts",
        "libx265",
        {"x265-params": "log-level=error:temporal-layers=3:b-adapt=0:bframes=7:ref=1"},
        True,
    ),
    "hevc of slices": (
        "a.h265",
        "libx265",
        {"x265-params": "log-level=error:slices=3:bframes=5:ref=2:repeat-headers=1"},
        False,
    ),
    "hevc of few order bits": (
        "a.mp4",
        "libx265",
        {"x265-params": "log-level=error:log2-max-poc-lsb=4:ref=1:bframes=6:b-adapt=0"},
        False,
    ),
}


@pytest.mark.parametrize("drop", ["disposable", "unneeded"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_keyframe_that_is_learned_to_be_disposable_is_fed_at_every_visit(
    tmp_path, monkeypatch, drop, is_known
):
    path = encode_video(tmp_path / "a.mp4", size=(64, 64), frames=12)
    index = vl.index_video(path)
    (run,) = plan_decode(index, [7])
    if is_known:
        index.learned.disposable[:] = 1
    else:
        every = np.ones(len(index.packets), np.int8)
        monkeypatch.setattr(needed, "classify_packets", lambda _, payloads: every[: len(payloads)])
    with open_source(path) as source:
        for _ in range(2):
            feed = PacketFeed(index, source, drop=drop)
            fed = np.concatenate([packets for packets, _ in feed.chunks(run, 4)])
            assert fed.tolist() == [0, run.packets[-1]]


def sequential(path):
    """Hashes of FFmpeg's own full decode, in presentation order."""
    import av

    with av.open(str(path)) as container:
        return [md5_of(Surface(frame)) for frame in container.decode(video=0)]


def samples(count, seed):
    """Frame sets of the kinds that people ask for."""
    rng = random.Random(seed)
    yield np.linspace(0, count - 1, min(count, 16)).astype(np.int64)
    for stride in (1, 4):
        yield np.unique(np.minimum(rng.randrange(count) + stride * np.arange(16), count - 1))
    for size in (1, 2, 5):
        yield np.array(rng.sample(range(count), min(size, count)))


def fed_to_decode(index, source, frames, hashes, drop):
    """How many packets a decoder is fed, once its frames have been found right."""
    decoder = CpuDecoder(index, source, drop=drop)
    decoded = {n: md5_of(surface) for n, surface in decoder.decode(plan_decode(index, frames))}
    assert decoded == {n: hashes[n] for n in frames.tolist()}
    return decoder.counts.packets


@pytest.mark.parametrize("file", CORPUS)
def test_frames_of_real_files_are_those_of_a_full_decode(file):
    known = vl.index_video(file.path, headers=True, stream=file.stream)
    plain = vl.index_video(file.path, stream=file.stream)
    count = min(len(file.hashes), known.num_frames)
    with open_source(file.path) as source:
        everywhere, near, _, few, *_ = samples(count, file.path.name)
        for frames in (everywhere, near, few):
            fed = packets_fed(known, source, frames, "unneeded")
            assert len(fed) <= plan_decode(known, frames).num_packets
            assert fed == packets_fed(plain, source, frames, "unneeded")
            assert len(fed) == fed_to_decode(plain, source, frames, file.hashes, "unneeded")


@pytest.mark.parametrize("name", STREAMS)
def test_frames_of_generated_streams_are_those_of_a_full_decode(name, tmp_path):
    file, codec, options, has_more = STREAMS[name]
    path = encode_video(tmp_path / file, codec=codec, frames=100, options=options)
    index, hashes = vl.index_video(path), sequential(path)
    assert index.num_frames == len(hashes) == 100
    fed = {"disposable": 0, "unneeded": 0}
    with open_source(path) as source:
        for frames in samples(100, name):
            for drop in fed:
                fed[drop] += fed_to_decode(index, source, frames, hashes, drop)
    assert fed["unneeded"] <= fed["disposable"]
    if has_more:
        assert fed["unneeded"] < fed["disposable"]


@pytest.fixture(scope="module", params=["av1", "hevc of sub-layers"])
def stream(request, tmp_path_factory):
    """Index, path and hashes of a stream of which much can go."""
    file, codec, options, _ = STREAMS[request.param]
    path = tmp_path_factory.mktemp("streams") / file
    encode_video(path, codec=codec, frames=100, options=options)
    return vl.index_video(path), path, sequential(path)


@given(st.integers(0, 700), st.integers(1, 200), st.integers(0, 1 << 16))
def test_parts_are_all_of_a_run_in_order_and_the_first_are_short(count, most, size):
    run = SimpleNamespace(packets=np.arange(count))
    index = SimpleNamespace(packets={"size": np.full(count, size, dtype=np.uint32)})
    parts = list(needed._parts(index, run, most))
    assert [n for start, stop in parts for n in range(start, stop)] == list(range(count))
    sizes = [stop - start for start, stop in parts]
    assert all(0 < size <= most for size in sizes)
    few = max(16, (1 << 18) // max(size, 1))
    assert all(length <= max(start, few) for length, (start, _) in zip(sizes, parts, strict=True))
    assert len(parts) <= 16 + count // most  # they grow soon


@pytest.mark.parametrize("span", [1, 7, 30])
def test_a_run_read_in_parts_gives_the_same_frames(stream, span, monkeypatch):
    index, path, hashes = stream
    whole, parts = 0, 0
    with open_source(path) as source:
        for frames in samples(100, span):
            whole += fed_to_decode(index, source, frames, hashes, "unneeded")
            with monkeypatch.context() as patch:
                patch.setattr(needed, "SPAN", span)
                parts += fed_to_decode(index, source, frames, hashes, "unneeded")
    assert whole <= parts


def test_no_more_is_read_at_once_than_memory_should_hold(stream, monkeypatch):
    index, path, _ = stream
    limit = int(index.packets["size"].max()) + 1000
    monkeypatch.setattr(needed, "MAX_BYTES", limit)
    read, original = [], PacketReader.read

    def counted(self, packets):
        payloads = original(self, packets)
        read.append(sum(map(len, payloads)))
        return payloads

    monkeypatch.setattr(PacketReader, "read", counted)
    (run,) = plan_decode(index, [99]).runs
    with open_source(path) as source:
        list(needed.needed_packets(index, PacketReader(index, source).read, run, "unneeded", 8))
    assert sum(read) == index.packets["size"][run.packets].sum()
    assert max(read) <= limit


@pytest.mark.parametrize("broken", [0, 1, 25, 60])
def test_where_a_header_cannot_be_followed_only_disposable_packets_go(stream, broken, monkeypatch):
    index, path, hashes = stream
    original = PictureReader.read
    monkeypatch.setattr(needed, "SPAN", 20)

    def read(self, payload):
        if self.count >= broken:
            raise FormatError("a header of a rarer kind")
        return original(self, payload)

    with open_source(path) as source:
        for frames in samples(100, broken):
            before = fed_to_decode(index, source, frames, hashes, "disposable")
            with monkeypatch.context() as patch:
                patch.setattr(PictureReader, "read", read)
                fed = fed_to_decode(index, source, frames, hashes, "unneeded")
            assert fed == before if broken == 0 else fed <= before


@pytest.mark.parametrize("seed", range(20))
def test_damaged_packets_are_read_or_refused(stream, seed):
    index, path, _ = stream
    rng = random.Random(seed)
    with open_source(path) as source:
        payloads = PacketReader(index, source).read(np.arange(40))
    first = payloads[0]
    reader = PictureReader(index, 0, first)
    for payload in payloads:
        damaged = bytearray(payload)
        for _ in range(rng.choice([0, 1, 3])):
            damaged[rng.randrange(min(len(damaged), 60))] = rng.randrange(256)
        damaged = bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        try:
            pictures = reader.read(damaged)
        except FormatError:
            reader = PictureReader(index, 0, first)
            continue
        for number, picture in enumerate(pictures, start=reader.count - len(pictures)):
            assert all(0 <= reference < number for reference in picture.references)
        assert reader.cut(damaged, [True] * len(pictures)) == damaged
        kept = [rng.random() < 0.5 for _ in pictures]
        assert len(reader.cut(damaged, kept)) <= len(damaged)


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_what_is_known_to_be_disposable_is_not_read_again(tmp_path, codec, monkeypatch):
    options = {"g": "30"} if codec == "libx264" else {"x265-params": "log-level=none:keyint=30"}
    path = encode_video(tmp_path / "a.mp4", codec=codec, frames=90, options=options)
    index = vl.index_video(path)
    size, original = [], PacketReader.read

    def counted(self, packets):
        size.append(int(index.packets["size"][packets].sum()))
        return original(self, packets)

    monkeypatch.setattr(PacketReader, "read", counted)
    with open_source(path) as source:

        def fed(index, frames):
            size.clear()
            parts = [
                part
                for run in plan_decode(index, frames)
                for part in PacketFeed(index, source).chunks(run, 256)
            ]
            return [(n, data) for some in parts for n, data in zip(some[0], some[1], strict=True)]

        with_headers = vl.index_video(path, headers=True)
        for frames in ([25, 50, 80], [25, 50, 80], [26, 51, 81], [0, 7]):
            assert fed(index, frames) == fed(with_headers, frames)
            least = sum(size)
            fed(index, frames)
            assert sum(size) == least
        fed(vl.index_video(path), frames)
        assert sum(size) > least
