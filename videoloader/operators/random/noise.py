"""Noise: what a camera or a bad channel adds to pictures, and to any other data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.operators import kernels
from videoloader.operators.arguments import BOOL, FLOAT, Argument, PerSample
from videoloader.operators.axes import storable
from videoloader.operators.context import Context
from videoloader.operators.fills.fills_on_gpu import SIZES, bits_of
from videoloader.operators.kernels import (
    ELEMENTS,
    LETTERS,
    THREADS,
    Kernel,
    Launch,
    are_frames,
    groups_in,
    row_type,
    rows_of,
)
from videoloader.operators.operator import declare
from videoloader.operators.random.random import SEED
from videoloader.tensors import saturate
from videoloader.tensors.batch import Batch

__all__ = ["gaussian", "salt_and_pepper", "shot"]


def _each(
    context: Context,
    values: Batch,
    change: Callable[[np.random.Generator, int, torch.Tensor], torch.Tensor],
) -> Batch:
    """What `change` makes of each sample, saturated to its type."""
    return Batch(
        [
            saturate(change(context.random(position), position, value), value.dtype)
            for position, value in enumerate(values)
        ]
    )


_ROW = row_type(
    ("count", "i8"),
    *(("key", "u4", 2), ("stream", "u4", 2)),
    *(("mean", "f4"), ("deviation", "f4"), ("factor", "f4")),
)
_GAUSSIAN = Kernel("random/noise.cu", "gaussian", _ROW)
_SHOT = Kernel("random/noise.cu", "shot", _ROW)


def _noise_launch(
    context: Context, values: Batch, out: Batch, kernel: Kernel, **numbers: Sequence[float]
) -> Launch:
    """A kernel of noise.cu for contiguous samples of `ELEMENTS`.

    The key of a sample is made of the first numbers of its generator.

    Args:
        context: of the call.
        values: what noise is added to.
        out: of the same type.
        kernel: that adds it.
        **numbers: fields of its rows, for each sample.
    """
    rows = np.zeros(len(values), _ROW)
    rows["source"]["address"] = [sample.data_ptr() for sample in values]
    rows["target"]["address"] = [sample.data_ptr() for sample in out]
    rows["count"] = [sample.numel() for sample in values]
    keys: Any = [rng.bit_generator.random_raw(2) for rng in context.draws()]
    words = np.array(keys, np.uint64).view(np.uint32).reshape(-1, 4)
    rows["key"], rows["stream"] = words[:, :2], words[:, 2:]
    for name, column in numbers.items():
        rows[name] = column
    spec = values.spec
    macros = {"TYPE": ELEMENTS[spec.dtype]}
    tiles = -(rows["count"] // (-4 * THREADS))
    return Launch(out, kernel, rows, tiles, macros, spec.device, kept=values)


def _with_noise(
    context: Context, values: Batch, kernel: Kernel, **numbers: Sequence[float]
) -> Launch:
    """A launch on samples of any strides; their type is one of `ELEMENTS`."""
    out = context.empty()
    if not all(tensor.is_contiguous() for tensor in out.tensors()):
        out = Batch.empty(context.outputs[0])
    return _noise_launch(context, values.each(torch.Tensor.contiguous), out, kernel, **numbers)


def _gaussian_on_gpu(context: Context, values: Batch, *, mean: PerSample, stddev: PerSample) -> Any:
    """One launch; for types that the kernel does not take, of the noise alone."""
    if not kernels.has_cupy():
        return NotImplemented
    numbers = {"mean": mean.values, "deviation": stddev.values}
    dtype = values.spec.dtype
    if dtype in ELEMENTS:
        return _with_noise(context, values, _GAUSSIAN, **numbers)
    zeros = values.each(lambda value: torch.zeros(value.shape, device=value.device))
    _noise_launch(context, zeros, zeros, _GAUSSIAN, **numbers).queue()
    wide = torch.float64 if dtype.itemsize > 4 else torch.float32
    pairs = zip(values, zeros, strict=True)
    return Batch([saturate(value.to(wide) + noise, dtype) for value, noise in pairs])


def _shot_on_gpu(context: Context, values: Batch, *, factor: PerSample) -> Any:
    """One launch; types that the kernel does not take go through float32."""
    if not kernels.has_cupy():
        return NotImplemented
    dtype = values.spec.dtype
    if dtype in ELEMENTS:
        return _with_noise(context, values, _SHOT, factor=factor.values)
    floats = values.each(lambda value: value.float().contiguous())
    _noise_launch(context, floats, floats, _SHOT, factor=factor.values).queue()
    return Batch(
        [
            saturate(noisy, dtype) if worth else value
            for value, noisy, worth in zip(values, floats, factor, strict=True)
        ]
    )


@declare(
    "noise.gaussian",
    draws=True,
    inputs=("data",),
    arguments=(
        Argument("mean", FLOAT, 0.0, "of the noise", per_sample=True),
        Argument("stddev", FLOAT, 1.0, "its standard deviation", per_sample=True),
        SEED,
    ),
    kernels={"cuda": _gaussian_on_gpu},
)
def gaussian(context: Context, values: Batch, *, mean: PerSample, stddev: PerSample) -> Batch:
    """Add numbers of a normal distribution, to every element its own.

    The output has the type of the input; it is rounded and saturated. On the CPU the numbers are
    those of `fn.random.normal` with the same seed; on a GPU they are others, of this distribution.
    """

    def change(rng: np.random.Generator, position: int, value: torch.Tensor) -> torch.Tensor:
        noise = mean[position] + stddev[position] * rng.standard_normal(tuple(value.shape))
        added = torch.from_numpy(np.asarray(noise, np.float32)).to(value.device)
        wide = torch.float64 if value.dtype.itemsize > added.dtype.itemsize else torch.float32
        noisy: torch.Tensor = value.to(wide) + added
        return noisy

    return _each(context, values, change)


@declare(
    "noise.shot",
    draws=True,
    inputs=("data",),
    arguments=(
        Argument(
            "factor", FLOAT, 20.0, "value of one event; 0: no noise", per_sample=True, least=0
        ),
        SEED,
    ),
    kernels={"cuda": _shot_on_gpu},
)
def shot(context: Context, values: Batch, *, factor: PerSample) -> Batch:
    """Put noise on the data as counting events does, of which each is worth `factor`.

    out = poisson(max(0, in / factor)) * factor: the mean stays, what is not positive becomes 0, and
    larger factors give more noise. A GPU draws other numbers of the same distribution than the CPU.
    """

    def change(rng: np.random.Generator, position: int, value: torch.Tensor) -> torch.Tensor:
        worth = factor[position]
        if worth == 0:
            return value
        expected = value.cpu().to(torch.float64).div(worth).clamp_(min=0).numpy()
        events = torch.from_numpy(np.asarray(rng.poisson(expected)))
        noisy: torch.Tensor = events * worth
        return noisy.to(value.device)

    return _each(context, values, change)


def _mask_shape(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of what falls on whole pixels: one for all their channels."""
    axis = layout.find("C") if layout else len(shape) - 1
    return tuple(1 if number == axis else side for number, side in enumerate(shape))


def _extremes(dtype: torch.dtype) -> tuple[float, float]:
    if dtype.is_floating_point:
        return -1.0, 1.0
    if dtype == torch.bool:
        return 0, 1
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


_SALT = Kernel(
    "random/salt_and_pepper.cu",
    "salt_and_pepper",
    row_type(
        ("counter", "u8", 4),
        ("key", "u8", 2),
        *(("prob", "f8"), ("salt_share", "f8"), ("salt", "u8"), ("pepper", "u8")),
        *(("order", "i8", 4), ("count", "i8")),
    ),
)


def _salt_on_gpu(
    context: Context,
    values: Batch,
    *,
    prob: PerSample,
    salt_vs_pepper: PerSample,
    salt_val: PerSample,
    pepper_val: PerSample,
    per_channel: bool,
) -> Any:
    """One launch; NotImplemented for batches that the kernel does not take."""
    out = context.empty()
    if not are_frames(values, out, dtypes=SIZES):
        return NotImplemented
    generators = [context.random(position).bit_generator for position in range(context.count)]
    if not all(isinstance(each, np.random.Philox) for each in generators):
        return NotImplemented
    states: list[Any] = [each.state for each in generators]
    if any(each["buffer_pos"] != 4 for each in states):  # it has drawn already
        return NotImplemented
    rows, _ = rows_of(_SALT.row, values, out)
    for name in ("counter", "key"):
        rows[name] = [each["state"][name] for each in states]
    rows["prob"], rows["salt_share"] = prob.values, salt_vs_pepper.values
    low, high = _extremes(values.spec.dtype)
    extremes = [
        (high if salt is None else salt, low if pepper is None else pepper)
        for salt, pepper in zip(salt_val, pepper_val, strict=True)
    ]
    bits = [bits_of(pair, values.spec.dtype, is_rounded=True)[:2] for pair in extremes]
    rows["salt"], rows["pepper"] = np.array(bits).T
    shapes, layout = values.spec.shapes, values.layout
    drawn = shapes if per_channel else [_mask_shape(shape, layout) for shape in shapes]
    sides = np.array(drawn, np.int64)
    steps = np.cumprod(np.column_stack([sides[:, 1:], np.ones(len(sides), int)])[:, ::-1], axis=1)
    steps = np.where(sides > 1, steps[:, ::-1], 0)
    for at, letter in enumerate(values.layout):
        rows["order"][:, LETTERS.index(letter)] = steps[:, at]
    rows["count"] = sides.prod(axis=1)
    channels = int(rows["target"]["sizes"][0, 3])
    macros = {"SIZE": SIZES[values.spec.dtype], "CHANNELS": channels}
    return Launch(out, _SALT, rows, groups_in(rows), macros, values.spec.device)


@declare(
    "noise.salt_and_pepper",
    draws=True,
    inputs=("data",),
    arguments=(
        Argument("prob", FLOAT, 0.05, "of an element to change", per_sample=True, least=0, most=1),
        Argument(
            "salt_vs_pepper", FLOAT, 0.5, "part of salt in it", per_sample=True, least=0, most=1
        ),
        Argument("salt_val", FLOAT, None, "of salt; 1, or the largest integer", per_sample=True),
        Argument("pepper_val", FLOAT, None, "of pepper; -1, or the least integer", per_sample=True),
        Argument(
            "per_channel", BOOL, default=False, doc="each channel by itself, not whole pixels"
        ),
        SEED,
    ),
    kernels={"cuda": _salt_on_gpu},
)
def salt_and_pepper(
    context: Context,
    values: Batch,
    *,
    prob: PerSample,
    salt_vs_pepper: PerSample,
    salt_val: PerSample,
    pepper_val: PerSample,
    per_channel: bool,
) -> Batch:
    """Replace some pixels by one of two values, such as black and white.

    Without a layout the last dimension is taken for channels.
    """

    def change(rng: np.random.Generator, position: int, value: torch.Tensor) -> torch.Tensor:
        sides = tuple(value.shape)
        sides = sides if per_channel else _mask_shape(sides, values.layout)
        is_hit = rng.random(sides) < prob[position]
        is_salt = rng.random(sides) < salt_vs_pepper[position]
        low, high = _extremes(value.dtype)
        for mask, given, own in (
            (is_hit & is_salt, salt_val[position], high),
            (is_hit & ~is_salt, pepper_val[position], low),
        ):
            number = torch.tensor(own if given is None else given, dtype=torch.float64)
            filling = saturate(number, value.dtype).to(value.device)
            where = torch.from_numpy(np.asarray(mask)).to(value.device)
            value = torch.where(where, storable(filling), storable(value)).view(value.dtype)
        return value

    return _each(context, values, change)
