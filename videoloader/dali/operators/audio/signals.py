"""`fn.preemphasis_filter`, `fn.nonsilent_region` and `fn.power_spectrum`: operators on signals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from videoloader.dali.operators.arguments import (
    DTYPE,
    FLOAT,
    INT,
    TEXT,
    Argument,
    PerSample,
    column,
)
from videoloader.dali.operators.audio.features import POWER, check_floating, magnitudes
from videoloader.dali.operators.axes import axis_number
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.errors import ArgumentError


def _infer_filtered(context: Context, signal: Spec, *, dtype: torch.dtype, **others: Any) -> Spec:
    return replace(signal, dtype=dtype)


@declare(
    "preemphasis_filter",
    inputs=("signal",),
    arguments=(
        Argument("preemph_coeff", FLOAT, 0.97, "weight of the value before", per_sample=True),
        Argument(
            "border",
            TEXT,
            "clamp",
            "what lies before the first value: 0, the first value or the second one",
            choices=("zero", "clamp", "reflect"),
        ),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
    ),
    infer=_infer_filtered,
)
def preemphasis_filter(
    context: Context, signal: Batch, *, preemph_coeff: PerSample, border: str, dtype: torch.dtype
) -> Batch:
    """Subtract from every value of a signal a share of the value before it.

    out[t] = in[t] - preemph_coeff * in[t - 1]. All dimensions of a sample count as one.
    """
    out = context.empty()
    for at in parts(signal, out):
        values = signal.part(at)
        kind = torch.float64 if values.dtype == torch.float64 else torch.float32
        flat = values.reshape(len(values), -1).to(kind)
        place = out.part(at)
        if flat.shape[1]:
            weights = column(preemph_coeff.values[at], 2, str(values.device))
            made = place.view(flat.shape) if place.dtype == kind else torch.empty_like(flat)
            torch.mul(flat[:, :-1], weights, out=made[:, 1:])
            torch.sub(flat[:, 1:], made[:, 1:], out=made[:, 1:])
            first = {"zero": None, "clamp": 0, "reflect": 1}[border]
            made[:, :1] = flat[:, :1]
            if first is not None and first < flat.shape[1]:
                made[:, :1] -= weights * flat[:, first : first + 1]
            if place.dtype != kind:
                place.copy_(saturate(made, dtype).reshape(place.shape))
    return out


class _Spectrum(NamedTuple):
    """Plan of `power_spectrum`, whose axis is counted from the last one."""

    axis: int
    nfft: int | None
    power: int


def _infer_spectrum(
    context: Context, signal: Spec, *, axis: int, nfft: int | None, power: int
) -> Planned:
    check_floating("power_spectrum", signal)
    shapes, along = [], -1
    for shape in signal.shapes:
        at = axis_number(axis, len(shape))
        along = at - len(shape)
        shapes.append((*shape[:at], (nfft or shape[at]) // 2 + 1, *shape[at + 1 :]))
    return Planned((replace(signal, shapes=tuple(shapes)),), _Spectrum(along, nfft, power))


@declare(
    "power_spectrum",
    inputs=("signal",),
    arguments=(
        Argument("axis", INT, -1, "dimension that becomes frequencies"),
        Argument(
            "nfft", INT, None, "length of the transform; by default that of the axis", least=1
        ),
        POWER,
    ),
    infer=_infer_spectrum,
)
def power_spectrum(context: Context, signal: Batch, plan: _Spectrum) -> Batch:
    """Compute the power of each frequency of a signal: `nfft // 2 + 1` of them.

    A signal that is longer than `nfft` is cut, a shorter one followed by zeros.
    """
    out = context.empty()
    for at in parts(signal, out):
        values = signal.part(at).float().movedim(plan.axis, -1)
        shape = values.shape[:-1]
        length = plan.nfft or values.shape[-1]
        found = magnitudes(values.flatten(0, -2), length, plan.power).unflatten(0, shape)
        out.part(at).copy_(found.movedim(-1, plan.axis))
    return out


def _check_reference(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if "reference_power" in given and not arguments["reference_power"] > 0:
        raise ArgumentError(
            "fn.nonsilent_region: reference_power must be positive, got "
            f"{arguments['reference_power']}; leave it out to take the largest power of the signal"
        )


def _infer_region(context: Context, signal: Spec, **arguments: Any) -> tuple[Spec, Spec]:
    for shape in signal.shapes:
        if len(shape) != 1:
            raise ArgumentError(f"fn.nonsilent_region takes signals (n,), got shape {shape}")
    number = replace(signal, shapes=((),) * len(signal), dtype=torch.int32, layout="")
    return number, number


@declare(
    "nonsilent_region",
    inputs=("signal",),
    arguments=(
        Argument("cutoff_db", FLOAT, -60.0, "power below which it is silent, in decibels"),
        Argument("window_length", INT, 2048, "values over which the power is averaged", least=1),
        Argument(
            "reference_power",
            FLOAT,
            0.0,
            "power that is 0 decibels; by default the largest one of the signal",
        ),
    ),
    num_outputs=2,
    infer=_infer_region,
    check=_check_reference,
    unused=("reset_interval",),  # the sums are exact enough without
)
def nonsilent_region(
    context: Context, signal: Batch, *, cutoff_db: float, window_length: int, reference_power: float
) -> tuple[Batch, Batch]:
    """Find the part of a signal between leading and trailing silence.

    Gives its first value and its length, int32 scalars; the length is 0 if all is silent. The
    part reaches from the beginning of the first window to the end of the last one whose mean power
    is at least `cutoff_db`.
    """
    begins, lengths = context.empty(0), context.empty(1)
    for at in parts(signal, begins):
        values = signal.part(at).double()
        count = values.shape[1]
        window = min(window_length, count)
        if count == 0:
            begins.part(at).zero_()
            lengths.part(at).zero_()
            continue
        power = _sums(values.square(), window).div_(window)
        is_zero = values == 0
        if window <= int(is_zero.sum()):  # without what rounding leaves of silence
            power[_sums((~is_zero).double(), window) == 0] = 0.0
        reference = reference_power or power.amax(dim=1, keepdim=True)
        loud = power >= reference * 10 ** (cutoff_db / 10)
        is_silent = ~loud.any(dim=1)
        if loud.is_cuda:
            first, behind = (each.byte().argmax(dim=1) for each in (loud, loud.flip(1)))
        else:  # NumPy stops at the first one, and looks from behind without a copy
            table = loud.numpy()
            both = table.argmax(axis=1), table[:, ::-1].argmax(axis=1)
            first, behind = map(torch.from_numpy, both)
        last = loud.shape[1] - 1 - behind + window
        begins.part(at).copy_(first.masked_fill(is_silent, 0))
        lengths.part(at).copy_((last - first).masked_fill(is_silent, 0))
    return begins, lengths


def _sums(values: torch.Tensor, window: int) -> torch.Tensor:
    """Sums of all windows of a length along the last dimension."""
    sums = torch.nn.functional.pad(values.cumsum(dim=-1), (1, 0))
    return sums[..., window:] - sums[..., :-window]
