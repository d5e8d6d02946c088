"""
Index and clean a data set
==========================

Select the videos, and the parts of them, to train on: query the index, find copies, score videos,
find shots, and add a column of your own. Each step writes a Parquet file and can be resumed; a bad
file is one row with an error. In a shell the steps are `videoloader index`, `query`, `dedupe`,
`score` and `scenes`.

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
# The index has columns such as the codec and the number of frames. Select videos by SQL (extra
# `query`), or with `filter`.

dataset = vl.index_dataset(videos, folder / "set.parquet", workers=0)
print(dataset.select(["key", "codec", "num_frames", "max_gop"]).to_pylist()[0])
usable = dataset.query("num_frames >= 60 and codec = 'h264'")
print(f"{len(usable)} of {len(dataset)} videos are long enough")

# %%
# Copies: packets are compared, then pictures. The best video of a group represents it.

doubles = vl.find_duplicates(dataset, folder / "duplicates.parquet", workers=0)
copies = doubles.filter(pc.invert(pc.field("is_representative")))
print("copies:", copies["key"].to_pylist())
assert copies["key"].to_pylist() == ["copy.mp4"]

# %%
# Scores are numbers to sort and select by, from a few keyframes of each video. Which values are too
# dark or too blurred depends on the data.

scores = vl.map_clips(dataset, vl.score_video, folder / "scores.parquet", workers=0)
for row in scores.select(["key", "black", "blur", "motion"]).to_pylist():
    print(row["key"], *(f"{name} {row[name]:.2f}" for name in ("black", "blur", "motion")))
good = scores.filter(pc.field("error").is_null() & (pc.field("black") < 0.8))["row"]

# %%
# Shots: the parts of a video between hard cuts.

scenes = vl.map_clips(dataset, vl.find_scenes, folder / "scenes.parquet", workers=0)
kept = scenes.filter(pc.field("row").isin(good) & ~pc.field("row").isin(copies["row"]))
clips = kept.filter(pc.field("stop") - pc.field("start") >= 16)
pq.write_table(clips, folder / "clips.parquet")
print(f"{len(clips)} shots of 16 frames or more in {len(set(kept['row'].to_pylist()))} videos")
assert kept.filter(pc.field("row") == 0)["start"].to_pylist() == [0, 30, 50]

# %%
# A function of your own is called for each clip in the same way. It may call a model, with
# `device="cuda"` on a GPU, with `shard=(i, n)` on several machines.


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
# Join the results to the index, select by them, and train on the selection. Joined columns can be
# part of batches.

rated = dataset.join(folder / "scores.parquet", key="key", columns=["motion", "black"])
chosen = rated.filter((pc.field("black") < 0.8) & ~pc.field("key").isin(copies["key"]))
loader = vl.Loader(
    chosen, vl.RandomClip(8), batch_size=2, size=(48, 48), columns=["motion"], workers=0
)
batch = next(iter(loader))
print(tuple(batch["frames"].shape), batch["motion"])
assert len(chosen) == 4
loader.close()
