"""`VideoIndex`: what it keeps, where it is stored, and when it no longer fits its file."""

import json
import os
import pickle
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import PacketFlags, index, open_source
from videoloader.indexing.index import decode_index, encode_index
from videoloader.indexing.payloads import PacketReader


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "clip.mp4"
    encode_video(path, frames=250, size=(160, 120))
    return path


def test_an_index_file_takes_a_few_bytes_a_frame(clip, tmp_path):
    index = vl.index_video(clip, headers=True)
    index.save(tmp_path / "clip.index")
    assert (tmp_path / "clip.index").stat().st_size < 8 * index.num_frames
    assert os.listdir(tmp_path) == ["clip.index"]


def test_a_damaged_index_file_is_refused(clip, tmp_path):
    path = tmp_path / "clip.index"
    vl.index_video(clip).save(path)
    data = path.read_bytes()
    for wrong in (b"", data[:5], data[:200], data[:-1], data + b"x", b"X" + data[1:]):
        path.write_bytes(wrong)
        with pytest.raises(vl.errors.FormatError, match=r"clip\.index"):
            vl.VideoIndex.load(path)


def usable(index):
    """Go through what an index is asked for."""
    for name in ("pts", "keyframes", "seek_packets", "end_packets", "duration", "average_fps"):
        getattr(index, name)
    repr(index)
    return PacketReader(index, open_source(b"some bytes"))


def test_damage_anywhere_in_stored_bytes_is_found_out(clip, tmp_path):
    path = tmp_path / "clip.index"
    index = vl.index_video(clip)
    index.save(path)
    rng = np.random.default_rng(7)
    for data, read in ((path.read_bytes(), None), (encode_index(index), decode_index)):
        for _ in range(400):
            wrong = bytearray(data)
            at = int(rng.integers(len(data)))
            match rng.integers(4):
                case 0:
                    wrong[at] ^= 1 << int(rng.integers(8))
                case 1:
                    del wrong[at:]
                case 2:
                    del wrong[at : at + 1 + int(rng.integers(8))]
                case _:
                    wrong[at:at] = rng.bytes(1 + int(rng.integers(8)))
            path.write_bytes(wrong)
            with pytest.raises(vl.errors.FormatError):
                read(bytes(wrong)) if read else vl.VideoIndex.load(path)


def sealed(head, setup, columns):
    """Stored bytes with a check sum that holds."""
    body = head + setup + columns
    return struct.pack("<4I", zlib.crc32(body), len(head), len(setup), len(columns)) + body


WRONG = (None, True, -1, 3, 1 << 40, 1 << 70, 0.5, "", "x", "1/0", "-1", "prefix:0", [], [1], {})
WRONG += ("mpegts:188", "mpegts:1:0x100", "mpegts:188:0x9999", "mpegts:188:0x1x", "0/1", [[0, -1]])


def test_a_stored_index_that_was_written_wrongly_is_refused_or_usable(clip):
    data = encode_index(vl.index_video(clip))
    _, *lengths = struct.unpack_from("<4I", data)
    ends = 16 + np.cumsum(lengths)
    text, setup, columns = data[16 : ends[0]], data[ends[0] : ends[1]], data[ends[1] :]
    head = json.loads(text)
    assert data == sealed(text, setup, columns)
    heads = [head | {name: wrong} for name in head for wrong in WRONG]
    heads += [{name: head[name] for name in head if name != left} for left in head]
    for part in ("color", "orientation", "fingerprint"):
        heads += [
            head | {part: head[part] | {name: wrong}} for name in head[part] for wrong in WRONG
        ]
    for place, spec in enumerate(head["columns"]):
        for wrong in (*WRONG, 1 << 27, -(1 << 63), [0, 1, 0, 0], [0, 1, 8, 250], [1, 2, 0, 250]):
            heads.append(head | {"columns": [*head["columns"]]})
            heads[-1]["columns"][place] = wrong
        for number in range(4 if isinstance(spec, list) else 0):
            for wrong in (*WRONG, 1 << 62):
                heads.append(json.loads(text))
                heads[-1]["columns"][place][number] = wrong
    texts = [json.dumps(wrong).encode() for wrong in heads]
    texts += [b"[" * 100_000, b"\xff", b"null", b"9" * 5000]
    refused = 0
    for wrong in texts:
        try:
            index = decode_index(sealed(wrong, setup, columns))
        except vl.errors.FormatError:
            refused += 1
        else:
            usable(index)
    assert refused > 0.8 * len(texts)


def test_frames_of_packets_that_are_not_there_are_refused(clip):
    index = vl.index_video(clip)
    for wrong in (-1, len(index.packets)):
        order = index.frame_packets.copy()
        order[7] = wrong
        with pytest.raises(vl.errors.UnsupportedError, match="does not have"):
            encode_index(replace(index, order=order))
    order = index.frame_packets[::-1].copy()
    assert decode_index(encode_index(replace(index, order=order))).frame_packets[0] == order[0]


def test_an_index_that_cannot_be_written_leaves_nothing_behind(clip, tmp_path):
    index = vl.index_video(clip)
    (tmp_path / "file").touch()
    with pytest.raises(vl.errors.SourceError, match=r"file/clip\.index: cannot be written"):
        index.save(tmp_path / "file" / "clip.index")
    (tmp_path / "clip.index").mkdir()
    with pytest.raises(vl.errors.SourceError, match="is a folder; name a file"):
        index.save(tmp_path / "clip.index")
    assert sorted(os.listdir(tmp_path)) == ["clip.index", "file"]


def test_a_changed_file_makes_its_index_stale(clip, tmp_path):
    path = tmp_path / "copy.mp4"
    path.write_bytes(clip.read_bytes())
    index = vl.index_video(path)
    vl.Video(path, index=index).close()
    os.utime(path, ns=(1, 1))  # the same bytes at another time, as of a copy
    vl.Video(path, index=index).close()
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    with pytest.raises(
        vl.errors.StaleIndexError, match=r"copy\.mp4.*changed.*its first bytes differ"
    ):
        vl.Video(path, index=index)
    # Bytes have no time of change; their size must do.
    vl.Video(clip.read_bytes(), index=index).close()
    with pytest.raises(vl.errors.StaleIndexError):
        vl.Video(clip.read_bytes() + b"\0", index=index)


def test_headers_tell_what_is_disposable(clip):
    plain, read = vl.index_video(clip), vl.index_video(clip, headers=True)
    assert plain.disposable is None
    assert not plain.has_headers
    assert 0.3 < read.disposable.mean() < 0.7
    assert not read.disposable[read.packets["flags"] & PacketFlags.KEY > 0].any()


def test_at_stride_four_only_what_others_need_is_decoded_besides(clip):
    index = vl.index_video(clip, headers=True)
    every_fourth = np.arange(0, index.num_frames, 4)
    plan = vl.sampling.plan_decode(index, every_fourth)
    wanted = set(index.frame_packets[every_fourth].tolist())
    needed = [p for p in range(max(wanted) + 1) if p in wanted or not index.disposable[p]]
    assert plan.num_packets == len(needed) < 0.75 * index.num_frames


def test_an_index_pickles(clip):
    index = vl.index_video(clip)
    copy = pickle.loads(pickle.dumps(index))
    assert (copy.packets == index.packets).all()
    assert copy.pts.tolist() == index.pts.tolist()


def test_facts_of_a_simple_clip(clip):
    index = vl.index_video(clip)
    assert len(index) == index.num_frames == 250
    assert index.exactness == "tables"
    assert (index.width, index.height) == (160, 120)
    assert index.average_fps == pytest.approx(30)
    assert index.duration == pytest.approx(250 / 30)
    assert index.rotation == 0
    assert index.keyframes[0] == 0
    assert "clip.mp4" in repr(index)


def test_leading_frames_are_told_and_begin_one_keyframe_earlier(tmp_path):
    path = tmp_path / "open.mp4"
    encode_video(
        path, frames=60, options={"x264-params": "keyint=12:open-gop=1:bframes=3:scenecut=0"}
    )
    index = vl.index_video(path)
    assert index.leading.any()
    for frame in np.flatnonzero(index.leading):
        packet, start = index.frame_packets[frame], index.seek_packets[frame]
        keys = np.flatnonzero(index.packets["flags"] & PacketFlags.KEY)
        assert start == keys[keys <= packet][-2]
    settled = np.flatnonzero(~index.leading)
    assert (index.seek_packets[settled] <= index.frame_packets[settled]).all()


def test_only_frames_have_times(clip):
    index = vl.index_video(clip)
    assert index.seconds(np.array([-1, 0])).tolist() == [-1, 0]
    with pytest.raises(IndexError):
        index.seconds(np.array([len(index)]))


def test_links_to_one_file_are_told_apart_without_their_tables(tmp_path, monkeypatch):
    first = encode_video(tmp_path / "0.mp4", size=(64, 48), frames=8)
    for number in range(1, 20):
        (tmp_path / f"{number}.mp4").hardlink_to(first)
    found = [vl.index_video(tmp_path / f"{number}.mp4") for number in range(20)]
    assert found[0] == vl.index_video(first)
    monkeypatch.setattr(index, "_same_table", None)  # fails if it is called
    assert found[0] != found[1]
    assert len({hash(each) for each in found}) > 10
