"""
Videos and captions: contrastive training
=========================================

Two encoders, one for clips and one for sentences, learn to agree on which caption belongs to which
video, as CLIP does.

Guide: :doc:`/data-sets`.
"""

# %%
# Twelve videos, and a table of captions, which also has a row for a video that is not there:

import csv
import tempfile
from pathlib import Path

import torch
from torch import nn

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
COLOURS = ("red", "green", "blue", "gold")
MOTIONS = {"still": 0.00001, "slow": 0.02, "fast": 0.2}
rows = [("no such video", "missing")]
for colour in COLOURS:
    for motion, speed in MOTIONS.items():
        picture = f"gradients=seed=1:n=2:c0={colour}:c1=black:speed={speed}"
        encode_video(folder / f"{colour}_{motion}.mp4", size=(64, 48), frames=40, picture=picture)
        rows.append((f"a {motion} picture in {colour}", f"{colour}_{motion}"))
with open(folder / "captions.csv", "w", newline="") as file:
    csv.writer(file).writerows([("caption", "name"), *rows])

# %%
# `join` adds the captions to the index, by the names of the files. `columns` then puts them into
# the batches, as a list of texts.

dataset = vl.index_dataset(folder, folder / "set.parquet", workers=0)
captioned = dataset.join(folder / "captions.csv", on="stem", key="name")
options = {
    "columns": ["caption"],
    "size": (16, 16),
    "dtype": "float32",
    "mean": 127.5,
    "std": 127.5,
    "workers": 0,
}
loader = vl.Loader(captioned, vl.RandomClip(4, stride=4), batch_size=6, shuffle=True, **options)
batch = next(iter(loader))
print(tuple(batch["frames"].shape), batch["caption"][:2])

# %%
# The smallest encoders there are: a layer each. The loss asks for the own caption of each clip
# among those of the batch, and the other way round.

words = sorted({word for caption, _ in rows for word in caption.split()})
texts = nn.EmbeddingBag(len(words), 32, mode="sum")
clips = nn.Sequential(nn.Flatten(), nn.Linear(4 * 3 * 16 * 16, 64), nn.ReLU(), nn.Linear(64, 32))


def compare(frames, captions):
    """Similarity of each clip and each caption, (clips, captions)."""
    numbers = [torch.tensor([words.index(word) for word in each.split()]) for each in captions]
    starts = torch.tensor([0, *map(len, numbers[:-1])]).cumsum(0)
    sentences = texts(torch.cat(numbers), starts)
    pictures = clips(torch.cat([frames[:, :1], frames[:, 1:] - frames[:, :-1]], 1))
    unit = nn.functional.normalize
    return unit(pictures, dim=1) @ unit(sentences, dim=1).T / 0.1


torch.manual_seed(0)
optimizer = torch.optim.AdamW([*texts.parameters(), *clips.parameters()], lr=2e-3)
for epoch in range(60):
    loader.set_epoch(epoch)
    for batch in loader:
        scores = compare(batch["frames"], batch["caption"])
        own = torch.arange(len(scores))
        loss = nn.functional.cross_entropy(scores, own) + nn.functional.cross_entropy(scores.T, own)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item() / 2:.2f}")
loader.close()

# %%
# Retrieval: which of all captions fits each video best?

with vl.Loader(captioned, vl.UniformClip(4), batch_size=12, **options) as whole:
    batch = next(iter(whole))
with torch.no_grad():
    scores = compare(batch["frames"], batch["caption"])
colours = [caption.split()[-1] for caption in batch["caption"]]
found = [colours[best] == own for best, own in zip(scores.argmax(1).tolist(), colours, strict=True)]
print(f"the right colour for {sum(found)} of {len(found)}")
assert sum(found) >= 10

# %%
# Rows are videos, columns captions; the diagonal are those that belong together.

import matplotlib.pyplot as plt

_, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.imshow(scores.numpy())
axis.set_yticks(range(12), batch["caption"], fontsize=7)
axis.set_xticks([])
