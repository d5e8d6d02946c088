"""Shared memory that is full is an error of ours, and no failure of a sample."""

import errno
import gc
import mmap
import os

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.machinery.workers.shared_memory import SharedMemory

TOLD_BY_TORCH = (
    "unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left on device (28)"
)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.EPERM])
@pytest.mark.parametrize(
    ("owner", "name"), [(os, "memfd_create"), (os, "ftruncate"), (mmap, "mmap")]
)
def test_a_segment_that_cannot_be_had(monkeypatch, owner, name, number):
    def full(*_):
        raise OSError(number, os.strerror(number))

    gc.collect()  # files that earlier tests left open
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(owner, name, full)
    with pytest.raises(vl.errors.ResourceError, match="shared memory"):
        SharedMemory().allocate((4,), np.uint8)
    monkeypatch.undo()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_full_dev_shm(monkeypatch):
    def full(_):
        raise RuntimeError(TOLD_BY_TORCH)

    monkeypatch.setattr(torch.Tensor, "share_memory_", full)
    with pytest.raises(vl.errors.ResourceError, match="/dev/shm"):
        vl.ClipDataset(["a.mp4"], vl.UniformClip(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: vl.RandomClip(10**9),
        lambda: vl.sampling.select_frames(num_frames=9, start=0, count=10**9),
        lambda: fn.decoders.video(b"", sequence_length=10**9),
        lambda: fn.decoders.video(b"", start_frame=0, end_frame=10**9),
        lambda: fn.decoders.video(b"", start_frame=0, sequence_length=10**9, fps=5),
    ],
)
def test_a_clip_of_more_frames_than_memory_can_number_is_refused_before_it_is_made(make):
    with pytest.raises(vl.VideoError, match="a clip has at most 16777216 frames, got 1000000000"):
        make()
