"""Copies and near copies of videos among unrelated ones."""

import itertools
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from remuxing import remux_file

import videoloader as vl
from videoloader.datasets import duplicates, hash_video, hashes, picture_hash
from videoloader.datasets.hashes import differing_bits, packet_digest
from videoloader.demo.shots import draw_shot, encode_pictures

SIZE = (160, 90)
X265 = {"preset": "ultrafast", "x265-params": "log-level=none:pools=none:frame-threads=1"}
VP9 = {"deadline": "realtime", "cpu-used": "8"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three scenes: the first five times, the second twice, the third once; and no video."""
    folder = tmp_path_factory.mktemp("duplicates") / "videos"
    folder.mkdir()
    scenes = [
        [*itertools.chain(*(draw_shot(10, seed=seed + n, size=SIZE) for n in range(2)))]
        for seed in (100, 200, 300)
    ]
    first = encode_pictures(folder / "a.mp4", scenes[0], size=SIZE)
    remux_file(first, str(folder / "a-remuxed.mkv"))
    small = partial(encode_pictures, size=(96, 64))
    small(folder / "a-small.mp4", scenes[0], codec="libx265", options=X265)
    cropped = [picture[3:-3, 5:-5] for picture in scenes[0]]
    encode_pictures(folder / "a-cropped.webm", cropped, size=SIZE, codec="libvpx-vp9", options=VP9)
    encode_pictures(folder / "a-slower.mp4", scenes[0][::2], size=SIZE, fps=12)
    second = encode_pictures(folder / "b.mp4", scenes[1], size=SIZE)
    (folder / "b-copy.mp4").write_bytes(second.read_bytes())
    encode_pictures(folder / "c.mp4", scenes[2], size=SIZE)
    (folder / "no.mp4").write_bytes(b"no video")
    return folder


def names_of(table):
    """The groups, as sets of names, and the representative of each."""
    rows = [row for row in table.to_pylist() if row["error"] is None]
    groups = {row["group"]: set() for row in rows}
    for row in rows:
        groups[row["group"]].add(row["key"].rpartition("/")[2])
    best = [row["key"].rpartition("/")[2] for row in rows if row["is_representative"]]
    return list(groups.values()), best


def test_copies_and_near_copies_are_in_one_group_and_others_in_none(folder, tmp_path):
    out = tmp_path / "duplicates.parquet"
    table = vl.find_duplicates(folder, out, workers=0)
    groups, best = names_of(table)
    assert groups == [
        {"a.mp4", "a-remuxed.mkv", "a-small.mp4", "a-cropped.webm", "a-slower.mp4"},
        {"b.mp4", "b-copy.mp4"},
    ]
    assert best[0] in ("a.mp4", "a-remuxed.mkv", "a-cropped.webm")  # most pixels and frames
    assert best[1] == "b-copy.mp4"  # the first of equals
    assert table.equals(pq.read_table(out))
    assert [path.name for path in tmp_path.iterdir()] == ["duplicates.parquet"]
    *rows, failure = table.to_pylist()
    assert failure["key"].endswith("no.mp4")
    assert failure["group"] is None
    assert failure["error"]
    kinds = {row["key"].rpartition("/")[2]: row["kind"] for row in rows}
    assert (kinds["b.mp4"], kinds["b-copy.mp4"]) == ("copy", "representative")
    assert kinds["a-small.mp4"] == "near"
    for row in rows:
        assert (row["distance"] == 0) or row["kind"] == "near"
        assert (row["kind"] == "representative") == row["is_representative"]


def test_copies_alone_need_no_picture(folder, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a picture was decoded")

    monkeypatch.setattr(vl.Video, "_decode", refuse)
    dataset = vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    read = []
    monkeypatch.setattr(
        duplicates,
        "packet_digest",
        lambda video: read.append(video.name.rpartition("/")[2]) or packet_digest(video),
    )
    table = vl.find_duplicates(dataset, tmp_path / "out.parquet", distance=None, workers=0)
    assert names_of(table)[0] == [{"a.mp4", "a-remuxed.mkv"}, {"b.mp4", "b-copy.mp4"}]
    assert sorted(read) == ["a-remuxed.mkv", "a.mp4", "b-copy.mp4", "b.mp4"]  # others have no equal


def test_packets_of_equal_sizes_and_other_contents_are_no_copies(folder, tmp_path):
    index = vl.index_video(folder / "c.mp4")
    packet = index.packets[len(index.packets) // 2]
    data = bytearray((folder / "c.mp4").read_bytes())
    (tmp_path / "c.mp4").write_bytes(data)
    data[int(packet["offset"] + packet["size"]) - 1] ^= 1
    (tmp_path / "changed.mp4").write_bytes(data)
    paths = [tmp_path / "c.mp4", tmp_path / "changed.mp4"]
    assert len(vl.find_duplicates(paths, tmp_path / "out.parquet", distance=None, workers=0)) == 0
    paths[1].write_bytes(paths[0].read_bytes())
    assert len(vl.find_duplicates(paths, tmp_path / "out.parquet", distance=None, workers=0)) == 2


def test_an_interrupted_search_does_not_hash_again(folder, tmp_path, monkeypatch):
    hashed = []
    monkeypatch.setattr(
        duplicates,
        "hash_video",
        lambda video, count: hashed.append(video.name) or hash_video(video, count=count),
    )

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(duplicates, "packet_digest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            vl.find_duplicates(folder, tmp_path / "out.parquet", workers=0)
    assert len(hashed) == 8
    vl.find_duplicates(folder, tmp_path / "out.parquet", workers=0)
    assert len(hashed) == 8


def test_flat_pictures_have_no_hash(tmp_path):
    black = [np.full((90, 160, 3), level, np.uint8) for level in (0, 0, 1, 0)]
    paths = [
        encode_pictures(tmp_path / f"{name}.mp4", black[:count], size=SIZE)
        for name, count in (("a", 3), ("b", 4))
    ]
    assert len(hash_video(paths[0]).hashes) == 0
    assert len(vl.find_duplicates(paths, tmp_path / "out.parquet", workers=0)) == 0


def test_the_hash_is_that_of_imagehash():
    imagehash = pytest.importorskip("imagehash")
    image = pytest.importorskip("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, (20, 32, 32), dtype=np.uint8)
    for picture, found in zip(pictures, picture_hash(pictures), strict=True):
        assert f"{found:016x}" == str(imagehash.phash(image.fromarray(picture)))


def test_the_hash_is_the_signs_of_a_dct():
    """Beside OpenCV's DCT, where `imagehash` is not installed."""
    import cv2

    pictures = np.random.default_rng(1).integers(0, 256, (20, 32, 32), dtype=np.uint8)
    for picture, found in zip(pictures, picture_hash(pictures), strict=True):
        low = cv2.dct(picture.astype(np.float64))[:8, :8].copy()
        low[0] *= np.sqrt(2)  # OpenCV's transform is orthonormal, that of the hash is not scaled
        low[:, 0] *= np.sqrt(2)
        bits = (low > np.median(low)).ravel()
        assert found == int("".join("1" if bit else "0" for bit in bits), 2)


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1), st.integers(0, (1 << 64) - 1))
def test_differing_bits_are_counted(values, other):
    found = differing_bits(np.array(values, np.uint64), np.uint64(other))
    assert found.tolist() == [(value ^ other).bit_count() for value in values]


def test_pairs_are_those_of_a_comparison_of_all():
    rng = np.random.default_rng(5)
    base = rng.integers(0, 1 << 64, (40, 3), dtype=np.uint64)
    near = base.copy()
    for row in range(len(near)):
        for picture in range(3):
            for bit in rng.choice(64, rng.integers(0, 8), replace=False):
                near[row, picture] ^= np.uint64(1 << int(bit))
    videos = {3 * n: each for n, each in enumerate(np.concatenate([base, near]))}
    expected = []
    for one, other in itertools.combinations(videos, 2):
        bits = [[(int(a) ^ int(b)).bit_count() for b in videos[other]] for a in videos[one]]
        least = [*map(min, bits), *map(min, zip(*bits, strict=True))]
        if min(least) <= 7 and sum(least) / 6 <= 4:
            expected.append((one, other, sum(least) / 6))
    found = list(duplicates.near_pairs(videos, 4.0))
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in expected])
    assert 10 < len(expected) < 40


def test_pictures_that_differ_in_seven_bits_are_found_whichever_these_are():
    rng = np.random.default_rng(8)
    videos = {}
    for number in range(100):
        value = int(rng.integers(0, 1 << 64, dtype=np.uint64))
        flips = sum(1 << int(bit) for bit in rng.choice(64, 7, replace=False))
        videos[2 * number] = np.array([value], np.uint64)
        videos[2 * number + 1] = np.array([value ^ flips], np.uint64)
    found = list(duplicates.near_pairs(videos, 10.0))
    assert found == [(2 * number, 2 * number + 1, 7.0) for number in range(100)]


def test_a_picture_that_many_videos_share_is_not_looked_up():
    rng = np.random.default_rng(6)
    videos = {
        number: np.array([7, int(rng.integers(1, 1 << 63))], np.uint64) for number in range(60)
    }
    videos[60] = videos[0].copy()
    assert [pair[:2] for pair in duplicates.near_pairs(videos, 30.0)] == [(0, 60)]


def test_pairs_are_the_same_in_small_parts(monkeypatch):
    values = np.random.default_rng(7).integers(0, 1 << 16, (50, 2)).astype(np.uint64)
    videos = dict(enumerate(values))
    whole = list(duplicates.near_pairs(videos, 6.0))
    monkeypatch.setattr(duplicates, "AT_ONCE", 10)
    assert list(duplicates.near_pairs(videos, 6.0)) == whole
    assert len(whole) > 100


def test_groups_are_what_pairs_connect():
    described = [
        {"row": n, "key": str(n), "quality": [n == 2, 1, 1], "hashes": [n]} for n in range(5)
    ]
    near = [duplicates._Pair(0, 1, 1.0), duplicates._Pair(1, 2, 2.0)]
    table = duplicates._table(described, [[3, 4]], near, {})
    rows = table.to_pylist()
    assert [(row["row"], row["group"]) for row in rows] == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]
    assert [row["is_representative"] for row in rows] == [False, False, True, True, False]
    assert [row["kind"] for row in rows] == [
        *("near", "near", "representative"),
        *("representative", "copy"),
    ]
    assert [row["distance"] for row in rows] == [
        1,
        2,
        0,
        0,
        0,
    ]  # differing bits of 2 and 0, 2 and 1


def test_the_digest_is_of_the_bytes_of_packets(folder):
    import hashlib

    import av

    digest = hashlib.blake2b(digest_size=16)
    with av.open(str(folder / "a.mp4")) as container:
        for packet in container.demux(video=0):
            digest.update(bytes(packet))
    assert packet_digest(folder / "a-remuxed.mkv") == {"digest": digest.hexdigest()}
    assert hashes.VideoHash._fields == ("packets", "frames", "hashes")
