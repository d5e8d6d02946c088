"""
Robots: train a policy on episodes
==================================

Several episodes lie one after the other in one file, as in a LeRobotDataset v3.0, with a table of
actions beside it. A policy sees two moments and predicts the action. It must never see two
episodes at once.

Guides: :doc:`/data-sets`, :doc:`/frames`.
"""

# %%
# Six episodes of 40 frames in a video. A gripper moves towards a goal; the action is its step.

import tempfile
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

import videoloader as vl
from videoloader.demo.shots import encode_pictures

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
EPISODES, LENGTH = 6, 40
pictures, actions = [], []
for _ in range(EPISODES):
    goal, place = rng.uniform(10, 54, 2), rng.uniform(10, 54, 2)
    for _ in range(LENGTH):
        action = np.clip((goal - place) / 10, -1.5, 1.5)
        picture = np.full((64, 64, 3), 60, np.uint8)
        cv2.circle(picture, [*map(round, goal)], 5, (60, 220, 60), -1)
        cv2.circle(picture, [*map(round, place)], 4, (250, 80, 80), -1)
        pictures.append(picture)
        actions.append(action)
        place = place + action
encode_pictures(folder / "front.mp4", pictures, size=(64, 64))
actions = torch.tensor(np.array(actions), dtype=torch.float32)  # one for each frame of the file

# %%
# `Segments` makes a sample of each episode. Its clips stay inside: before the first frame of an
# episode `pad_mode="edge"` repeats that frame. `weights` would draw long episodes more often.

first = LENGTH * np.arange(EPISODES)
table = {"video": ["front.mp4"] * EPISODES, "start": first, "end": first + LENGTH}
episodes = vl.Segments(table, root=folder, unit="frames")
loader = vl.Loader(
    episodes,
    vl.RandomClip(2, stride=2),  # the moment before, and now
    batch_size=12,
    clips_per_video=8,
    size=(32, 32),
    dtype="float32",
    mean=127.5,
    std=127.5,
    shuffle=True,
    workers=0,
)

# %%
# `frame_numbers` are those of the file, so they find the action of the last frame in the table.

torch.manual_seed(0)
policy = nn.Sequential(
    *(nn.Conv2d(6, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 5, stride=2), nn.ReLU()),
    *(nn.Flatten(), nn.Linear(16 * 5 * 5, 64), nn.ReLU(), nn.Linear(64, 2)),
)
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
losses = []
for epoch in range(60):
    loader.set_epoch(epoch)
    for batch in loader:
        numbers = batch["frame_numbers"].flatten(0, -2)
        assert (numbers // LENGTH == numbers[:, -1:] // LENGTH).all()  # one episode
        frames = batch["frames"].reshape(len(numbers), -1, 32, 32)  # (N, 2 frames * 3, 32, 32)
        loss = nn.functional.mse_loss(policy(frames), actions[numbers[:, -1]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(f"error {losses[0]:.3f} -> {losses[-1]:.3f}")
assert np.mean(losses[-8:]) < 0.3 * np.mean(losses[:8])
loader.close()

# %%
# What the policy does in a few frames: the arrow is the predicted action.

import matplotlib.pyplot as plt

with torch.no_grad():
    steps = policy(frames[:4])
_, axes = plt.subplots(1, 4, figsize=(6, 1.6), layout="constrained")
for axis, picture, step in zip(axes, frames[:, 3:], steps, strict=False):
    axis.imshow(((picture.permute(1, 2, 0) + 1) / 2).numpy())
    axis.arrow(16, 16, *(6 * step).tolist(), width=0.5, color="white")
    axis.set_axis_off()
