"""`VideoIndex`: what it keeps, where it is stored, and when it no longer fits its file."""

import os
import pickle

import numpy as np
import pytest

import videoloader as vl
from videoloader.demo_videos import encode_video
from videoloader.indexing import PacketFlags


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
        with pytest.raises(vl.FormatError, match=r"clip\.index"):
            vl.VideoIndex.load(path)


def test_a_changed_file_makes_its_index_stale(clip, tmp_path):
    path = tmp_path / "copy.mp4"
    path.write_bytes(clip.read_bytes())
    index = vl.index_video(path)
    vl.Video(path, index=index).close()
    os.utime(path, ns=(1, 1))
    with pytest.raises(vl.StaleIndexError, match=r"copy\.mp4.*changed"):
        vl.Video(path, index=index)
    # Bytes have no time of change; their size must do.
    vl.Video(clip.read_bytes(), index=index).close()
    with pytest.raises(vl.StaleIndexError):
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
