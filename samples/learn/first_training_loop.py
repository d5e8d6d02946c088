"""
A first training loop
=====================

From videos on disk to an index, to batches, to a network that learns which kind of picture it
sees.

Guide: :doc:`/loading`.
"""

# %%
# Six short videos, in a folder for each class:

import tempfile
from pathlib import Path

import torch

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
for number, kind in enumerate(["testsrc2", "mandelbrot"] * 3):
    (folder / kind).mkdir(exist_ok=True)
    encode_video(folder / kind / f"{number}.mp4", size=(96, 64), frames=40 + number, picture=kind)

# %%
# Indexing reads the tables of the containers and decodes nothing. Keep `set.parquet`: later runs,
# other processes and other machines only open it.

dataset = vl.index_dataset(folder, out=folder / "set.parquet", workers=0)
[(dataset[row].num_frames, dataset[row].codec) for row in range(len(dataset))]

# %%
# While the loop uses a batch, a loader decodes the next ones. Resizing, mirroring and normalising
# are part of decoding.

loader = vl.Loader(
    dataset,
    vl.RandomClip(8, stride=2),
    batch_size=2,
    labels=lambda key: key.partition("/")[0],  # the folder: two classes
    size=(48, 48),
    random_flip=0.5,
    dtype="float32",
    layout="CFHW",
    mean=(127.5,),
    std=(127.5,),
    shuffle=True,
    workers=0,
    seed=0,
)

# %%
# The training loop is that of any PyTorch program.

torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Conv3d(3, 8, (2, 4, 4), stride=(2, 4, 4)),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool3d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(8, 2),
)
optimizer = torch.optim.AdamW(network.parameters(), lr=0.02)
for epoch in range(4):
    loader.set_epoch(epoch)
    losses = []
    for batch in loader:
        loss = torch.nn.functional.cross_entropy(network(batch["frames"]), batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {len(losses)} batches, loss {sum(losses) / len(losses):.3f}")

# %%
# The clips of the last batch, as the network saw them: a row for each.

import matplotlib.pyplot as plt

pictures = (batch["frames"].numpy() + 1) / 2  # from -1..1 to 0..1; (B, C, F, H, W)
_, axes = plt.subplots(*pictures.shape[0:3:2], figsize=(9, 2.6), layout="constrained")
for row, clip in zip(axes, pictures, strict=True):
    for axis, picture in zip(row, clip.transpose(1, 2, 3, 0), strict=True):
        axis.imshow(picture)
        axis.set_axis_off()

# %%
# Whether the loop waits, and for what:

loader.stats()

# %%
# The state of the run is a few integers. A new loader that loads it continues with the next batch,
# also with another number of ranks.

state = loader.state_dict()
loader.close()
state
