"""Forks of a process whose threads decode: the child's locks are free, and its frames are right."""

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import videoloader as vl
from videoloader.demo.videos import read_frame_number
from videoloader.machinery.system.forking import cached_property

FORKS = 6
TIME_LIMIT = 60


def in_child(work):
    """Run a function in a fork; fail if it raises or hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        faulthandler.dump_traceback_later(TIME_LIMIT / 2)
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + TIME_LIMIT
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child hangs")


@contextmanager
def at_work(work, count=1):
    """Call a function in a loop in other threads meanwhile."""
    stop = threading.Event()
    errors, rounds = [], []

    def loop():
        try:
            while not stop.is_set():
                work()
                rounds.append(None)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=loop) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert rounds


def numbers(frames):
    return [read_frame_number(frame.numpy()) for frame in frames]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fork_uses_a_video_that_a_thread_of_its_parent_decodes(demo_folder, threads):
    wanted = [5, 40, 2]
    with vl.Video(demo_folder / "h264.mp4", threads=threads) as video:

        def work():
            assert numbers(video.get_frames(wanted).frames) == wanted

        work()
        with at_work(work):
            for _ in range(FORKS):
                in_child(work)
        work()


@pytest.mark.parametrize("kind", ["file", "bytes"])
def test_a_fork_uses_a_video_of_a_file_object_that_its_parent_reads(demo_folder, kind):
    path = demo_folder / "h264.mp4"
    with open(path, "rb") as file, vl.Video(file if kind == "file" else file.read()) as video:

        def work():
            assert numbers(video.get_frames([50, 3]).frames) == [50, 3]

        with at_work(work, 2):
            for _ in range(FORKS):
                in_child(work)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fork_uses_a_batch_decoder_that_a_thread_of_its_parent_uses(demo_folder, workers):
    requests = [(demo_folder / "h264.mp4", [7, 3]), (demo_folder / "vp9.webm", [30, 1])]
    with vl.BatchDecoder(workers=workers) as decoder:

        def work():
            batch = decoder.decode(requests)
            assert [numbers(clip.frames) for clip in batch.clips] == [[7, 3], [30, 1]]

        def work_and_close():
            work()
            decoder.close()

        work()
        with at_work(work):
            for _ in range(FORKS // 4 if workers else FORKS):
                in_child(work_and_close)
        work()


def test_frames_of_a_parent_stay_what_they_are_whatever_its_fork_decodes(demo_folder):
    path = demo_folder / "h264.mp4"
    with vl.BatchDecoder(workers=1) as decoder:
        decoder.decode([(path, [1] * 8)])  # dropped: memory that is used again
        held = decoder.decode([(path, [2] * 8)])

        def work():
            nonlocal held
            held = None
            for frame in range(10, 16):
                assert numbers(decoder.decode([(path, [frame] * 8)]).frames[0]) == [frame] * 8

        in_child(work)
        assert numbers(held.frames[0]) == [2] * 8


class Clips(Dataset):
    """Decodes by a decoder that was made before the workers of a loader are forked."""

    def __init__(self, decoder, path):
        self.decoder, self.path = decoder, path

    def __len__(self):
        return 6

    def __getitem__(self, number):
        return self.decoder.decode([(self.path, [number])]).frames[0, 0]


def test_workers_of_a_loader_that_are_forked_beside_a_decoding_thread(demo_folder):
    path = demo_folder / "h264.mp4"
    with vl.BatchDecoder(workers=0) as decoder:
        dataset = Clips(decoder, path)
        loader = DataLoader(
            dataset, batch_size=2, num_workers=2, multiprocessing_context="fork", timeout=TIME_LIMIT
        )
        with at_work(lambda: decoder.decode([(path, [60])])):
            found = torch.cat(list(loader))
    assert numbers(found) == list(range(6))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fork_goes_on_with_an_iteration_at_the_usual_switch_interval(demo_folder, threads):
    before = sys.getswitchinterval()
    with vl.Video(demo_folder / "h264.mp4", threads=threads) as video:
        frames = iter(video)
        next(frames)
        assert sys.getswitchinterval() < before

        def work():
            assert sys.getswitchinterval() == before
            assert numbers([next(frames), next(frames)]) == [1, 2]
            frames.close()
            video[3]
            assert sys.getswitchinterval() == before

        in_child(work)
        in_child(frames.close)
        assert numbers([next(frames)]) == [1]
        frames.close()
    assert np.isclose(sys.getswitchinterval(), before)


class Known:
    """What is worked out of it is waited for."""

    def __init__(self, entered=None, leave=None):
        self.entered, self.leave = entered, leave

    @cached_property
    def number(self):
        """Of anything."""
        if self.entered is not None:
            self.entered.set()
            self.leave.wait(TIME_LIMIT)
        return 7


def test_a_fork_works_out_what_another_thread_is_at():
    """`functools.cached_property` of Python 3.11 has one lock for the property of all objects."""
    entered, leave = threading.Event(), threading.Event()
    slow, mine = Known(entered, leave), Known()
    thread = threading.Thread(target=lambda: slow.number)
    thread.start()
    entered.wait(TIME_LIMIT)

    def work():
        assert mine.number == 7

    try:
        in_child(work)
    finally:
        leave.set()
        thread.join()
    assert slow.number == 7
    assert Known.number.__doc__ == "Of anything."


class _Freed:
    """In a cycle of its own, so that only a collection finds it."""

    def __init__(self, where):
        self.itself, self.where = self, where

    def __del__(self):
        self.where.append(os.getpid())


def test_a_fork_collects_no_garbage_of_its_parent():
    """Which may be memory of a GPU: freeing that aborts a fork."""
    freed = []
    gc.disable()
    try:
        _Freed(freed)

        def collect():
            gc.collect()
            assert not freed
            _Freed(freed)
            gc.collect()
            assert freed == [os.getpid()]  # its own is collected as ever

        in_child(collect)
    finally:
        gc.enable()
    gc.collect()
    assert freed == [os.getpid()]


@pytest.fixture
def torch_threads():
    """Torch computes with two threads, and has started them."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    compute()
    yield
    torch.set_num_threads(before)


def compute():
    assert torch.ones(1 << 22).mul_(2).sum() == 1 << 23


@pytest.mark.usefixtures("torch_threads")
@pytest.mark.parametrize("kind", ["batch", "loader"])
def test_a_fork_computes_with_torch_as_its_parent_did(demo_folder, kind):
    """Without the threads that torch waits for: they were those of the parent."""
    path = demo_folder / "h264.mp4"

    def work():
        if kind == "batch":
            frames = vl.decode_batch([(path, [3])], workers=0).frames[0]
        else:
            clips = vl.Loader([path], vl.UniformClip(1), batch_size=1, workers=0, layout="FHWC")
            (batch,) = clips
            frames = batch["frames"][0]
        assert len(frames) == 1
        compute()

    work()
    in_child(work)
    assert torch.get_num_threads() == 2
