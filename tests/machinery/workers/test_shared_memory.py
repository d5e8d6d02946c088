"""Shared memory goes when nothing views it any more, whatever ends first."""

import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.machinery.workers.shared_memory import SharedMemory

ROUNDS = 24
SHAPE = (1 << 20,)


def held():
    """Descriptors and mappings of shared memory, all descriptors, and resident shared bytes."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    files = sum("memfd:videoloader" in link for link in links)
    maps = Path("/proc/self/maps").read_text().count("memfd:videoloader")
    status = Path("/proc/self/status").read_text()
    (resident,) = [int(line.split()[1]) for line in status.splitlines() if "RssShmem" in line]
    return files, maps, len(links), resident << 10


@pytest.fixture(autouse=True)
def collected():
    """Nothing of earlier tests is about."""
    gc.collect()


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "clip.mp4"
    encode_video(path, frames=2, size=(256, 144))
    return path


@pytest.mark.parametrize(
    ("keep", "end"),
    [("batch", "close"), ("a view", "close"), ("numpy", "drop"), ("nothing", "drop")],
)
def test_batches_that_outlive_their_decoder_leave_no_memory(clip, keep, end):
    request = (clip, [0] * 8)  # decoded once, copied
    vl.BatchDecoder(workers=1).decode([request])  # whatever is loaded once is loaded
    gc.collect()
    files, maps, open_files, resident = held()
    for _ in range(3):
        decoder = vl.BatchDecoder(workers=1)
        batch = decoder.decode([request, request])
        other = decoder.decode([request])
        view = {
            "batch": batch,
            "a view": batch.clips[1].frames[3:, ::2],
            "numpy": batch.frames.numpy()[1:],
            "nothing": None,
        }[keep]
        del batch
        if end == "close":
            decoder.close()
        del decoder
        assert other.frames.any()
        assert held()[1] - maps == 1 + (keep != "nothing")
        del other, view
    gc.collect()
    now = held()
    assert now[:2] == (files, maps)
    assert now[2] <= open_files  # fewer where something of earlier tests has ended meanwhile
    assert now[3] <= resident + (8 << 20)


def test_a_closed_memory_gives_back_each_segment_with_its_last_view():
    memory = SharedMemory()
    before = held()
    arrays = [memory.allocate(SHAPE, np.uint8) for _ in range(3)]
    memory.close()
    assert held()[:2] == (before[0] + 6, before[1] + 3)  # each mapping has a file of its own
    view = torch.from_numpy(arrays[1][10:20])
    for number in (0, 2):
        arrays[number] = None
    assert held()[1] == before[1] + 1
    arrays[1] = None
    assert held()[1] == before[1] + 1
    view[:] = 3
    del view
    assert held()[:3] == before[:3]


def test_memory_is_usable_after_it_was_closed():
    memory = SharedMemory()
    before = held()
    memory.allocate(SHAPE, np.uint8)
    memory.close()
    array = memory.allocate(SHAPE, np.uint8)
    address = array.__array_interface__["data"][0]
    del array
    array = memory.allocate(SHAPE, np.uint8)
    assert array.__array_interface__["data"][0] == address
    memory.close()
    del array
    assert held()[:3] == before[:3]


def test_views_may_die_in_any_thread_while_others_allocate():
    memory = SharedMemory()
    before = held()
    clashes = []

    def work(number):
        kept = []
        for round_ in range(200):
            array = memory.allocate((4096 * (1 + round_ % 3),), np.uint8)
            array[:] = number
            kept.append(array)
            if len(kept) > 3:
                oldest = kept.pop(0)
                if (oldest != number).any():
                    clashes.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.close()
    assert not clashes
    assert held()[:3] == before[:3]


def test_batches_of_about_the_same_size_take_turns_in_the_same_memory():
    memory = SharedMemory()
    sizes = np.random.default_rng(0).integers(1_900_000, 2_000_000, 50).tolist()
    segments = set()
    for size in sizes:
        segments.add(memory.locate(memory.allocate((size,), np.uint8)).segment)
    assert len(segments) == 1
    assert memory.size < 2_000_000 * 9 / 8
