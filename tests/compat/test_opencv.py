"""`VideoCapture` beside OpenCV's own."""

import io
import sys
from fractions import Fraction

import av
import cv2
import numpy as np
import pytest
from programs import run_program

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


@pytest.mark.parametrize("options", [{}, {"apiPreference": cv2.CAP_IMAGES}])
def test_numbered_images_are_read_by_opencv(tmp_path, options):
    for number in range(5):
        cv2.imwrite(str(tmp_path / f"{number:03}.png"), np.full((8, 8, 3), 50 * number, np.uint8))
    first = "%03d.png" if not options else "000.png"
    capture = VideoCapture(str(tmp_path / first), **options)
    found = [int(capture.read()[1][0, 0, 0]) for _ in range(5)]
    assert found == [0, 50, 100, 150, 200]


def test_a_video_with_the_pattern_of_images_in_its_name_is_a_video(clip, tmp_path):
    video = tmp_path / "100%d.mp4"
    video.write_bytes(clip.read_bytes())
    assert isinstance(VideoCapture(str(video)), VideoCapture)


PROPERTIES = ["POS_FRAMES", "POS_MSEC", "FRAME_WIDTH", "FRAME_HEIGHT", "FPS", "FRAME_COUNT"]
PROPERTIES += ["FOURCC", "BACKEND", "ORIENTATION_META", "ORIENTATION_AUTO", "CONVERT_RGB"]
PROPERTIES += ["BRIGHTNESS", "SAR_NUM", "SAR_DEN", "BITRATE", "FORMAT", "CODEC_PIXEL_FORMAT"]
PROPERTIES += ["CODEC_EXTRADATA_INDEX", "FRAME_TYPE", "PTS", "HW_ACCELERATION"]
IS_5 = int(cv2.__version__.partition(".")[0]) >= 5
if not IS_5:  # which has other values for these
    for other in ("ORIENTATION_AUTO", "BRIGHTNESS", "FORMAT", "BITRATE"):
        PROPERTIES.remove(other)


def assert_same_properties(ours, theirs, *without):
    for name in PROPERTIES:
        if name not in without:
            number = getattr(cv2, f"CAP_PROP_{name}")
            assert ours.get(number) == pytest.approx(theirs.get(number), abs=1e-6), name


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.mkv", {"codec": "libvpx-vp9", "options": {"sar": "4:3"}}),
        ("a.mp4", {"codec": "mpeg4", "options": {"aspect": "2:1"}}),
        ("a.avi", {"codec": "mpeg4"}),
        ("a.ts", {"codec": "mpeg2video"}),
        ("a.mov", {"codec": "mjpeg", "pixel_format": "yuvj422p"}),
        ("a.mkv", {"codec": "ffv1", "pixel_format": "gray10le"}),
        ("a.mp4", {"fps": Fraction(30000, 1001), "options": {"bf": "2", "aspect": "16:9"}}),
    ],
)
def test_properties_of_other_codecs_are_those_of_opencv(tmp_path, name, options):
    path = encode_video(tmp_path / name, **{"frames": 12, "size": (64, 48), **options})
    ours, theirs = both(path)
    for _ in range(12):
        assert_same_properties(ours, theirs, "FRAME_COUNT")
        same(ours.read(), theirs.read())


def test_properties_of_uneven_frames_are_those_of_opencv(uneven):
    # OpenCV guesses the number of frames; behind a seek past its guess it knows no time.
    ours, theirs = both(uneven)
    for _ in range(21):
        assert_same_properties(ours, theirs, "FRAME_COUNT", "FRAME_TYPE")
        ours.read()
        theirs.read()


@pytest.mark.parametrize("milliseconds", [0, 19, 20, 21, 99, 100, 110, 125, 300, 410, -5, 1e9])
def test_times_are_rounded_to_frames_as_opencv_does(clip, tmp_path, milliseconds):
    pts = [0, 1, 3, 4, 10, 11, 12, 15, 16, 17, 18, 20]
    uneven = encode_video(
        tmp_path / "a.mp4", frames=12, size=(64, 48), fps=25, pts=pts, time_base=Fraction(1, 25)
    )
    for path in (clip, uneven):
        ours, theirs = both(path)
        for capture in (ours, theirs):
            assert capture.read()[0]
            assert capture.set(cv2.CAP_PROP_POS_MSEC, milliseconds)
        assert ours.get(cv2.CAP_PROP_POS_FRAMES) == theirs.get(cv2.CAP_PROP_POS_FRAMES)
        read = ours.read(), theirs.read()
        assert read[0][0] == read[1][0]
        if read[0][0]:
            same(*read)


def test_arguments_have_opencvs_names_and_order(clip):
    path = str(clip)
    threads = [cv2.CAP_PROP_N_THREADS, 1]
    first = THEIRS(path).read()
    for capture in (
        VideoCapture(filename=path),
        VideoCapture(filename=path, apiPreference=cv2.CAP_ANY, params=threads),
        VideoCapture(path, cv2.CAP_FFMPEG, params=threads),
        VideoCapture(path, cv2.CAP_FFMPEG, tuple(threads)),
        VideoCapture(source=io.BytesIO(clip.read_bytes()), apiPreference=cv2.CAP_FFMPEG, params=[]),
    ):
        same(capture.read(), first)
    capture = VideoCapture()
    assert capture.open(filename=path, apiPreference=cv2.CAP_FFMPEG, params=threads)
    assert capture.get(cv2.CAP_PROP_N_THREADS) == 1
    assert type(VideoCapture(index=99, apiPreference=cv2.CAP_V4L2)) is THEIRS
    assert type(VideoCapture(np.int64(99))) is THEIRS


@pytest.mark.parametrize(
    "params", [[cv2.CAP_PROP_BRIGHTNESS, 1], [cv2.CAP_PROP_ORIENTATION_AUTO, 0]]
)
def test_parameters_that_opencv_refuses_open_nothing(clip, params):
    for library in (VideoCapture, THEIRS):
        assert not library(str(clip), cv2.CAP_FFMPEG, params).isOpened()
    capture = VideoCapture()
    capture.setExceptionMode(True)
    with pytest.raises(cv2.error, match="CAP_PROP_N_THREADS"):
        capture.open(str(clip), cv2.CAP_FFMPEG, params)


def test_raw_packets_are_opencvs(clip):
    raw = [cv2.CAP_PROP_FORMAT, -1]
    assert type(VideoCapture(str(clip), cv2.CAP_FFMPEG, raw)) is THEIRS


@pytest.mark.parametrize(
    "pixel_format", ["yuv420p", "yuv444p", "yuvj422p", "gray", "gray16le", "yuv420p10le", "bgr0"]
)
def test_unconverted_frames_are_first_planes(tmp_path, pixel_format):
    path = tmp_path / "a.mkv"
    codec = "mjpeg" if pixel_format.startswith("yuvj") else "ffv1"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 70, 46, pixel_format
        pixels = np.random.default_rng(0).integers(0, 256, (46, 70, 3), np.uint8)
        for _ in range(6):
            frame = av.VideoFrame.from_ndarray(pixels, "rgb24").reformat(format=pixel_format)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    ours, theirs = both(path)
    assert theirs.set(cv2.CAP_PROP_CONVERT_RGB, 0)
    if pixel_format in ("yuv420p10le", "bgr0"):  # OpenCV gives a part of the bytes of each row
        assert not ours.set(cv2.CAP_PROP_CONVERT_RGB, 0)
        assert ours.get(cv2.CAP_PROP_CONVERT_RGB) == 1
        unconverted = [cv2.CAP_PROP_CONVERT_RGB, 0]
        assert not VideoCapture(str(path), cv2.CAP_FFMPEG, unconverted).isOpened()
        return
    assert ours.set(cv2.CAP_PROP_CONVERT_RGB, 0)
    for _ in range(6):
        same(ours.read(), theirs.read())
        assert ours.get(cv2.CAP_PROP_FORMAT) == theirs.get(cv2.CAP_PROP_FORMAT)
    assert ours.set(cv2.CAP_PROP_CONVERT_RGB, 1)
    assert ours.set(cv2.CAP_PROP_POS_FRAMES, 0)
    assert ours.read()[1].shape == (46, 70, 3)


@pytest.mark.skipif(not IS_5, reason="OpenCV 4 does not turn them")
def test_unconverted_frames_are_upright(tmp_path):
    path = encode_video(tmp_path / "turned.mp4", frames=4, size=(64, 48), rotation=90)
    ours, theirs = both(path)
    for capture in (ours, theirs):
        assert capture.set(cv2.CAP_PROP_CONVERT_RGB, 0)
    same(ours.read(), theirs.read())


def test_behind_the_last_frame_nothing_is_given(clip):
    ours, theirs = both(clip)
    for capture in (ours, theirs):
        capture.set(cv2.CAP_PROP_POS_FRAMES, 49)
        assert capture.read()[0]
        assert not capture.grab()
        assert capture.retrieve()[0] is False
    assert_same_properties(ours, theirs)
    for capture in (ours, theirs):
        capture.setExceptionMode(True)
        with pytest.raises(cv2.error):
            capture.read()


def test_parameters_of_the_codec_are_given_with_their_flag(clip):
    ours, theirs = both(clip)
    ours.grab()
    theirs.grab()
    same(ours.retrieve(flag=1), theirs.retrieve(flag=1))
    same(ours.retrieve(flag=0), theirs.retrieve(flag=0))


@pytest.mark.parametrize(
    ("name", "value", "first"),
    [
        ("POS_FRAMES", 17, 17),
        ("POS_FRAMES", 0, 0),
        ("POS_FRAMES", -4, 0),
        ("POS_MSEC", 1000, 25),
        ("POS_MSEC", 1010, 25),
        ("POS_MSEC", 1030, 26),
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
    ours, theirs = both(clip)
    for _ in range(3):
        assert_same_properties(ours, theirs)
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
    run_program([sys.executable, "-c", program], check=True)
