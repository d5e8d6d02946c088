"""Frames asked for one call after the other: read on, not decoded anew, and never another frame."""

import random
import threading

import numpy as np
import pytest

import videoloader as vl
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.cpu import local
from videoloader.demo.videos import encode_video
from videoloader.errors import DecodeError
from videoloader.machinery.runtime.run_stats import NO_WORK
from videoloader.sources.opening import open_source

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
    "av1": {"codec": "libsvtav1", "options": {"g": "30", "preset": "12"}},
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


@pytest.fixture
def eager(monkeypatch):
    """Small clips get the threads of large ones."""
    monkeypatch.setattr(local, "LITTLE_WORK", 0)


def _chunks(start, stop, size):
    return [range(first, min(first + size, stop)) for first in range(start, stop, size)]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [7, 25])
@pytest.mark.parametrize("name", CLIPS)
def test_chunks_decode_each_packet_once(clips, fed, name, size, threads):
    path, frames = clips[name]
    with vl.Video(path, threads=threads) as video:
        for chunk in _chunks(0, FRAMES, size):
            found = video[chunk.start : chunk.stop].numpy()
            assert np.array_equal(found, frames[chunk.start : chunk.stop]), chunk
        packets = len(video.index.packets)
    # A short first chunk is decoded by itself. Several GOPs are divided, if little is spared.
    assert fed() <= packets + size + (packets // 8 if name == "GOPs of two" else 0)


@pytest.fixture(scope="module")
def long_gop(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "gop.mp4"
    encode_video(path, size=(64, 48), frames=90, options={"bf": "3", "g": "90", "threads": "1"})
    with vl.Video(path, threads=1) as video:
        return path, video[:].numpy()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_first_chunk_is_read_on_from(long_gop, fed, threads):
    path, frames = long_gop
    with vl.Video(path, threads=threads) as video:
        for chunk in _chunks(0, 90, 40):
            assert np.array_equal(video[chunk.start : chunk.stop].numpy(), frames[chunk]), chunk
        assert fed() == len(video.index.packets)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("wanted", [range(16), range(90), range(1, 41), range(0, 80, 2)])
def test_a_first_call_that_is_no_long_first_chunk_decodes_what_it_needs(long_gop, fed, wanted):
    path, frames = long_gop
    with vl.Video(path, threads=2) as video:
        assert np.array_equal(video.get_frames(wanted).frames.numpy(), frames[wanted])
        packets = fed()
        assert len(list(video.decode(wanted))) == len(wanted)  # by itself, on a decoder of its own
        assert fed() == 2 * packets


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 3])
def test_two_readers_in_turn_decode_each_packet_once(clips, fed, threads):
    path, frames = clips["h264 in order"]
    with vl.Video(path, threads=threads) as video:
        for pair in zip(_chunks(0, 30, 4), _chunks(30, 60, 4), strict=True):
            for chunk in pair:
                assert np.array_equal(video.get_frames(chunk).frames.numpy(), frames[chunk])
    assert fed() <= FRAMES + 2 * 4 + 2 * threads


def test_every_third_frame_in_chunks_decodes_each_packet_once_at_most(clips, fed):
    path, frames = clips["h264"]
    with vl.Video(path, threads=1) as video:
        for start in range(0, FRAMES, 12):
            found = video.get_frames(start=start, stop=start + 12, stride=3).frames.numpy()
            assert np.array_equal(found, frames[start : start + 12 : 3])
    assert fed() <= FRAMES + 12


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", CLIPS)
def test_chunks_in_any_order_are_those_of_a_plain_decode(clips, name, threads):
    path, frames = clips[name]
    draw = random.Random(f"{name} {threads}")
    with vl.Video(path, threads=threads) as video:
        places = [0, 30]
        for _ in range(60):
            reader = draw.randrange(2)
            count, step = draw.choice([1, 4, 9, 16, 40]), draw.choice([1, 1, 1, 2, 5, -1])
            start = max(0, places[reader] + draw.choice([0, 0, 0, 0, 1, 3, -1, -4, -30, 12]))
            numbers = [n for n in range(start, start + count * step, step) if 0 <= n < FRAMES]
            found = video.get_frames(numbers).frames.numpy()
            assert np.array_equal(found, frames[numbers]), numbers
            places[reader] = max(numbers, default=-1) + 1


def test_threads_that_read_chunks_of_one_video_get_their_frames(clips):
    path, frames = clips["open GOP"]
    same = []

    def read(start, size):
        for chunk in _chunks(start, FRAMES, size):
            found = video.get_frames(chunk).frames.numpy()
            same.append(np.array_equal(found, frames[chunk]))

    with vl.Video(path, threads=2) as video:
        readers = [threading.Thread(target=read, args=(5 * n, 3 + n)) for n in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert all(same)
    assert len(same) == sum(len(_chunks(5 * n, FRAMES, 3 + n)) for n in range(4))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [4, 16])
def test_damage_costs_just_the_chunks_that_need_it(clips, size, threads):
    path, frames = clips["h264"]
    index = vl.index_video(path)
    data = bytearray(path.read_bytes())
    packet = index.packets[int(index.frame_packets[14])]
    start, end = int(packet["offset"]) + 4, int(packet["offset"] + packet["size"])
    data[start:end] = bytes(end - start)
    good = next(n for n in range(FRAMES) if _fails(data, n))
    found = []
    with vl.Video(bytes(data), threads=threads) as video:
        for chunk in _chunks(0, FRAMES, size):
            with vl.Video(bytes(data), threads=threads) as fresh:
                expected = _outcome(fresh, slice(chunk.start, chunk.stop))
            found.append(_outcome(video, slice(chunk.start, chunk.stop)))
            assert found[-1] == expected
            if chunk.stop <= good or chunk.start >= 30:
                assert found[-1] == frames[chunk].tobytes()
    assert any(isinstance(outcome, str) for outcome in found)


def _fails(data, number):
    with vl.Video(bytes(data), threads=1) as video:
        return isinstance(_outcome(video, number), str)


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


def _outcome(video, frames):
    try:
        return video[frames].numpy().tobytes()
    except DecodeError as error:
        return str(error)


def _works(path, frames, chunks, index=None):
    """The work of decoding chunks of a file that stays open, call by call."""
    works = []
    with open_source(path) as source, BatchDecoder(workers=0, threads=1) as decoder:
        for chunk in chunks:
            batch = decoder.decode([vl.ClipRequest(source, chunk, index=index)])
            assert np.array_equal(batch.frames[0].numpy(), frames[chunk])
            works.append(batch.work)
    return works


def test_the_work_of_reading_on_is_counted(clips):
    path, frames = clips["h264"]
    index = vl.index_video(path)
    work = sum(_works(path, frames, _chunks(0, 30, 5), index), NO_WORK)
    assert 30 <= work.decoded <= work.packets
    assert work.bytes >= index.packets["size"][:30].sum()


def test_without_a_kept_index_no_decoder_is_left_to_read_on(clips):
    """An open file is indexed for each call, which costs no more packets than a first one."""
    path, frames = clips["h264"]
    chunks = _chunks(0, 30, 5)
    found = [work.packets for work in _works(path, frames, chunks)]
    assert found == [_works(path, frames, [chunk])[0].packets for chunk in chunks]


@pytest.mark.parametrize("packet", range(5, 29, 3))
def test_damage_of_a_reference_that_is_shown_later_fails_the_frames_before_it(
    clips, tmp_path, packet
):
    path = clips["h264"][0]
    place = vl.index_video(path).packets[packet]
    data, begin = bytearray(path.read_bytes()), int(place["offset"])
    middle, end = begin + int(place["size"]) // 2, begin + int(place["size"])
    data[middle:end] = bytes(end - middle)
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(data)

    def asked(video, number):
        try:
            return video[number].numpy().tobytes()
        except DecodeError:
            return None

    with vl.Video(damaged, threads=1) as video:
        for number in range(30):
            with vl.Video(damaged, threads=1) as alone:
                assert asked(video, number) == asked(alone, number), number
