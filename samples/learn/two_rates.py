"""
Two frame rates of one clip (SlowFast)
======================================

One pathway sees few frames and learns what is there, the other sees many and learns how it moves.
Both get the same moment of the video, decoded once.

Guide: :doc:`/frames`.
"""

# %%
# Classes that no single frame tells apart: a disc moves left or right.

import tempfile
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

import videoloader as vl
from videoloader.demo.shots import encode_pictures

folder = Path(tempfile.mkdtemp())
for number in range(12):
    name, step = (("left", -3), ("right", 3))[number % 2]
    pictures = np.full((50, 64, 96, 3), 40, np.uint8)
    for frame, picture in enumerate(pictures):
        at = ((20 * number + step * frame) % 96, 12 + 8 * (number % 6))
        cv2.circle(picture, at, 10, (90 + 12 * number, 200, 60), -1)
    (folder / name).mkdir(exist_ok=True)
    encode_pictures(folder / name / f"{number}.mp4", pictures, size=(96, 64))

# %%
# The sampler takes the frames of the fast pathway: 16 at 25 frames a second, whatever the rate of
# the video. The slow pathway takes every fourth of them, so it costs no further decoding.

SLOWER = 4
loader = vl.Loader(
    folder,
    vl.RandomClip(16, fps=25),
    batch_size=6,
    labels=lambda path: Path(path).parent.name,
    size=(32, 48),
    dtype="float32",
    layout="CFHW",
    mean=127.5,
    std=127.5,
    shuffle=True,
    workers=0,
)


class TwoPathways(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.slow = nn.Conv3d(3, 16, (1, 5, 5), stride=(1, 4, 4))
        self.fast = nn.Conv3d(3, 8, (5, 5, 5), stride=(1, 4, 4), padding=(2, 0, 0))
        self.lateral = nn.Conv3d(8, 16, (5, 1, 1), stride=(SLOWER, 1, 1), padding=(2, 0, 0))
        self.head = nn.Linear(24, num_classes)

    def forward(self, frames):  # (B, 3, 16, H, W)
        fast = torch.relu(self.fast(frames))
        slow = torch.relu(self.slow(frames[:, :, ::SLOWER]) + self.lateral(fast))
        return self.head(torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1))


torch.manual_seed(0)
network = TwoPathways(len(loader.classes))
optimizer = torch.optim.AdamW(network.parameters(), lr=0.02)
for epoch in range(40):
    loader.set_epoch(epoch)
    correct = total = 0
    for batch in loader:
        scores = network(batch["frames"])
        loss = nn.functional.cross_entropy(scores, batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += int((scores.argmax(1) == batch["labels"]).sum())
        total += len(scores)
    if epoch % 10 == 9:
        print(f"epoch {epoch}: {correct} of {total}")
assert correct >= 0.9 * total
loader.close()

# %%
# Times of both pathways, in seconds. The fast one sees in between what the slow one leaves out.

import matplotlib.pyplot as plt

times = batch["times"][0]
print("slow", times[::SLOWER].tolist())
_, axes = plt.subplots(1, 16, figsize=(9, 1.2), layout="constrained")
for place, (axis, picture) in enumerate(zip(axes, batch["frames"][0].unbind(1), strict=True)):
    axis.imshow(((picture.permute(1, 2, 0) + 1) / 2).numpy())
    axis.set_title("both" if place % SLOWER == 0 else "fast", fontsize=8)
    axis.set_axis_off()
