"""
Ten million web videos
======================

Collections of web videos are kept as archives in an object store. The videos have many sizes and
lengths, and some are broken. This lesson has twelve, in two archives behind a local web server; the
calls for ten million are the same.

Guides: :doc:`/object-stores`, :doc:`/training/foundation-models`.
"""

# %%
# Two archives. Each has clips, and for each clip a text file with its caption. One clip
# is truncated.

import io
import tarfile
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pyarrow.compute as pc

import videoloader as vl
from videoloader.demo.serving import serve
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import merge_datasets

folder = Path(tempfile.mkdtemp())
SIZES = [(128, 72), (72, 128), (96, 96), (160, 90)] * 3
for shard in range(2):
    with tarfile.open(folder / f"{shard:05}.tar", "w") as archive:
        for number in range(6 * shard, 6 * shard + 6):
            path = folder / "clip.mp4"
            encode_video(path, size=SIZES[number], fps=24 + number, frames=26 + 4 * number)
            data = path.read_bytes()
            files = {"mp4": data[:3000] if number == 2 else data, "txt": f"clip {number}".encode()}
            for ending, content in files.items():
                member = tarfile.TarInfo(f"{number:05}.{ending}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

# %%
# Each machine indexes one part; here two calls do so, one after the other. Archives are not
# unpacked: range requests read the tables of each container. `s3://bucket/prefix` works like these
# URLs. A broken file is a row with an error.

cleanup = ExitStack()
url = cleanup.enter_context(serve(folder))
shards = [f"{url}/00000.tar", f"{url}/00001.tar"]
parts = [folder / "part0.parquet", folder / "part1.parquet"]
for number, part in enumerate(parts):
    vl.index_dataset(shards, part, workers=0, shard=(number, 2), root=f"{url}/")
dataset = merge_datasets(parts, folder / "set.parquet")
print(f"{len(dataset)} rows, {len(dataset.failed)} of them a failure")
print(dataset.errors["error"][0])
assert dataset.failed == [2]

# %%
# Select and split videos by the columns of the index; no video is opened. A video stays in its part
# of a split when others are added.

long = dataset.filter(pc.field("duration") > 1.2, max_aspect=2)
train, rest = long.split(0.7, seed=1)
print(f"{len(long)} of {len(dataset.videos)} chosen, {len(train)} to train on, {len(rest)} to test")
rest.select(["key", "width", "height", "num_frames"]).to_pylist()

# %%
# Buckets: each batch has clips of one shape, and a video goes to the bucket that keeps most of its
# picture. Captions come from the archives. A video that does not decode is replaced by another one
# of its bucket.

loader = vl.Loader(
    train,
    vl.RandomClip(8, stride=2),
    batches=vl.Buckets(
        vl.aspect_buckets(64 * 64, frames=8, ratios=(9 / 16, 1, 16 / 9)), batch_size=2
    ),
    columns=(".txt",),
    shuffle=True,
    remainder="keep",
    on_error="replace",
    max_errors=0.01,
    workers=0,
)
print(loader.order.plan.summary())  # of an epoch, before anything is decoded
seen: Counter[str] = Counter()
for batch in loader:
    seen.update(batch[".txt"])
    print(tuple(batch["frames"].shape), *batch[".txt"], sep="  ")
assert seen == Counter(seen.keys())  # each once
assert len(seen) == len(train)

# %%
# Packs: one sequence of tokens, every clip in its own size, for a model that attends within clips:

packed = vl.Loader(
    train,
    vl.RandomClip(8, stride=2),
    batches=vl.Packing(512, patchify=(2, 16, 16), max_pixels=96 * 96),
    shuffle=True,
    workers=0,
)
pack = next(iter(packed))
print("patches", tuple(pack["patches"].shape), "clips", pack["cu_seqlens"].tolist())

loader.close()
packed.close()
cleanup.close()
