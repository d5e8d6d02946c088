"""`fn.audio_resample`: signals at another rate."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.resampling import Filter, resampled_length
from videoloader.dali.operators.arguments import DTYPE, FLOAT, INT, Argument, PerSample
from videoloader.dali.operators.audio.levels import from_levels, rounded, to_levels
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, UnsupportedError

QUALITY = Argument(
    "quality",
    FLOAT,
    50.0,
    "of resampling: 0 is 3 lobes of the sinc, 50 is 16, 100 is 64",
    least=0,
    most=100,
)

_TYPES = (
    torch.float32,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.uint8,
    torch.uint16,
    torch.uint32,
)


def resample_signal(
    levels: NDArray[np.float32], ratio: float, length: int, quality: float
) -> NDArray[np.float32]:
    """A signal (n,) or (n, channels) at another rate, as DALI has it: (length, ...).

    Args:
        levels: the signal.
        ratio: input rate to output rate.
        length: samples of the output.
        quality: 0 to 100.
    """
    if not levels.size or not length:
        return np.zeros((length, *levels.shape[1:]), np.float32)
    rows = np.ascontiguousarray(levels.reshape(len(levels), -1).T)
    made = Filter(ratio, quality, as_dali=True).apply(rows, 0, 0, length)
    return made.T.reshape(length, *levels.shape[1:])


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if ("in_rate" in given) != ("out_rate" in given):
        raise ArgumentError("fn.audio_resample: give in_rate and out_rate together")
    ways = [each for each in ("in_rate", "scale", "out_length") if each in given]
    if len(ways) != 1:
        what = " and ".join(ways) or "none"
        raise ArgumentError(
            f"fn.audio_resample: give in_rate and out_rate, or scale, or out_length; got {what}"
        )


class _Resampling(NamedTuple):
    """Plan of `audio_resample`: input rate to output rate of each signal, and the filter."""

    ratios: list[float]
    quality: float


def _rates(
    position: int,
    length: int,
    in_rate: PerSample,
    out_rate: PerSample,
    scale: PerSample,
    out_length: PerSample,
) -> tuple[float, int]:
    """Input rate to output rate, and samples of the output, of a signal of a length."""
    if out_length[position] is not None:
        wanted = out_length[position]
        return length / max(wanted, 1), wanted
    rates = (in_rate[position], out_rate[position])
    if scale[position] is not None:
        rates = (1.0, scale[position])
    if not (0 < rates[0] < math.inf and 0 <= rates[1] < math.inf):
        raise ArgumentError(
            f"fn.audio_resample: rates and scale must be above 0 and finite, got {rates[1]} to "
            f"{rates[0]}"
        )
    return rates[0] / rates[1] if rates[1] else 1.0, resampled_length(length, *rates)


def _infer(
    context: Context, signal: Spec, *, quality: float, dtype: torch.dtype | None, **rates: Any
) -> Planned:
    dtype = dtype or signal.dtype
    for each in (dtype, signal.dtype):
        if each not in _TYPES:
            raise UnsupportedError(
                f"fn.audio_resample takes and gives float32 and integers of up to 32 bits, not "
                f"{each}; fn.cast converts"
            )
    shapes, ratios = [], []
    for position, shape in enumerate(signal.shapes):
        if len(shape) not in (1, 2):
            raise ArgumentError(
                f"fn.audio_resample takes signals (n,) or (n, channels), got shape {shape}"
            )
        ratio, length = _rates(position, shape[0], **rates)
        ratios.append(ratio)
        shapes.append((length, *shape[1:]))
    out = replace(signal, shapes=tuple(shapes), dtype=dtype)
    return Planned((out,), _Resampling(ratios, quality))


@declare(
    "audio_resample",
    inputs=("signal",),
    arguments=(
        Argument("in_rate", FLOAT, None, "rate of the input, in any unit", per_sample=True),
        Argument("out_rate", FLOAT, None, "rate of the output, in that unit", per_sample=True),
        Argument("scale", FLOAT, None, "output rate to input rate", per_sample=True, least=0),
        Argument("out_length", INT, None, "samples of the output", per_sample=True, least=0),
        QUALITY,
        Argument(
            "dtype",
            DTYPE,
            None,
            "element type of the output, whose range stands for -1 to 1; that of the input by "
            "default",
        ),
    ),
    infer=_infer,
    check=_check,
)
def audio_resample(context: Context, signal: Batch, plan: _Resampling) -> Batch:
    """Resample signals (n,) or (n, channels) with a sinc under a Hann window.

    As in DALI nothing is filtered out where the rate falls: frequencies above half of the new rate
    come back as others. `vl.Audio(sample_rate=...)` removes them. It is worked out on the CPU.
    """
    out = context.empty()
    for values, place, ratio in zip(signal, out, plan.ratios, strict=True):
        samples = values.cpu().numpy()
        kind = np.dtype(str(place.dtype).removeprefix("torch."))
        is_same = kind == samples.dtype  # then outside of an unsigned signal lie zeros, as in DALI
        signal_in = samples.astype(np.float32) if is_same else to_levels(samples)
        made = resample_signal(signal_in, ratio, len(place), plan.quality)
        made = rounded(made, kind) if is_same else from_levels(made, kind)
        place.copy_(torch.from_numpy(np.ascontiguousarray(made)))
    return out
