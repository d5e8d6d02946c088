"""
When files are broken
=====================

A bad file fails its sample, not the run. `on_error` decides what happens to the sample, and a log
lists which ones failed, and why.

Guide: :doc:`/training/failures`.
"""

# %%
# Six videos. One has damaged packets in the middle; one is truncated, and cannot be opened.

import json
import tempfile
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
videos = folder / "videos"
videos.mkdir()
for number in range(6):
    encode_video(videos / f"{number}.mp4", size=(96, 64), frames=40)
data = bytearray((videos / "2.mp4").read_bytes())
for packet in vl.index_video(videos / "2.mp4").packets[10:30]:
    start, size = int(packet["offset"]), int(packet["size"])
    data[start + 4 : start + size] = b"\xff" * (size - 4)
(videos / "2.mp4").write_bytes(data)
(videos / "4.mp4").write_bytes((videos / "4.mp4").read_bytes()[:2000])

# %%
# An index has a row with an error for the file that cannot be opened. The tables of the other file
# are intact; its damage is found when it is decoded.

dataset = vl.index_dataset(videos, folder / "set.parquet", workers=0)
print("failed rows:", dataset.failed)
print(dataset.errors["error"][0].as_py().rpartition("/")[2])
assert dataset.failed == [4]

# %%
# By default the error is raised. It names the file, the frame and the packet.


def make_loader(**options):
    paths = sorted(videos.glob("*.mp4"))  # all six, without the index
    options = {"batch_size": 2, "size": (48, 48), "workers": 0} | options
    return vl.Loader(paths, vl.UniformClip(8), **options)


try:
    list(make_loader())
except vl.VideoError as error:
    print(type(error).__name__, str(error).rpartition("/")[2])

# %%
# `skip` makes batches smaller, but never empty, so that all ranks have the same number of steps.
# `replace` takes the next video that decodes. `mask` fills the frames that do not decode, and marks
# them.

found = {}
for policy in ("skip", "replace", "mask"):
    with make_loader(on_error=policy) as loader:
        batches = list(loader)
        found[policy] = [batch["sample"].tolist() for batch in batches]
        print(f"{policy:8}", found[policy], f"{len(loader.failures)} failures")
masked = batches[1]["mask"][0]
print("frames of video 2 that decode:", masked.tolist())
assert found["skip"] == [[0, 1], [3], [5]]
assert found["replace"] == [[0, 1], [3, 3], [5, 5]]
assert masked.any()
assert not masked.all()

# %%
# Failures are listed in `loader.failures` and in a log that all ranks can share; the statistics
# count them.

log = folder / "errors.jsonl"
with make_loader(on_error="replace", error_log=log) as loader:
    for _ in loader:
        pass
    print(loader.stats())
for line in log.read_text().splitlines():
    failure = json.loads(line)
    print(Path(failure["path"]).name, failure["kind"], "frame", failure["frame"])

# %%
# The next run leaves them out before anything is opened:

with make_loader(skip_known=log, on_error="raise") as loader:
    kept = [sample for batch in loader for sample in batch["sample"].tolist()]
print("known to be good:", kept)
assert kept == [0, 1, 3, 5]

# %%
# `max_errors` ends a run with too many failures: a number, or a share of the samples.

try:
    with make_loader(on_error="replace", max_errors=1) as loader:
        for _ in loader:
            pass
except vl.errors.TooManyFailuresError as error:
    print(str(error).splitlines()[0])
else:
    raise AssertionError("two videos fail, and one may")

# %%
# `videoloader check set.parquet` decodes everything once and lists the damaged frames; `skip_known`
# takes its output as well. With worker processes (the default) a codec that crashes or hangs also
# fails only its sample.
