"""A damaged packet: errors for the frames that need it, and the true frames everywhere else."""

import numpy as np
import pytest
from corpus_files import md5_of

import videoloader as vl
from videoloader.demo.videos import encode_video

GOP = 10
COUNT = 40

CODECS = {
    "libx264": {"x264-params": f"keyint={GOP}:min-keyint={GOP}:scenecut=0"},
    "libx265": {"x265-params": f"keyint={GOP}:min-keyint={GOP}:open-gop=0:log-level=none"},
    "libvpx-vp9": {"g": str(GOP), "deadline": "realtime", "cpu-used": "8"},
    "mpeg4": {"g": str(GOP)},
}


@pytest.fixture(scope="module", params=sorted(CODECS))
def clip(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "clip.mp4"
    encode_video(
        path, codec=request.param, frames=COUNT, size=(96, 96), options=CODECS[request.param]
    )
    return path


def hashes(path):
    with vl.Video(path) as video:
        return {number: md5_of(surface) for number, surface in video.decode(range(len(video)))}


def with_garbage(path, frame, target):
    """A copy in which the packet of a frame is noise, but for its first bytes."""
    index = vl.index_video(path)
    packet = index.packets[index.frame_packets[frame]]
    data = bytearray(path.read_bytes())
    begin, end = packet["offset"] + 5, packet["offset"] + packet["size"]
    data[begin:end] = np.random.default_rng(1).integers(0, 256, end - begin, np.uint8).tobytes()
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("frame", [GOP, 2 * GOP])
def test_other_groups_of_pictures_remain_readable(clip, tmp_path, frame):
    expected = hashes(clip)
    bad = with_garbage(clip, frame, tmp_path / "bad.mp4")
    with vl.Video(bad) as video:
        keyframes = video.index.keyframes
        group = int(np.searchsorted(keyframes, frame, side="right")) - 1
        stop = keyframes[group + 1] if group + 1 < len(keyframes) else COUNT
        with pytest.raises(vl.errors.DecodeError, match=rf"bad\.mp4: frame {frame} .*packet"):
            video[frame]
        for number in [n for n in range(COUNT) if not keyframes[group] <= n < stop]:
            assert [md5_of(s) for _, s in video.decode([number])] == [expected[number]]
        # One call that needs both: the error, not fewer frames.
        with pytest.raises(vl.errors.DecodeError):
            video.get_frames([0, frame, COUNT - 1])


def test_a_missing_file_end_is_told_when_it_is_read(clip, tmp_path):
    index = vl.index_video(clip)
    short = tmp_path / "short.mp4"
    short.write_bytes(clip.read_bytes()[:-1000])
    with pytest.raises(vl.VideoError, match=r"short\.mp4"):
        vl.Video(short, index=index)
