"""
From one machine to a cluster
=============================

Each machine indexes a part, one merges the parts, and every rank trains on its share. Ranks
exchange nothing: what a rank does follows from its number. Here loops stand for the machines.

Guides: :doc:`/many-nodes`, :doc:`/several-gpus`.
"""

# %%
# Ten videos that all machines can read, and three machines. A part depends only on the listing, so
# all machines may start at once.

import os
import shutil
import tempfile
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import merge_datasets

folder = Path(tempfile.mkdtemp())
videos = folder / "videos"
for number in range(10):
    place = videos / ("even", "odd")[number % 2]
    place.mkdir(parents=True, exist_ok=True)
    encode_video(place / f"{number}.mp4", size=(64, 48), frames=30 + number)

parts = [folder / f"part{machine}.parquet" for machine in range(3)]
for machine, part in enumerate(parts):
    found = vl.index_dataset(videos, part, workers=0, shard=(machine, 3))
    print(f"machine {machine}: {len(found)} videos")
dataset = merge_datasets(parts, folder / "set.parquet")
print(f"together {len(dataset)}: {dataset.keys[:4]} ...")
assert len(dataset) == 10

# %%
# In a shell, run the first line on each machine, then the second on one of them::
#
#     videoloader index DATA -o part$I.parquet --shard $I/3
#     videoloader merge part*.parquet -o set.parquet
#
# The result is the one that a single machine would have made:

alone = vl.index_dataset(videos, folder / "alone.parquet", workers=0)
assert dataset.keys == alone.keys
assert all(dataset[row] == alone[row] for row in range(len(alone)))

# %%
# If a node has the data elsewhere, such as on a local disk or in a bucket, pass `root`. Keys stay
# the same, so labels, splits and checkpoints remain valid.

local = folder / "local_disk"
shutil.copytree(videos, local)
on_node = vl.open_dataset(folder / "set.parquet", root=local)
print("videos are read from", Path(on_node.item(0).path).relative_to(folder))

# %%
# Ranks: torchrun sets `RANK` and `WORLD_SIZE`, and a loader reads its share from them. Two nodes of
# two ranks:


def train(epoch):
    """What each rank does; returns the rows of its batches."""
    loader = vl.Loader(
        on_node,
        vl.RandomClip(4),
        batch_size=2,
        labels=lambda key: key.partition("/")[0],
        size=(24, 32),
        shuffle=True,
        workers=0,
    )
    with loader:
        loader.set_epoch(epoch)
        return [batch["sample"].tolist() for batch in loader]


steps = []
for rank in range(4):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}
    steps.append(train(epoch=0))
    print(f"rank {rank}:", steps[-1])
for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
    del os.environ[name]

# %%
# All ranks have the same number of steps: the last step is filled with the first samples of the
# epoch. Apart from these, each sample comes once.

assert {len(each) for each in steps} == {2}
taken = [sample for step in zip(*steps, strict=True) for batch in step for sample in batch]
assert sorted(set(taken)) == list(range(10))
print(f"{len(taken)} places for {len(set(taken))} samples")

# %%
# Millions of clips cost no more memory: the order is a keyed permutation, and a rank computes only
# the positions that it needs. Also for 10^9 samples on 512 ranks the state is this:

loader = vl.Loader(on_node, vl.RandomClip(4), batch_size=2, size=(24, 32), workers=0)
print(loader.state_dict())
loader.close()

# %%
# In a batch script of SLURM::
#
#     srun torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 \
#         --rdzv-backend c10d --rdzv-endpoint $HEAD train.py
#
# `samples/train_action_recognition.py` is a program for torchrun; :doc:`resume` shows how to
# continue with another number of ranks.
