"""The clips have the traits that they promise, and their frames say their numbers."""

import dataclasses
import itertools
import os
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.demo.videos import (
    DEMO_VIDEOS,
    encode,
    encode_video,
    make_videos,
    read_frame_number,
)
from videoloader.errors import ArgumentError, UnsupportedError

VIDEOS = {video.name: video for video in DEMO_VIDEOS}


def decode(path):
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def demux(path):
    with av.open(str(path)) as container:
        return [packet for packet in container.demux(video=0) if packet.size]


def numbers(path):
    return [read_frame_number(frame.to_ndarray(format="rgb24")) for frame in decode(path)]


@pytest.fixture(params=DEMO_VIDEOS, ids=lambda video: video.name)
def video(request):
    return request.param


def test_every_frame_says_its_number(demo_folder, video):
    assert numbers(demo_folder / video.name) == list(range(video.frames))


def test_the_coded_size_and_format_are_those_of_the_table(demo_folder, video):
    frame = decode(demo_folder / video.name)[0]
    assert (frame.width, frame.height) == video.size
    assert frame.format.name == video.pixel_format
    assert frame.rotation == video.rotation


def test_every_picture_differs_from_the_one_before(demo_folder, video):
    pictures = [frame.to_ndarray(format="gray") for frame in decode(demo_folder / video.name)]
    below_the_number = [picture[picture.shape[0] // 4 :] for picture in pictures]
    for before, after in itertools.pairwise(below_the_number):
        assert (before != after).mean() > 0.001


@pytest.mark.parametrize(
    "name", ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "hevc_10bit.mkv", "variable_rate.mp4"]
)
def test_these_clips_have_b_frames(demo_folder, name):
    pts = [packet.pts for packet in demux(demo_folder / name)]
    assert pts != sorted(pts)


def test_the_long_gop_has_one_keyframe(demo_folder):
    assert [packet.is_keyframe for packet in demux(demo_folder / "h264.mp4")].count(True) == 1


def test_open_gops_have_frames_shown_before_the_keyframe_they_follow(demo_folder):
    packets = demux(demo_folder / "h264_open_gop.mp4")
    keyframes = [place for place, packet in enumerate(packets) if packet.is_keyframe][1:]
    assert keyframes
    assert any(packets[place + 1].pts < packets[place].pts for place in keyframes)


def test_the_variable_rate_shows_frames_for_the_times_of_the_table(demo_folder):
    video = VIDEOS["variable_rate.mp4"]
    times = [frame.pts * Fraction(frame.time_base) for frame in decode(demo_folder / video.name)]
    deltas = np.diff(times) * 600
    assert deltas.tolist() == [video.ticks[n % len(video.ticks)] for n in range(video.frames - 1)]
    assert len(set(deltas)) == 4


def test_the_odd_size_is_odd():
    width, height = VIDEOS["odd_size.mp4"].size
    assert width % 2 == height % 2 == 1


def test_av1_has_hidden_frames(demo_folder):
    # More frame headers (OBU types 3 and 6) than pictures shown.
    coded = 0
    for packet in demux(demo_folder / "av1.mp4"):
        data, place = bytes(packet), 0
        while place < len(data):
            header, place = data[place], place + 1 + (data[place] >> 2 & 1)
            size = shift = 0
            while True:
                byte, place = data[place], place + 1
                size |= (byte & 0x7F) << shift
                shift += 7
                if not byte & 0x80:
                    break
            coded += header >> 3 & 15 in (3, 6)
            place += size
    assert coded > VIDEOS["av1.mp4"].frames


def test_a_second_call_encodes_nothing(demo_folder):
    before = {path: path.stat().st_mtime_ns for path in sorted(demo_folder.iterdir())}
    assert sorted(make_videos(demo_folder)) == list(before)
    assert {path: path.stat().st_mtime_ns for path in sorted(demo_folder.iterdir())} == before


def test_only_the_missing_clip_is_made(demo_folder, tmp_path):
    for video in DEMO_VIDEOS[1:]:
        (tmp_path / video.name).touch()
    make_videos(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(VIDEOS)
    made = tmp_path / DEMO_VIDEOS[0].name
    assert made.read_bytes() == (demo_folder / made.name).read_bytes()
    assert not (tmp_path / DEMO_VIDEOS[1].name).read_bytes()


def test_a_failed_encoding_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(video, path):
        path.write_bytes(b"half a clip")
        raise KeyboardInterrupt

    monkeypatch.setattr("videoloader.demo.videos.encode", fail)
    with pytest.raises(KeyboardInterrupt):
        make_videos(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_same_arguments_give_the_same_bytes(tmp_path, video):
    short = dataclasses.replace(video, frames=16)
    once = encode(short, tmp_path / video.name).read_bytes()
    assert encode(short, tmp_path / f"again-{video.name}").read_bytes() == once


def test_a_clip_without_an_encoder_names_what_it_needs(tmp_path):
    video = type(DEMO_VIDEOS[0])(name="x.mp4", trait="", encoders={"no-such-encoder": {}})
    with pytest.raises(UnsupportedError, match=r"x\.mp4.*no-such-encoder"):
        encode(video, tmp_path / video.name)


@pytest.mark.parametrize(
    "pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p10le"]
)
@pytest.mark.parametrize("size", [(64, 48), (322, 178)])
def test_numbers_survive_any_format_and_size(tmp_path, pixel_format, size):
    path = encode_video(tmp_path / "x.mkv", size=size, pixel_format=pixel_format, frames=9)
    assert numbers(path) == list(range(9))


def test_pts_are_kept(tmp_path):
    pts = [0, 1, 5, 6, 600]
    time_base = Fraction(1, 90)
    path = encode_video(tmp_path / "x.mp4", frames=5, pts=pts, time_base=time_base)
    assert [frame.pts * Fraction(frame.time_base) for frame in decode(path)] == [
        n * time_base for n in pts
    ]


def test_container_options_reach_the_muxer(tmp_path):
    options = {"movflags": "+faststart"}
    path = encode_video(tmp_path / "x.mp4", frames=2, container_options=options)
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


@pytest.mark.parametrize("degrees", [90, 180, -90])
def test_rotation_reaches_the_container(tmp_path, degrees):
    path = encode_video(tmp_path / "x.mp4", frames=2, rotation=degrees)
    assert abs(decode(path)[0].rotation - degrees) % 360 == 0


@given(st.integers(0, 65535), st.integers(32, 200), st.integers(64, 400))
def test_drawn_numbers_are_read_at_any_size(number, height, width):
    # The oracle draws into an RGB array, block by block, apart from the encoder's luma planes.
    picture = np.full((height, width, 3), 90, np.uint8)
    row = height // 16
    for block, bit in enumerate(f"{number:016b}"):
        left, right = -(-block * width // 16), -(-(block + 1) * width // 16)
        picture[:row, left:right] = 255 * int(bit)
        picture[row : 2 * row, left:right] = 255 - 255 * int(bit)
    assert read_frame_number(picture) == number
    assert read_frame_number(picture.mean(axis=2)) == number


@pytest.mark.parametrize("level", [0, 90, 255])
def test_a_blank_picture_carries_no_number(level):
    with pytest.raises(ArgumentError, match="no frame number"):
        read_frame_number(np.full((48, 64, 3), level, np.uint8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frames": 0}, "frames must be"),
        ({"frames": 3, "pts": [0, 1]}, "pts must have"),
        ({"pixel_format": "rgb24"}, "planar YUV"),
        ({"pixel_format": "nv12"}, "planar YUV"),
        ({"rotation": 30}, "multiple of 90"),
    ],
)
def test_arguments_without_a_meaning_are_refused(tmp_path, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        encode_video(tmp_path / "x.mkv", **arguments)


@pytest.mark.parametrize("codec", ["aac", "no-such-encoder"])
def test_a_missing_video_encoder_is_named(tmp_path, codec):
    with pytest.raises(UnsupportedError, match=codec):
        encode_video(tmp_path / "x.mkv", codec=codec)


def test_an_encoder_leaves_the_scheduling_of_its_caller_as_it_was(tmp_path):
    """SVT-AV1 takes a real-time priority where it may."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    encode_video(tmp_path / "clip.mp4", codec="libsvtav1", frames=3, size=(64, 64))
    assert (os.sched_getscheduler(0), os.sched_getparam(0)) == before
