"""NVDEC sessions, on a GPU made of FFmpeg: the frames that were asked for, whatever the stream."""

import itertools
import threading
from concurrent.futures import wait

import numpy as np
import pytest
from fake_gpu import (  # noqa: F401  (fake_gpu is a fixture)
    OPENED,
    UINT8,
    FakeConverter,
    FakeDecoder,
    FakeStream,
    decode,
    fake_gpu,
    jobs_of,
)
from vp9_streams import with_hidden_frames

from videoloader.codecs.records import parameter_sets
from videoloader.codecs.registry import nal_syntax
from videoloader.decoding.nvdec import hardware_decoder as hardware_feed
from videoloader.decoding.nvdec import pool as nvdec_pool
from videoloader.decoding.nvdec import session as nvdec_session
from videoloader.decoding.nvdec import sessions
from videoloader.decoding.nvdec.hardware import unsupported_reason
from videoloader.decoding.nvdec.pool import NvdecPool
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing import index_video

STREAMS = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "hevc_10bit.mkv", "vp9.webm"]


@pytest.fixture
def pool(fake_gpu):
    pool = NvdecPool(0)
    yield pool
    pool.close()


@pytest.mark.parametrize("name", STREAMS)
def test_frames_in_any_order_are_those_that_were_asked_for(pool, demo_folder, name):
    rng = np.random.default_rng(7)
    count = index_video(demo_folder / name).num_frames
    clips = [rng.integers(0, count, 8).tolist(), [0], [count - 1, 0, count - 1]]
    assert decode(pool, demo_folder / name, clips) == clips


@pytest.mark.parametrize("name", STREAMS)
def test_all_frames_come_whatever_a_call_carries(pool, demo_folder, name, monkeypatch):
    frames = list(range(index_video(demo_folder / name).num_frames))
    for most in (1, 5, 32):
        monkeypatch.setattr(hardware_feed, "MAX_CALL", most)
        assert decode(pool, demo_folder / name, [frames]) == [frames]


def test_every_frame_alone_from_a_decoder_that_had_another_stream_before(pool, demo_folder):
    for frame in range(0, 48, 5):
        for name in STREAMS:
            assert decode(pool, demo_folder / name, [[frame]]) == [[frame]]


def test_decoders_are_kept(pool, fake_gpu, demo_folder):
    for frame in range(12):
        decode(pool, demo_folder / "h264.mp4", [[frame]])
    assert len(fake_gpu.made) <= 4  # one for each session at most
    assert pool.stats.decoders == len(fake_gpu.made)


def test_packets_that_no_frame_needs_are_not_fed(pool, demo_folder):
    decode(pool, demo_folder / "h264.mp4", [[0, 40, 80]])
    assert pool.stats.packets < 60
    assert pool.stats.surfaces == 3


def test_several_packets_go_in_with_one_call(pool, fake_gpu, demo_folder):
    decode(pool, demo_folder / "h264.mp4", [[89]])
    assert len(fake_gpu.calls) < pool.stats.packets / 4


def test_frames_of_vp9_go_in_together(pool, fake_gpu, demo_folder):
    for frames in ([*range(60)], [59, 40, 3], [10], [30, 31]):
        assert decode(pool, demo_folder / "vp9.webm", [frames]) == [frames]
    assert len(fake_gpu.calls) < pool.stats.packets / 2  # flushes are calls too


def test_vp9_that_shows_frames_later_is_refused(pool, fake_gpu, tmp_path):
    """NVDEC gives no frame for such a packet, or fails."""
    with_hidden_frames(tmp_path / "hidden.ivf", size=(192, 108))
    _, jobs = jobs_of(tmp_path / "hidden.ivf", [[9, 10, 11]])
    for job in 4 * jobs:  # one after another, so that one session is enough
        (future,) = pool.submit([job])
        with pytest.raises(UnsupportedError, match=r"hidden\.ivf: a packet shows an earlier frame"):
            future.result()
    assert not any(size for size, _ in fake_gpu.calls)
    assert len(fake_gpu.made) == 1  # the session is as good as new


def test_an_empty_packet_is_an_error_of_its_video(pool, fake_gpu, demo_folder):
    _, (job,) = jobs_of(demo_folder / "vp9.webm", [[0]])
    job.index.packets["size"][0] = 0
    with pytest.raises(DecodeError, match=r"vp9\.webm: NVDEC gave no frame for packet 0"):
        [future.result() for future in pool.submit([job])]


@pytest.mark.parametrize("name", ["h264.mp4", "vp9.webm"])
@pytest.mark.parametrize("lost", [1, 5, 17, 40, 44])
def test_a_lost_picture_within_a_call_is_never_taken_for_another(
    pool,
    fake_gpu,
    demo_folder,
    name,
    lost,
):
    fake_gpu.drops = {lost}
    _, jobs = jobs_of(demo_folder / name, [list(range(45))])
    with pytest.raises(DecodeError, match=rf"{name}: NVDEC gave no frame for packet"):
        [future.result() for future in pool.submit(jobs)]


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4", "vp9.webm"])
def test_a_lost_picture_that_nobody_wanted_gives_no_other_frame(
    pool,
    fake_gpu,
    demo_folder,
    name,
):
    errors = 0
    for lost in range(12):
        fake_gpu.drops = {lost}
        for wanted in ([[20]], [[9, 17]]):
            try:
                assert decode(pool, demo_folder / name, wanted) == wanted
            except DecodeError:
                errors += 1
    assert errors


def test_parameter_sets_are_fed_once(pool, fake_gpu, demo_folder, monkeypatch):
    monkeypatch.setattr(hardware_feed, "MAX_CALL", 5)
    index = index_video(demo_folder / "h264.mp4")
    decode(pool, demo_folder / "h264.mp4", [list(range(index.num_frames))])
    sets = parameter_sets(nal_syntax("h264"), index.extradata_of(0))
    head = sum(4 + len(unit) for unit in sets)
    assert len(sets) == 2
    given = sum(size for size, _ in fake_gpu.calls)
    assert given == head * len(index.keyframes) + index.packets["size"].sum()


@pytest.mark.parametrize("most", [1, 32])
def test_leading_pictures_that_the_decoder_drops_change_nothing(
    pool, demo_folder, monkeypatch, most
):
    path = demo_folder / "h264_open_gop.mp4"
    index = index_video(path)
    key = int(index.keyframes[1])
    assert index.leading[key - 1]
    monkeypatch.setattr(hardware_feed, "MAX_CALL", most)
    wanted = [[key, key + 1, key + 9]]
    assert decode(pool, path, wanted) == wanted
    assert pool.stats.frames < pool.stats.packets


def test_a_session_works_on_after_an_error(pool, fake_gpu, demo_folder):
    fake_gpu.drops = {3}
    _, jobs = jobs_of(demo_folder / "vp9.webm", [[3]])
    with pytest.raises(DecodeError):
        pool.submit(jobs[:1])[0].result()
    fake_gpu.drops = set()
    assert decode(pool, demo_folder / "vp9.webm", [[3]]) == [[3]]


def test_what_the_gpu_does_not_decode_is_known_before(fake_gpu, demo_folder, tmp_path):
    assert unsupported_reason(index_video(demo_folder / "h264.mp4"), 0) is None
    assert "av1" in unsupported_reason(index_video(demo_folder / "av1.mp4"), 0)
    assert "odd" in unsupported_reason(index_video(demo_folder / "odd_size.mp4"), 0)
    small = encode_video(tmp_path / "small.mp4", size=(32, 16), frames=2)
    assert "48" in unsupported_reason(index_video(small), 0)


def test_a_picture_of_another_size_than_the_index_says_is_refused(pool, demo_folder, monkeypatch):
    _, jobs = jobs_of(demo_folder / "h264.mp4", [[0]])
    monkeypatch.setattr(nvdec_session, "surface_shape", lambda index: (1, 1))
    with pytest.raises(UnsupportedError, match="changes its size"):
        pool.submit(jobs[:1])[0].result()


def test_a_size_that_changes_within_a_call_is_refused(pool, demo_folder, monkeypatch):
    _, jobs = jobs_of(demo_folder / "h264.mp4", [[*range(8)]])
    decode_call = FakeDecoder.Decode

    def changing(decoder, packet):
        frames = decode_call(decoder, packet)
        if len(frames) > 1:
            frames[-1].shape = 2, 2
        return frames

    monkeypatch.setattr(FakeDecoder, "Decode", changing)
    with pytest.raises(UnsupportedError, match="changes its size"):
        pool.submit(jobs[:1])[0].result()


def test_more_surfaces_than_the_table_has_rows(pool, demo_folder, monkeypatch):
    monkeypatch.setattr(nvdec_session, "_TABLE_ROWS", 16)
    clips = [list(range(90)), list(range(0, 90, 2)), [5, 5, 5]]
    assert decode(NvdecPool(0, threads=1), demo_folder / "h264.mp4", clips) == clips


class Watched:
    """A stream that notes when it was waited for."""

    def __init__(self):
        self.waits = 0

    def synchronize(self):
        self.waits += 1

    def __getattr__(self, name):
        return getattr(FakeStream(), name)


def test_jobs_that_are_cancelled_while_they_wait_are_over(fake_gpu, demo_folder, monkeypatch):
    pool = NvdecPool(0, threads=1)
    begun, may_go_on = threading.Event(), threading.Event()
    decode_one = nvdec_session.Session.decode

    def hold(session, job):
        begun.set()
        may_go_on.wait(60)
        return decode_one(session, job)

    monkeypatch.setattr(nvdec_session.Session, "decode", hold)
    _, (job,) = jobs_of(demo_folder / "h264.mp4", [[0]])
    first, *others = pool.submit([job] * 3)
    assert begun.wait(60)
    assert [future.cancel() for future in [first, *others]] == [False, *(True for _ in others)]
    may_go_on.set()
    assert not wait([first, *others], timeout=60).not_done
    pool.close()


@pytest.mark.parametrize(("small", "at_once"), [(1 << 19, 3), (0, 6)])
def test_small_pictures_get_a_thread_for_each_engine_and_large_ones_two(
    fake_gpu, demo_folder, monkeypatch, small, at_once
):
    monkeypatch.setattr(nvdec_pool, "SMALL", small)
    pool = NvdecPool(0, threads=6)  # for three engines
    begun, may_go_on = threading.Semaphore(0), threading.Event()

    def hold(session, job):
        begun.release()
        may_go_on.wait(60)

    monkeypatch.setattr(nvdec_session.Session, "decode", hold)
    _, (job,) = jobs_of(demo_folder / "h264.mp4", [[0]])
    futures = [future for _ in range(2) for future in pool.submit([job] * 6)]
    assert all(begun.acquire(timeout=60) for _ in range(at_once))
    assert not begun.acquire(timeout=0.1)
    may_go_on.set()
    assert not wait(futures, timeout=60).not_done
    pool.close()


def test_what_a_session_that_goes_has_queued_is_waited_for(fake_gpu, demo_folder, monkeypatch):
    pool = NvdecPool(0, threads=1)
    stream = watch(pool, demo_folder / "h264.mp4")
    monkeypatch.setattr(sessions, "_MOST_SESSIONS", 0)
    decode(pool, demo_folder / "h264.mp4", [[0]])
    assert stream.waits == 1
    assert (pool._sessions.idle, pool._sessions.count, pool._sessions.used) == ([], 0, 0)
    monkeypatch.undo()
    pool.close()


def test_what_idle_sessions_have_queued_is_waited_for_at_the_end(fake_gpu, demo_folder):
    pool = NvdecPool(0, threads=1)
    stream = watch(pool, demo_folder / "h264.mp4")
    pool.close()
    assert stream.waits == 1


def test_a_run_that_fails_is_not_being_written_into(fake_gpu, demo_folder):
    pool = NvdecPool(0, threads=1)
    stream = watch(pool, demo_folder / "h264.mp4")
    fake_gpu.drops = {70}
    with pytest.raises(DecodeError, match="gave no frame"):
        decode(pool, demo_folder / "h264.mp4", [list(range(90))])
    assert stream.waits == 2  # when it fails, and when the session goes
    pool.close()


def watch(pool, path):
    """The stream of the only session of a pool, which is idle."""
    decode(pool, path, [[0]])
    (session,) = pool._sessions.idle
    session._stream = Watched()
    return session._stream


class Queue(Watched):
    """A stream that knows which rows of a table what is queued on it is still to read."""

    def __init__(self):
        super().__init__()
        self.rows, self.launches = set(), 0

    def synchronize(self):
        super().synchronize()
        self.rows.clear()

    def queue(self, table):
        rows = set(range(table.ctypes.data, table.ctypes.data + table.nbytes, table.itemsize))
        assert not rows & self.rows, "they are written while they are read"
        self.rows |= rows
        self.launches += 1


class Event:
    """Knows behind how many launches it was recorded."""

    def record(self, stream):
        self.behind = stream.launches


@pytest.mark.parametrize("rows", [16, 4096])
def test_rows_are_not_written_while_they_are_read_and_the_event_is_behind_all(
    fake_gpu,
    demo_folder,
    monkeypatch,
    rows,
):
    monkeypatch.setattr(nvdec_session, "_TABLE_ROWS", rows)
    launch = FakeConverter.launch

    def note(converter, table, stream, tiles=None):
        stream.queue(table)
        launch(converter, table, stream, tiles)

    pool = NvdecPool(0, threads=1)
    decode(pool, demo_folder / "h264.mp4", [[0]])
    (session,) = pool._sessions.idle
    session._stream, session._filled = Queue(), Event()
    monkeypatch.setattr(FakeConverter, "launch", note)
    memory, jobs = jobs_of(demo_folder / "h264.mp4", [list(range(90)), [5, 5, 5]])
    events = [future.result() for future in pool.submit(jobs)]
    assert {event.behind for event in events} == {session._stream.launches}
    assert [read_frame_number(frame) for frame in memory[0]] == list(range(90))
    pool.close()


def test_two_gpus_of_one_process_decode_at_the_same_time(fake_gpu, demo_folder, monkeypatch):
    together = threading.Barrier(2)
    decode_pictures = FakeDecoder.Decode

    def meet(decoder, packet):
        if not decoder.__dict__.setdefault("has_met", False):
            decoder.has_met = True
            together.wait(20)  # fails unless a decoder of the other GPU runs
        return decode_pictures(decoder, packet)

    monkeypatch.setattr(FakeDecoder, "Decode", meet)
    clips, pools = [[[0, 9, 31]], [[5, 40]]], [NvdecPool(gpu, threads=1) for gpu in range(2)]
    parts = [jobs_of(demo_folder / "h264.mp4", each) for each in clips]
    # One job each, so that each GPU has one decoder, which meets that of the other.
    for part in (slice(1), slice(1, None)):
        begun = [pool.submit(jobs[part]) for pool, (_, jobs) in zip(pools, parts, strict=True)]
        for future in itertools.chain(*begun):
            future.result(20)
    assert [[read_frame_number(frame) for frame in clip] for (clip,), _ in parts] == [
        clip for (clip,) in clips
    ]
    assert sorted(arguments["gpuid"] for arguments in fake_gpu.made) == [0, 1]
    for pool in pools:
        pool.close()
