"""
Colour, HDR and bit depth
=========================

A video stores luma and two differences of colour, in a range and with a matrix that it may or may
not name. This decides what RGB a network sees.

Guide: :doc:`/frames`.
"""

# %%
# The same picture, tagged in two ways. `rate`, size and samples are equal; only the tags differ.

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
# Without tags the matrix is BT.709 from 720 lines up and BT.601 below, as players have it. `matrix`
# says otherwise, and `matrix="swscale"` is what PyAV, decord, torchcodec and OpenCV do: BT.601 at
# any size.

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
# A model that was trained on frames of another reader wants its colours: give `matrix="swscale"` to
# `Loader`, `decode_batch` or `Video`. How many videos of a data set say nothing is a column:

dataset = vl.index_dataset([plain, tagged], folder / "set.parquet", workers=0)
dataset.select(["codec", "color_matrix", "color_range", "bit_depth"]).to_pylist()

# %%
# Ten bits: `uint8` rounds them, `float32` and `uint16` do not. Ranges are those of 8 bits: 0 to 255
# as float32, 0 to 65535 as uint16.

deep = vl.Video(make("deep.mp4", pixel_format="yuv420p10le"))
print(deep.index.pixel_format, deep.index.bit_depth, "bits")
for dtype in ("uint8", "float32", "uint16"):
    values = torch.unique(deep.get_frames([0], dtype=dtype).frames.flatten().float())
    print(f"{dtype}: {len(values)} values, up to {values.max():g}")

# %%
# Depth cameras store distances as grey video. `output="gray"` with `uint16` gives the samples as
# they are coded, 0 to 1023 for 10 bits.

depth = deep.get_frames([0], output="gray", dtype="uint16").frames
y, u, v = deep.get_frames([0], output="yuv", dtype="uint16").planes
print("depth", tuple(depth.shape), "planes", tuple(y.shape), tuple(u.shape))
assert torch.equal(depth[..., 0].int(), torch.as_tensor(y).int())

# %%
# HDR: pictures of PQ and HLG keep their transfer function, which looks flat on a display of BT.709.
# `is_hdr` finds them in a data set. On a GPU `tone_map="reinhard"` or `"hable"` of `decode_batch`
# brings them to BT.709.

hdr = make("hdr.mp4", "colormatrix=bt2020nc:colorprim=bt2020:transfer=smpte2084", "yuv420p10le")
dataset = vl.index_dataset([plain, hdr], folder / "set.parquet", workers=0)
found = dataset.query("is_hdr")
print(found.select(["codec", "color_transfer", "is_hdr"]).to_pylist())
assert len(found) == 1

# %%
# A wrong range: limited samples taken for full ones are pale.

pale = vl.Video(plain, color_range="full")[0].float()
right = vl.Video(plain)[0].float()
print(f"contrast: {right.std():.1f} with the limited range, {pale.std():.1f} with the full one")
assert pale.std() < right.std()
