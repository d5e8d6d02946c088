"""How training code loads video with decord, written anew from what it is known to do.

Each program takes the module that stands for decord; what it gives is compared with FFmpeg's full
decode (PyAV), and with decord itself where that is installed.
"""

import importlib
import io
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from peer_frames import decoded

from videoloader.compat import decord as ours
from videoloader.demo.videos import X264, encode_video

COUNT = 75


def decord_itself():
    try:
        module = importlib.import_module("decord")
    except ImportError:
        return []
    return [module] if module.__name__ == "decord" else []


def videomae(decord, path):
    """Segments of a clip, one random start in each, all by one thread; frames in one batch."""
    reader = decord.VideoReader(path, num_threads=1, ctx=decord.cpu(0))
    length, stride, segments = 16, 2, 2
    share, span = len(reader) // segments, length * stride
    rng, numbers = np.random.RandomState(1), []
    for segment in range(segments):
        end = rng.randint(span, share) if share > span else share
        chosen = np.linspace(end - span, end, num=length)
        numbers += list(
            np.clip(chosen, max(end - span, 0), end - 1).astype(np.int64) + segment * share
        )
    reader.seek(0)
    return numbers, reader.get_batch(numbers).asnumpy()


def vjepa(decord, path):
    """Clips from equal partitions of a video at a wanted rate, from get_avg_fps."""
    reader = decord.VideoReader(path, num_threads=-1, ctx=decord.cpu(0))
    step = max(round(reader.get_avg_fps() / 5), 1)
    length, clips = 4, 2
    part = len(reader) // clips
    numbers = []
    for clip in range(clips):
        begin = clip * part
        chosen = np.linspace(begin, begin + length * step, num=length)
        numbers.extend(np.clip(chosen, begin, min(begin + part, len(reader)) - 1).astype(np.int64))
    reader.seek(0)
    return numbers, reader.get_batch(numbers).asnumpy()


def internvideo(decord, path):
    """The middle of each of eight segments, from bytes, as tensors by the torch bridge."""
    with open(path, "rb") as file:
        reader = decord.VideoReader(io.BytesIO(file.read()), num_threads=1)
    decord.bridge.set_bridge("torch")
    try:
        borders = np.linspace(0, len(reader), 9).astype(int)
        numbers = [int(a + b - 1) // 2 for a, b in itertools.pairwise(borders)]
        frames = reader.get_batch(numbers)
        assert isinstance(frames, torch.Tensor)
        assert frames.permute(0, 3, 1, 2).shape[1] == 3
        return numbers, frames.numpy()
    finally:
        decord.bridge.set_bridge("native")


def llava_video(decord, path):
    """One frame a second, or so many spread evenly if that is more; their times as text."""
    reader = decord.VideoReader(path, ctx=decord.cpu(0), num_threads=1)
    every = round(reader.get_avg_fps())
    numbers = list(range(0, len(reader), every))
    if len(numbers) < 6:
        numbers = np.linspace(0, len(reader) - 1, 6, dtype=int).tolist()
    seconds = [number / reader.get_avg_fps() for number in numbers]
    assert seconds == sorted(seconds)
    return numbers, reader.get_batch(numbers).asnumpy()


def mmaction(decord, path):
    """A file object, frames one by one from a list with repeats, then read in order."""
    reader = decord.VideoReader(io.BytesIO(Path(path).read_bytes()), num_threads=1)
    wanted = np.array([3, 3, 40, 41, 7])
    batch = reader.get_batch(wanted).asnumpy()
    reader.seek(0)
    assert np.array_equal(batch, np.stack([reader[int(n)].asnumpy() for n in wanted]))
    return wanted, batch


def sequential(decord, path):
    """All frames, one after another."""
    reader = decord.VideoReader(path, decord.cpu(0))
    frames = [reader[number].asnumpy() for number in range(len(reader))]
    return np.arange(len(frames)), np.stack(frames)


def random_access(decord, path):
    """300 single frames at random."""
    reader = decord.VideoReader(path, num_threads=1)
    numbers = random.Random(4).choices(range(len(reader)), k=300)
    return numbers, np.stack([reader[number].asnumpy() for number in numbers])


def keyframes(decord, path):
    """The keyframes alone, with their times."""
    reader = decord.VideoReader(path)
    numbers = reader.get_key_indices()
    times = reader.get_frame_timestamp(numbers)
    assert times.shape == (len(numbers), 2)
    return numbers, reader.get_batch(numbers).asnumpy()


PROGRAMS = [
    videomae,
    vjepa,
    internvideo,
    llava_video,
    mmaction,
    sequential,
    random_access,
    keyframes,
]
TRAITS = {
    "untagged HD": {"size": (64, 720), "options": {**X264, "g": "24", "bf": "3"}},
    "one GOP": {"size": (128, 64), "options": {**X264, "g": "250", "bf": "2"}},
}


@pytest.fixture(scope="module", params=TRAITS)
def clip(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "clip.mp4"
    path = str(encode_video(path, frames=COUNT, fps=25, **TRAITS[request.param]))
    return path, decoded(path)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_get_the_frames_of_a_full_decode(clip, program):
    path, frames = clip
    numbers, given = program(ours, path)
    assert len(given) == len(numbers) > 0
    assert np.array_equal(given, frames[np.asarray(numbers)])
    for decord in decord_itself():
        there, theirs = program(decord, path)
        assert np.array_equal(numbers, there)
        assert np.array_equal(given, theirs)
