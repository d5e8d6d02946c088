"""A video read in chunks: each packet decoded once, one chunk ahead, nothing left behind."""

import threading
import time

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding import reading
from videoloader.demo.videos import encode_video

FRAMES = 70


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reading")
    options = {"bf": "3", "g": "30", "x264-params": "b-pyramid=normal:threads=1"}
    return encode_video(folder / "a.mp4", size=(64, 48), frames=FRAMES, options=options)


@pytest.mark.parametrize("has_headers", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("start", [0, 1, 17, 45])
def test_each_packet_is_decoded_once_and_none_before_its_keyframe(
    path, fed, start, threads, has_headers
):
    index = vl.index_video(path, headers=has_headers)
    with vl.Video(path, index=index, threads=threads) as video:
        expected = video.get_frames(start=start).frames
        before = fed()
        found = torch.stack(list(video.iterate(start)))
    assert torch.equal(found, expected)
    assert fed() - before <= len(index.packets) - int(index.seek_packets[start])


def test_disposable_packets_before_the_first_frame_are_left_out(path, fed):
    with vl.Video(path, threads=1) as video:
        frames = video.iterate(29)
        next(frames)
        frames.close()
    assert fed() < 29


@pytest.mark.parametrize("threads", [1, 2])
def test_all_frames_before_the_damage_are_given(path, threads):
    index = vl.index_video(path)
    data = bytearray(path.read_bytes())
    packet = index.packets[int(index.frame_packets[44])]
    begin, size = int(packet["offset"]) + 4, int(packet["size"]) - 4
    data[begin : begin + size] = bytes(size)
    with vl.Video(bytes(data), threads=threads) as video:
        good = next(n for n in range(30, FRAMES) if _fails(video, n))
        given = []
        with pytest.raises(vl.errors.DecodeError, match=f"frame {good} "):
            given.extend(video)
        assert len(given) == good


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_cut_off_behind_a_frame_does_not_cost_it(path, tmp_path, threads):
    index = vl.index_video(path)
    packet = index.packets[int(index.frame_packets[60])]
    copy = tmp_path / "b.mp4"
    copy.write_bytes(path.read_bytes())
    given = []
    with vl.Video(copy, threads=threads) as video:
        with copy.open("r+b") as file:
            file.truncate(int(packet["offset"]))
        with pytest.raises(vl.VideoError):
            given.extend(video)
        with pytest.raises(vl.VideoError):
            video[len(given)]
        video[len(given) - 1]
    assert 50 < len(given) <= 60


def _fails(video, number):
    try:
        video[number]
    except vl.errors.DecodeError:
        return True
    return False


def test_the_next_chunk_is_decoded_while_one_is_consumed():
    begun = [threading.Event(), threading.Event()]

    def decode(first, _):
        begun[first].set()
        return torch.tensor([first])

    chunks = reading._one_ahead(decode, iter([(0, 1), (1, 2)]))
    assert next(chunks).tolist() == [0]
    assert begun[1].wait(20)
    assert [chunk.tolist() for chunk in chunks] == [[1]]


def test_letting_go_early_waits_for_what_is_decoded_and_leaves_no_thread():
    before, over = set(threading.enumerate()), []

    def decode(first, _):
        time.sleep(0.02)
        over.append(first)
        return torch.empty(0)

    chunks = reading._one_ahead(decode, iter([(n, n + 1) for n in range(5)]))
    next(chunks)
    (thread,) = set(threading.enumerate()) - before
    chunks.close()
    assert over == [0, 1]
    thread.join(10)
    assert not thread.is_alive()


def test_the_thread_that_decodes_may_be_the_one_that_lets_go():
    holder = []

    def decode(first, _):
        while first and holder:
            holder.clear()  # as the garbage collector may
        return torch.empty(0)

    holder.append(reading._one_ahead(decode, iter([(0, 1), (1, 2), (2, 3)])))
    thread = threading.Thread(target=lambda: next(holder[0], None))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_a_frame_that_is_kept_keeps_little_more_than_a_chunk(path):
    with vl.Video(path, threads=2) as video:
        kept = [frame for n, frame in enumerate(video) if n % 20 == 0]
    size = np.prod(kept[0].shape)
    assert all(frame.untyped_storage().nbytes() <= 16 * size for frame in kept)
