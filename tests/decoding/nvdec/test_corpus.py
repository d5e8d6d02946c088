"""Every real file that the GPU decodes: bit for bit FFmpeg's frames, in whatever order."""

import hashlib
import random
from collections import defaultdict

import numpy as np
import pytest
import torch
from corpus_files import INEXACT_TRANSFORM, corpus_files, has_reference
from vp9_streams import with_hidden_frames

import videoloader as vl
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE
from videoloader.decoding.nvdec.hardware import unsupported_reason
from videoloader.decoding.nvdec.pool import NvdecPool
from videoloader.decoding.nvdec.session import NvdecJob
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing import open_source
from videoloader.sampling import plan_decode

pytestmark = pytest.mark.gpu

FILES = corpus_files(lambda file: has_reference(file) and file.reference["frames"])
# Their inverse transform may differ from FFmpeg's, by a little.
NEAR = INEXACT_TRANSFORM | {"mpeg1video", "mpeg2video"}


class Keeper:
    """In the place of the conversion: keeps the planes of each surface, by frame number."""

    def __init__(self, index):
        self.index, self.frames = index, defaultdict(list)

    def launch(self, table, stream, tiles=None):
        import cupy

        rows = self.index.height * 3
        rows = rows if "444" in self.index.pixel_format else rows // 2
        wide = 2 if self.index.bit_depth > 8 else 1
        size = rows * self.index.width * wide
        for row in table:
            memory = cupy.cuda.UnownedMemory(int(row["luma"]), size, self)
            surface = cupy.ndarray(size, np.uint8, cupy.cuda.MemoryPointer(memory, 0))
            with stream:
                planes = surface.get()  # waits
            self.frames[int(row["destination"])].append(self.separated(planes, wide))

    def separated(self, planes, wide):
        """The planes as FFmpeg's raw video has them, one after another."""
        index = self.index
        samples = planes.view(f"<u{wide}")
        if wide == 2:
            samples = samples >> (16 - index.bit_depth)
        if "444" in index.pixel_format:
            return samples
        luma, chroma = np.split(samples, [index.width * index.height])
        return np.concatenate([luma, chroma[0::2], chroma[1::2]])


@pytest.fixture(scope="module")
def pool():
    pool = NvdecPool(0)
    yield pool
    pool.close()


def decode(pool, index, source, frames):
    """Raw pictures by frame number."""
    keeper, jobs = Keeper(index), []
    for run in plan_decode(index, frames):
        targets = np.zeros(len(run.frames), SURFACE_DTYPE)
        targets["destination"] = run.frames
        places = {packet: [n] for n, packet in enumerate(run.frame_packets.tolist())}
        jobs.append(NvdecJob(index, source, run, targets, places, keeper))
    for future in pool.submit(jobs):
        future.result()
    assert all(len(pictures) == 1 for pictures in keeper.frames.values())
    return {number: pictures[0] for number, pictures in keeper.frames.items()}


def is_right(file, number, picture, cpu):
    if file.facts["codec"] not in NEAR and not file.is_damaged:
        digest = hashlib.md5(np.ascontiguousarray(picture), usedforsecurity=False)
        return digest.hexdigest() == file.hashes[number]
    expected = np.concatenate([plane.ravel() for plane in cpu[number].planes])
    difference = np.abs(picture.astype(int) - expected)
    return difference.mean() < 1.0 and difference.max() < 32


def test_frames_that_are_shown_later_are_decoded_on_the_cpu(tmp_path):
    path = tmp_path / "hidden.ivf"
    with_hidden_frames(path, size=(256, 144))
    frames = [(path, range(0, 60, step)) for step in (1, 3)]
    with vl.BatchDecoder("cuda") as decoder:
        found = decoder.decode(frames).clips
        (reason,) = decoder.stats()["routed"]
    assert reason == "a packet shows an earlier frame, which NVDEC does not give"
    for made, wanted in zip(found, vl.decode_batch(frames).clips, strict=True):
        assert torch.equal(made.frames.cpu(), wanted.frames)


@pytest.mark.parametrize("file", FILES)
def test_frames_in_any_order_are_those_of_ffmpeg(pool, file):
    try:
        index = vl.index_video(file.path, stream=file.stream)
    except vl.VideoError as error:
        pytest.skip(str(error))
    reason = unsupported_reason(index, 0)
    if reason is not None:
        pytest.skip(reason)
    count = min(len(file.hashes), index.num_frames)
    rng = random.Random(file.path.name)
    with open_source(file.path) as source:
        for frames in (
            list(range(count)),
            list(reversed(range(0, count, 3))),
            rng.choices(range(count), k=min(count, 12)),
            [count - 1],
        ):
            try:
                found = decode(pool, index, source, frames)
            except UnsupportedError as error:
                pytest.skip(f"given to the CPU: {error}")
            except DecodeError:
                assert file.is_damaged
                return
            cpu = {}
            if file.facts["codec"] in NEAR or file.is_damaged:
                try:
                    cpu = dict(CpuDecoder(index, source).decode(plan_decode(index, frames)))
                except DecodeError:
                    pytest.xfail("damage that the CPU tells, and the GPU does not")
            wrong = [n for n in set(frames) if not is_right(file, n, found[n], cpu)]
            assert not wrong
