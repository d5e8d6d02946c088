"""
Pre-training by masked pictures (VideoMAE)
==========================================

A network sees a tenth of a clip and predicts the rest. No labels are needed: the frames are input
and target.

Guide: :doc:`/training/foundation-models`.
"""

# %%
# Eight videos of two shots each, without labels. Every epoch has another crop of another clip.

import tempfile
from pathlib import Path

import torch
from torch import nn

import videoloader as vl
from videoloader.demo.shots import encode_shots

folder = Path(tempfile.mkdtemp())
for number in range(8):
    encode_shots(folder / f"{number}.mp4", [30, 30], seed=number, size=(96, 72))
loader = vl.Loader(
    folder,
    vl.RandomClip(8, stride=2),
    batch_size=4,
    size=(32, 32),
    random_resized_crop=((0.5, 1.0), (0.75, 1.33)),
    dtype="float32",
    mean=127.5,
    std=127.5,
    shuffle=True,
    workers=0,
)

# %%
# `patchify` cuts a clip into tokens of 2 frames of 8 x 8 pixels: 4 steps in time of 16 places. All
# steps hide the same places, otherwise the network could copy a place from the step before.

PATCH, STEPS, PLACES, VISIBLE, WIDTH = (2, 8, 8), 4, 16, 2, 96


def tubes(batch_size):
    """Numbers of the visible tokens of each clip, (batch_size, STEPS * VISIBLE)."""
    places = torch.rand(batch_size, PLACES).argsort(1)[:, None, :VISIBLE]
    return (places + PLACES * torch.arange(STEPS)[:, None]).flatten(1)


def blocks(depth):
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, depth)


class MaskedAutoencoder(nn.Module):
    def __init__(self, token):
        super().__init__()
        self.embed, self.predict = nn.Linear(token, WIDTH), nn.Linear(WIDTH, token)
        self.position = nn.Parameter(0.02 * torch.randn(STEPS * PLACES, WIDTH))
        self.hidden = nn.Parameter(torch.zeros(WIDTH))
        self.encoder, self.decoder = blocks(2), blocks(1)

    def forward(self, tokens, visible):
        rows = torch.arange(len(tokens))[:, None]
        seen = self.encoder(self.embed(tokens[rows, visible]) + self.position[visible])
        everything = self.hidden.expand(*tokens.shape[:2], -1).index_put((rows, visible), seen)
        return self.predict(self.decoder(everything + self.position))


# %%
# The loss is taken over the hidden tokens. The encoder works on the visible ones only, which is
# what makes this kind of pre-training cheap.

torch.manual_seed(0)
model = MaskedAutoencoder(2 * 8 * 8 * 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
losses = []
for epoch in range(40):
    loader.set_epoch(epoch)
    for batch in loader:
        tokens = torch.stack([vl.patchify(clip, PATCH) for clip in batch["frames"]])
        visible = tubes(len(tokens))
        hidden = torch.ones(tokens.shape[:2]).scatter_(1, visible, 0.0)
        predicted = model(tokens, visible)
        errors = (predicted - tokens).square().mean(2)
        loss = (errors * hidden).sum() / hidden.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(f"loss {losses[0]:.3f} -> {sum(losses[-8:]) / 8:.3f}")
assert sum(losses[-8:]) / 8 < 0.6 * losses[0]
loader.close()

# %%
# A frame, what the network saw of it, and what it predicted:

import matplotlib.pyplot as plt

hidden = hidden[..., None]
seen, filled = tokens * (1 - hidden), torch.where(hidden > 0, predicted, tokens)
_, axes = plt.subplots(1, 3, figsize=(5, 1.9), layout="constrained")
for axis, values, name in zip(
    axes, (tokens, seen, filled), ("frame", "seen", "predicted"), strict=True
):
    (clip,) = vl.unpatchify(values[0].detach(), [(8, 32, 32)], PATCH)
    axis.imshow(((clip[4].permute(1, 2, 0) + 1) / 2).clamp(0, 1).numpy())
    axis.set_title(name)
    axis.set_axis_off()
