"""Weighted epochs: systematic sampling of the items of a data set, by arithmetic on positions.

An epoch has a fixed number of draws. Every item has an interval on a line, proportional to its
weight. Draws are equally spaced points on that line, with a random offset. So an item with an
expected 2.3 draws is drawn 2 or 3 times in an epoch, and 2.3 times on average over epochs;
independent draws would vary far more. The state is the epoch and a position.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.arrays import real_numbers
from videoloader.sampling.random import generator

DRAWING = 3
"""Random stage of the draws of samples; larger than the stages of samples themselves."""

_DRAW = 1  # draw number of the random offset of an epoch; its order has draw 0
_MOST_BITS = 20  # maximum fractional bits of an interval, in draws
_BITS = 62  # bits for products of positions and counts


@dataclass(frozen=True, slots=True, eq=False)
class WeightedDraws:
    """Maps the positions 0 to size - 1 of an epoch to items, in proportion to weights.

    The positions of an item are consecutive: for a random order, use a `Permutation`, or a
    `SampleOrder` with `shuffle`.

    Attributes:
        size: draws in an epoch.
        num_items: items to draw from.
    """

    size: int
    num_items: int
    _ends: NDArray[np.int64]  # of the interval of each group of items, in units of 2 ** -_shift
    _item_ends: NDArray[np.int64] | None  # end of each group among the items; None: one item each
    _shift: int

    @classmethod
    def of(
        cls, weights: ArrayLike, *, counts: ArrayLike | None = None, size: int | None = None
    ) -> WeightedDraws:
        """Draws by weight.

        Args:
            weights: of each group of items, at least 0 and not all 0.
            counts: number of items of each group, which share its weight evenly; by default 1. A
                group without items is never drawn.
            size: draws in an epoch; by default the number of items.

        Raises:
            ArgumentError: a weight is negative or no number, or nothing can be drawn.
        """
        shares = real_numbers("weights", weights).copy()
        each = None if counts is None else np.asarray(counts, dtype=np.int64)
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            at = int(np.flatnonzero(~(np.isfinite(shares) & (shares >= 0)))[0])
            raise ArgumentError(f"weights are at least 0, got {shares[at]} at {at}")
        if each is not None:
            if each.shape != shares.shape:
                raise ArgumentError(f"{len(shares)} weights for {len(each)} groups")
            shares[each == 0] = 0
        if not shares.any():
            raise ArgumentError("all weights are 0: there is nothing to draw")
        items = len(shares) if each is None else int(each.sum())
        draws = items if size is None else size
        if draws < 1:
            raise ArgumentError(f"an epoch has at least 1 draw, got {draws}")
        most = 1 if each is None else int(each.max())
        shift = min(_MOST_BITS, _BITS - draws.bit_length() - most.bit_length())
        parts = np.cumsum(shares / shares.max())
        ends = np.round(parts / parts[-1] * (draws << shift)).astype(np.int64)
        item_ends = None if each is None else np.cumsum(each)
        return cls(draws, items, ends, item_ends, shift)

    @property
    def digest(self) -> int:
        """A hash of the weights, to detect that they differ."""
        return zlib.crc32(self._ends.data)

    def numbers(
        self, positions: ArrayLike, *, seed: int, stage: int = 0, epoch: int = 0
    ) -> NDArray[np.int64]:
        """The draws at some positions of an epoch, same shape.

        A draw n is item n % num_items, drawn for the (n // num_items)-th time in this epoch,
        counted from 0; no number occurs twice.

        >>> draws = WeightedDraws.of([1, 0, 3], size=4)
        >>> sorted((draws.numbers([0, 1, 2, 3], seed=0) % draws.num_items).tolist())
        [0, 2, 2, 2]
        """
        unit = 1 << self._shift
        rng = generator(seed, stage=stage, epoch=epoch, draw=_DRAW)
        offset = int(rng.integers(unit))
        places = np.asarray(positions, dtype=np.int64)
        if places.size and not (places.min() >= 0 and places.max() < self.size):
            raise IndexError(f"a position outside an epoch of {self.size} draws")
        points = places * unit + offset
        groups = np.searchsorted(self._ends, points, side="right")
        ends = self._ends[groups]
        begins = np.where(groups > 0, self._ends[groups - 1], 0)
        items = groups
        if self._item_ends is not None:
            before = np.where(groups > 0, self._item_ends[groups - 1], 0)
            counts, extents = self._item_ends[groups] - before, ends - begins
            within = ((points - begins + 1) * counts - 1) // extents
            begins = begins + within * extents // counts
            items = before + within
        first = -((offset - begins) // unit)  # the first position of the item
        numbers: NDArray[np.int64] = (places - np.maximum(first, 0)) * self.num_items + items
        return numbers


def balanced_weights(labels: ArrayLike, *, counts: ArrayLike | None = None) -> NDArray[np.float64]:
    """Weights that give every class equal frequency, and equal frequency to the items of a class.

    Args:
        labels: class of each group of items.
        counts: number of items of each group; by default 1.

    >>> balanced_weights([0, 0, 0, 1]).round(3).tolist()
    [0.333, 0.333, 0.333, 1.0]
    """
    _, classes = np.unique(np.asarray(labels).reshape(-1), return_inverse=True)
    each = np.ones(len(classes)) if counts is None else np.asarray(counts, dtype=np.float64)
    totals = np.bincount(classes, weights=each)
    return each / np.maximum(totals[classes], 1)
