"""
Index and clean a data set
==========================

Which videos, and which parts of them, are worth training on: what is in the data set, copies,
scores, shots, and a column of your own. Each step writes a Parquet file, may be killed and goes
on, and costs one row where a file is bad. In a shell the steps are `videoloader index`, `query`,
`dedupe`, `score` and `scenes`.

Guides: :doc:`/data-sets`, :doc:`/curation`.
"""

# %%
# Four videos of two or three shots, a copy of the first in worse quality, and a dark one:

import tempfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import videoloader as vl
from videoloader.demo.shots import encode_shots
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
videos = folder / "videos"
videos.mkdir()
for number in range(4):
    encode_shots(videos / f"{number}.mp4", [30, 20, 10 * number + 10], seed=number, size=(160, 90))
low = {"crf": "32", "g": "12", "threads": "1"}
encode_shots(videos / "copy.mp4", [30, 20, 10], seed=0, size=(128, 72), options=low)
encode_video(videos / "dark.mp4", size=(160, 90), picture="color=c=black")

# %%
# What is there? The columns of the index come from tables of the files; conditions are SQL (with
# the extra `query`), or those of `filter`.

dataset = vl.index_dataset(videos, folder / "set.parquet", workers=0)
print(dataset.select(["key", "codec", "num_frames", "max_gop"]).to_pylist()[0])
usable = dataset.query("num_frames >= 60 and codec = 'h264'")
print(f"{len(usable)} of {len(dataset)} videos are long enough")

# %%
# Copies: packets, then pictures, are compared. The best of a group represents it.

doubles = vl.find_duplicates(dataset, folder / "duplicates.parquet", workers=0)
copies = doubles.filter(pc.invert(pc.field("is_representative")))
print("copies:", copies["key"].to_pylist())
assert copies["key"].to_pylist() == ["copy.mp4"]

# %%
# Scores, from a few keyframes of each video: numbers to sort and select by. What is too dark or too
# blurred depends on the data.

scores = vl.map_clips(dataset, vl.score_video, folder / "scores.parquet", workers=0)
for row in scores.select(["key", "black", "blur", "motion"]).to_pylist():
    print(row["key"], *(f"{name} {row[name]:.2f}" for name in ("black", "blur", "motion")))
good = scores.filter(pc.field("error").is_null() & (pc.field("black") < 0.8))["row"]

# %%
# Shots: where one picture does not follow from the one before.

scenes = vl.map_clips(dataset, vl.find_scenes, folder / "scenes.parquet", workers=0)
kept = scenes.filter(pc.field("row").isin(good) & ~pc.field("row").isin(copies["row"]))
clips = kept.filter(pc.field("stop") - pc.field("start") >= 16)
pq.write_table(clips, folder / "clips.parquet")
print(f"{len(clips)} shots of 16 frames or more in {len(set(kept['row'].to_pylist()))} videos")
assert kept.filter(pc.field("row") == 0)["start"].to_pylist() == [0, 30, 50]

# %%
# A function of your own over clips, in the same way: it may call a model, on a GPU with
# `device="cuda"`, on several machines with `shard=(i, n)`.


def embed(clip):
    """The mean colours of a grid of 4 x 4."""
    return clip.frames.float().mean(dim=0).flatten() / 255


table = vl.map_clips(
    dataset,
    embed,
    folder / "embeddings.parquet",
    clips=vl.UniformClip(8),
    columns="embedding",
    size=(4, 4),
    workers=0,
)
print(f"{len(table)} embeddings of {len(table['embedding'][0])} numbers")

# %%
# What was found goes into the index, and from there into training: the selection is a data set,
# scores are columns of batches.

rated = dataset.join(folder / "scores.parquet", key="key", columns=["motion", "black"])
chosen = rated.filter((pc.field("black") < 0.8) & ~pc.field("key").isin(copies["key"]))
loader = vl.Loader(
    chosen, vl.RandomClip(8), batch_size=2, size=(48, 48), columns=["motion"], workers=0
)
batch = next(iter(loader))
print(tuple(batch["frames"].shape), batch["motion"])
assert len(chosen) == 4
loader.close()
