"""Arithmetic that operators on spectra share: magnitudes, mel scales, cosine transforms."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import INT, Argument
from videoloader.dali.tensors.batch import Spec
from videoloader.errors import ArgumentTypeError

POWER = Argument("power", INT, 2, "exponent of the magnitude", choices=(1, 2))

_BREAK = 1000.0  # hertz; Slaney's scale is linear below and logarithmic above
_LINEAR, _RATIO = 200 / 3, math.log(6.4) / 27


def check_floating(operator: str, values: Spec) -> None:
    """Fail if values are integers."""
    if not values.dtype.is_floating_point:
        raise ArgumentTypeError(
            f"fn.{operator} takes floating point values, got {values.dtype}; fn.cast makes them"
        )


def magnitude(spectrum: torch.Tensor, power: int) -> torch.Tensor:
    """|z| or |z|^2 of complex numbers."""
    if power == 1:
        return spectrum.abs()
    return spectrum.real.square() + spectrum.imag.square()


def magnitudes(signals: torch.Tensor, length: int, power: int) -> torch.Tensor:
    """|z| or |z|^2 of the frequencies of signals (n, values) of float32: (n, length // 2 + 1).

    Signals longer than `length` are cut, shorter ones followed by zeros. On the CPU, OpenCV takes
    half to a fifth of the time of torch, for lengths without large factors.
    """
    import cv2

    is_quick = signals.device.type == "cpu" and length > 1 and signals.shape[1] and len(signals)
    if not is_quick or cv2.getOptimalDFTSize(length) != length:
        return magnitude(torch.fft.rfft(signals, length), power)
    values = signals[:, :length]
    if values.shape[1] < length:
        values = torch.nn.functional.pad(values, (0, length - values.shape[1]))
    # Packed: the real part of the first, both of the others, the real part of the last if even.
    packed = torch.from_numpy(cv2.dft(values.contiguous().numpy(), flags=cv2.DFT_ROWS))
    packed.square_()
    found = signals.new_empty((len(signals), length // 2 + 1))
    found[:, 0] = packed[:, 0]
    torch.add(
        packed[:, 1 : length - 1 : 2], packed[:, 2:length:2], out=found[:, 1 : -(-length // 2)]
    )
    if length % 2 == 0:
        found[:, -1] = packed[:, -1]
    return found.sqrt_() if power == 1 else found


def mel_weights(
    bins: int, filters: int, rate: float, low: float, high: float, formula: str, *, normalize: bool
) -> torch.Tensor:
    """Triangular filters (filters, bins), as far apart as the mel scale has them.

    Args:
        bins: of the spectrum, from 0 to half of the sampling rate.
        filters: their number.
        rate: sampling rate in hertz.
        low: where the first filter begins, in hertz.
        high: where the last one ends.
        formula: `slaney` or `htk`.
        normalize: the integral of a filter is 1; else its peak is.
    """
    first, last = _to_mel(np.array([low, high]), formula).tolist()
    edges = _to_hertz(np.linspace(first, last, filters + 2), formula)[:, None]
    frequencies = np.arange(bins) * (rate / (2 * max(bins - 1, 1)))
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    weights = np.minimum(rising, falling).clip(0)
    if normalize:
        weights *= 2 / (edges[2:] - edges[:-2])
    return torch.from_numpy(weights.astype(np.float32))


def _to_mel(hertz: NDArray[np.float64], formula: str) -> NDArray[np.float64]:
    if formula == "htk":
        return np.asarray(2595 * np.log10(1 + hertz / 700))
    above = _BREAK / _LINEAR + np.log(np.maximum(hertz, _BREAK) / _BREAK) / _RATIO
    return np.where(hertz < _BREAK, hertz / _LINEAR, above)


def _to_hertz(mel: NDArray[np.float64], formula: str) -> NDArray[np.float64]:
    if formula == "htk":
        return np.asarray(700 * (10 ** (mel / 2595) - 1))
    above = _BREAK * np.exp(np.maximum(mel - _BREAK / _LINEAR, 0) * _RATIO)
    return np.where(mel < _BREAK / _LINEAR, mel * _LINEAR, above)


def cosines(count: int, length: int, kind: int, *, normalize: bool) -> torch.Tensor:
    """The first `count` rows of a discrete cosine transform of a length: (count, length).

    Args:
        count: at most `length`.
        length: of what is transformed; at least 2 for `kind` 1.
        kind: 1 to 4.
        normalize: the rows of the whole matrix are orthonormal; not for `kind` 1.
    """
    k, n = np.arange(count)[:, None], np.arange(length)
    if kind == 1:
        rows = np.cos(np.pi / (length - 1) * n * k)
        rows[:, [0, -1]] /= 2
        return torch.from_numpy(rows.astype(np.float32))
    row, place = {2: (k, n + 0.5), 3: (k + 0.5, n), 4: (k + 0.5, n + 0.5)}[kind]
    rows = np.cos(np.pi / length * place * row)
    if kind == 3:
        rows[:, 0] /= 2
    if normalize:
        rows *= math.sqrt(2 / length)
        if kind == 2:
            rows[0] /= math.sqrt(2)
        elif kind == 3:
            rows[:, 0] *= math.sqrt(2)
    return torch.from_numpy(rows.astype(np.float32))
