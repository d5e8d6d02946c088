"""
The loader is slow: what now?
=============================

First ask who waits for whom. Then see what is decoded in vain. Each question is one call.

Guide: :doc:`/stats`.
"""

# %%
# Four videos with a keyframe every two seconds, and a training step that takes 10 ms.

import os
import tempfile
import time
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
(folder / "videos").mkdir()
os.environ["VIDEOLOADER_STATUS"] = f"{folder}/status"  # for `videoloader top`; usually 1
for number in range(4):
    long = {"x264-params": "threads=1:keyint=60:scenecut=0:bframes=0"}
    encode_video(folder / f"videos/{number}.mp4", size=(192, 108), frames=120, options=long)


def train(loader):
    """Two epochs of a loop; gives the statistics of the second."""
    for _ in range(2):
        for batch in loader:
            batch["frames"]
            time.sleep(0.01)
    return loader.stats()


def make(transform=None, videos=folder / "videos", **more):
    clips = vl.RandomClip(8, stride=4)
    options = {"batch_size": 4, "clips_per_video": 4, "size": (64, 64), "seed": 0, "workers": 0}
    return vl.Loader(videos, clips, transform=transform, shuffle=True, **options | more)


# %%
# Who waits? The line says for what share of the time the loop waited, and for which stage. Here it
# does not wait, and yet is slow: `transform` is called in the thread of the loop, and takes most of
# its time. More workers would not help; work on whole batches, on the GPU, would, or the options of
# the loader that the decoder applies.


def slow(sample):
    time.sleep(0.02)
    return sample


with make(slow) as loader:
    stats = train(loader)
    print(stats)
    print(f"transform: {stats['transform'].seconds:.2f} of {stats.seconds:.2f} s")
assert stats["transform"].seconds > 16 * 0.02

# %%
# Without it. A stage that is busy all the time is the one to look at; one that waits for room is
# ahead of the loop.

with make() as loader:
    plain = train(loader)
print(plain)
for stage in plain.stages:
    print(f"{stage.name}: busy {stage.busy:.2f} s, waited for room {stage.waiting_for_room:.2f} s")

# %%
# What is decoded in vain? A frame in the middle of a GOP needs those before it, back to the
# keyframe.

work = plain.work
print(f"{work.decoded} frames decoded, {work.discarded} of them only because others need them")
print(f"decoding {work.decode_seconds:.2f} s, conversion to RGB {work.convert_seconds:.2f} s")

# %%
# Two ways to less. Clips of one video in one batch share packets: `planned_packets` counts without
# decoding.

for together in (False, 2, True):
    with make(together=together) as loader:
        print(f"together={together}:", loader.planned_packets(4))

# %%
# Or short GOPs and small pictures, written once:

vl.transcode(folder / "videos", folder / "short", gop=8, resize_shorter=72, workers=0)
with make(videos=folder / "short") as loader:
    short = train(loader)
print(f"{short.work.discarded} of {short.work.decoded} frames only because others need them")
assert short.work.discarded / short.work.decoded < work.discarded / work.decoded

# %%
# All running jobs of a machine, in a shell: `VIDEOLOADER_STATUS=1 python train.py`, and beside it
# `videoloader top`. This is its table for this process:

from rich.console import Console

from videoloader.report.top import show

with make() as loader:
    train(loader)
    show(Console(width=150), folder=folder / "status")
del os.environ["VIDEOLOADER_STATUS"]

# %%
# `loader.stats().as_dict()` goes to a logger.
