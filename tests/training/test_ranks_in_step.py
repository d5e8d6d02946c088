"""Ranks run in step though samples of some of them fail: as many batches, none of them empty."""

import json
import os
import sys

import numpy as np
import pytest
from damaged_videos import make_videos
from programs import run_program
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.demo.videos import encode_video

BAD = {1, 3, 5, 7}  # of 12, in batches of 2 on two ranks: rank 1 has [1, 3], [5, 7], [9, 11]
COUNT = 12

# Each rank reduces a sum in every step, as DDP does: a rank that has one step less leaves the
# other waiting for ever.
TRAINER = """
import json, os, sys
from datetime import timedelta

import torch
import torch.distributed as group

import videoloader as vl

store, told, videos = sys.argv[1], sys.argv[2], sys.argv[3:]
child = os.fork()  # one import of torch for both
rank = int(child == 0)
group.init_process_group(
    "gloo", init_method="file://" + store, rank=rank, world_size=2, timeout=timedelta(seconds=30)
)
clips = vl.UniformClip(2)
loader = vl.Loader(videos, clips, batch_size=2, workers=0, on_error="skip")
data = vl.ClipDataset(videos, clips, on_error="skip")
sampler = vl.EpochSampler(data, shuffle=False, rank=rank, num_ranks=2)
of_torch = torch.utils.data.DataLoader(data, 2, sampler=sampler)
steps = []
for batches in (loader, of_torch):
    for batch in batches:
        total = torch.tensor([1, len(batch["sample"])])
        group.all_reduce(total)
        steps.append(total.tolist())
group.barrier()
group.destroy_process_group()
with open(f"{told}{rank}", "w") as file:
    json.dump({"length": len(loader), "steps": steps}, file)
if rank == 0:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return make_videos(folder / "videos", count=COUNT, unreadable=sorted(BAD))


def test_two_processes_that_skip_take_as_many_steps(paths, tmp_path):
    arguments = [tmp_path / name for name in ("store", "rank")] + paths
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-c", TRAINER, *arguments]
    run_program(command, check=True, timeout=100, env=environment)
    told = [json.loads((tmp_path / f"rank{rank}").read_text()) for rank in (0, 1)]
    assert told[0] == told[1]
    # Of rank 1's three batches the first two have nothing but videos that do not open.
    assert told[0] == {"length": 3, "steps": [[2, 3], [2, 3], [2, 4]] * 2}


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_every_rank_has_as_many_batches_as_its_length(paths, on_error, ranks, batch_size):
    for rank in range(ranks):
        options = {"rank": rank, "num_ranks": ranks, "on_error": on_error, "workers": 0}
        loader = vl.Loader(paths, vl.UniformClip(1), batch_size=batch_size, **options)
        sizes = [len(batch["sample"]) for batch in loader]
        assert len(sizes) == len(loader) == -(-COUNT // (ranks * batch_size))
        assert min(sizes) >= 1


def test_the_last_sample_of_an_empty_batch_is_replaced_by_the_next_that_decodes(paths):
    loader = vl.Loader(
        paths, vl.UniformClip(1), batch_size=2, workers=0, on_error="skip", rank=1, num_ranks=2
    )
    assert [batch["sample"].tolist() for batch in loader] == [[4], [8], [9, 11]]
    assert sorted({failure.sample for failure in loader.failures}) == sorted(BAD)


def test_a_batch_of_one_shape_takes_a_clip_of_another_before_it_is_empty(tmp_path):
    wide = make_videos(tmp_path / "wide", count=3)
    tall = tmp_path / "tall.mp4"
    encode_video(tall, frames=12, size=(64, 128))
    dataset = vl.index_dataset([*wide, tall], tmp_path / "set.parquet", workers=0)
    data = np.frombuffer(tall.read_bytes(), np.uint8).copy()
    for packet in dataset[3].packets:
        data[packet["offset"] : packet["offset"] + packet["size"]] = 0
    state = os.stat(tall)
    tall.write_bytes(data.tobytes())
    os.utime(tall, ns=(state.st_atime_ns, state.st_mtime_ns))
    buckets = vl.Buckets([(2, 96, 128), (2, 128, 64)], batch_size=2)
    loader = vl.Loader(
        tmp_path / "set.parquet", vl.RandomClip(2), batches=buckets, workers=0, on_error="skip"
    )
    batches = list(loader)
    assert len(batches) == len(loader) == 3
    assert {failure.sample for failure in loader.failures} == {3}
    assert all(len(batch["sample"]) for batch in batches)


def test_batches_of_a_dataloader_stay_as_many(paths):
    data = vl.ClipDataset(paths, vl.UniformClip(1), on_error="skip")
    sampler = vl.EpochSampler(data, shuffle=False, rank=1, num_ranks=2)
    loader = DataLoader(data, 2, sampler=sampler)
    assert [batch["sample"].tolist() for batch in loader] == [[4], [8], [9, 11]]
