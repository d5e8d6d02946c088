"""A video read in chunks on a GPU made of FFmpeg: each packet decoded once, nothing left behind."""

import gc
import logging
import math
import random
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from fake_gpu import FakeConverter, FakeDecoder, FakeEvent, decode, fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)

import videoloader as vl
from videoloader.decoding import reading
from videoloader.decoding.nvdec import hardware_decoder, pool, reader, sessions
from videoloader.decoding.nvdec.session import Session
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.errors import DecodeError, OutOfMemoryError
from videoloader.indexing.packets import PacketFlags

STREAMS = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "hevc_10bit.mkv", "vp9.webm"]


@pytest.fixture
def open_video(decoder, monkeypatch):
    """Opens videos that the emulated GPU decodes."""
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device: tensor)
    opened = []

    def open_one(path, **options):
        opened.append(vl.Video(path, threads=1, **options))
        opened[-1].device = torch.device("cuda", 0)
        opened[-1]._is_on_gpu = True
        return opened[-1]

    yield open_one
    for video in opened:
        video.close()


@pytest.fixture
def fed(decoder):
    """How many packets decoders were fed since it was last asked."""
    before = 0

    def count():
        nonlocal before
        now = decoder.stats()["gpu"]["packets"]
        before, found = now, now - before
        return found

    return count


@pytest.fixture
def chunks_of(monkeypatch):
    """Sets how many frames the chunks of readers have."""

    def chunks_of(count):
        monkeypatch.setattr(reading, "_edges", lambda frames, *_: _edges(frames, count))
        monkeypatch.setattr(reader, "GROWTH", 1)

    return chunks_of


def _edges(frames, count):
    yield from frames[::count]
    yield frames.stop


@pytest.fixture(scope="module")
def gops(tmp_path_factory):
    """A video of GOPs of 12 frames."""
    path = tmp_path_factory.mktemp("gops") / "a.mp4"
    options = {"bf": "2", "x264-params": "threads=1:keyint=12:min-keyint=12:scenecut=0"}
    return encode_video(path, size=(64, 48), frames=60, options=options)


def numbers(frames):
    return [read_frame_number(frame.numpy()) for frame in frames]


def test_who_keeps_a_frame_keeps_no_other(open_video, demo_folder):
    kept = list(open_video(demo_folder / "h264.mp4"))
    assert {frame.untyped_storage().nbytes() for frame in kept} == {kept[0].nbytes}


@pytest.mark.parametrize("count", [1, 7, 40, 1000])
@pytest.mark.parametrize("name", STREAMS)
def test_each_packet_is_decoded_once_whatever_chunks_are_read(
    open_video, fed, chunks_of, demo_folder, name, count
):
    chunks_of(count)
    video = open_video(demo_folder / name)
    assert numbers(video) == list(range(len(video)))
    assert fed() == len(video.index.packets)


@pytest.mark.parametrize("most", [1, 2, 8, 32])
@pytest.mark.parametrize("start", [0, 23])
@pytest.mark.parametrize("name", STREAMS)
def test_chunks_that_grow_decode_no_packet_twice(
    open_video, fed, demo_folder, monkeypatch, name, start, most
):
    monkeypatch.setattr(reader, "MOST", most)
    video = open_video(demo_folder / name)
    assert numbers(video.iterate(start)) == list(range(start, len(video)))
    assert fed() <= len(video.index.packets) - video.index.seek_packets[start]


@pytest.mark.parametrize("name", ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4"])
def test_a_chunk_takes_one_call(open_video, fake_gpu, chunks_of, demo_folder, name):
    chunks_of(25)
    video = open_video(demo_folder / name)
    assert numbers(video) == list(range(len(video)))
    assert len(fake_gpu.calls) <= math.ceil(len(video) / 25) + 2  # the first one, and the end


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4"])
def test_the_first_frame_takes_small_calls_and_the_whole_few(
    open_video, demo_folder, name, monkeypatch
):
    calls, feed = [], hardware_decoder._ShownOrder.feed

    def counting(order, packets):
        calls.append(len(packets))
        return feed(order, packets)

    monkeypatch.setattr(hardware_decoder._ShownOrder, "feed", counting)
    video = open_video(demo_folder / name)
    assert numbers(video) == list(range(len(video)))
    assert calls[0] <= 4
    # Few for the first frame, then one or two for 16 more, for 64 more and for the rest.
    assert len(calls) <= 8
    assert sum(calls) == len(video)


@pytest.mark.parametrize("has_headers", [False, True])
@pytest.mark.parametrize(("start", "size"), [(0, (45, 80)), (23, None), (59, (45, 80)), (75, None)])
def test_reading_begins_anywhere_and_resizes(
    open_video, decoder, fed, demo_folder, start, size, has_headers
):
    path = demo_folder / "h264_open_gop.mp4"
    video = open_video(path, index=vl.index_video(path, headers=has_headers))
    frames = list(video.iterate(start, size=size))
    packets = video.index.packets
    if frames:
        assert fed() <= len(packets) - video.index.seek_packets[start]
    wanted = decoder.decode([(path, range(start, len(video)))], size=size).clips[0].frames
    assert len(frames) == len(video) - start
    assert all(map(torch.equal, frames, wanted))


def test_frames_before_the_first_one_are_left_out_where_nothing_needs_them(
    open_video, fed, demo_folder
):
    video = open_video(demo_folder / "h264.mp4")
    assert numbers(video.iterate(80)) == list(range(80, 90))
    assert fed() < 70


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [3, 10])
def test_chunks_that_are_asked_for_are_read_on(open_video, fed, demo_folder, name, size):
    video = open_video(demo_folder / name)
    count = 48
    for start in range(0, count, size):
        clip = video.get_frames(start=start, stop=start + size)
        assert numbers(clip.frames) == clip.indices.tolist()
    # The first call is decoded by itself, the last ones run ahead.
    assert fed() <= count + 2 * size + 32


def test_gops_side_by_side_are_not_read_on_one_by_one(open_video, decoder, gops):
    """Several engines decode them sooner than one that goes on."""
    video = open_video(gops)
    for start in (0, 24):
        assert numbers(video[start : start + 24]) == list(range(start, start + 24))
    assert all(session.reading is None for session in decoder._gpu._pool._sessions.idle)


def test_two_readers_in_turn_decode_each_packet_once(open_video, fed, gops):
    video = open_video(gops)
    one, other = video.iterate(0), video.iterate(24)
    for number in range(36):
        assert numbers([next(one), next(other)]) == [number, number + 24]
    del one, other
    found = fed()
    assert found <= 60 + 36 + 2 * 64  # what the first one was begun ahead
    for start in range(0, 24, 4):
        for begin in (start, start + 24):
            assert numbers(video[begin : begin + 4]) == list(range(begin, begin + 4))
    assert fed() <= 2 * (24 + 4 + 24)


def test_any_walk_through_a_video_gives_its_frames(open_video, demo_folder):
    draw = random.Random(5)
    for name in ("h264_open_gop.mp4", "vp9.webm"):
        video = open_video(demo_folder / name)
        place, readers = 0, [video.iterate(0), video.iterate(30)]
        nexts = [0, 30]
        for _ in range(40):
            which, count, step = (
                draw.randrange(3),
                draw.choice([1, 2, 5, 9]),
                draw.choice([1, 1, 3]),
            )
            if which < 2:
                if (frame := next(readers[which], None)) is not None:
                    assert numbers([frame]) == [nexts[which]]
                    nexts[which] += 1
                continue
            wanted = [n for n in range(place, place + count * step, step) if n < len(video)]
            assert numbers(video.get_frames(wanted).frames) == wanted
            place = (place + draw.choice([0, count * step, count * step, 7, -2, 25])) % len(video)


def test_other_streams_may_take_the_session_of_a_reader(
    open_video, decoder, demo_folder, gops, monkeypatch
):
    monkeypatch.setattr(sessions, "_MOST_SESSIONS", 1)
    video = open_video(demo_folder / "vp9.webm")
    frames = video.iterate()
    for number in range(0, 40, 2):
        assert numbers([next(frames), next(frames)]) == [number, number + 1]
        batch = decoder.decode([(demo_folder / "vp9.webm", [number]), (gops, [5])], size=(48, 64))
        assert [numbers(clip.frames) for clip in batch.clips] == [[number], [5]]


def test_readers_that_are_given_up_leave_few_sessions_behind(open_video, decoder, demo_folder):
    video = open_video(demo_folder / "h264.mp4")
    for _ in range(12):
        assert numbers([next(video.iterate())]) == [0]
    assert decoder.stats()["gpu"]["sessions"] <= pool._PLACES + 1
    del video
    for _ in range(3):
        other = vl.Video(demo_folder / "h264.mp4")
        other.device = torch.device("cuda", 0)
        other._is_on_gpu = True
        assert numbers([next(other.iterate())]) == [0]
        other.close()
        del other
        gc.collect()
    assert decoder.stats()["gpu"]["sessions"] <= pool._PLACES + 2


def test_a_video_that_ends_keeps_no_session(open_video, decoder, demo_folder):
    video = open_video(demo_folder / "h264.mp4")
    for _ in range(3):
        assert len(list(video)) == 90
    (session,) = decoder._gpu._pool._sessions.idle
    assert not session.stands


def test_more_videos_are_read_at_once_than_there_are_threads(open_video, demo_folder):
    readers = [open_video(demo_folder / "hevc.mp4").iterate() for _ in range(6)]
    for number in range(3):
        assert numbers(next(reader) for reader in readers) == [number] * 6


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4"])
def test_from_a_lost_picture_on_the_cpu_decodes(open_video, fake_gpu, demo_folder, name, caplog):
    fake_gpu.drops = {40}
    video = open_video(demo_folder / name)
    with caplog.at_level(logging.WARNING):
        assert numbers(video) == list(range(len(video)))
    (message,) = [one.getMessage() for one in caplog.records if "on the CPU" in one.getMessage()]
    assert name in message
    assert "NVDEC gave no frame for packet" in message


def test_a_chunk_with_a_lost_picture_is_decoded_by_itself(open_video, fake_gpu, gops):
    video = open_video(gops)
    fake_gpu.drops = {20}
    for start in range(0, 60, 5):
        assert numbers(video[start : start + 5]) == list(range(start, start + 5))


def test_chunks_of_changing_lengths_fail_no_session(open_video, fake_gpu, demo_folder):
    video, place = open_video(demo_folder / "h264.mp4"), 0
    for count in [9, 9, 2, 5, 1, 7, 12, 3, 3, 1, 20, 2]:
        assert numbers(video[place : place + count]) == list(range(place, place + count))
        place += count
    assert len(fake_gpu.made) <= 2


@pytest.mark.parametrize("name", ["h264.mp4", "h264_open_gop.mp4", "vp9.webm"])
def test_no_walk_takes_a_lost_picture_for_the_next_one(open_video, fake_gpu, demo_folder, name):
    draw = random.Random(name)
    for _ in range(6):
        fake_gpu.drops = {draw.randrange(60), draw.randrange(60)}
        video, place = open_video(demo_folder / name), 0
        while place < 60:
            count = draw.choice([1, 2, 3, 8, 14])
            assert numbers(video[place : place + count]) == list(range(place, place + count))
            place += count + draw.choice([0, 0, 0, 1])


def test_without_timestamps_chunks_are_decoded_by_themselves(
    open_video, fake_gpu, monkeypatch, gops
):
    tag_of = FakeDecoder.tag_of
    monkeypatch.setattr(FakeDecoder, "tag_of", lambda decoder, size: tag_of(decoder, size) | 1)
    video = open_video(gops)
    for start in range(0, 60, 5):
        assert numbers(video[start : start + 5]) == list(range(start, start + 5))
    assert len(fake_gpu.made) > 10  # whoever was to go on is not used again


def test_a_video_that_begins_at_no_keyframe_is_read_on_the_cpu(open_video, fed, demo_folder):
    video = open_video(demo_folder / "h264.mp4")
    video.index.packets.flags.writeable = True
    video.index.packets["flags"] &= ~np.uint16(PacketFlags.KEY)
    assert numbers([next(video.iterate())]) == [0]
    assert fed() == 0


def test_what_the_gpu_cannot_convert_is_read_on_the_cpu(open_video, fed, demo_folder):
    video = open_video(demo_folder / "h264.mp4")
    frames = list(video.iterate(85, size=(45, 80), interpolation="bicubic"))
    assert fed() == 0
    video.device = torch.device("cpu")
    video._is_on_gpu = False
    wanted = list(video.iterate(85, size=(45, 80), interpolation="bicubic"))
    assert len(frames) == 5
    assert all(map(torch.equal, frames, wanted))


def test_other_extradata_on_the_way_begins_anew(open_video, gops):
    """As where files were joined; the bytes behind are not looked at by this codec."""
    index = vl.index_video(gops)
    key = int(index.frame_packets[index.keyframes[2]])
    ((_, data),) = index.extradata
    video = open_video(gops, index=replace(index, extradata=((0, data), (key, data + b"\0"))))
    assert numbers(video) == list(range(60))
    assert numbers(video.iterate(20)) == list(range(20, 60))
    for start in range(0, 60, 5):
        assert numbers(video[start : start + 5]) == list(range(start, start + 5))


def test_chunks_are_begun_before_they_are_asked_for(open_video, decoder, chunks_of, gops):
    chunks_of(4)
    submitted = []
    submit = decoder._gpu._pool.submit
    decoder._gpu._pool.submit = lambda jobs: submitted.extend(jobs) or submit(jobs)
    frames = open_video(gops).iterate()
    next(frames)
    assert len(submitted) == 1 + reading._AHEAD
    [next(frames) for _ in range(3)]
    assert len(submitted) == 1 + reading._AHEAD
    next(frames)
    assert len(submitted) == 2 + reading._AHEAD


def test_chunks_hold_little_memory(open_video, decoder, gops, monkeypatch):
    whole = 48 * 64 * 3
    monkeypatch.setattr(reader, "LARGE", 4 * whole)
    sizes = []
    allocate = decoder._gpu.allocate

    def note(shape, output):
        sizes.append(int(np.prod(shape)))
        return allocate(shape, output)

    monkeypatch.setattr(decoder._gpu, "allocate", note)
    video = open_video(gops)
    assert numbers(video) == list(range(60))
    assert max(sizes) == 4 * whole
    sizes.clear()
    list(video.iterate(size=(6, 8)))
    assert max(sizes) == 4 * 6 * 8 * 3  # as many frames, though they are small


def test_surfaces_are_not_used_after_the_next_call(open_video, gops, monkeypatch):
    """The emulated decoder overwrites them; most belong to later chunks."""
    monkeypatch.setattr(hardware_decoder, "MAX_CALL", 32)
    monkeypatch.setattr(reader, "MOST", 3)
    assert numbers(open_video(gops)) == list(range(60))


@pytest.fixture
def held(open_video, decoder, chunks_of, gops, monkeypatch):
    """A reader whose next chunk waits in the middle of its decoding.

    Gives the reader in a list, a list for what to call meanwhile, and the memory of that chunk.
    """
    chunks_of(4)
    holder, meanwhile, memory, late, begun = [], [], [], [], threading.Event()
    convert, allocate = Session._convert, decoder._gpu.allocate
    allocated = []

    def note(shape, output):
        made = allocate(shape, output)
        allocated.append(weakref.ref(made))
        return made

    def hold(session, frames, tiles, job):
        if [id(job)] == late and not memory:
            memory.append(allocated[-1])
            begun.set()
            while not meanwhile:
                time.sleep(0.01)
            meanwhile[0]()
            gc.collect()
            assert memory[0]() is not None
        convert(session, frames, tiles, job)

    monkeypatch.setattr(decoder._gpu, "allocate", note)
    holder.append(open_video(gops).iterate())
    monkeypatch.setattr(Session, "_convert", hold)
    [next(holder[0]) for _ in range(4)]
    submit = decoder._gpu._pool.submit

    def submit_late(jobs):
        late[:] = late or [id(jobs[0])]
        return submit(jobs)

    monkeypatch.setattr(decoder._gpu._pool, "submit", submit_late)
    next(holder[0])
    assert begun.wait(20)
    return holder, meanwhile, memory


def _over(decoder):
    """Wait until no thread of the pool is at work."""
    threads = decoder._gpu._pool._threads
    [future.result(20) for future in [threads.submit(time.sleep, 0.01) for _ in range(8)]]


def test_a_reader_that_is_closed_waits_for_what_is_being_written(held, decoder):
    holder, meanwhile, memory = held
    timer = threading.Timer(0.05, meanwhile.append, [lambda: None])
    timer.start()
    holder.pop().close()
    assert meanwhile
    gc.collect()
    assert memory[0]() is None
    _over(decoder)


def test_a_reader_may_be_collected_in_the_thread_that_decodes_for_it(held, decoder, monkeypatch):
    holder, meanwhile, memory = held
    waits = []
    monkeypatch.setattr(
        FakeEvent, "synchronize", lambda event: waits.append(memory[0]() is not None)
    )
    meanwhile.append(holder.clear)
    _over(decoder)
    assert waits
    assert all(waits)
    for _ in range(200):  # the thread may still hold its last job
        gc.collect()
        if memory[0]() is None:
            break
        time.sleep(0.02)
    assert memory[0]() is None
    assert decoder.stats()["gpu"]["sessions"] == 1


@pytest.mark.parametrize("most", [3, 5, 8, 20, 63])
@pytest.mark.parametrize("name", STREAMS)
def test_first_chunks_of_growing_lengths_are_read_on(
    open_video, fed, fake_gpu, demo_folder, name, most, monkeypatch
):
    monkeypatch.setattr(reader, "MOST", most)
    video = open_video(demo_folder / name)
    assert numbers(video) == list(range(len(video)))
    assert fed() == len(video.index.packets)
    assert len(fake_gpu.made) == 1


def test_errors_of_the_driver_are_ours_and_the_cpu_goes_on(open_video, gops, monkeypatch, caplog):
    video, decode_call, calls = open_video(gops), FakeDecoder.Decode, []

    def failing(decoder, packet):
        calls.append(packet)
        if len(calls) > 3:
            raise RuntimeError("the driver is confused")
        return decode_call(decoder, packet)

    monkeypatch.setattr(FakeDecoder, "Decode", failing)
    assert numbers(video) == list(range(60))
    assert "decoded on the CPU" in caplog.text


def test_a_lack_of_memory_is_an_error_of_the_file(open_video, decoder, gops, monkeypatch):
    def no_session(*_):
        raise MemoryError("no page-locked memory")

    monkeypatch.setattr(Session, "__init__", no_session)
    with pytest.raises(OutOfMemoryError, match=r"a\.mp4"):
        list(open_video(gops))

    def no_memory(shape, output):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(decoder._gpu, "allocate", no_memory)
    with pytest.raises(OutOfMemoryError, match=r"a\.mp4"):
        list(open_video(gops))


def test_reading_goes_on_with_new_decoders_when_these_are_closed(open_video, decoder, gops):
    frames = open_video(gops).iterate()
    begun = [next(frames) for _ in range(3)]
    decoder.close()
    decoder._gpu_engine()._device = torch.device("cpu")
    assert numbers([*begun, *frames]) == list(range(60))


def test_frames_in_front_of_damage_are_not_decoded_again(open_video, chunks_of, gops, caplog):
    chunks_of(8)
    index = vl.index_video(gops)
    damaged = np.zeros(len(index.packets), bool)
    damaged[index.frame_packets[41]] = True
    video = open_video(gops, index=index.with_flags(PacketFlags.DAMAGED, damaged))
    with pytest.raises(DecodeError):
        list(video)
    assert "from frame 40 on decoded on the CPU" in caplog.text


def test_the_memory_of_a_chunk_lives_while_it_is_written_though_the_reader_was_interrupted(
    open_video, decoder, chunks_of, gops, monkeypatch
):
    chunks_of(4)
    allocated, may_go, alive = [], threading.Event(), []
    allocate, convert, submit = decoder._gpu.allocate, Session._convert, decoder._gpu._pool.submit

    def note(shape, output):
        made = allocate(shape, output)
        allocated.append(weakref.ref(made))
        return made

    def hold(session, frames, tiles, job):
        if len(allocated) == 3:
            assert may_go.wait(20)
            gc.collect()
            alive.append(allocated[2]() is not None)
        convert(session, frames, tiles, job)

    def interrupted(jobs):
        submit(jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr(decoder._gpu, "allocate", note)
    frames = open_video(gops).iterate()
    next(frames)
    monkeypatch.setattr(Session, "_convert", hold)
    monkeypatch.setattr(decoder._gpu._pool, "submit", interrupted)
    [next(frames) for _ in range(3)]
    with pytest.raises(KeyboardInterrupt):
        next(frames)
    del frames
    may_go.set()
    for _ in range(2000):
        if alive:
            break
        time.sleep(0.01)
    assert alive
    assert all(alive)
    _over(decoder)


def test_a_chunk_whose_wait_is_interrupted_is_settled(open_video, chunks_of, gops, monkeypatch):
    chunks_of(4)
    frames = open_video(gops).iterate()
    next(frames)
    closed, waits, close = [], [], reader.BegunChunk.close
    monkeypatch.setattr(reader.BegunChunk, "close", lambda one: closed.append(one) or close(one))

    def interrupted(event):
        waits.append(event)
        if len(waits) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(torch.cuda.current_stream(), "wait_event", interrupted)
    [next(frames) for _ in range(3)]
    with pytest.raises(KeyboardInterrupt):
        next(frames)
    assert len(closed) == 2


def test_a_reader_may_be_collected_where_the_lock_of_the_pool_is_held(held, decoder):
    holder, meanwhile, _ = held
    with decoder._gpu._pool._changed:
        thread = threading.Timer(0.05, meanwhile.append, [lambda: None])
        thread.start()
        holder.pop().close()  # does not wait for a thread that wants the lock
    thread.join(20)
    _over(decoder)
