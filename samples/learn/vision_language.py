"""
Inputs of a vision-language model
=================================

Frames spread over whole videos, with their times, in a size that the model can cut into patches.
First with calls of this library, then through `transformers`, if it is installed.

Guides: :doc:`/training/foundation-models`, :doc:`/frames`.
"""

# %%
# A wide video of three seconds, and one held upright by a phone, whose pictures are stored
# sideways:

import tempfile
from importlib.util import find_spec
from math import floor, sqrt
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())
wide = encode_video(folder / "wide.mp4", size=(320, 180), fps=30, frames=90)
upright = encode_video(folder / "upright.mp4", size=(192, 108), fps=24, frames=40, rotation=-90)

# %%
# The number of frames follows from the duration, which the index has: two a second, an even number,
# at least four. Both sides of the picture become multiples of 28 pixels within a budget of pixels,
# with about the same aspect ratio.

PATCH, BUDGET = 28, 112 * 112


def choose(video):
    """How many frames, and (height, width), of a video."""
    count = max(4, round(2 * float(video.index.duration)) // 2 * 2)
    scale = min(1, sqrt(BUDGET / (video.width * video.height)))
    sides = (video.height, video.width)
    return count, tuple(max(PATCH, floor(side * scale / PATCH) * PATCH) for side in sides)


videos = [vl.Video(path) for path in (wide, upright)]
for video in videos:
    print(video.width, "x", video.height, "->", choose(video))
assert videos[1].width < videos[1].height  # turned as a player would

# %%
# `UniformClip` spreads the frames from the first to the last. Their presentation times go into the
# prompt. All clips of a batch are decoded together; they may have different sizes and lengths.

requests = []
for path, video in zip((wide, upright), videos, strict=True):
    count, size = choose(video)
    frames = vl.sampling.sample_frames(vl.UniformClip(count), video.index)
    requests.append(vl.ClipRequest(path, frames, index=video.index, size=size))
batch = vl.decode_batch(requests, layout="FCHW", matrix="swscale", workers=0)
for clip in batch.clips:
    prompt = "".join(f"<{time:.1f} seconds><frame>" for time in clip.times)
    print(tuple(clip.frames.shape), prompt)

# %%
# `matrix="swscale"` gives the colours of PyAV, decord, torchcodec and OpenCV, with which these
# models were trained. `patchify` cuts each clip into tokens of two frames:

tokens = [vl.patchify(clip.frames, (2, PATCH, PATCH)) for clip in batch.clips]
print([tuple(each.shape) for each in tokens])
assert all(each.shape[1] == 2 * PATCH * PATCH * 3 for each in tokens)

# %%
# In `transformers`, one call registers this library as a backend, with which processors read paths
# and URLs. `qwen_vl_utils` and vLLM have such a hook too, see :doc:`/drop-ins-hooks`.

if find_spec("transformers"):
    from transformers.video_utils import load_video

    from videoloader.compat import transformers as hook

    hook.register()
    frames, metadata = load_video(str(wide), num_frames=6, backend=hook.NAME)
    print(tuple(frames.shape), "of", metadata.total_num_frames, "at", metadata.fps, "a second")
    print("times:", *(f"{time:.2f}" for time in metadata.timestamps))

# %%
# What the model sees of the upright video:

import matplotlib.pyplot as plt

clip = batch.clips[1]
_, axes = plt.subplots(1, len(clip.frames), figsize=(5, 2.6), layout="constrained")
for axis, picture, time in zip(axes, clip.frames, clip.times, strict=True):
    axis.imshow(picture.permute(1, 2, 0).numpy())
    axis.set_title(f"{time:.1f} s")
    axis.set_axis_off()
