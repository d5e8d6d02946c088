"""Worker processes for decoding: the same frames as without, and nothing that one can spoil."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from child_processes import children, state_of
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.decoding.cpu.pool import CpuPool
from videoloader.decoding.cpu.tasks import CpuTask, Target
from videoloader.decoding.output import OutputFormat, View
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.indexing.dataset.listing import find_items

SIZE = (96, 128)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    paths = [folder / f"clip{number}.mp4" for number in range(3)]
    for number, path in enumerate(paths):
        encode_video(path, frames=30 + number, size=SIZE[::-1])
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def pool():
    with CpuPool(2) as pool:
        yield pool


def task_of(pool, path, frames, *, source=None, output=None, view=None, index=None):
    output = output or OutputFormat()
    view = view or View(SIZE)
    clip = pool.allocate(output.clip_shape(len(frames), view.size), output.numpy_dtype)
    clip[...] = 77
    target = Target(output.slots(clip), view)
    index = index or vl.index_video(path)
    return clip, CpuTask(source or path, index, {0: target}, wants_of(0, frames), output)


def wants_of(clip, frames):
    """The places of a clip to fill; none where a frame is -1."""
    return [(frame, clip, place) for place, frame in enumerate(frames) if frame >= 0]


def decode(pool, tasks):
    return dict(pool.decode(tasks))


def test_frames_are_those_of_a_video(clips):
    with CpuPool(2) as pool:
        made = [task_of(pool, path, [7, 3, 29, 3]) for path in clips * 3]
        results = decode(pool, [task for _, task in made])
    assert results == dict.fromkeys(range(9))
    for (clip, _), path in zip(made, clips * 3, strict=True):
        with vl.Video(path) as video:
            assert (clip == video.get_frames([7, 3, 29, 3]).frames.numpy()).all()


def test_every_form_and_view_of_one_video_in_one_task(clips, pool):
    output = OutputFormat(dtype="float16", layout="CFHW", mean=(128.0,), std=(64.0,))
    views = [View((40, 50)), View((32, 32), (5, 7, 60, 50), flip=True)]
    frames = [[4, -1, 9], [9, 20, 9]]
    memory = [pool.allocate(output.clip_shape(3, v.size), output.numpy_dtype) for v in views]
    for clip in memory:
        clip[...] = 5
    targets = {7: Target(output.slots(memory[0]), views[0])}
    targets[3] = Target(output.slots(memory[1]), views[1])
    wants = wants_of(7, frames[0]) + wants_of(3, frames[1])
    task = CpuTask(clips[0], vl.index_video(clips[0]), targets, wants, output)
    assert decode(pool, [task]) == {0: None}
    with vl.Video(clips[0]) as video:
        for wanted, clip, view in zip(frames, memory, views, strict=True):
            expected = video.get_frames(
                [max(frame, 0) for frame in wanted],
                dtype="float16",
                layout="CFHW",
                mean=128.0,
                std=64.0,
                size=view.size,
                crop=view.crop,
                flip=view.flip,
            ).frames.numpy()
            kept = np.array(wanted) >= 0
            assert (clip[:, kept] == expected[:, kept]).all()
            assert (clip[:, ~kept] == 5).all()


def test_videos_in_memory_and_in_archives(clips, pool, tmp_path):
    data = Path(clips[1]).read_bytes()
    archive = tmp_path / "clips.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("a.mp4", "b.mp4"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    made = [task_of(pool, data, [11, 2], source=data)]
    for item in find_items(archive):
        with item.open() as source:
            index = vl.index_video(source)
        made.append(task_of(pool, None, [11, 2], source=item, index=index))
    assert decode(pool, [task for _, task in made]) == dict.fromkeys(range(3))
    with vl.Video(clips[1]) as video:
        expected = video.get_frames([11, 2]).frames.numpy()
    assert all((clip == expected).all() for clip, _ in made)


def test_memory_is_used_again_when_nothing_views_it():
    with CpuPool(1) as pool:
        first = pool.allocate((4, 1000, 1000), np.uint8)
        place = first.__array_interface__["data"][0]
        tensor = torch.from_numpy(first[1:, ::2])
        del first
        other = pool.allocate((4, 1000, 1000), np.uint8)
        assert other.__array_interface__["data"][0] != place
        del tensor
        again = pool.allocate((3, 1000, 1000), np.uint8)
        assert again.__array_interface__["data"][0] == place
        held = pool.stats()["memory"]
        for _ in range(50):
            again = pool.allocate((3, 1000, 1000), np.uint8)
        assert pool.stats()["memory"] <= held + 4_001_000
    other[...] = 1  # arrays outlive the pool


def test_slots_of_other_memory_are_refused(clips, pool):
    slots = np.zeros((1, *SIZE, 3), np.uint8)
    target = Target(slots, View(SIZE))
    task = CpuTask(clips[0], vl.index_video(clips[0]), {0: target}, [(1, 0, 0)])
    assert isinstance(decode(pool, [task])[0], ArgumentError)


@pytest.fixture
def hanging(clips):
    """A source that takes for ever to open in a worker."""
    return Misbehaving(clips[0], "sleep", 1000)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_task_that_costs_two_workers_fails_alone(clips, number):
    before = children()
    with CpuPool(1) as pool:
        index = vl.index_video(clips[0])
        killing = Misbehaving(clips[0], "die", number)
        made = [
            task_of(pool, clips[0], [1, 2]),
            task_of(pool, None, [3, 9], source=killing, index=index),
        ]
        made += [task_of(pool, clips[2], [8]), task_of(pool, clips[1], [4])]
        results = decode(pool, [task for _, task in made])
        stats = pool.stats()
    assert (stats["replaced"], stats["failures"]) == (2, 1)
    assert [k for k, failure in results.items() if failure] == [1]
    assert isinstance(results[1], DecodeError)
    assert str(results[1]) == (
        f"{clips[0]}: frames 3 to 9: the worker process died (signal {number.name}), "
        "as another one did at this task before"
    )
    for position, path, frames in ((0, clips[0], [1, 2]), (2, clips[2], [8]), (3, clips[1], [4])):
        with vl.Video(path) as video:
            assert (made[position][0] == video.get_frames(frames).frames.numpy()).all()
    assert children() == before


def test_a_worker_that_hangs_costs_its_task_only(clips, hanging):
    with CpuPool(2, time_limit=2) as pool:
        made = [task_of(pool, clips[0], [5], source=hanging)]
        made += [task_of(pool, clips[k % 3], [k]) for k in range(8)]
        results = decode(pool, [task for _, task in made])
        assert pool.stats()["replaced"] == 1
    assert [k for k, failure in results.items() if failure] == [0]
    assert str(results[0]).endswith("clip0.mp4: frame 5: it took longer than 2 s")


def test_a_task_that_fills_the_socket_does_not_wait_for_one_that_hangs(clips, hanging):
    with CpuPool(1, time_limit=2) as pool:
        many = np.full(60_000, 3)  # half a megabyte of frame numbers behind the hanging task
        made = [task_of(pool, clips[0], [5], source=hanging)]
        made.append(task_of(pool, clips[0], many, view=View((8, 8))))
        results = decode(pool, [task for _, task in made])
    assert [k for k, failure in results.items() if failure] == [0]
    clip = made[1][0]
    assert (clip == clip[0]).all()
    assert (clip[0] != 77).any()


def test_a_task_that_needs_too_much_memory_fails_alone(clips):
    with CpuPool(1, memory_limit=300 << 20) as pool:
        made = [task_of(pool, clips[0], [1])]
        made.append(task_of(pool, clips[0], [2], view=View((12000, 12000))))
        made.append(task_of(pool, clips[1], [3]))
        results = decode(pool, [task for _, task in made])
    assert [k for k, failure in results.items() if failure] == [1]
    assert isinstance(results[1], vl.errors.OutOfMemoryError)
    assert "clip0.mp4: frame 2:" in str(results[1])
    with vl.Video(clips[1]) as video:
        assert (made[2][0][0] == video[3].numpy()).all()


def test_damaged_videos_fail_by_name_among_good_ones(clips, pool, tmp_path):
    data = bytearray(Path(clips[2]).read_bytes())
    index = vl.index_video(bytes(data))
    packet = index.packets[5]
    data[packet["offset"] + 8 : packet["offset"] + packet["size"]] = bytes(packet["size"] - 8)
    damaged = bytes(data)
    frames = list(range(32))
    made = [task_of(pool, clips[0], [1]), task_of(pool, None, frames, source=damaged, index=index)]
    made += [task_of(pool, clips[1], [2]), task_of(pool, clips[1], [3])]
    Path(tmp_path / "short.mp4").write_bytes(Path(clips[1]).read_bytes()[:-4000])
    results = decode(pool, [task for _, task in made])
    assert [k for k, failure in results.items() if failure] == [1]
    assert isinstance(results[1], VideoError)
    assert "frame" in str(results[1])


def test_an_abandoned_batch_leaves_nothing_at_work(clips):
    before = children()
    with CpuPool(2) as pool:
        made = [task_of(pool, clips[k % 3], [k]) for k in range(12)]
        for _ in pool.decode([task for _, task in made]):
            break
        clip, task = task_of(pool, clips[0], [6])
        assert decode(pool, [task]) == {0: None}
        with vl.Video(clips[0]) as video:
            assert (clip[0] == video[6].numpy()).all()
    assert children() == before


def test_workers_load_no_torch(clips):
    before = children()
    with CpuPool(1) as pool:
        assert decode(pool, [task_of(pool, clips[0], [0])[1]]) == {0: None}
        (worker,) = children() - before
        assert "torch" not in Path(f"/proc/{worker}/maps").read_text()


PROGRAM = """
import os, signal, sys, threading
import numpy as np
import videoloader as vl
from videoloader.decoding.cpu.tasks import CpuTask, Target
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.cpu.pool import CpuPool
from misbehaving import Misbehaving
path, how = sys.argv[1:]
pool, index = CpuPool(2), vl.index_video(path)
def task(source):
    slots = pool.allocate((1, 96, 128, 3), np.uint8)
    return CpuTask(source, index, {0: Target(slots, View((96, 128)))}, [(3, 0, 0)])
assert dict(pool.decode([task(path), task(path)])) == {0: None, 1: None}
print(*(p for t in os.listdir("/proc/self/task")
        for p in open(f"/proc/self/task/{t}/children").read().split()), flush=True)
if how == "interrupt":
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
if how == "kill":
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
if how != "exit":
    list(pool.decode([task(Misbehaving(path, "sleep", 1000))]))
"""


@pytest.mark.parametrize("how", ["exit", "interrupt", "kill"])
def test_no_process_is_left_however_the_program_ends(clips, how):
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM, clips[0], how],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    output, errors = program.stdout, program.stderr
    workers = [int(pid) for pid in output.split()]
    assert len(workers) == 2, errors
    assert program.returncode == {"exit": 0, "interrupt": -2, "kill": -9}[how], errors
    assert ("KeyboardInterrupt" in errors) == (how == "interrupt")
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() and state_of(pid) != "Z" for pid in workers):
            return
        time.sleep(0.05)
    raise AssertionError(f"workers {workers} live on")
