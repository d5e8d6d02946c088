"""A loader in a process of its own gives the same batches, and outlives the process."""

import gc
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from child_processes import children
from damaged_videos import make_videos

import videoloader as vl

COUNT, BAD = 6, {2, 4}
_log = logging.getLogger("videoloader.tests")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_videos(tmp_path_factory.mktemp("process") / "good", count=COUNT)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("process") / "bad"
    return make_videos(folder, count=COUNT, unreadable=sorted(BAD))


@pytest.fixture
def started():
    """Processes that were started in a test; none is left after it."""
    before = children()
    yield lambda: children() - before
    gc.collect()
    assert children() == before


def loader(videos, *, process=True, **options):
    options = {"batch_size": 2, "workers": 0, "shuffle": True, "seed": 3, **options}
    return vl.Loader(videos, vl.RandomClip(3), process=process, **options)


def assert_same(batch, other):
    assert batch.keys() == other.keys()
    for name, value in batch.items():
        if isinstance(value, torch.Tensor):
            assert value.dtype == other[name].dtype
            assert value.stride() == other[name].stride()
            assert torch.equal(value, other[name]), name
        elif isinstance(value, list) and isinstance(value[0], torch.Tensor):
            assert all(map(torch.equal, value, other[name]))
        else:
            assert value == other[name], name


def assert_same_batches(batches, others):
    for batch, other in zip(batches, others, strict=True):
        assert_same(batch, other)


def drawn(sample):
    """A transform that uses every global random number generator."""
    noise = torch.rand(1).item() + np.random.rand() + random.random()  # noqa: NPY002
    return {**sample, "frames": sample["frames"].float() + noise, "text": f"{noise:.3f}"}


def killing(sample):
    if sample["sample"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return sample


def raising(sample):
    if sample["sample"] == 3:
        raise KeyError("no such thing")
    return sample


def logging_too(sample):
    _log.warning("sample %d", sample["sample"])
    return sample


# -- the same batches


def test_batches_are_those_of_a_loader_in_this_process(paths, started):
    options = {"transform": drawn, "labels": list("abcabc"), "columns": (), "on_error": "mask"}
    with loader(paths, **options) as apart, loader(paths, process=False, **options) as here:
        for _ in range(2):
            assert_same_batches(apart, here)
            assert len(started()) == 1
        assert len(apart) == len(here) == 3
        ours, theirs = apart.stats(), here.stats()
    for name in ("samples", "batches", "errors"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.work.packets == theirs.work.packets
    assert {n: one.samples for n, one in ours.items()} == {"decode": COUNT, "transform": COUNT}


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3, "size": None, "workers": 1},
        {"batch_size": None, "batches": vl.Packing(400, patch=(1, 32, 32))},
    ],
    ids=["worker processes", "packs"],
)
def test_batches_of_other_kinds_are_the_same(paths, tmp_path, options):
    index = vl.index_dataset(paths, str(tmp_path / "set.parquet"), workers=0)
    with loader(index, **options) as apart, loader(index, process=False, **options) as here:
        assert_same_batches(apart, here)


def test_batches_larger_than_before_fit(paths, started, tmp_path):
    sizes = tmp_path / "sizes"
    sizes.mkdir()
    videos = list(paths[:1])
    for number, size in enumerate([(64, 48), (320, 240), (640, 480)]):
        videos.append(sizes / f"{number}.mp4")
        vl.demo.videos.encode_video(videos[-1], frames=4, size=size)
    options = {"batch_size": 1, "shuffle": False}
    with loader(videos, **options) as apart, loader(videos, process=False, **options) as here:
        assert_same_batches(apart, here)
        assert_same_batches(apart, here)


def test_batches_that_are_kept_do_not_change(paths, started):
    with loader(paths) as apart, loader(paths, process=False) as here:
        kept = [batch for _ in range(3) for batch in apart]
        assert_same_batches(kept, [batch for _ in range(3) for batch in here])
    assert kept[0]["frames"].sum() > 0  # after the end of the process


# -- where a run stands


def test_a_state_counts_what_was_received(paths, started):
    with loader(paths, batch_size=1) as apart, loader(paths, batch_size=1, process=False) as here:
        for batches in zip(apart, here, strict=True):
            assert_same(*batches)
            assert apart.state_dict() == here.state_dict()
            if apart.state_dict()["position"] == 2:
                state = apart.state_dict()
                time.sleep(0.2)  # while the process makes more
                assert apart.state_dict() == state
    with loader(paths, batch_size=1) as resumed:
        resumed.load_state_dict(state)
        rest = [batch["sample"].item() for batch in resumed]
    assert (
        rest == [batch["sample"].item() for batch in loader(paths, batch_size=1, process=False)][2:]
    )


def test_an_iteration_that_is_left_early_keeps_the_process(paths, started):
    with loader(paths, batch_size=1) as apart, loader(paths, batch_size=1, process=False) as here:
        for epoch in range(3):
            next(iter(apart))
            (process,) = started()
            apart.set_epoch(epoch)
            here.set_epoch(epoch)
            assert_same_batches(apart, here)
            assert started() == {process}
        assert apart.stats().engines["process_replaced"] == 0


# -- failures


def test_errors_come_as_themselves_and_the_next_batch_follows(damaged, started):
    found = {}
    for process in (True, False):
        with loader(damaged, process=process, batch_size=1, shuffle=False) as batches:
            iterator, found[process] = iter(batches), []
            for _ in range(COUNT):
                try:
                    found[process].append(next(iterator)["sample"].tolist())
                except vl.VideoError as error:
                    found[process].append((type(error), str(error)))
            found[process].append([(f.sample, f.reason, f.action) for f in batches.failures])
            found[process].append(batches.stats().errors)
    assert found[True] == found[False]
    assert found[True][-1] == len(BAD)


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_policies_hold_in_the_process(damaged, started, tmp_path, policy):
    options = {"on_error": policy, "error_log": tmp_path / "log.jsonl"}
    with (
        loader(damaged, **options) as apart,
        loader(damaged, process=False, on_error=policy) as here,
    ):
        assert_same_batches(apart, here)
        assert {f.video for f in apart.failures} == {f.video for f in here.failures}
        assert {f.process for f in apart.failures} == started()
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == len(BAD)


def test_too_many_failures_end_the_run(damaged, started):
    batches = loader(damaged, on_error="skip", max_errors=1, batch_size=1)
    with batches, pytest.raises(vl.TooManyFailuresError, match="max_errors=1"):
        list(batches)


def test_errors_of_a_transform_name_their_place_in_the_process(paths, started):
    with loader(paths, transform=raising, batch_size=1, shuffle=False) as batches:
        iterator = iter(batches)
        assert [next(iterator)["sample"].item() for _ in range(3)] == [0, 1, 2]
        with pytest.raises(KeyError, match="no such thing") as caught:
            next(iterator)
        assert "in raising" in caught.value.__notes__[0]
        assert [batch["sample"].item() for batch in iterator] == [4, 5]


def test_logs_of_the_process_are_those_of_this_one(paths, started, caplog):
    with loader(paths, transform=logging_too, shuffle=False) as batches:
        list(batches)
    assert caplog.messages == [f"sample {number}" for number in range(COUNT)]


# -- death


def test_a_process_that_is_killed_is_replaced(paths, started):
    with loader(paths, batch_size=1) as apart, loader(paths, batch_size=1, process=False) as here:
        for number, batches in enumerate(zip(apart, here, strict=True)):
            assert_same(*batches)
            if number == 1:
                for pid in started():
                    os.kill(pid, signal.SIGKILL)
        assert apart.stats().engines["process_replaced"] == 1
        assert apart.state_dict() == here.state_dict()


def test_what_kills_two_processes_is_an_error_and_the_next_batch_follows(paths, started):
    with loader(paths, transform=killing, batch_size=1, shuffle=False) as batches:
        iterator = iter(batches)
        assert [next(iterator)["sample"].item() for _ in range(3)] == [0, 1, 2]
        with pytest.raises(vl.VideoError, match=r"batch 3 of epoch 0: .*SIGKILL.*process=False"):
            next(iterator)
        assert [batch["sample"].item() for batch in iterator] == [4, 5]


def test_failures_before_a_death_are_counted_after_it(damaged, started):
    with loader(damaged, on_error="skip", max_errors=1, batch_size=1, shuffle=False) as batches:
        iterator = iter(batches)
        for _ in range(3):
            next(iterator)
        for pid in started():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(vl.TooManyFailuresError):
            list(iterator)


def test_a_process_ends_with_its_parent(paths, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys, videoloader as vl\n"
        "def double(sample):\n"  # of the main script, which has no guard
        "    return {**sample, 'frames': sample['frames'] * FACTOR}\n"
        "FACTOR = 2\n"
        "clips = vl.RandomClip(3)\n"
        "loader = vl.Loader(sys.argv[1:], clips, workers=0, process=True, batch_size=1,\n"
        "    transform=double)\n"
        "batch = next(iter(loader))\n"
        "children = f'/proc/self/task/{os.getpid()}/children'\n"
        "tasks = os.listdir('/proc/self/task')\n"
        "print(*[open(f'/proc/self/task/{t}/children').read() for t in tasks], flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, script, *map(str, paths)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    (pid,) = ended.stdout.split()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_closing_ends_the_process_and_another_iteration_starts_one(paths, started):
    batches = loader(paths, batch_size=1)
    first = next(iter(batches))
    assert len(started()) == 1
    batches.close()
    assert not started()
    batches.set_epoch(0)
    assert_same(first, next(iter(batches)))
    batches.close()


def test_dropping_a_loader_ends_the_process(paths, started):
    iterator = iter(loader(paths, batch_size=1))
    next(iterator)
    assert len(started()) == 1
    del iterator
    gc.collect()
    deadline = time.monotonic() + 20
    while started():
        assert time.monotonic() < deadline
        time.sleep(0.01)
        gc.collect()  # threads that were at work have ended by now


# -- what cannot be sent


def test_what_does_not_pickle_is_an_error_of_the_constructor(paths):
    held = threading.Lock()
    with pytest.raises(vl.ArgumentError, match=r"process=True: .*pickle.*process=False"):
        loader(paths, transform=lambda sample: held and sample)


def test_classes_of_the_main_script_are_an_error_of_the_constructor(paths, monkeypatch):
    class Own(vl.RandomClip):
        pass

    monkeypatch.setattr(Own, "__module__", "__main__")
    with pytest.raises(vl.ArgumentError, match="Own is a class of the main script"):
        vl.Loader(paths, Own(3), batch_size=1, process=True)
