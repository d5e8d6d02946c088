"""A loader in a process of its own on a GPU: its tensors come through memory of both processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from child_processes import children

import videoloader as vl
from videoloader.demo.videos import encode_video

pytestmark = pytest.mark.gpu

COUNT = 6
SLOW = 200_000_000  # cycles for which a stream is busy, about 0.1 s


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("process")
    found = [folder / f"{number}.mp4" for number in range(COUNT)]
    for number, path in enumerate(found):
        encode_video(path, frames=20 + number, size=(320, 240))
    return found


def loader(videos, *, process=True, **options):
    options = {"batch_size": 2, "shuffle": True, "dtype": "float16", "mean": 100.0, **options}
    clips = vl.RandomClip(4, stride=2)
    return vl.Loader(videos, clips, device="cuda", seed=3, process=process, **options)


def assert_same(batch, other):
    for name in ("frames", "frame_numbers", "sample", "mask", "times"):
        assert batch[name].device == other[name].device
        assert torch.equal(batch[name], other[name]), name


def brightened(sample):
    return {**sample, "frames": sample["frames"] + 1, "total": sample["frames"].float().sum()}


@pytest.mark.parametrize("transform", [None, brightened])
def test_pixels_are_those_of_a_loader_in_this_process(paths, transform):
    options = {"transform": transform, "size": (64, 96)}
    with loader(paths, **options) as apart, loader(paths, process=False, **options) as here:
        for _ in range(3):
            for batch, other in zip(apart, here, strict=True):
                assert batch["frames"].is_cuda
                assert_same(batch, other)


def test_batches_that_grow_fit_into_new_buffers(tmp_path):
    videos = []
    for number, size in enumerate([(160, 120), (320, 240), (640, 480), (960, 720)]):
        videos.append(tmp_path / f"{number}.mp4")
        encode_video(videos[-1], frames=10, size=size)
    options = {"batch_size": 1, "shuffle": False}
    with loader(videos, **options) as apart, loader(videos, process=False, **options) as here:
        for _ in range(2):
            for batch, other in zip(apart, here, strict=True):
                assert_same(batch, other)


def test_a_slow_stream_that_holds_batches_reads_what_they_held(paths):
    expected = []
    with loader(paths, process=False) as here:
        for _ in range(3):
            expected += [batch["frames"].double().sum().item() for batch in here]
    sums, kept = [], []
    with loader(paths) as apart, torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            for batch in apart:
                torch.cuda._sleep(SLOW)  # all that follows on this stream waits
                sums.append(batch["frames"].double().sum())
                kept.append(batch["frames"])
                kept = kept[-3:]
        assert [total.item() for total in sums] == expected


def test_memory_here_is_that_of_the_batches_and_no_more(paths):
    """The buffers are of the process; here it is what was received and what waits."""
    with loader(paths, prefetch=2) as apart:
        size = max(batch["frames"].untyped_storage().nbytes() for batch in apart)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(5):
            for batch in apart:
                del batch
        most = torch.cuda.max_memory_allocated() - before
    assert most <= (2 + 3) * size  # 2 wait, one is copied, one is handed over, one is held


def test_a_process_that_is_killed_is_replaced_and_batches_stay(paths):
    before = children()
    videos = paths * 8  # more batches than are made before the first is taken
    with loader(videos) as apart, loader(videos, process=False) as here:
        kept = []
        for number, (batch, other) in enumerate(zip(apart, here, strict=True)):
            kept.append((batch, other))
            if number == 0:
                for pid in children() - before:
                    if b"loader_worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
        assert apart.stats().engines["process_replaced"] == 1
        for batch, other in kept:
            assert_same(batch, other)


def test_batches_stay_when_the_loader_is_closed(paths):
    with loader(paths, process=False) as here:
        expected = next(iter(here))
    apart = loader(paths)
    batch = next(iter(apart))
    apart.close()
    torch.cuda._sleep(SLOW)
    assert_same(batch, expected)
    again = next(iter(apart))  # another process
    apart.close()
    assert again["frames"].isfinite().all()


@pytest.mark.parametrize("end", ["loader.close()", "del batch, loader", "raise SystemExit", "pass"])
def test_a_program_ends_without_a_word(paths, end):
    program = (
        "import sys, torch, videoloader as vl\n"
        "loader = vl.Loader(sys.argv[1:], vl.RandomClip(2), batch_size=1, device='cuda',\n"
        "    process=True)\n"
        "for batch in loader:\n"
        "    break\n"
        f"{end}\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, *map(str, paths)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
