"""`fn.spectrogram`, `fn.mel_filter_bank`, `fn.to_decibels`, `fn.mfcc`: from sound to features."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import BOOL, FLOAT, FLOATS, INT, TEXT, Argument
from videoloader.dali.operators.audio.features import (
    POWER,
    check_floating,
    cosines,
    magnitudes,
    mel_weights,
)
from videoloader.dali.operators.axes import padded
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.errors import ArgumentError


def _check_window(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    window, length, nfft = (arguments[name] for name in ("window_fn", "window_length", "nfft"))
    if window and len(window) != length:
        raise ArgumentError(
            f"fn.spectrogram: window_fn has {len(window)} values, window_length is {length}"
        )
    if nfft is not None and nfft < length:
        raise ArgumentError(
            f"fn.spectrogram: nfft must be at least window_length ({length}), got {nfft}"
        )


class _Transforming(NamedTuple):
    """Plan of `spectrogram`.

    Attributes:
        nfft: length of the transform.
        window: factors of a window, on the CPU.
        step: values from one window to the next.
        power: exponent of the magnitude.
        is_centered: whether the middles of windows lie at multiples of `step`.
        is_mirrored: whether outside a signal lies its mirror image.
    """

    nfft: int
    window: torch.Tensor
    step: int
    power: int
    is_centered: bool
    is_mirrored: bool


def _infer_spectrogram(
    context: Context,
    signal: Spec,
    *,
    nfft: int | None,
    window_length: int,
    window_step: int,
    window_fn: tuple[float, ...],
    power: int,
    center_windows: bool,
    reflect_padding: bool,
    layout: str,
) -> Planned:
    check_floating("spectrogram", signal)
    nfft = nfft or window_length
    bins = nfft // 2 + 1
    shapes = []
    for shape in signal.shapes:
        length = math.prod(shape)
        if not shape or max(shape) != length or length == 0:
            raise ArgumentError(
                "fn.spectrogram takes one channel, with all values along one dimension, "
                f"got shape {shape}"
            )
        if not center_windows and length < window_length:
            raise ArgumentError(
                f"fn.spectrogram: no window of {window_length} values fits into a signal of "
                f"{length}; pass center_windows=True or a shorter window_length"
            )
        count = (length if center_windows else length - window_length) // window_step + 1
        shapes.append((bins, count) if layout == "ft" else (count, bins))
    if window_fn:
        window = torch.tensor(window_fn, dtype=torch.float32)
    else:
        phase = (torch.arange(window_length, dtype=torch.float64) + 0.5) / window_length
        window = (0.5 - 0.5 * torch.cos(2 * math.pi * phase)).float()
    plan = _Transforming(nfft, window, window_step, power, center_windows, reflect_padding)
    return Planned((replace(signal, shapes=tuple(shapes), layout=layout),), plan)


@declare(
    "spectrogram",
    inputs=("signal",),
    arguments=(
        Argument("nfft", INT, None, "length of the transform; `window_length` by default", least=1),
        Argument("window_length", INT, 512, "values in a window", least=1),
        Argument("window_step", INT, 256, "values from one window to the next", least=1),
        Argument("window_fn", FLOATS, (), "factors of a window; Hann's window by default"),
        POWER,
        Argument(
            "center_windows",
            BOOL,
            default=True,
            doc="the middles of windows lie at multiples of `window_step`; else only windows that "
            "lie inside are taken",
        ),
        Argument(
            "reflect_padding",
            BOOL,
            default=True,
            doc="outside a signal lies its mirror image; else zeros",
        ),
        Argument("layout", TEXT, "ft", "frequencies or times come first", choices=("ft", "tf")),
    ),
    infer=_infer_spectrogram,
    check=_check_window,
)
def spectrogram(context: Context, signal: Batch, plan: _Transforming) -> Batch:
    """Compute the power of each frequency in windows of a signal of one channel."""
    out, length = context.empty(), len(plan.window)
    has_frequencies_first = context.outputs[0].layout == "ft"
    for at in parts(signal, out):
        values, place = signal.part(at), out.part(at)
        flat = values.reshape(len(values), -1).float()
        if plan.is_centered:
            before, border = length // 2, "reflect_101" if plan.is_mirrored else "constant"
            flat = padded(flat, 1, before, length - before, border)
        windows = flat.unfold(-1, length, plan.step)
        shape = windows.shape[:2]
        windows = (windows * plan.window.to(flat.device)).flatten(0, 1)
        result = magnitudes(windows, plan.nfft, plan.power).unflatten(0, shape)
        place.copy_(result.transpose(1, 2) if has_frequencies_first else result)
    return out


def _frequency_axis(shape: tuple[int, ...], layout: str) -> int:
    """The dimension of frequencies, counted from the last one."""
    if not layout:
        return -min(len(shape), 2)
    if "f" not in layout:
        raise ArgumentError(
            f"fn.mel_filter_bank needs a dimension f of frequencies, got layout {layout!r}"
        )
    return layout.index("f") - len(layout)


def _check_bank(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    low, high, rate = (arguments[name] for name in ("freq_low", "freq_high", "sample_rate"))
    if not 0 <= low < (high or rate / 2) <= rate / 2:
        raise ArgumentError(
            "fn.mel_filter_bank: freq_low and freq_high must be in ascending order between 0 and "
            f"half of sample_rate ({rate / 2:g}), got {low:g} and {high:g}"
        )


def _infer_mel(
    context: Context,
    spectra: Spec,
    *,
    nfilter: int,
    sample_rate: float,
    freq_low: float,
    freq_high: float,
    mel_formula: str,
    normalize: bool,
) -> Planned:
    check_floating("mel_filter_bank", spectra)
    shapes, plan = [], []
    found: dict[int, torch.Tensor] = {}
    high = freq_high or sample_rate / 2
    for shape in spectra.shapes:
        if not shape:
            raise ArgumentError("fn.mel_filter_bank takes spectra, got a scalar")
        axis = _frequency_axis(shape, spectra.layout)
        at, bins = len(shape) + axis, shape[axis]
        shapes.append((*shape[:at], nfilter, *shape[at + 1 :]))
        if bins not in found:
            numbers = bins, nfilter, sample_rate, freq_low, high, mel_formula
            found[bins] = mel_weights(*numbers, normalize=normalize)
        plan.append(_Product(found[bins], axis))
    return Planned((replace(spectra, shapes=tuple(shapes)),), plan)


@declare(
    "mel_filter_bank",
    inputs=("spectra",),
    arguments=(
        Argument("nfilter", INT, 128, "number of filters", least=1),
        Argument("sample_rate", FLOAT, 44100.0, "of the signal, in hertz"),
        Argument("freq_low", FLOAT, 0.0, "where the first filter begins, in hertz"),
        Argument(
            "freq_high", FLOAT, 0.0, "where the last filter ends; by default at sample_rate / 2"
        ),
        Argument(
            "mel_formula",
            TEXT,
            "slaney",
            "the scale: linear below 1 kHz and logarithmic above, or 2595 log10(1 + f / 700)",
            choices=("slaney", "htk"),
        ),
        Argument(
            "normalize", BOOL, default=True, doc="the integral of a filter is 1; else its peak is"
        ),
    ),
    infer=_infer_mel,
    check=_check_bank,
)
def mel_filter_bank(context: Context, spectra: Batch, plan: Sequence[_Product]) -> Batch:
    """Sum frequencies up by triangular filters that are evenly apart on a mel scale.

    Frequencies are the dimension `f` of the layout; without a layout the last but one of (..., f,
    t), or the only one.
    """
    return _multiplied(context, spectra, plan)


class _Product(NamedTuple):
    """A matrix, on the CPU, and the dimension that it is applied to, counted from the last one."""

    matrix: torch.Tensor
    axis: int


def _multiplied(context: Context, spectra: Batch, products: Sequence[_Product]) -> Batch:
    """The matrix of each sample applied, in float32."""
    out = context.empty()
    for at in parts(spectra, out):
        values, (matrix, axis) = spectra.part(at).float(), products[at.start]
        matrix = matrix.to(values.device)
        if axis == -2:
            out.part(at).copy_(matrix @ values)
        else:
            out.part(at).copy_((values.movedim(axis, -1) @ matrix.T).movedim(-1, axis))
    return out


def _check_reference(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if "reference" in given and arguments["reference"] == 0:
        raise ArgumentError(
            "fn.to_decibels: reference cannot be 0; leave it out to take the largest magnitude"
        )


def _infer_decibels(context: Context, magnitudes: Spec, **arguments: Any) -> Spec:
    check_floating("to_decibels", magnitudes)
    return magnitudes


@declare(
    "to_decibels",
    inputs=("magnitudes",),
    arguments=(
        Argument("multiplier", FLOAT, 10.0, "of the logarithm: 10 for powers, 20 for amplitudes"),
        Argument(
            "reference",
            FLOAT,
            0.0,
            "magnitude that is 0 decibels; by default the largest one of the sample",
        ),
        Argument("cutoff_db", FLOAT, -200.0, "smallest output"),
    ),
    infer=_infer_decibels,
    check=_check_reference,
)
def to_decibels(
    context: Context, magnitudes: Batch, *, multiplier: float, reference: float, cutoff_db: float
) -> Batch:
    """Convert magnitudes to decibels: multiplier * log10(in / reference)."""
    out = context.empty()
    least = max(10 ** (cutoff_db / multiplier), float(np.finfo(np.float32).smallest_subnormal))
    for at in parts(magnitudes, out):
        values = magnitudes.part(at).float()
        if values.numel() == 0:
            continue
        if reference:
            ratio = values / reference
        else:
            largest = values.amax(dim=tuple(range(1, values.ndim)), keepdim=True)
            ratio = values / torch.where(largest == 0, 1.0, largest)
            if (largest < 0).any():
                ratio = torch.where(largest < 0, least, ratio)
        out.part(at).copy_(ratio.clamp_(min=least).log10_().mul_(multiplier))
    return out


def _check_transform(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if arguments["dct_type"] == 1 and arguments["normalize"]:
        raise ArgumentError("fn.mfcc: dct_type=1 cannot be normalized")


def _infer_mfcc(
    context: Context,
    spectra: Spec,
    *,
    axis: int,
    n_mfcc: int,
    dct_type: int,
    normalize: bool,
    lifter: float,
) -> Planned:
    check_floating("mfcc", spectra)
    shapes, plan = [], []
    found: dict[int, torch.Tensor] = {}
    for shape in spectra.shapes:
        if axis >= len(shape):
            raise ArgumentError(f"fn.mfcc: axis {axis} is out of range for a sample of {shape}")
        if dct_type == 1 and shape[axis] < 2:
            raise ArgumentError(f"fn.mfcc: dct_type=1 needs at least 2 values, got shape {shape}")
        length = shape[axis]
        count = min(n_mfcc, length)
        shapes.append((*shape[:axis], count, *shape[axis + 1 :]))
        if length not in found:
            matrix = cosines(count, length, dct_type, normalize=normalize)
            if lifter:
                numbers = torch.arange(1, count + 1, dtype=torch.float64)
                lift = 1 + lifter / 2 * torch.sin(math.pi * numbers / lifter)
                matrix = matrix * lift.float()[:, None]
            found[length] = matrix
        plan.append(_Product(found[length], axis - len(shape)))
    return Planned((replace(spectra, shapes=tuple(shapes)),), plan)


@declare(
    "mfcc",
    inputs=("spectra",),
    arguments=(
        Argument("n_mfcc", INT, 20, "coefficients that are kept", least=1),
        Argument("dct_type", INT, 2, "kind of cosine transform", choices=(1, 2, 3, 4)),
        Argument(
            "normalize", BOOL, default=False, doc="the transform is orthonormal; not for dct_type 1"
        ),
        Argument("axis", INT, 0, "dimension that is transformed", least=0),
        Argument(
            "lifter",
            FLOAT,
            0.0,
            "unless 0, coefficient i is multiplied by 1 + lifter / 2 * sin(pi * (i + 1) / lifter)",
        ),
    ),
    infer=_infer_mfcc,
    check=_check_transform,
)
def mfcc(context: Context, spectra: Batch, plan: Sequence[_Product]) -> Batch:
    """Compute mel frequency cepstral coefficients: a cosine transform of a mel spectrogram."""
    return _multiplied(context, spectra, plan)
