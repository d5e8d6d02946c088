"""`VideoCapture` beside OpenCV's own."""

import subprocess
import sys

import cv2
import numpy as np
import pytest

import videoloader as vl
from videoloader.compat.opencv import VideoCapture
from videoloader.demo.videos import encode_video

THEIRS = cv2.VideoCapture


def both(path):
    return VideoCapture(str(path)), THEIRS(str(path))


def same(ours, theirs):
    assert ours[0] == theirs[0]
    assert np.array_equal(ours[1], theirs[1])
    return ours[0]


def test_frames_are_those_of_opencv(clip):
    ours, theirs = both(clip)
    for _ in range(50):
        assert same(ours.read(), theirs.read())
    assert ours.read() == theirs.read() == (False, None)
    assert not ours.grab()


def test_grabbed_frames_are_passed_over(clip):
    ours, theirs = both(clip)
    for number in range(50):
        assert ours.grab()
        assert theirs.grab()
        if number % 7 == 3:
            same(ours.retrieve(), theirs.retrieve())
            same(ours.retrieve(), theirs.retrieve())


@pytest.mark.parametrize(
    ("name", "value", "first"),
    [
        ("POS_FRAMES", 17, 17),
        ("POS_FRAMES", 0, 0),
        ("POS_FRAMES", -4, 0),
        ("POS_MSEC", 1000, 25),
        ("POS_MSEC", 1010, 25),
        ("POS_MSEC", 0, 0),
        ("POS_AVI_RATIO", 0.5, 25),
        ("POS_FRAMES", 50, None),
        ("POS_FRAMES", 999, None),
        ("POS_AVI_RATIO", 1, None),
    ],
)
def test_any_place_is_gone_to(clip, name, value, first):
    ours, theirs = both(clip)
    ours.read()
    assert ours.set(getattr(cv2, f"CAP_PROP_{name}"), value)
    if first is None:
        assert ours.read() == (False, None)
        return
    assert ours.get(cv2.CAP_PROP_POS_FRAMES) == first
    for _ in range(first):
        theirs.grab()
    same(ours.read(), theirs.read())


def test_properties_are_those_of_opencv(clip):
    names = "POS_FRAMES POS_MSEC FRAME_WIDTH FRAME_HEIGHT FPS FRAME_COUNT FOURCC BACKEND"
    names += " ORIENTATION_META ORIENTATION_AUTO CONVERT_RGB BRIGHTNESS"
    ours, theirs = both(clip)
    for _ in range(3):
        for name in names.split():
            number = getattr(cv2, f"CAP_PROP_{name}")
            assert ours.get(number) == pytest.approx(theirs.get(number)), name
        same(ours.read(), theirs.read())
    assert ours.getBackendName() == theirs.getBackendName()
    assert not ours.set(cv2.CAP_PROP_FRAME_WIDTH, 32)


def test_turned_videos_are_upright_unless_told_otherwise(tmp_path):
    path = encode_video(tmp_path / "turned.mp4", frames=4, size=(64, 48), rotation=90)
    ours, theirs = both(path)
    for value in (1, 0):
        for capture in (ours, theirs):
            assert capture.set(cv2.CAP_PROP_ORIENTATION_AUTO, value)
        assert ours.get(cv2.CAP_PROP_ORIENTATION_META) == theirs.get(cv2.CAP_PROP_ORIENTATION_META)
        same(ours.read(), theirs.read())


def test_memory_that_fits_is_used(clip):
    ours, theirs = both(clip)
    room = np.zeros((720, 96, 3), np.uint8)
    assert ours.read(room)[1] is room
    assert np.array_equal(room, theirs.read()[1])
    small = np.zeros((2, 2, 3), np.uint8)
    same(ours.read(small), theirs.read())


def test_bytes_are_read_where_they_are(clip):
    same(VideoCapture(clip.read_bytes()).read(), THEIRS(str(clip)).read())


def test_what_does_not_open_is_said_as_opencv_says_it(tmp_path, clip):
    capture = VideoCapture(str(tmp_path / "none.mp4"))
    assert not capture.isOpened()
    assert capture.read() == capture.retrieve() == (False, None)
    assert not capture.set(cv2.CAP_PROP_POS_FRAMES, 1)
    assert capture.get(cv2.CAP_PROP_FPS) == -1
    assert capture.open(str(clip))
    assert capture.isOpened()
    capture.release()
    assert not capture.isOpened()
    capture.setExceptionMode(True)
    assert capture.getExceptionMode()
    with pytest.raises(cv2.error, match=r"none\.mp4") as caught:
        capture.open(str(tmp_path / "none.mp4"))
    assert isinstance(caught.value, vl.errors.SourceError)


def test_install_takes_files_and_leaves_cameras():
    program = """
import cv2
from videoloader.compat import opencv
theirs = cv2.VideoCapture
opencv.install()
assert cv2.VideoCapture is opencv.VideoCapture
assert isinstance(cv2.VideoCapture(), opencv.VideoCapture)
assert type(cv2.VideoCapture(99)) is theirs
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
