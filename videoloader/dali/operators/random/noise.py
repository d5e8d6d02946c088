"""Noise as of a camera or a bad channel, for pictures and any other data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators import kernels
from videoloader.dali.operators.arguments import BOOL, FLOAT, Argument, PerSample
from videoloader.dali.operators.axes import storable
from videoloader.dali.operators.context import Context, once_for_equal
from videoloader.dali.operators.fills.fills_on_gpu import SIZES, bits_of
from videoloader.dali.operators.kernels import (
    ELEMENTS,
    MOST_CHANNELS,
    THREADS,
    Kernel,
    Launch,
    row_type,
)
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch


def _each(
    context: Context,
    values: Batch,
    change: Callable[[np.random.Generator, int, torch.Tensor], torch.Tensor],
) -> Batch:
    """Apply `change` to each sample and saturate the result to its type."""
    return Batch(
        [
            saturate(change(context.random(position), position, value), value.dtype)
            for position, value in enumerate(values)
        ]
    )


_ROW = row_type(
    *(("count", "i8"), ("hits", "u8"), ("salts", "u8"), ("salt", "u8"), ("pepper", "u8")),
    *(("key", "u4", 2), ("stream", "u4", 2), ("channels", "i4"), ("inner", "i4")),
    *(("mean", "f4"), ("deviation", "f4"), ("factor", "f4")),
)
_GAUSSIAN, _SHOT, _SALT = (
    Kernel("random/noise.cu", name, _ROW) for name in ("gaussian", "shot", "salt_and_pepper")
)


def _noise_launch(
    context: Context,
    values: Batch,
    out: Batch,
    kernel: Kernel,
    macros: Mapping[str, int],
    **numbers: Any,
) -> Launch:
    """A kernel of noise.cu for contiguous samples.

    The key of a sample is made of the first numbers of its generator.
    """
    rows = np.zeros(len(values), _ROW)
    for name, batch in (("source", values), ("target", out)):
        if batch.block is None:
            rows[name]["address"] = [sample.data_ptr() for sample in batch]
        else:
            step = batch.block.stride(0) * batch.block.element_size()
            rows[name]["address"] = batch.block.data_ptr() + step * np.arange(len(rows))
    spec = values.spec
    rows["count"] = [math.prod(shape) for shape in spec.shapes]
    keys: Any = [rng.bit_generator.random_raw(2) for rng in context.draws()]
    words = np.array(keys, np.uint64).view(np.uint32).reshape(-1, 4)
    rows["key"], rows["stream"] = words[:, :2], words[:, 2:]
    for name, column in numbers.items():
        rows[name] = column
    tiles = -(rows["count"] // (-4 * THREADS * macros["CHANNELS"]))
    return Launch(out, kernel, rows, tiles, macros, spec.device, kept=values)


def _with_noise(
    context: Context, values: Batch, kernel: Kernel, macros: Mapping[str, int], **numbers: Any
) -> Launch:
    """A launch on samples of any strides."""
    out = context.empty()
    if not all(tensor.is_contiguous() for tensor in out.tensors()):
        out = Batch.empty(context.outputs[0])
    contiguous = values.each(torch.Tensor.contiguous)
    return _noise_launch(context, contiguous, out, kernel, macros, **numbers)


def _kind(dtype: torch.dtype) -> Mapping[str, int]:
    return {"TYPE": ELEMENTS[dtype], "SIZE": 1, "CHANNELS": 1}


def _gaussian_on_gpu(context: Context, values: Batch, *, mean: PerSample, stddev: PerSample) -> Any:
    """One launch; for types that the kernel does not take, of the noise alone."""
    if not kernels.has_cupy():
        return NotImplemented
    numbers = {"mean": mean.values, "deviation": stddev.values}
    dtype = values.spec.dtype
    if dtype in ELEMENTS:
        return _with_noise(context, values, _GAUSSIAN, _kind(dtype), **numbers)
    zeros = values.each(lambda value: torch.zeros(value.shape, device=value.device))
    _noise_launch(context, zeros, zeros, _GAUSSIAN, _kind(torch.float32), **numbers).queue()
    wide = torch.float64 if dtype.itemsize > 4 else torch.float32
    pairs = zip(values, zeros, strict=True)
    return Batch([saturate(value.to(wide) + noise, dtype) for value, noise in pairs])


def _shot_on_gpu(context: Context, values: Batch, *, factor: PerSample) -> Any:
    """One launch; types that the kernel does not take go through float32."""
    if not kernels.has_cupy():
        return NotImplemented
    dtype = values.spec.dtype
    if dtype in ELEMENTS:
        return _with_noise(context, values, _SHOT, _kind(dtype), factor=factor.values)
    floats = values.each(lambda value: value.float().contiguous())
    macros = _kind(torch.float32)
    _noise_launch(context, floats, floats, _SHOT, macros, factor=factor.values).queue()
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
    """The shape of a mask of whole pixels: one value for all their channels."""
    axis = layout.find("C") if layout else len(shape) - 1
    return tuple(1 if number == axis else side for number, side in enumerate(shape))


def _extremes(dtype: torch.dtype) -> tuple[float, float]:
    if dtype.is_floating_point:
        return -1.0, 1.0
    if dtype == torch.bool:
        return 0, 1
    limits = torch.iinfo(dtype)
    return limits.min, limits.max


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
    """One launch; NotImplemented without a compiler."""
    spec = values.spec
    if not kernels.has_cupy() or spec.dtype not in SIZES:
        return NotImplemented
    low, high = _extremes(spec.dtype)

    def stored(salt: float | None, pepper: float | None) -> NDArray[np.uint64]:
        pair = (high if salt is None else salt, low if pepper is None else pepper)
        return bits_of(pair, spec.dtype, is_rounded=True)[:2]

    bits = np.array(once_for_equal(stored, salt_val, pepper_val)).reshape(-1, 2)
    pixels = [(1, 1) if per_channel else _pixel(shape, spec.layout) for shape in spec.shapes]
    beside = {channels if inner == 1 else 1 for channels, inner in pixels}
    macros = {"TYPE": 0, "SIZE": SIZES[spec.dtype], "CHANNELS": 1}
    if len(beside) == 1 and 1 < (channels := beside.pop()) <= MOST_CHANNELS:
        macros["CHANNELS"], pixels = channels, [(1, 1)] * len(pixels)
    sides = np.array(pixels, np.int32).reshape(-1, 2)
    return _with_noise(
        context,
        values,
        _SALT,
        macros,
        hits=np.rint(np.ldexp(prob.values, 32)),
        salts=np.rint(np.ldexp(salt_vs_pepper.values, 32)),
        salt=bits[:, 0],
        pepper=bits[:, 1],
        channels=sides[:, 0],
        inner=sides[:, 1],
    )


def _pixel(shape: tuple[int, ...], layout: str) -> tuple[int, int]:
    """Channels of a pixel, and how many elements lie from one to the next; 1, 1 without any."""
    axis = layout.find("C") if layout else len(shape) - 1
    return (shape[axis], math.prod(shape[axis + 1 :])) if axis >= 0 else (1, 1)


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

    Without a layout the last dimension is taken for channels. A GPU draws other numbers than the
    CPU, of the same distribution.
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
