"""The search for a random window in which boxes are seen well enough."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PATIENCE = 100_000
"""Attempts after which a search without a limit ends; rules that can be met need fewer."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Conditions that a window must satisfy.

    Args:
        thresholds: least overlaps, of which one is drawn for `num_attempts` windows.
        allow_no_crop: whether the whole frame may be drawn like a threshold.
        is_iou: overlap is the intersection over union of window and box; else the part of the box.
        needs_all: whether all boxes must overlap, not only one.
        prune_threshold: least part of a box in the window for it to stay; None: its center must be
            inside.
        num_attempts: windows for one threshold.
        total_num_attempts: windows for one sample; None: no limit.
        scaling: (least, most) part of the sides.
        ratios: (least, most) ratio of x to y, then x to z and y to z.
    """

    thresholds: Sequence[float] = (0.0,)
    allow_no_crop: bool = True
    is_iou: bool = True
    needs_all: bool = True
    prune_threshold: float | None = None
    num_attempts: int = 1
    total_num_attempts: int | None = None
    scaling: tuple[float, float] = (1.0, 1.0)
    ratios: Sequence[tuple[float, float]] = ((1.0, 1.0),)


@dataclass(frozen=True, slots=True)
class Crop:
    """A window: where it begins and its lengths, as parts of the frame.

    `kept` tells the boxes that stay; `is_found` is False if the window breaks the rules.
    """

    anchor: Floats
    shape: Floats
    kept: NDArray[np.bool_]
    is_found: bool = True


def find_crop(
    boxes: Floats,
    rules: SearchRules,
    rng: np.random.Generator,
    *,
    frame: Sequence[float],
    window: Sequence[int] | None = None,
) -> Crop:
    """Draw windows until one satisfies the rules; else the best one, or the whole frame.

    Args:
        boxes: (N, 2, dimensions): starts and ends as parts of the frame.
        rules: see there.
        rng: draws.
        frame: its lengths in pixels (x, y, z), or ones.
        window: its lengths in pixels if they are given.
    """
    count = len(frame)
    everything = Crop(np.zeros(count), np.ones(count), np.ones(len(boxes), dtype=bool))
    best, best_overlap = None, -1.0
    options: list[float | None] = [*rules.thresholds]
    if rules.allow_no_crop:
        options.append(None)
    left = rules.total_num_attempts or _PATIENCE
    while left > 0:
        threshold = options[rng.integers(len(options))]
        if threshold is None:
            return everything
        for _ in range(min(rules.num_attempts, left)):
            left -= 1
            drawn = _window(rules, rng, np.asarray(frame, dtype=np.float64), window)
            if drawn is None:
                continue
            anchor, shape = drawn
            overlap = _overlap(boxes, anchor, anchor + shape, rules)
            kept = _kept(boxes, anchor, anchor + shape, rules.prune_threshold)
            if overlap >= threshold and (kept.any() or not len(boxes)):
                return Crop(anchor, shape, kept)
            if overlap > best_overlap:
                best, best_overlap = Crop(anchor, shape, kept, is_found=False), overlap
    return best or Crop(everything.anchor, everything.shape, everything.kept, is_found=False)


def _window(
    rules: SearchRules, rng: np.random.Generator, frame: Floats, window: Sequence[int] | None
) -> tuple[Floats, Floats] | None:
    """A window at a random place; None if its shape breaks the rules."""
    if window is not None:
        lengths = np.asarray(window, dtype=np.float64)
        room = (frame - lengths).astype(np.int64)
        start = rng.integers(np.minimum(room, 0), np.maximum(room, 0), endpoint=True)
        return start / frame, lengths / frame
    shape = _shape(rules, rng, frame)
    if shape is None:
        return None
    return (1 - shape) * rng.random(len(frame)), shape


def _shape(rules: SearchRules, rng: np.random.Generator, frame: Floats) -> Floats | None:
    """Lengths as parts of the frame; None if their ratios are not allowed.

    Lengths are drawn one by one. Where only one ratio of two is allowed, the larger one stays as
    drawn, and both are made smaller together if the other does not fit into the frame.
    """
    low, high = rules.scaling
    count = len(frame)
    lengths = frame * (low + (high - low) * rng.random(count))
    pairs = list(itertools.combinations(range(count), 2))
    ratios = dict(zip(pairs, itertools.cycle(rules.ratios), strict=False))
    fixed = {pair: ratio[0] for pair, ratio in ratios.items() if ratio[0] == ratio[1]}
    done: set[int] = set()
    for first in range(count):
        group = {first: 1.0}
        for (a, b), ratio in fixed.items():
            if a in group and ratio > 0:
                group.setdefault(b, group[a] / ratio)
            elif b in group:
                group.setdefault(a, group[b] * ratio)
        if first in done or len(group) == 1:
            continue
        done |= set(group)
        axes, factors = list(group), np.array(list(group.values()))
        wanted = lengths[axes].max() * factors / factors.max()
        lengths[axes] = wanted * min(1.0, (max(1.0, high) * frame[axes] / wanted).min())
    for (a, b), (least, most) in ratios.items():
        if not least * (1 - 1e-6) <= lengths[a] / max(lengths[b], 1e-12) <= most * (1 + 1e-6):
            return None
    return lengths / frame


def _inside(boxes: Floats, start: Floats, stop: Floats) -> tuple[Floats, Floats]:
    """The volume of each box, and of its part in the window."""
    common = np.minimum(boxes[:, 1], stop) - np.maximum(boxes[:, 0], start)
    return np.prod(boxes[:, 1] - boxes[:, 0], axis=1), np.prod(common.clip(0), axis=1)


def _overlap(boxes: Floats, start: Floats, stop: Floats, rules: SearchRules) -> float:
    """The overlap of the worst box if all must overlap, else of the best."""
    if not len(boxes):
        return np.inf
    own, common = _inside(boxes, start, stop)
    whole = own + np.prod(stop - start) - common if rules.is_iou else own
    overlaps = np.divide(common, whole, out=np.zeros_like(common), where=whole > 0)
    return float(overlaps.min() if rules.needs_all else overlaps.max())


def _kept(boxes: Floats, start: Floats, stop: Floats, threshold: float | None) -> NDArray[np.bool_]:
    """The boxes that stay in a window."""
    if threshold is None:
        centers = boxes.mean(axis=1)
        stays: NDArray[np.bool_] = ((centers >= start) & (centers <= stop)).all(axis=1)
    else:
        own, common = _inside(boxes, start, stop)
        stays = (common > 0) & (common >= threshold * own)
    return stays
