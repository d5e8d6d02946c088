"""
Colour, HDR and bit depth
=========================

A video stores luma and two colour differences. Their range and colour matrix decide which RGB
values a network gets, and many files do not state them.

Guide: :doc:`/pixels`.
"""

# %%
# The same picture twice, without and with tags. The coded samples are equal.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import videoloader as vl
from videoloader.demo.videos import encode_video

folder = Path(tempfile.mkdtemp())


def make(name, tags="", pixel_format="yuv420p"):
    options = {"x264-params": ":".join(filter(None, ["threads=1", "qp=4", tags]))}
    picture = "smptehdbars" if pixel_format == "yuv420p" else "testsrc2"
    return encode_video(
        folder / name,
        size=(192, 108),
        frames=4,
        options=options,
        pixel_format=pixel_format,
        picture=picture,
    )


plain = make("plain.mp4")
tagged = make("tagged.mp4", "colormatrix=bt709:colorprim=bt709:transfer=bt709")
for path in (plain, tagged):
    print(path.name, vl.index_video(path).color)

# %%
# Without tags the matrix is BT.709 from 720 lines up and BT.601 below, as in players. `matrix`
# overrides this; `matrix="swscale"` is what PyAV, decord, torchcodec and OpenCV do: BT.601 at any
# size.

views = {
    "untagged": vl.Video(plain),
    "tagged BT.709": vl.Video(tagged),
    "untagged, BT.709": vl.Video(plain, matrix="bt709"),
    "untagged, swscale": vl.Video(plain, matrix="swscale"),
}
_, axes = plt.subplots(1, 4, figsize=(9, 1.6), layout="constrained")
for axis, (name, video) in zip(axes, views.items(), strict=True):
    axis.imshow(video[0].numpy())
    axis.set_title(name, fontsize=9)
    axis.set_axis_off()


def difference(one, other):
    """The mean difference of two views, of 255."""
    return (views[one][0].float() - views[other][0].float()).abs().mean().item()


assert difference("tagged BT.709", "untagged, BT.709") == 0
print(f"BT.601 instead of BT.709: {difference('untagged', 'tagged BT.709'):.1f} of 255 on average")

# %%
# A model that was trained on frames of another reader needs its colours: pass `matrix="swscale"` to
# `Loader`, `decode_batch` or `Video`. Columns of a data set index show which videos have no tags:

dataset = vl.index_dataset([plain, tagged], folder / "set.parquet", workers=0)
dataset.select(["codec", "color_matrix", "color_range", "bit_depth"]).to_pylist()

# %%
# Ten bits: `uint8` rounds them, `float32` and `uint16` do not. The range is 0 to 255 as float32,
# and 0 to 65535 as uint16.

deep = vl.Video(make("deep.mp4", pixel_format="yuv420p10le"))
print(deep.index.pixel_format, deep.index.bit_depth, "bits")
for dtype in ("uint8", "float32", "uint16"):
    values = torch.unique(deep.get_frames([0], dtype=dtype).frames.flatten().float())
    print(f"{dtype}: {len(values)} values, up to {values.max():g}")

# %%
# Depth cameras store distances as grey video. `output="gray"` with `uint16` gives the coded
# samples, 0 to 1023 for 10 bits.

depth = deep.get_frames([0], output="gray", dtype="uint16").frames
y, u, v = deep.get_frames([0], output="yuv", dtype="uint16").planes
print("depth", tuple(depth.shape), "planes", tuple(y.shape), tuple(u.shape))
assert torch.equal(depth[..., 0].int(), torch.as_tensor(y).int())

# %%
# HDR: PQ and HLG pictures keep their transfer function, and look flat on a BT.709 display. The
# column `is_hdr` of a data set index finds them. On a GPU `decode_batch` maps them to BT.709 with
# `tone_map="reinhard"` or `"hable"`.

hdr = make("hdr.mp4", "colormatrix=bt2020nc:colorprim=bt2020:transfer=smpte2084", "yuv420p10le")
dataset = vl.index_dataset([plain, hdr], folder / "set.parquet", workers=0)
found = dataset.query("is_hdr")
print(found.select(["codec", "color_transfer", "is_hdr"]).to_pylist())
assert len(found) == 1

# %%
# A wrong range: limited samples that are treated as full range look pale.

pale = vl.Video(plain, color_range="full")[0].float()
right = vl.Video(plain)[0].float()
print(f"contrast: {right.std():.1f} with the limited range, {pale.std():.1f} with the full one")
assert pale.std() < right.std()
