"""
Action recognition: labels and testing
======================================

Labels from a table, random clips for training, and the two usual ways to test: one clip spread
over the whole video, and the mean of several views. `samples/train_action_recognition.py` trains
a network with several processes.

Guides: :doc:`/training/labels`, :doc:`/training/samplers`.
"""

# %%
# Twelve videos in one folder. A table has the id and the class of each, as in Kinetics.

import csv
import tempfile
from pathlib import Path

import torch

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
COLOURS = {"blaze": "c0=tomato:c1=gold", "dive": "c0=navy:c1=teal", "mow": "c0=lime:c1=green"}
rows = []
for number in range(12):
    name = sorted(COLOURS)[number % 3]
    picture = f"gradients=seed={number}:n=2:{COLOURS[name]}:speed=0.05"
    path = folder / f"id{number:04}_000012_000022.mp4"
    encode_video(path, size=(128, 72), fps=24 + number % 3, frames=40 + number, picture=picture)
    rows.append((path.name[:6], name))
with open(folder / "labels.csv", "w", newline="") as file:
    csv.writer(file).writerows([("youtube_id", "label"), *rows])

# %%
# `on` computes the key in the table from the path of a video.

dataset = vl.index_dataset(folder, folder / "set.parquet", workers=0)
labels = vl.LabelColumn(
    folder / "labels.csv", key="youtube_id", on=lambda path: Path(path).name[:6]
)
train, test = dataset.split(0.7, seed=4)
print(f"{len(train)} videos to train on, {len(test)} to test")

# %%
# Each epoch has another random clip of each video. With `fps=8` the time between frames is the same
# whatever the rate of the video. Classes are numbered in alphabetical order; pass `classes` so that
# the test set has the same numbers.

loader = vl.Loader(
    train,
    vl.RandomClip(8, fps=8),
    batch_size=4,
    labels=labels,
    random_resized_crop=((0.5, 1.0), (0.75, 1.33)),
    size=(48, 48),
    random_flip=0.5,
    shuffle=True,
    remainder="keep",
    workers=0,
)
classes = loader.classes
sums = torch.zeros(len(classes), 3)
counts = torch.zeros(len(classes))
for batch in loader:  # the smallest model there is: the mean colour of each class
    sums.index_add_(0, batch["labels"], batch["frames"].float().mean((1, 3, 4)))
    counts.index_add_(0, batch["labels"], torch.ones(len(batch["labels"])))
means = sums / counts[:, None]


def score(clips):
    """uint8 (N, F, 3, H, W) to scores (N, classes)."""
    return -torch.cdist(clips.float().mean((1, 3, 4)), means)


# %%
# Uniform testing: one clip of 8 frames spread over the video, one crop in the middle.

uniform = vl.Loader(
    test,
    vl.UniformClip(8),
    batch_size=2,
    labels=labels,
    classes=classes,
    resize_shorter=48,
    crop_size=48,
    remainder="keep",
    workers=0,
)
found = torch.cat([score(batch["frames"]).argmax(1) == batch["labels"] for batch in uniform])
print(f"uniform: {found.float().mean():.0%} of {len(found)}")

# %%
# Multi-view testing: four clips spread over the video, each in three crops along the longer side.
# The scores of the 12 views are averaged. Each frame is decoded once for all its views.

views = vl.Loader(
    test,
    vl.EvenClips(4, count=8, stride=2),
    batch_size=2,
    labels=labels,
    classes=classes,
    resize_shorter=48,
    crop_size=48,
    num_crops=3,
    remainder="keep",
    workers=0,
)
correct = total = 0
for batch in views:
    frames = batch["frames"]  # (B, 4 clips x 3 crops, 8 frames, 3, 48, 48)
    scores = score(frames.flatten(0, 1)).unflatten(0, frames.shape[:2]).mean(1)
    correct += int((scores.argmax(1) == batch["labels"]).sum())
    total += len(frames)
print(f"multi-view, {frames.shape[1]} views of a video: {correct / total:.0%} of {total}")
assert frames.shape[1] == 12
assert total == len(found) == len(test)  # each video once, whatever the size of the last batch
assert correct == total

# %%
# What each view shows: the same frame of the last video in the three crops.

import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 3, figsize=(5, 1.8), layout="constrained")
for axis, crop, name in zip(axes, frames[-1, :3, 0], ("left", "middle", "right"), strict=True):
    axis.imshow(crop.permute(1, 2, 0).numpy())
    axis.set_title(name)
    axis.set_axis_off()
for each in (loader, uniform, views):
    each.close()
