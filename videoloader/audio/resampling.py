"""Windowed-sinc resampling as a function of sample numbers, so any range can be computed.

The filter is a Hann-windowed sinc, as in DALI; `quality` sets the number of lobes.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError

_MOST_RATIO = 256
_STEPS = 32  # entries of DALI's table from one input sample to the next
_CHUNK = 1 << 17  # weights at a time
_PERIOD = 1 << 15  # output samples after which weights repeat, at most
_BLOCK = 256  # output samples whose positions DALI accumulates in float32


class Filter:
    """The filter between two rates.

    Attributes:
        ratio: input samples from one output sample to the next.
        reach: input samples on either side that contribute to an output sample.
    """

    def __init__(
        self, ratio: float | Fraction, quality: float = 50.0, *, as_dali: bool = False
    ) -> None:
        """Choose a filter.

        Args:
            ratio: input rate to output rate, above 0.
            quality: 0 to 100: 3 lobes at 0, 16 at 50, 64 at 100.
            as_dali: use DALI's arithmetic. When downsampling, frequencies above the new Nyquist
                limit are not removed, so they alias; and positions are rounded to float32, which
                moves them by up to a thousandth of a sample.
        """
        near = Fraction(ratio).limit_denominator(_PERIOD)
        self.ratio = near if ratio in (near, float(near)) else Fraction(ratio)
        self._as_dali = as_dali
        self._lobes = round(0.007 * quality * quality - 0.09 * quality + 3)
        self._cutoff = 1.0 if as_dali else min(1.0, float(1 / self.ratio))
        self.reach = math.ceil(self._lobes / self._cutoff)

    def inputs(self, start: int, stop: int) -> tuple[int, int]:
        """Input samples [first, last) that outputs [start, stop) depend on."""
        first = math.floor(start * self.ratio) - self.reach
        return first, math.ceil((stop - 1) * self.ratio) + self.reach + 1

    def apply(
        self, signal: NDArray[np.float32], first: int, start: int, stop: int
    ) -> NDArray[np.float32]:
        """Output samples [start, stop).

        Args:
            signal: (channels, n).
            first: number of its first sample; the signal is zero before it and after the last.
            start: of the output.
            stop: of the output.

        Returns:
            (channels, stop - start).
        """
        out = np.empty((len(signal), max(stop - start, 0)), np.float32)
        taps = 2 * self.reach
        rows = max(_CHUNK // taps, 1)
        for begin in range(start, stop, rows):
            end = min(begin + rows, stop)
            low, high = self.inputs(begin, end)
            middles, weights = self._rows(begin, end)
            part = _part(signal, low - first, high - first)
            windows = sliding_window_view(part, taps, axis=1)
            at = middles - (self.reach + low)
            for channel, row in zip(windows, out, strict=True):
                np.einsum("nt,nt->n", channel[at], weights, out=row[begin - start : end - start])
        return out

    def _rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For output samples: the input sample at or after each, and the weights around it."""
        step, period = self.ratio.numerator, self.ratio.denominator
        if self._as_dali or period > _PERIOD:
            wholes, rests = self._places(start, stop)
            middles = np.ceil(rests)
            at, distances = wholes + middles.astype(np.int64), middles - rests
            if self._as_dali:
                return at, _weights_of_dali(distances, self._lobes)
            return at, self._weights(distances)
        numbers = np.arange(start, stop, dtype=np.int64)
        middles = -(-numbers * step // period)
        phases = middles * period - numbers * step
        if stop - start < period:
            return middles, self._weights(phases / period)
        return middles, _weight_table(self._lobes, self._cutoff, self.reach, period)[phases]

    def _places(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions of output samples in input samples: integer and fractional parts."""
        step = float(self.ratio)
        first = start // _BLOCK
        begins = np.arange(first, -(-stop // _BLOCK))[:, None] * _BLOCK * step
        wholes = np.floor(begins)
        if self._as_dali:
            steps = np.full((len(begins), _BLOCK), step, np.float32)
            steps[:, :1] = begins - wholes
            rests = steps.cumsum(axis=1, dtype=np.float32).astype(np.float64)
        else:
            rests = begins - wholes + np.arange(_BLOCK) * step
        at = slice(start - first * _BLOCK, stop - first * _BLOCK)
        wide = np.broadcast_to(wholes, rests.shape).astype(np.int64)
        return wide.ravel()[at], rests.ravel()[at]

    def _weights(self, distances: NDArray[np.float64]) -> NDArray[np.float32]:
        return _weights(distances, self._lobes, self._cutoff, self.reach)


def check_rates(in_rate: float, out_rate: float) -> None:
    """Refuse extreme ratios before memory is allocated.

    Raises:
        UnsupportedError: the rates differ too much, as with a damaged header.
    """
    if not 1 / _MOST_RATIO <= out_rate / in_rate <= _MOST_RATIO:
        raise UnsupportedError(
            f"resampling from {in_rate:g} to {out_rate:g} Hz: the rates differ more than "
            f"{_MOST_RATIO}-fold; the file may be damaged"
        )


def resampled_length(length: int, in_rate: float, out_rate: float) -> int:
    """Number of output samples for `length` input samples.

    >>> resampled_length(1000, 44100, 16000)
    363
    """
    return math.ceil(length * out_rate / in_rate)


def _part(signal: NDArray[np.float32], start: int, stop: int) -> NDArray[np.float32]:
    """Samples [start, stop) of a signal; zeros outside."""
    inside = signal[:, max(start, 0) : max(stop, 0)]
    before = min(max(-start, 0), stop - start)
    return np.pad(inside, ((0, 0), (before, stop - start - before - inside.shape[1])))


@functools.lru_cache(maxsize=8)
def _weight_table(lobes: int, cutoff: float, reach: int, period: int) -> NDArray[np.float32]:
    """Weights for all distances that occur at a rational ratio: multiples of 1 / period."""
    return _weights(np.arange(period) / period, lobes, cutoff, reach)


def _weights(
    distances: NDArray[np.float64], lobes: int, cutoff: float, reach: int
) -> NDArray[np.float32]:
    """Weights (n, 2 * reach) of input samples around an output sample.

    Args:
        distances: of the sample number `reach` from the output sample, 0 to 1.
        lobes: of the sinc on either side.
        cutoff: of the filter, relative to the input's Nyquist frequency.
        reach: input samples on either side.
    """
    table = _lookup(lobes)
    steps = np.diff(table, append=table[-1:])
    scale = cutoff * _STEPS
    offsets = np.arange(-reach, reach) * scale + (lobes * _STEPS + 1)
    places = (distances * scale).astype(np.float32)[:, None] + offsets.astype(np.float32)
    np.clip(places, 0, len(table) - 1, out=places)
    below = places.astype(np.int32)
    places -= below
    weights = steps[below]
    weights *= places
    weights += table[below]
    if cutoff != 1:
        weights *= np.float32(cutoff)
    return weights


def _weights_of_dali(distances: NDArray[np.float64], lobes: int) -> NDArray[np.float32]:
    """Weights as `_weights` of a cutoff of 1, which lie whole steps of the table apart."""
    rows, differences = _rows_of_dali(lobes)
    places = (distances * _STEPS).astype(np.float32)
    below = places.astype(np.int32)
    # Rounded as places in the whole table are.
    taps = (np.arange(2 * lobes) * _STEPS + 1).astype(np.float32)
    shares = places[:, None] + taps
    shares -= below.astype(np.float32)[:, None] + taps
    weights = differences.take(below, axis=0)
    weights *= shares
    weights += rows.take(below, axis=0)
    return weights


@functools.lru_cache(maxsize=8)
def _rows_of_dali(lobes: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights for distances of whole steps, (_STEPS + 1, 2 * lobes), and what a step adds."""
    table = _lookup(lobes)
    taps = np.arange(-lobes, lobes) * _STEPS + (lobes * _STEPS + 1)
    at = (np.arange(_STEPS + 1)[:, None] + taps).clip(0, len(table) - 1)
    return table[at], np.diff(table, append=table[-1:])[at]


@functools.lru_cache(maxsize=8)
def _lookup(lobes: int) -> NDArray[np.float32]:
    """DALI's table of the windowed sinc, padded with zeros."""
    count = 2 * lobes * _STEPS + 1
    from_middle = np.arange(count) - count // 2
    hann = 0.5 * (1 + np.cos(from_middle * (2 * np.pi / count)))
    return np.pad((np.sinc(from_middle / _STEPS) * hann).astype(np.float32), (1, 4))
