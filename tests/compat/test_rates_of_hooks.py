"""Drop-ins give the rate that FFmpeg states for a stream, as the libraries that they replace."""

from fractions import Fraction
from pathlib import Path

import av
import cv2
import pytest

from videoloader.compat import decord
from videoloader.compat.energon import AVDecoder
from videoloader.compat.opencv import VideoCapture
from videoloader.compat.opening import frame_rate, open_video
from videoloader.compat.torchvision import VideoReader, read_video, read_video_timestamps
from videoloader.compat.webdataset import decode_video
from videoloader.demo.videos import encode_video

THEIRS = cv2.VideoCapture
UNEVEN = [10, 11, 13, 14, 20, 21, 22, 25, 26, 27, 28, 30, 33, 34, 35, 36, 37, 40, 41, 42]
LATE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 20]  # a last frame after a pause
KINDS = {
    "even.mp4": {},
    "even.mkv": {},
    "even.ts": {},
    "ntsc.mp4": {"fps": Fraction(30000, 1001)},
    "ntsc.mkv": {"fps": Fraction(30000, 1001)},
    "uneven.mp4": {"pts": UNEVEN},
    "uneven.mkv": {"pts": UNEVEN},
    "late.mp4": {"pts": LATE},
    "late.flv": {"pts": LATE},
    "late.ts": {"pts": LATE},
    "short.avi": {"codec": "mpeg4"},
    "vp8.ivf": {"codec": "libvpx"},
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")
    found = {}
    for name, options in KINDS.items():
        given = {"fps": 25, "frames": len(options.get("pts", UNEVEN)), "size": (64, 48), **options}
        if "pts" in given:
            given["time_base"] = Fraction(1, 25)
        found[name] = str(encode_video(folder / name, **given))
    return found


def stated(path):
    """What FFmpeg states; None if nothing."""
    with av.open(path) as container:
        rate = container.streams.video[0].average_rate
    return None if rate is None else pytest.approx(float(rate), rel=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_the_rate_is_ffmpegs(paths, name):
    path = paths[name]
    wanted = stated(path)
    with open_video(path) as video:
        if wanted is None:
            wanted = pytest.approx(video.index.average_fps)
        assert frame_rate(video) == wanted
    assert decord.VideoReader(path).get_avg_fps() == wanted
    assert read_video(path, pts_unit="sec")[2]["video_fps"] == wanted
    assert read_video_timestamps(path)[1] == wanted
    assert VideoReader(path).get_metadata()["video"]["fps"] == [wanted]
    data = Path(path).read_bytes()
    assert decode_video("clip.mp4", data)[2]["video_fps"] == wanted
    decoder = AVDecoder(data)
    assert decoder.get_video_fps() == wanted
    decoder.close()


@pytest.mark.parametrize("name", KINDS)
def test_opencvs_rate_is_its_own(paths, name):
    ours, theirs = VideoCapture(paths[name]), THEIRS(paths[name])
    assert ours.get(cv2.CAP_PROP_FPS) == pytest.approx(theirs.get(cv2.CAP_PROP_FPS), rel=1e-9)


def test_the_rate_of_evenly_spaced_frames_needs_no_second_opening(paths, monkeypatch):
    def refuse(*_):
        raise AssertionError("FFmpeg opens the file")

    monkeypatch.setattr("videoloader.compat.opening.read_stream_header", refuse)
    for name in ("even.mp4", "ntsc.mp4", "even.mkv", "ntsc.mkv"):
        with open_video(paths[name]) as video:
            assert frame_rate(video) == stated(paths[name])
