"""
Train on shots, not across cuts
===============================

A clip that contains a cut shows two things at once. Find the cuts, train on the shots between them,
or write each shot to a file of its own.

Guide: :doc:`/curation`.
"""

# %%
# Three edited videos; the numbers are the lengths of their shots in frames.

import tempfile
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

import videoloader as vl
from videoloader.demo.shots import encode_shots

folder = Path(tempfile.mkdtemp())
LENGTHS = {"a.mp4": [40, 30, 50], "b.mp4": [60, 12], "c.mp4": [35, 45]}
videos = folder / "videos"
videos.mkdir()
for seed, (name, lengths) in enumerate(LENGTHS.items()):
    encode_shots(videos / name, lengths, seed=seed, size=(160, 90))
dataset = vl.index_dataset(videos, folder / "set.parquet", workers=0)
find = partial(vl.find_scenes, exact=True)  # decodes frames around suspected cuts
scenes = vl.map_clips(dataset, find, folder / "scenes.parquet", workers=0)
for row in scenes.select(["key", "start", "stop"]).to_pylist():
    print(row["key"], row["start"], row["stop"])

# %%
# `Segments` makes a sample of each shot that is long enough. No clip leaves its shot.

long = scenes.filter(pc.field("stop") - pc.field("start") >= 16)
shots = vl.Segments(
    long.select(["key", "start", "stop"]), dataset, video="key", end="stop", unit="frames"
)
loader = vl.Loader(
    shots, vl.RandomClip(8, stride=2), batch_size=3, size=(45, 80), shuffle=True, workers=0
)
starts, stops = long["start"].to_numpy(), long["stop"].to_numpy()
for batch in loader:
    rows, numbers = batch["sample"].numpy(), batch["frame_numbers"].numpy()
    print("shots", rows, "from frame", numbers[:, 0])
    assert (starts[rows] <= numbers.min(1)).all()
    assert (numbers.max(1) < stops[rows]).all()
loader.close()

# %%
# `cut` writes the same shots to files. Where a shot begins at a keyframe, its packets are copied
# without loss.

for number, row in enumerate(long.to_pylist()):
    made = vl.cut(videos / row["key"], folder / f"{number}.mp4", row["start"], row["stop"])
    print(made.path.name, made.stop - made.start, "frames,", made.method)
    assert vl.index_video(made.path).num_frames == row["stop"] - row["start"]

# %%
# The first frame of each shot:

import matplotlib.pyplot as plt

_, axes = plt.subplots(1, len(long), figsize=(9, 1.4), layout="constrained")
for axis, row in zip(axes, long.to_pylist(), strict=True):
    with vl.Video(videos / row["key"]) as video:
        axis.imshow(video[row["start"]].numpy())
    axis.set_title(f"{row['key']} {row['start']}", fontsize=8)
    axis.set_axis_off()
