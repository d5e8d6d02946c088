"""Batches that the kernel would end the process for are an error; batches that fit are none."""

import ctypes

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.memory import Recycler
from videoloader.demo.videos import encode_video
from videoloader.machinery.workers import free_memory
from videoloader.machinery.workers.free_memory import available_memory
from videoloader.machinery.workers.shared_memory import SharedMemory

MIB = 1 << 20
MEMINFO = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: {} kB\nSwapFree: {} kB\n"


@pytest.fixture
def room(monkeypatch):
    """Sets how many bytes the kernel has left, as it counts: what was written is gone."""

    def set_room(size):
        monkeypatch.setattr(free_memory, "available_memory", lambda: size)

    return set_room


def shared(memory, size):
    return memory.allocate((size,), np.uint8)


def private(memory, size):
    ctypes.CDLL(None).malloc_trim(0)  # else freed memory may be given again, which is written
    return memory.empty((size,), dtype=torch.uint8, device="cpu").numpy()


BOTH = pytest.mark.parametrize(
    ("make", "allocate"), [(SharedMemory, shared), (lambda: Recycler(keep=2), private)]
)


@BOTH
def test_what_fits_is_given_to_the_byte(room, make, allocate):
    room(32 * MIB)
    allocate(make(), 32 * MIB)
    with pytest.raises(
        vl.errors.ResourceError, match=r"a batch needs 0\.0 GB of memory, and 0\.0 GB of "
    ):
        allocate(make(), 32 * MIB + 1)


@BOTH
def test_memory_that_was_promised_counts_until_it_is_written(room, make, allocate):
    memory = make()
    room(64 * MIB)
    first = allocate(memory, 32 * MIB)
    first[: 16 * MIB] = 1
    room(48 * MIB)  # the kernel has given the half
    second = allocate(memory, 32 * MIB)
    with pytest.raises(
        vl.errors.ResourceError, match=r"for batches that are being decoded; .*prefetch"
    ):
        allocate(memory, 24 * MIB)
    first[:], second[:] = 1, 1
    room(24 * MIB)
    allocate(memory, 24 * MIB)


@BOTH
def test_memory_that_is_used_again_needs_no_room(room, make, allocate):
    memory = make()
    room(32 * MIB)
    first = allocate(memory, 32 * MIB)
    first[:] = 1
    room(0)
    address = first.__array_interface__["data"][0]
    del first
    assert allocate(memory, 32 * MIB).__array_interface__["data"][0] == address


def test_memory_that_nobody_uses_is_given_back_first(room, monkeypatch):
    memory = SharedMemory()
    room(64 * MIB)
    kept = shared(memory, 32 * MIB)
    del kept
    monkeypatch.setattr(free_memory, "available_memory", lambda: (32 if memory._free else 64) * MIB)
    shared(memory, 48 * MIB)
    with pytest.raises(vl.errors.ResourceError):
        shared(memory, 80 * MIB)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_batches_that_are_kept_are_counted(tmp_path, room, workers, on_error):
    encode_video(tmp_path / "a.mp4", frames=12, size=(64, 64))
    wanted = [vl.ClipRequest(tmp_path / "a.mp4", range(6), size=1024)] * 2
    size, kept = 2 * 6 * 3 * MIB, []
    with vl.BatchDecoder(workers=workers) as decoder:
        for left in (size * 5 // 2, size * 3 // 2):
            room(left)
            kept.append(decoder.decode(wanted, on_error=on_error))
        room(size // 2)
        with pytest.raises(
            vl.errors.ResourceError, match=r"a batch needs .* or fewer batches ahead"
        ):
            decoder.decode(wanted, on_error=on_error)
        del kept[0]
        again = decoder.decode(wanted, on_error=on_error)
    assert torch.equal(again.frames, kept[0].frames)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_says_what_to_change_and_lists_no_failure(tmp_path, room, workers):
    encode_video(tmp_path / "a.mp4", frames=12, size=(64, 64))
    shared_decoder("cpu", workers).close()  # else it may have memory that fits from another loader
    room(30 * MIB)
    options = {"size": 1024, "workers": workers, "on_error": "skip", "batch_size": 2}
    loader = vl.Loader([tmp_path / "a.mp4"] * 2, vl.UniformClip(6), **options)
    with loader, pytest.raises(vl.errors.ResourceError, match="use a smaller batch"):
        next(iter(loader))
    assert not loader.failures


@pytest.fixture
def group(tmp_path):
    """Makes a control group of a version with a limit, bytes in use, and files kept in memory."""

    def make(version, limit, used, files):
        root = tmp_path if version == 2 else tmp_path / "memory"
        root.mkdir(exist_ok=True)
        names = {
            2: ("memory.max", "memory.current", ""),
            1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        }[version]
        (root / names[0]).write_text(f"{limit}\n")
        (root / names[1]).write_text(f"{used}\n")
        kept = f"{names[2]}inactive_file {files // 4}\n{names[2]}active_file {files - files // 4}\n"
        (root / "memory.stat").write_text(f"anon 7\nshmem 9\n{kept}")
        return tmp_path

    return make


@pytest.mark.parametrize("version", [1, 2])
def test_available_memory_is_what_host_and_group_both_have(tmp_path, group, version):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(MEMINFO.format(600, 50))
    assert available_memory(tmp_path, meminfo) == 650 << 10
    # 100,000 bytes are left, 8,000 are files that the kernel lets go of, the rest is swapped out.
    root = group(version, 400_000, 300_000, 8_000)
    assert available_memory(root, meminfo) == 108_000 + (50 << 10)
    assert available_memory(group(version, 1 << 62, 300_000, 8_000), meminfo) == 650 << 10
    assert available_memory(group(version, "max", 300_000, 8_000), meminfo) == 650 << 10


def test_the_machine_has_memory_available():
    assert available_memory() > 0
    assert available_memory(meminfo=free_memory._MEMINFO / "none") > 0
