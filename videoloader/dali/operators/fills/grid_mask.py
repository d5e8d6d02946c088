"""`fn.grid_mask`: frames with a grid of black squares."""

from __future__ import annotations

import math
from typing import Any

import torch

from videoloader.dali.operators.arguments import FLOAT, INT, Argument, PerSample
from videoloader.dali.operators.axes import storable
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.fills.fills_on_gpu import mask_squares
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, parts


def _on_gpu(context: Context, frames: Batch, **given: PerSample) -> Any:
    return mask_squares(context, frames, **{name: each.values for name, each in given.items()})


@declare(
    "grid_mask",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        Argument(
            "tile",
            INT,
            100,
            "side of a tile: a square and the space to the next",
            per_sample=True,
            least=1,
        ),
        Argument("ratio", FLOAT, 0.5, "side of a square to that of its tile", per_sample=True),
        Argument("angle", FLOAT, 0.0, "of the grid, in radians", per_sample=True),
        Argument(
            "shift_x", FLOAT, 0.0, "of the grid behind its rotation, in pixels", per_sample=True
        ),
        Argument(
            "shift_y", FLOAT, 0.0, "of the grid behind its rotation, in pixels", per_sample=True
        ),
    ),
    kernels={"cuda": _on_gpu},
)
def grid_mask(context: Context, frames: Batch, **given: PerSample) -> Batch:
    """Make squares of frames black that repeat along two directions; the same ones in a whole clip.

    See "GridMask Data Augmentation" (https://arxiv.org/abs/2001.04086).
    """
    out = context.empty()
    for part in parts(frames, out, alike=[value.values for value in given.values()]):
        source = frames.part(part)
        own = {name: value[part.start] for name, value in given.items()}
        is_black = _squares(source.shape[-3], source.shape[-2], source.device, **own)
        # A mask as long as the rows of the frames: torch then works on several pixels at once.
        is_black = is_black[..., None].expand(source.shape[-3:]).contiguous()
        values = storable(source)
        torch.where(is_black, values.new_zeros(()), values, out=storable(out.part(part)))
    return out


def _squares(
    height: int,
    width: int,
    device: torch.device,
    *,
    tile: int,
    ratio: float,
    angle: float,
    shift_x: float,
    shift_y: float,
) -> torch.Tensor:
    """Whether a pixel is in a square, (height, width); in tiles of the grid, in float32."""
    rows = torch.arange(height, dtype=torch.float32, device=device)[:, None]
    columns = torch.arange(width, dtype=torch.float32, device=device)
    sin, cos = math.sin(angle) / tile, math.cos(angle) / tile
    across = columns * cos - rows * sin - shift_x / tile
    down = columns * sin + rows * cos - shift_y / tile
    return (across - across.floor() < ratio) & (down - down.floor() < ratio)
