"""Which part of a data set a process takes, said or not, and how many processors it uses."""

import os

import pytest
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError
from videoloader.machinery.workers import processors
from videoloader.machinery.workers.processors import cpu_quota, usable_processors
from videoloader.training.rank import find_rank

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS")


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def group():
    """torch.distributed, of this process alone."""
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


def launched(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))


@pytest.mark.parametrize(
    "stray",
    [
        {},
        {"RANK": 3},
        {"WORLD_SIZE": 4},
        {"RANK": "", "WORLD_SIZE": 4},
        {"RANK": 0, "WORLD_SIZE": ""},
        {"LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2},
        {"SLURM_PROCID": 1, "SLURM_NTASKS": 4},
    ],
)
def test_without_both_variables_a_process_takes_everything(monkeypatch, stray):
    launched(monkeypatch, **stray)
    assert find_rank(None, None) == (0, 1)


def test_the_rank_of_a_launcher_is_taken_when_none_is_given(monkeypatch):
    launched(monkeypatch, RANK=2, WORLD_SIZE=3)
    assert find_rank(None, None) == (2, 3)
    assert find_rank(0, 1) == (0, 1)
    for one in ((1, None), (None, 2)):
        with pytest.raises(ArgumentError, match="come together"):
            find_rank(*one)


@pytest.mark.parametrize(("rank", "count"), [(3, 3), (-1, 2), ("x", 2), (0, "two"), (0, 0)])
def test_variables_that_are_no_rank_are_an_error(monkeypatch, rank, count):
    launched(monkeypatch, RANK=rank, WORLD_SIZE=count)
    with pytest.raises(ArgumentError, match=f"RANK={rank} and WORLD_SIZE={count}"):
        find_rank(None, None)


def test_torch_distributed_goes_before_the_environment(monkeypatch, group):
    launched(monkeypatch, RANK=2, WORLD_SIZE=3)
    assert find_rank(None, None) == (0, 1)


def test_a_loader_takes_the_part_of_its_rank(monkeypatch, demo_folder):
    paths = [demo_folder / name for name in ("h264.mp4", "vp9.webm", "hevc.mp4")]

    def order(**options):
        return vl.Loader(paths, vl.RandomClip(2), batch_size=1, workers=0, **options).order

    launched(monkeypatch, RANK=1, WORLD_SIZE=2)
    assert (order().rank, order().num_ranks, order().remainder) == (1, 2, "repeat")
    whole = order(rank=0, num_ranks=1)
    assert (whole.rank, whole.num_ranks, whole.remainder) == (0, 1, "keep")


@pytest.mark.parametrize(
    ("given", "shard", "count"),
    [({}, 1, 2), ({"num_shards": 3}, 0, 3), ({"num_shards": 3, "shard_id": 2}, 2, 3)],
)
@pytest.mark.parametrize("reader", ["file", "video"])
def test_a_reader_takes_the_shard_of_its_rank(
    monkeypatch, demo_folder, reader, given, shard, count
):
    files = [str(demo_folder / name) for name in ("h264.mp4", "vp9.webm", "hevc.mp4")]

    @pipeline_def(batch_size=1, num_threads=1)
    def definition():
        if reader == "file":
            return fn.readers.file(files=files, name="Reader", **given)[0]
        return fn.readers.video(
            filenames=files, sampler=vl.RandomClip(2), pad_mode="edge", name="Reader", **given
        )

    launched(monkeypatch, RANK=1, WORLD_SIZE=2)
    with definition() as pipe:
        meta = pipe.reader_meta("Reader")
    assert (meta["shard_id"], meta["number_of_shards"]) == (shard, count)


def test_a_shard_without_their_number_is_an_error(demo_folder):
    @pipeline_def(batch_size=1, num_threads=1)
    def definition():
        return fn.readers.file(files=[str(demo_folder / "h264.mp4")], shard_id=1)[0]

    with pytest.raises(ArgumentError, match="num_shards=1, got 1"), definition() as pipe:
        pipe.build()


# --- Processors


@pytest.mark.parametrize(
    ("ranks", "own", "of_parent", "expected"),
    [
        ("", 16, 16, 16),
        ("1", 16, 16, 16),
        ("8", 16, 16, 2),
        ("3", 16, 16, 5),
        ("8", 4, 4, 1),
        ("8", 2, 16, 2),  # bound by the launcher
        ("8", 1, 16, 1),
        ("8", 8, 16, 2),  # bound to half of the host, as three others are
        ("2", 16, 0, 8),  # whose parent is gone
        ("many", 16, 16, 16),
    ],
)
def test_ranks_of_a_host_share_its_processors(monkeypatch, ranks, own, of_parent, expected):
    def allowed(pid):
        if pid and not of_parent:
            raise ProcessLookupError
        return range(of_parent if pid else own)

    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    monkeypatch.setattr(processors.os, "sched_getaffinity", allowed)
    monkeypatch.setattr(processors, "cpu_quota", lambda: None)
    assert usable_processors() == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_limits_of_control_groups_are_read(tmp_path, files, expected):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert cpu_quota(tmp_path) == expected


@pytest.mark.parametrize(
    ("quota", "ranks", "expected"),
    [(2.5, "1", 3), (0.5, "1", 1), (64.0, "1", 16), (4.0, "2", 2), (16.0, "2", 8), (2.0, "0", 2)],
)
def test_a_control_group_bounds_the_processors(monkeypatch, quota, ranks, expected):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: range(16))
    monkeypatch.setattr(processors, "cpu_quota", lambda: quota)
    assert usable_processors() == expected


def test_pools_and_pipelines_use_the_share(monkeypatch):
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: range(12))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    with vl.BatchDecoder() as decoder:
        assert decoder._workers == 3
    with pipeline_def(lambda: fn.random.uniform())(batch_size=1) as pipe:
        assert pipe.num_threads == 3
    assert len(os.sched_getaffinity(0)) == 12
