"""
The loader is slow: what now?
=============================

First find out whether training waits, and for which stage. Then see how much is decoded and not
used. Each question is one call.

Guide: :doc:`/training/stats`.
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
# The statistics say what share of the time the loop waited, and for which stage. Here it does not
# wait, but is slow: `transform` runs in the thread of the loop and takes most of its time. More
# workers would not help. Instead use options of the loader, which the decoder applies, or transform
# whole batches on the GPU.


def slow(frames):
    time.sleep(0.02)
    return frames


with make(slow) as loader:
    stats = train(loader)
    print(stats)
    print(f"transform: {stats['transform'].seconds:.2f} of {stats.seconds:.2f} s")
assert stats["transform"].seconds > 16 * 0.02

# %%
# Without the transform. The bottleneck is a stage that is busy all the time; a stage that waits for
# room in its queue is ahead of the loop.

with make() as loader:
    plain = train(loader)
print(plain)
for stage in plain.stages:
    print(f"{stage.name}: busy {stage.busy:.2f} s, waited for room {stage.waiting_for_room:.2f} s")

# %%
# How many decoded frames are not used? A frame in the middle of a GOP needs frames before it, back
# to the keyframe.

work = plain.work
print(f"{work.decoded} frames decoded, {work.discarded} of them only because others need them")
print(f"decoding {work.decode_seconds:.2f} s, conversion to RGB {work.convert_seconds:.2f} s")

# %%
# There are two ways to decode less. First, clips of one video in one batch share packets;
# `planned_packets` counts packets without decoding.

for together in (False, 2, True):
    with make(together=together) as loader:
        print(f"together={together}:", loader.planned_packets(4))

# %%
# Second, transcode the videos once, with short GOPs and small pictures:

vl.transcode(folder / "videos", folder / "short", gop=8, resize_shorter=72, workers=0)
with make(videos=folder / "short") as loader:
    short = train(loader)
print(f"{short.work.discarded} of {short.work.decoded} frames only because others need them")
assert short.work.discarded / short.work.decoded < work.discarded / work.decoded

# %%
# `videoloader top` shows all jobs of a machine that were started with `VIDEOLOADER_STATUS=1`. This
# is its table for this process:

from rich.console import Console

from videoloader.cli.live_view import show

with make() as loader:
    train(loader)
    show(Console(width=150), folder=folder / "status")
del os.environ["VIDEOLOADER_STATUS"]

# %%
# `loader.stats().as_dict()` has all numbers for a logger.
