"""`fn.sphere`, `fn.water` and `fn.jitter`: frames whose pixels are moved by a fixed rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import FLOAT, INT, INTERP, Argument, PerSample
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.geometry.warps.sampling import chunks, pixel_places, sample_at
from videoloader.dali.operators.geometry.warps.warps_on_gpu import displace_on_gpu
from videoloader.dali.operators.inputs import FRAMES, UNNAMED_IMAGES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import InterpType

_FRAMES = Input("frames", FRAMES, unnamed=UNNAMED_IMAGES)
_ARGUMENTS = (
    Argument("mask", INT, 1, "0 leaves a sample as it is", per_sample=True, choices=(0, 1)),
    Argument("fill_value", FLOAT, 0.0, "what lies outside the input"),
    Argument(
        "interp_type",
        INTERP,
        InterpType.INTERP_NN,
        "how a pixel is computed",
        choices=(InterpType.INTERP_NN, InterpType.INTERP_LINEAR),
    ),
)


class _Moving(NamedTuple):
    """Plan of an operator that moves pixels.

    Attributes:
        mask: of each sample; 0 leaves it as it is.
        interp_type: nearest or linear.
        fill_value: what lies outside.
        own: arguments of the operator alone.
    """

    mask: Sequence[int]
    interp_type: InterpType
    fill_value: float
    own: Mapping[str, float]


def _infer(
    context: Context,
    frames: Spec,
    *,
    mask: PerSample,
    interp_type: InterpType,
    fill_value: float,
    **own: float,
) -> Planned:
    return Planned((frames,), _Moving(mask.values, interp_type, fill_value, own))


def _moved(
    context: Context,
    frames: Batch,
    plan: _Moving,
    places_of: Callable[[int, Sequence[int], torch.device], torch.Tensor],
) -> Batch:
    """Frames sampled at places (H, W, 2), which `places_of` gives for each sample."""
    out = context.empty()
    samples = enumerate(zip(frames, out, plan.mask, strict=True))
    for position, (sample, result, is_moved) in samples:
        if not is_moved:
            result.copy_(sample)
            continue
        sides = sample.shape[-3:-1]
        is_clip = frames.layout.startswith("F")
        pictures, slots = (each if is_clip else each[None] for each in (sample, result))
        places = places_of(position, sides, sample.device)
        for at in chunks(len(pictures), sides, sample.device):
            part = pictures[at]
            own = places.expand(len(part), *sides, 2)
            values = sample_at(part, own, plan.interp_type, "constant", (plan.fill_value,))
            slots[at].copy_(saturate(values, result.dtype))
    return out


def _sphere_on_gpu(context: Context, frames: Batch, plan: _Moving) -> Any:
    return displace_on_gpu(context, frames, "sphere", *plan[:3])


@declare(
    "sphere",
    inputs=(_FRAMES,),
    arguments=_ARGUMENTS,
    infer=_infer,
    kernels={"cuda": _sphere_on_gpu},
)
def sphere(context: Context, frames: Batch, plan: _Moving) -> Batch:
    """Show frames as if they lay on a sphere: magnified in the middle."""

    def places_of(position: int, sides: Sequence[int], device: torch.device) -> torch.Tensor:
        middle = torch.tensor(sides[::-1], device=device) / 2
        offset = pixel_places(sides, device) - middle
        radius = torch.linalg.vector_norm(offset, dim=-1, keepdim=True)
        # DALI divides by half of the longer side in whole pixels.
        places: torch.Tensor = middle + offset * (radius / max(max(sides) // 2, 1))
        return places

    return _moved(context, frames, plan, places_of)


_WAVES = ("ampl_x", "ampl_y", "freq_x", "freq_y", "phase_x", "phase_y")


def _water_on_gpu(context: Context, frames: Batch, plan: _Moving) -> Any:
    numbers = [plan.own[name] for name in _WAVES]
    return displace_on_gpu(context, frames, "water", *plan[:3], numbers=numbers)


@declare(
    "water",
    inputs=(_FRAMES,),
    arguments=(
        Argument("ampl_x", FLOAT, 10.0, "how far waves move pixels along x, in pixels"),
        Argument("ampl_y", FLOAT, 10.0, "how far waves move pixels along y, in pixels"),
        Argument("freq_x", FLOAT, 0.049087, "radians per row of the waves along x"),
        Argument("freq_y", FLOAT, 0.049087, "radians per column of the waves along y"),
        Argument("phase_x", FLOAT, 0.0, "of the waves along x, in radians"),
        Argument("phase_y", FLOAT, 0.0, "of the waves along y, in radians"),
        *_ARGUMENTS,
    ),
    infer=_infer,
    kernels={"cuda": _water_on_gpu},
)
def water(context: Context, frames: Batch, plan: _Moving) -> Batch:
    """Show frames as if they lay under water, every frame of a clip alike.

    The pixel of the output in column x and row y shows the place (x + ampl_x * sin(freq_x * y +
    phase_x), y + ampl_y * cos(freq_y * x + phase_y)), where pixel i reaches from i to i + 1.
    """
    waves = plan.own

    def places_of(position: int, sides: Sequence[int], device: torch.device) -> torch.Tensor:
        x, y = (pixel_places(sides, device) - 0.5).unbind(-1)
        right = waves["ampl_x"] * torch.sin(waves["freq_x"] * y + waves["phase_x"])
        down = waves["ampl_y"] * torch.cos(waves["freq_y"] * x + waves["phase_y"])
        return torch.stack([x + right, y + down], dim=-1)

    return _moved(context, frames, plan, places_of)


def _moves(
    context: Context, position: int, sides: Sequence[int], plan: _Moving
) -> NDArray[np.int16]:
    """How far each pixel of a sample is moved, (*sides, 2), x first."""
    half = int(plan.own["nDegree"]) // 2
    rng = context.random(position)
    return rng.integers(-half, half, (*sides, 2), np.int16, endpoint=True)


def _jitter_on_gpu(context: Context, frames: Batch, plan: _Moving) -> Any:
    samples = enumerate(zip(frames.spec.shapes, plan.mask, strict=True))
    moves = [
        _moves(context, position, shape[-3:-1], plan) if is_moved else None
        for position, (shape, is_moved) in samples
    ]
    return displace_on_gpu(context, frames, "moves", *plan[:3], moves=moves)


@declare(
    "jitter",
    inputs=(_FRAMES,),
    arguments=(
        Argument(
            "nDegree", INT, 2, "a pixel is moved by at most half of this along x and y", least=0
        ),
        *_ARGUMENTS,
        SEED,
    ),
    draws=True,
    infer=_infer,
    kernels={"cuda": _jitter_on_gpu},
)
def jitter(context: Context, frames: Batch, plan: _Moving) -> Batch:
    """Move every pixel by a random whole number of pixels, in all frames of a clip alike."""

    def places_of(position: int, sides: Sequence[int], device: torch.device) -> torch.Tensor:
        moves = _moves(context, position, sides, plan)
        return pixel_places(sides, device) + torch.from_numpy(moves).to(device)

    return _moved(context, frames, plan, places_of)
