"""Decoding in this process: any number of threads, decoders kept warm, exact about damage."""

import threading
from collections import Counter

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding.cpu import frame_decoder, local
from videoloader.demo.videos import encode_video, read_frame_number

COUNT = 72
SIZE = (96, 64)
GROUPS = {"many runs": "2", "a few runs": "12", "one run": "250"}


@pytest.fixture(scope="module", params=GROUPS)
def path(request, tmp_path_factory):
    options = {"g": GROUPS[request.param], "x264-params": "scenecut=0"}
    folder = tmp_path_factory.mktemp("local")
    return encode_video(folder / "clip.mp4", frames=COUNT, size=SIZE, options=options)


@pytest.fixture
def opened(monkeypatch):
    """Threads of the decoders that are opened, and packets that all are given."""
    counts, lock = Counter(), threading.Lock()
    begin, make = frame_decoder.open_decoder, frame_decoder.make_packet

    def open_decoder(*arguments, threads, **options):
        with lock:
            counts.update(threads=threads, decoders=1)
        return begin(*arguments, threads=threads, **options)

    def make_packet(*arguments):
        with lock:
            counts["packets"] += 1
        return make(*arguments)

    monkeypatch.setattr(frame_decoder, "open_decoder", open_decoder)
    monkeypatch.setattr(frame_decoder, "make_packet", make_packet)
    return counts


@pytest.fixture
def eager(monkeypatch):
    """Small clips get the threads of large ones."""
    monkeypatch.setattr(local, "LITTLE_WORK", 0)


CLIPS = {
    "all": range(COUNT),
    "sparse": [0, 71, 5, 23, 23, -1, 44, 60],
    "middle": range(30, 52),
    "backwards": range(20, 4, -3),
    "one": [37],
    "none": [],
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", CLIPS)
def test_any_number_of_threads_gives_the_frames_and_packets_of_a_batch(path, name, opened):
    frames = list(CLIPS[name])
    with vl.BatchDecoder(workers=0) as decoder:
        request = vl.ClipRequest(path, frames, pad_mode="constant", fill_value=9)
        expected = decoder.decode([request], layout="FCHW").clips[0]
    packets = opened.pop("packets", 0)
    for threads in (1, 2, 3, 7, None):
        with vl.Video(path, threads=threads) as video:
            opened.clear()
            clip = video.get_frames(frames, pad_mode="constant", fill_value=9, layout="FCHW")
            assert opened["packets"] == packets
            opened.clear()
            again = video.get_frames(frames, pad_mode="constant", fill_value=9, layout="FCHW")
            assert opened["decoders"] == 0  # they are kept
        for found in (clip, again):
            assert torch.equal(found.frames, expected.frames)
            assert found.indices.tolist() == expected.indices.tolist()
            assert found.times.tolist() == expected.times.tolist()
            assert found.mask.tolist() == expected.mask.tolist()
    pictures = expected.frames[torch.from_numpy(expected.mask)].permute(0, 2, 3, 1).numpy()
    assert [read_frame_number(picture) for picture in pictures] == [n for n in frames if n >= 0]


@pytest.mark.usefixtures("eager")
def test_threads_are_spread_over_runs_or_given_to_the_codec(path, opened):
    with vl.Video(path, threads=3) as video:
        opened.clear()
        video.get_frames(range(COUNT))
        runs = len(vl.sampling.plan_decode(video.index, range(COUNT)).runs)
    wanted = (5, 1) if runs == 1 else (3, 3)
    assert (opened["threads"], opened["decoders"]) == wanted


@pytest.mark.usefixtures("eager")
def test_a_long_run_has_threads_of_the_codec_beside_the_short_ones(tmp_path, opened):
    options = {"g": "60", "x264-params": "scenecut=0"}
    path = encode_video(tmp_path / "a.mp4", frames=COUNT, size=SIZE, options=options)
    with vl.Video(path, threads=2) as video:
        opened.clear()
        frames = video[:]
    assert (opened["threads"], opened["decoders"]) == (5, 2)
    assert [read_frame_number(frame.numpy()) for frame in frames] == list(range(COUNT))


def test_a_small_clip_is_decoded_by_one_thread(path, opened):
    with vl.Video(path, threads=4) as video:
        opened.clear()
        video.get_frames([1, 40])
    assert opened["threads"] == opened["decoders"] == 1


def test_a_file_that_a_batch_opens_is_let_go_of_with_it(path, opened):
    with vl.BatchDecoder(workers=0) as decoder:
        for _ in range(2):
            opened.clear()
            decoder.decode([(path, [3]), (path, [3, 4])])
            assert opened["decoders"] == 1
        (lane,) = decoder._cpu_engine()._lanes
        assert not lane._opened


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A file of which one packet in the middle of the one run is noise, and its sound frames."""
    folder = tmp_path_factory.mktemp("damaged")
    options = {"g": "250", "x264-params": "scenecut=0:bframes=0"}
    good = encode_video(folder / "good.mp4", frames=COUNT, size=SIZE, options=options)
    packet = vl.index_video(good).packets[40]
    data = bytearray(good.read_bytes())
    begin, end = packet["offset"] + 5, packet["offset"] + packet["size"]
    data[begin:end] = np.random.default_rng(1).integers(0, 256, end - begin, np.uint8).tobytes()
    bad = folder / "bad.mp4"
    bad.write_bytes(data)
    return bad


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_do_not_spoil_the_frames_before_damage(damaged, threads):
    with vl.Video(damaged, threads=threads) as video:
        frames = video.get_frames(range(40)).frames
        assert [read_frame_number(frame.numpy()) for frame in frames] == list(range(40))
        with pytest.raises(vl.errors.DecodeError, match=r"bad\.mp4: frame 40 .*packet"):
            video.get_frames(range(41))
        assert read_frame_number(video[39].numpy()) == 39  # the decoder is as new
        seen = []
        with pytest.raises(vl.errors.DecodeError, match=r"bad\.mp4: frame \d+ .*packet 40"):
            seen.extend(read_frame_number(frame.numpy()) for frame in video)
        assert seen == list(range(40))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [1, 4])
def test_the_frames_of_a_clip_that_fail_are_told_one_by_one(damaged, threads):
    with vl.BatchDecoder(workers=0, threads=threads) as decoder:
        requests = [(damaged, range(30, 50)), (damaged, range(10, 40, 7))]
        batch = decoder.decode(requests, on_error="mask")
    assert batch.clips[0].mask.tolist() == [number < 40 for number in range(30, 50)]
    assert batch.clips[1].mask.all()
    shown = [read_frame_number(frame.numpy()) for frame in batch.clips[0].frames[:10]]
    assert shown == list(range(30, 40))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("error", [TypeError("a mistake"), KeyboardInterrupt()], ids=repr)
def test_a_mistake_in_any_thread_is_raised(path, monkeypatch, error):
    original = frame_decoder.CpuDecoder.decode

    def decode(self, plan, **options):
        if max(run.frames.max() for run in plan) > 60:
            raise error
        yield from original(self, plan, **options)

    monkeypatch.setattr(frame_decoder.CpuDecoder, "decode", decode)
    with vl.Video(path, threads=3) as video, pytest.raises(type(error)):
        video.get_frames(range(COUNT))
