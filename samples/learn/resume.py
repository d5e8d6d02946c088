"""
Resume, also on another number of ranks
=======================================

A run is killed, and continues with the rest of the epoch. Its state is a few integers, the same on
every rank. They determine which samples were done, so no sample is lost or repeated, whatever the
number of ranks.

Guides: :doc:`/training/epochs`, :doc:`/several-gpus`.
"""

# %%
# Twelve short videos, and a loader for one rank of several. Under torchrun `rank` and `num_ranks`
# are found automatically.

import json
import tempfile
from itertools import islice
from pathlib import Path

import torch

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
(folder / "videos").mkdir()
for number in range(12):
    encode_video(folder / f"videos/{number:02}.mp4", size=(64, 48), frames=30)
vl.index_dataset(folder / "videos", folder / "set.parquet", workers=0)


def make_loader(rank, num_ranks, batch_size=1):
    return vl.Loader(
        folder / "set.parquet",
        vl.RandomClip(4),
        batch_size=batch_size,
        size=(24, 32),
        random_flip=0.5,
        shuffle=True,
        seed=3,
        rank=rank,
        num_ranks=num_ranks,
        remainder="keep",
        workers=0,
    )


# %%
# For comparison, the whole epoch on one rank: its order, and the pixels of each clip.

expected = {}
with make_loader(0, 1) as loader:
    for batch in loader:
        expected[int(batch["sample"][0])] = batch["frames"][0]
print("order of the epoch:", *expected)

# %%
# Two ranks do two steps each, then the run is killed. The state of one rank serves all.

seen = {}


def note(batch):
    for sample, frames in zip(batch["sample"].tolist(), batch["frames"], strict=True):
        assert sample not in seen  # nothing is repeated
        seen[sample] = frames


states = []
for rank in range(2):
    with make_loader(rank, num_ranks=2) as loader:
        for batch in islice(loader, 2):
            note(batch)
        states.append(json.dumps(loader.state_dict()))
print(states[0])
assert states[0] == states[1]

# %%
# Three ranks continue, with another batch size. Each takes its share of the rest.

for rank in range(3):
    with make_loader(rank, num_ranks=3, batch_size=2) as loader:
        loader.load_state_dict(json.loads(states[0]))
        samples = []
        for batch in loader:
            note(batch)
            samples += batch["sample"].tolist()
        print(f"rank {rank} of 3: {samples}, next is epoch {loader.next_epoch}")

# %%
# Each sample came once, with bit for bit the same clips, crops and flips as in an uninterrupted
# run: what is drawn for a sample depends only on the seed, the sample and the epoch.

assert sorted(seen) == list(range(12))
assert all(torch.equal(seen[sample], expected[sample]) for sample in expected)

# %%
# A state belongs to its data set. Loading it with another one is an error:

encode_video(folder / "videos/12.mp4", size=(64, 48), frames=30)
vl.index_dataset(folder / "videos", folder / "set.parquet", workers=0)
try:
    make_loader(0, 1).load_state_dict(json.loads(states[0]))
except vl.errors.ArgumentError as error:
    print(error)
else:
    raise AssertionError("the state of another data set was taken")
