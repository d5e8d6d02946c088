"""Windowed-sinc resampling as a function of sample numbers, so any range can be computed.

The filter is a Hann-windowed sinc, as in DALI; `quality` sets the number of lobes.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError

_MOST_RATIO = 256
_STEPS = 32  # entries of DALI's table from one input sample to the next
_FIRST_POWER = 5  # below a place of 2**5 in it, rounding a share changes no weight by 1e-8
_CHUNK = 1 << 20  # weights at a time
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
            part = _part(signal, low - first, high - first)
            windows = sliding_window_view(part, taps, axis=1)
            made = out[:, begin - start : end - start]
            if self._as_dali:
                self._sum_as_dali(windows, low, begin, made)
                continue
            middles, weights = self._rows(begin, end)
            at = middles - (self.reach + low)
            for channel, row in zip(windows, made, strict=True):
                np.einsum("nt,nt->n", channel[at], weights, out=row)
        return out

    def _sum_as_dali(
        self, windows: NDArray[np.float32], low: int, start: int, out: NDArray[np.float32]
    ) -> None:
        """Output samples from `start` on, with weights between two rows of DALI's table.

        Those that lie between the same two rows are one product of matrices.

        Args:
            windows: of the input, (channels, n, 2 * reach).
            low: input sample at which the first window begins.
            start: first output sample.
            out: (channels, n) output samples.
        """
        middles, distances = self._places(start, start + out.shape[1])
        at = middles - (self.reach + low)
        shares = (distances * _STEPS).astype(np.float32)
        rows = shares.astype(np.uint8)
        shares -= rows
        order = np.argsort(rows, kind="stable")
        at, shares = at[order], shares[order]
        ends = np.bincount(rows, minlength=_STEPS + 1).cumsum().tolist()
        tables = _tables_of_dali(self._lobes)
        sums = np.empty((tables.shape[1], len(order)), np.float32)
        units = [np.float32(2.0 ** (_FIRST_POWER + row - 23)) for row in range(len(sums) - 1)]
        rounded = [np.rint(shares / unit) * unit for unit in units]
        for channel, row in zip(windows, out, strict=True):
            for (begin, end), table in zip(pairwise([0, *ends]), tables, strict=True):
                np.matmul(table, channel[at[begin:end]].T, out=sums[:, begin:end])
            made = sums[0]
            for steps, share in zip(sums[1:], rounded, strict=True):
                steps *= share
                made += steps
            row[order] = made

    def _rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """For output samples: the input sample at or after each, and the weights around it."""
        step, period = self.ratio.numerator, self.ratio.denominator
        if period > _PERIOD:
            middles, distances = self._places(start, stop)
            return middles, self._weights(distances)
        numbers = np.arange(start, stop, dtype=np.int64)
        middles = -(-numbers * step // period)
        phases = middles * period - numbers * step
        if stop - start < period:
            return middles, self._weights(phases / period)
        return middles, _weight_table(self._lobes, self._cutoff, self.reach, period)[phases]

    def _places(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For output samples: the input sample at or after each, and how far behind it that is."""
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
        middles = np.ceil(rests)
        places = (wholes + middles).astype(np.int64)
        return places.ravel()[at], (middles - rests).ravel()[at]

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


@functools.lru_cache(maxsize=8)
def _tables_of_dali(lobes: int) -> NDArray[np.float32]:
    """Weights for distances of whole steps, and their differences to the next step.

    DALI adds a share of a step in float32 to the place in its table, which rounds the share, the
    more the higher the place is. What a step adds therefore stands in the row of the power of two
    of its place.

    Returns:
        (_STEPS + 1, 1 + powers, 2 * lobes): row 0 of each has the weights.
    """
    table = _lookup(lobes)
    places = np.arange(_STEPS + 1)[:, None] + np.arange(2 * lobes) * _STEPS + 1
    powers = np.maximum(np.frexp(places)[1] - 1, _FIRST_POWER)
    at = places.clip(0, len(table) - 1)
    steps = np.diff(table, append=table[-1:])[at]
    found = range(_FIRST_POWER, int(powers.max()) + 1)
    return np.stack([table[at], *(steps * (powers == power) for power in found)], axis=1)


@functools.lru_cache(maxsize=8)
def _lookup(lobes: int) -> NDArray[np.float32]:
    """DALI's table of the windowed sinc, padded with zeros."""
    count = 2 * lobes * _STEPS + 1
    from_middle = np.arange(count) - count // 2
    hann = 0.5 * (1 + np.cos(from_middle * (2 * np.pi / count)))
    return np.pad((np.sinc(from_middle / _STEPS) * hann).astype(np.float32), (1, 4))
