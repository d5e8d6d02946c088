"""Frames asked for one call after the other: read on, not decoded anew, and never another frame."""

import random

import numpy as np
import pytest

import videoloader as vl
from videoloader import DecodeError
from videoloader.demo.videos import encode_video

FRAMES = 60
# Codecs and the ways in which a decoder gives frames later than their packets come.
CLIPS = {
    "h264": {"codec": "libx264", "options": {"bf": "3", "g": "30", "threads": "1"}},
    "h264 in order": {"codec": "libx264", "options": {"bf": "0", "g": "30", "threads": "1"}},
    "GOPs of two": {"codec": "libx264", "options": {"g": "2", "threads": "1"}},
    "open GOP": {
        "codec": "libx264",
        "options": {"bf": "2", "g": "12", "x264-params": "open-gop=1:threads=1"},
    },
    "hevc": {"codec": "libx265", "options": {"x265-params": "pools=1:keyint=25:log-level=none"}},
    "vp9": {"codec": "libvpx-vp9", "options": {"g": "30", "deadline": "realtime"}},
    "mpeg4": {"codec": "mpeg4", "options": {"bf": "2", "g": "20"}},
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forward")
    made = {}
    for name, options in CLIPS.items():
        path = encode_video(folder / f"{name}.mp4", size=(64, 48), frames=FRAMES, **options)
        with vl.Video(path, threads=1) as video:
            made[name] = path, video[:].numpy()  # one call for all: decoded from end to end
    return made


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CLIPS)
def test_going_through_a_video_decodes_each_packet_once(clips, fed, name, threads):
    path, frames = clips[name]
    with vl.Video(path, threads=threads) as video:
        for number in range(FRAMES):
            assert np.array_equal(video[number].numpy(), frames[number]), number
        packets = len(video.index.packets)
    assert fed() <= packets + 1  # the first frame is decoded by itself


@pytest.mark.parametrize("name", CLIPS)
def test_any_walk_through_a_video_gives_its_frames(clips, name):
    path, frames = clips[name]
    draw = random.Random(name)
    with vl.Video(path, threads=1) as video:
        place = 0
        for _ in range(120):
            count = draw.choice([1, 1, 1, 2, 5])
            step = draw.choice([1, 1, 1, 2, 3])
            numbers = [n for n in range(place, place + count * step, step) if n < FRAMES]
            found = video.get_frames(numbers).frames.numpy()
            assert np.array_equal(found, frames[numbers]), numbers
            place = (place + draw.choice([0, 1, 1, count * step, 7, -2, 25])) % FRAMES


def test_other_calls_in_between_do_no_harm(clips):
    path, frames = clips["h264"]
    with vl.Video(path, threads=1) as video:
        for number in range(20):
            assert np.array_equal(video[number].numpy(), frames[number])
            if number % 3 == 0:
                ((_, surface),) = video.decode([40])
                assert surface.height == 48
            if number % 4 == 0:
                assert np.array_equal(video[59 - number].numpy(), frames[59 - number])


def test_headers_that_are_known_leave_packets_out_and_reading_on_copes(clips):
    path, frames = clips["h264"]
    index = vl.index_video(path, headers=True)
    assert index.disposable.any()
    with vl.Video(path, index=index, threads=1) as video:
        for number in [*range(0, FRAMES, 3), *range(10, 30)]:
            assert np.array_equal(video[number].numpy(), frames[number]), number


def test_damage_on_the_way_fails_just_the_frames_that_need_it(clips):
    path, _ = clips["h264"]
    index = vl.index_video(path)
    data = bytearray(path.read_bytes())
    for frame in (9, 14):
        packet = index.packets[int(index.frame_packets[frame])]
        start, size = int(packet["offset"]) + 4, int(packet["size"]) - 4
        data[start : start + size] = bytes(size)
    found, expected = [], []
    with vl.Video(bytes(data), threads=1) as video:
        for number in range(FRAMES):
            found.append(_outcome(video, number))
            with vl.Video(bytes(data), threads=1) as fresh:
                expected.append(_outcome(fresh, number))
    assert found == expected
    failed = [number for number, outcome in enumerate(found) if isinstance(outcome, str)]
    assert {9, 14} <= set(failed) <= set(range(30))


def _outcome(video, number):
    try:
        return video[number].numpy().tobytes()
    except DecodeError as error:
        return str(error)
