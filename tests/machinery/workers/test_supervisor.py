"""Workers are watched: what kills one from outside costs nothing, and closing leaves none."""

import errno
import gc
import os
import signal
import subprocess
import threading
import time

import pytest
from child_processes import children, state_of
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.machinery.workers import supervisor
from videoloader.machinery.workers.process import WorkerProcess, start_program
from videoloader.machinery.workers.tasks import run_tasks

FOREVER = 1000


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "clip.mp4"
    encode_video(path, frames=30, size=(128, 96), options={"g": "5"})
    return str(path)


def numbers(batch):
    return [read_frame_number(frame.numpy()) for clip in batch.clips for frame in clip.frames]


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def started():
    """Workers that were started in a test; none is left after it."""
    before = children()
    yield lambda: children() - before
    assert children() == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_that_are_killed_while_idle_cost_nothing(clip, started, number):
    with vl.BatchDecoder(workers=2) as decoder:
        requests = [(clip, [frame]) for frame in range(0, 30, 5)]
        decoder.decode(requests)
        for pid in started():
            os.kill(pid, number)
        assert numbers(decoder.decode(requests)) == list(range(0, 30, 5))
        stats = decoder.stats()["cpu"]
    assert (stats["failures"], stats["replaced"]) == (0, 2)


def test_workers_that_are_killed_at_work_cost_nothing(clip, started, tmp_path):
    marker = tmp_path / "marker"
    with vl.BatchDecoder(workers=1) as decoder:
        requests = [(clip, [1]), (Misbehaving(clip, "sleep", FOREVER, marker=str(marker)), [2])]
        requests += [(clip, [13]), (clip, [27])]

        def kill():
            wait_for(marker.exists)
            for pid in started():
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        batch = decoder.decode(requests)
        killer.join()
        assert numbers(batch) == [1, 2, 13, 27]
        assert decoder.stats()["cpu"]["replaced"] == 1


@pytest.mark.parametrize(("deaths", "lost"), [(2, False), (3, True)])
def test_workers_that_are_killed_while_they_start_are_no_fault_of_a_clip(
    clip, started, monkeypatch, deaths, lost
):
    left = [deaths]
    start = WorkerProcess.__init__

    def begin(self, *arguments, **options):
        start(self, *arguments, **options)
        if left[0]:
            left[0] -= 1
            self.kill()

    monkeypatch.setattr(WorkerProcess, "__init__", begin)
    with vl.BatchDecoder(workers=1) as decoder:
        batch = decoder.decode([(clip, [3]), (clip, [16])], on_error="skip")
    assert numbers(batch) == ([16] if lost else [3, 16])
    assert len(batch.failures) == lost


def test_a_clip_that_kills_its_workers_is_the_only_one_lost(clip, started):
    crasher = Misbehaving(clip, "die", signal.SIGSEGV)
    with vl.BatchDecoder(workers=2) as decoder:
        requests = [(clip, [0]), (crasher, [3, 9]), (clip, [12]), (clip, [21])]
        batch = decoder.decode(requests, on_error="skip")
        stats = decoder.stats()["cpu"]
    assert batch.requests.tolist() == [0, 2, 3]
    assert numbers(batch) == [0, 12, 21]
    texts = {str(failure.error) for failure in batch.failures}
    assert texts
    for text in texts:
        assert text.startswith(f"{clip}: frame")
        assert "(signal SIGSEGV)" in text
    assert stats["replaced"] == 2 * stats["failures"]


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_full_shared_memory_is_no_fault_of_a_clip(clip, started, on_error):
    starved = Misbehaving(clip, "die", signal.SIGBUS)
    with vl.BatchDecoder(workers=2) as decoder:
        with pytest.raises(
            vl.errors.ResourceError, match=r"signal SIGBUS.*no memory left to share"
        ):
            decoder.decode([(clip, [0]), (starved, [3])], on_error=on_error)
        assert numbers(decoder.decode([(clip, [7]), (clip, [21])])) == [7, 21]


def test_a_hang_costs_its_clip_and_is_not_tried_again(clip, started):
    with vl.BatchDecoder(workers=1, time_limit=1.5) as decoder:
        requests = [(Misbehaving(clip, "sleep", FOREVER), [2]), (clip, [7])]
        batch = decoder.decode(requests, on_error="skip")
        assert numbers(batch) == [7]
        assert decoder.stats()["cpu"]["replaced"] == 1


def test_what_a_task_allocates_beyond_the_limit_costs_its_clip(clip, started):
    with vl.BatchDecoder(workers=1, memory_limit=300 << 20) as decoder:
        requests = [(clip, [1]), (Misbehaving(clip, "allocate", 2 << 30), [2]), (clip, [8])]
        batch = decoder.decode(requests, on_error="skip")
        assert numbers(batch) == [1, 8]
        assert isinstance(batch.failures[0].error, vl.errors.OutOfMemoryError)
        assert "clip.mp4: frame 2" in str(batch.failures[0].error)
        assert decoder.stats()["cpu"]["replaced"] == 0
    for limit in (0, -1, 1.5, "much", True):
        with pytest.raises(vl.errors.ArgumentError, match="memory_limit"):
            vl.BatchDecoder(memory_limit=limit)


def failing_after(monkeypatch, count):
    """Have processes not start once `count` have."""
    start = subprocess.Popen.__init__
    left = [count]

    def begin(*arguments, **options):
        if not left[0]:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        left[0] -= 1
        start(*arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", begin)
    # An object that was not made entirely has nothing to end.
    monkeypatch.setattr(subprocess.Popen, "__del__", lambda self: None)
    return left


def test_fewer_workers_do_where_no_more_start(clip, started, monkeypatch):
    failing_after(monkeypatch, 1)
    with vl.BatchDecoder(workers=3) as decoder:
        requests = [(clip, [frame]) for frame in range(0, 30, 5)]
        assert numbers(decoder.decode(requests)) == list(range(0, 30, 5))
        assert len(started()) == 1


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_that_no_worker_starts_is_told_and_no_fault_of_the_clips(
    clip, started, monkeypatch, on_error
):
    left = failing_after(monkeypatch, 0)
    with vl.BatchDecoder(workers=2) as decoder:
        with pytest.raises(vl.errors.DecodeError, match="no worker process can be started"):
            decoder.decode([(clip, [1])], on_error=on_error)
        left[0] = 2
        assert numbers(decoder.decode([(clip, [1])])) == [1]


def test_a_lost_task_fails_if_no_other_worker_starts(clip, started, monkeypatch):
    failing_after(monkeypatch, 1)
    with vl.BatchDecoder(workers=1) as decoder:
        crasher = Misbehaving(clip, "die", signal.SIGKILL)
        batch = decoder.decode([(crasher, [2])], on_error="skip")
        assert "SIGKILL" in str(batch.failures[0].error)


def test_a_process_that_does_not_start_leaves_no_descriptor(monkeypatch):
    failing_after(monkeypatch, 0)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="unavailable"):
            WorkerProcess(start_program)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_job_goes_on_with_the_workers_that_start_and_leaves_none(started, monkeypatch):
    left = failing_after(monkeypatch, 2)
    found = run_tasks("math:sqrt", [1, 4, 9], workers=3, time_limit=60)
    assert sorted(found) == [(1, 1), (4, 2), (9, 3)]
    left[0] = 0
    with pytest.raises(OSError, match="unavailable"):
        list(run_tasks("math:sqrt", [1, 4, 9], workers=3, time_limit=60))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_closing_ends_a_batch_of_another_thread_and_leaves_no_process(clip, started, workers):
    decoder = vl.BatchDecoder(workers=workers)
    decoder.decode([(clip, [0])])
    ends, rounds = [], []

    def work():
        try:
            while True:
                decoder.decode([(clip, [frame]) for frame in range(30)], on_error="skip")
                rounds.append(None)
                if rounds[10:]:  # `decode` after `close` begins anew
                    return
        except vl.VideoError as error:
            ends.append(error)

    for _ in range(5):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        decoder.close()
        for thread in threads:
            thread.join()
        decoder.close()
        assert not started()
        rounds.clear()
    assert all(isinstance(error, vl.errors.ClosedError) for error in ends)


def test_closing_does_not_wait_for_a_task_that_hangs(clip, started, tmp_path):
    marker = tmp_path / "marker"
    decoder = vl.BatchDecoder(workers=2)
    errors = []

    def work():
        try:
            decoder.decode([(Misbehaving(clip, "sleep", FOREVER, marker=str(marker)), [2])])
        except vl.VideoError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_for(marker.exists)
    begin = time.monotonic()
    decoder.close()
    assert not started()
    thread.join()
    assert time.monotonic() - begin < 10
    assert isinstance(errors[0], vl.errors.ClosedError)


def test_a_signal_handler_may_close_the_decoder_that_it_interrupts(clip, started, tmp_path):
    marker = tmp_path / "marker"
    decoder = vl.BatchDecoder(workers=1)
    before = signal.signal(signal.SIGUSR1, lambda *_: decoder.close())
    try:

        def send():
            wait_for(marker.exists)
            os.kill(os.getpid(), signal.SIGUSR1)

        threading.Thread(target=send).start()
        with pytest.raises(vl.errors.ClosedError):
            decoder.decode([(Misbehaving(clip, "sleep", FOREVER, marker=str(marker)), [2])])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not started()
    assert numbers(decoder.decode([(clip, [4])])) == [4]
    decoder.close()


def test_a_video_that_threads_use_on_and_on_can_be_closed(clip):
    video = vl.Video(clip)
    ends = []

    def work():
        try:
            while True:
                video.get_frames([3, 20])
        except vl.VideoError as error:
            ends.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    video.close()
    for thread in threads:
        thread.join()
    assert [type(end) for end in ends] == [vl.errors.ClosedError] * 3
    with pytest.raises(vl.errors.ClosedError, match=r"clip\.mp4"):
        video[0]


def test_a_pool_that_is_dropped_leaves_no_process(clip, started):
    decoder = vl.BatchDecoder(workers=2)
    decoder.decode([(clip, [0]), (clip, [20])])
    assert len(started()) == 2
    pids = started()
    del decoder
    assert not [pid for pid in pids if state_of(pid) != "Z"]


def test_a_decoder_does_not_work_twice_in_one_thread():
    use = supervisor.Use("clip.mp4")
    with use, pytest.raises(RuntimeError, match="in this very thread"), use:
        pass
    with use:
        pass
