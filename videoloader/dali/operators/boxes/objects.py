"""`fn.segmentation.random_object_bbox`: the box around an object of a segmentation map."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.axes import for_each
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, ArgumentTypeError

_NAME = "segmentation.random_object_bbox"
_LABEL = np.iinfo(np.int32)
Integers = NDArray[np.int64]


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    clashing = {"classes", "class_weights"} & set(given)
    if arguments["output_class"]:
        clashing.add("output_class")
    if arguments["ignore_class"] and clashing:
        raise ArgumentError(f"fn.{_NAME}: ignore_class excludes {', '.join(sorted(clashing))}")


def _infer(
    context: Context,
    masks: Spec,
    *,
    format: str,  # noqa: A002  (DALI's name)
    output_class: bool,
    **others: Any,
) -> tuple[Spec, ...]:
    if len(masks) and (masks.dtype.is_floating_point or masks.dtype == torch.uint64):
        raise ArgumentTypeError(f"fn.{_NAME}: masks are integers, got {masks.dtype}; cast first")
    for shape in masks.shapes:
        if not shape:
            raise ArgumentError(f"fn.{_NAME}: a mask has dimensions, got a scalar")
    parts = 2 if format == "box" else 1
    place = Spec(tuple((parts * len(shape),) for shape in masks.shapes), torch.int32)
    label = Spec.alike(len(masks), (), torch.int32)
    return (place,) * (3 - parts) + (label,) * output_class


@declare(
    _NAME,
    draws=True,
    inputs=("masks",),
    devices=("cpu",),
    arguments=(
        Argument(
            "background",
            INT,
            None,
            "label that is no object; by default 0, or one that is not in classes",
            per_sample=True,
        ),
        Argument(
            "foreground_prob", FLOAT, 1.0, "of an object, not the whole mask", per_sample=True
        ),
        Argument(
            "classes",
            INTS,
            None,
            "labels of objects; all but the background by default",
            per_sample=True,
        ),
        Argument(
            "class_weights",
            FLOATS,
            None,
            "chances of the classes, or of the labels from 0 on without the background",
            per_sample=True,
            least=0,
        ),
        Argument("threshold", INTS, None, "least sides of a box", per_sample=True),
        Argument("k_largest", INT, None, "only that many largest boxes", least=1),
        Argument(
            "ignore_class", BOOL, default=False, doc="every object is equally likely, of any class"
        ),
        Argument("output_class", BOOL, default=False, doc="give the label too"),
        Argument(
            "format",
            TEXT,
            "anchor_shape",
            "two outputs, start and shape or start and end; or one with both, start and end",
            choices=("anchor_shape", "start_end", "box"),
        ),
        SEED,
    ),
    num_outputs=lambda arguments: (
        (1 if arguments["format"] == "box" else 2) + arguments["output_class"]
    ),
    infer=_infer,
    check=_check,
    unused=("cache_objects",),
)
def random_object_bbox(
    context: Context,
    masks: Batch,
    *,
    format: str,  # noqa: A002
    output_class: bool,
    ignore_class: bool,
    k_largest: int | None,
    background: PerSample,
    foreground_prob: PerSample,
    classes: PerSample,
    class_weights: PerSample,
    threshold: PerSample,
) -> tuple[Batch, ...]:
    """Draw a class, then one of its objects, and give the box around it.

    An object is pixels of one label that touch. Where nothing is left to draw, the box is the whole
    mask, and the label that of the background.
    """
    starts, stops, labels = [], [], []
    for position, mask in enumerate(masks):
        pixels = _labels(mask.numpy())
        wanted = _choices(classes[position], class_weights[position], background[position])
        rules = _Rules(_sides(threshold[position], pixels.ndim), k_largest)
        rng = context.random(position)
        found = None
        if rng.random() < foreground_prob[position]:
            draw = _any_object if ignore_class else _object_of_class
            found = draw(pixels, wanted, rules, rng)
        box, label = found or (np.array([[0] * pixels.ndim, pixels.shape]), wanted.background)
        starts.append(torch.from_numpy(box[0].astype(np.int32)))
        stops.append(torch.from_numpy(box[1].astype(np.int32)))
        labels.append(torch.tensor(label, dtype=torch.int32))
    pairs = list(zip(starts, stops, strict=True))
    outputs: tuple[Batch, ...]
    if format == "box":
        outputs = (Batch([torch.cat(pair) for pair in pairs]),)
    elif format == "anchor_shape":
        outputs = (Batch(starts), Batch([stop - start for start, stop in pairs]))
    else:
        outputs = (Batch(starts), Batch(stops))
    return (*outputs, Batch(labels)) if output_class else outputs


@dataclass(frozen=True, slots=True)
class _Choices:
    """Labels that may be drawn with their weights; None for all but the background, alike."""

    background: int
    weights: dict[int, float] | None

    def of(self, pixels: NDArray[np.int32]) -> dict[int, float]:
        """The labels that a mask has with their weights."""
        present = np.unique(pixels).tolist()
        if self.weights is None:
            return {label: 1.0 for label in present if label != self.background}
        return {label: self.weights[label] for label in present if self.weights.get(label)}


@dataclass(frozen=True, slots=True)
class _Rules:
    """Which boxes may be drawn."""

    least: tuple[int, ...]
    largest: int | None

    def boxes(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The objects that are large enough."""
        sides = parts[:, 1] - parts[:, 0]
        is_large = (sides >= np.array(self.least)).all(axis=1)
        parts, sides = parts[is_large], sides[is_large]
        if self.largest is None:
            return parts
        return parts[np.argsort(-sides.prod(axis=1), kind="stable")[: self.largest]]


def _labels(pixels: NDArray[Any]) -> NDArray[np.int32]:
    """A mask in the type of labels; uint32 keeps its bits."""
    is_wide = pixels.dtype == np.int64 and pixels.size
    if is_wide and not _LABEL.min <= pixels.min() <= pixels.max() <= _LABEL.max:
        raise ArgumentError(f"fn.{_NAME}: labels have 32 bits, got {pixels.max()}")
    return pixels.astype(np.int32)


def _choices(
    classes: Sequence[int] | None, weights: Sequence[float] | None, background: int | None
) -> _Choices:
    if classes is None:
        own = 0 if background is None else background
        if weights is None:
            return _Choices(own, None)
        labels = (label for label in itertools.count() if label != own)
        return _Choices(own, dict(zip(labels, weights, strict=False)))
    if weights is not None and len(weights) != len(classes):
        raise ArgumentError(
            f"fn.{_NAME}: {len(classes)} classes and {len(weights)} class_weights; "
            "give one for each"
        )
    if background in classes:
        raise ArgumentError(f"fn.{_NAME}: the background {background} is one of the classes")
    own = _unused_label(classes) if background is None else background
    table: dict[int, float] = {}
    for label, weight in zip(classes, weights or [1.0] * len(classes), strict=True):
        table[label] = table.get(label, 0.0) + weight
    return _Choices(own, table)


def _unused_label(classes: Sequence[int]) -> int:
    """0, or a label that is not among the classes."""
    if 0 not in classes:
        return 0
    if min(classes) > _LABEL.min:
        return min(classes) - 1
    return next(label for label in range(_LABEL.max, 0, -1) if label not in classes)


def _sides(threshold: Sequence[int] | None, count: int) -> tuple[int, ...]:
    if threshold is None:
        return (0,) * count
    return for_each("threshold", threshold, count)


def _object_of_class(
    pixels: NDArray[np.int32], wanted: _Choices, rules: _Rules, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int] | None:
    """A box of a class that has one, and the label; None if no class has any."""
    left = wanted.of(pixels)
    while left:
        chances = np.array(list(left.values()))
        label = list(left)[rng.choice(len(left), p=chances / chances.sum())]
        boxes = rules.boxes(boxes_around_parts(pixels == label))
        if len(boxes):
            return boxes[rng.integers(len(boxes))], label
        del left[label]
    return None


def _any_object(
    pixels: NDArray[np.int32], wanted: _Choices, rules: _Rules, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int] | None:
    """A box of any class; the label is of no use."""
    parts = [boxes_around_parts(pixels == label) for label in wanted.of(pixels)]
    boxes = rules.boxes(np.concatenate(parts)) if parts else ()
    return (boxes[rng.integers(len(boxes))], wanted.background) if len(boxes) else None


def boxes_around_parts(mask: NDArray[np.bool_]) -> Integers:
    """Boxes around the parts of a mask that are connected by faces of their pixels.

    Planes of the last two dimensions are labelled by OpenCV; parts of neighbouring planes that
    touch are then joined.

    Returns:
        (parts, 2, dimensions): the first pixel of each box and one behind its last.
    """
    if mask.ndim == 1:
        return boxes_around_parts(mask[None])[..., 1:]
    import cv2

    outer = mask.shape[:-2]
    planes = mask.reshape(-1, *mask.shape[-2:])
    labels = np.full(planes.shape, -1, dtype=np.int64)
    boxes: list[NDArray[Any]] = [np.empty((0, 2, mask.ndim), dtype=np.int64)]
    count = 0
    for number, plane in enumerate(planes):
        if not plane.any():
            continue
        found, own, stats, _ = cv2.connectedComponentsWithStats(
            plane.astype(np.uint8), connectivity=4, ltype=cv2.CV_32S
        )
        labels[number][plane] = own[plane] - 1 + count
        boxes.append(_boxes_in_plane(np.unravel_index(number, outer), stats[1:]))
        count += found - 1
    every = np.concatenate(boxes)
    roots = _joined(count, _touching(labels.reshape(mask.shape)))
    starts, stops = every[:, 0].copy(), every[:, 1].copy()
    np.minimum.at(starts, roots, every[:, 0])
    np.maximum.at(stops, roots, every[:, 1])
    return np.stack([starts, stops], axis=1)[np.unique(roots)]


def _boxes_in_plane(place: tuple[Any, ...], stats: NDArray[np.int32]) -> Integers:
    """The boxes that OpenCV gives as (x, y, width, height, area), in all dimensions."""
    front = np.broadcast_to(np.array(place, dtype=np.int64), (len(stats), len(place)))
    start = stats[:, [1, 0]].astype(np.int64)
    stop = start + stats[:, [3, 2]]
    return np.stack(
        [np.concatenate([front, start], axis=1), np.concatenate([front + 1, stop], axis=1)], axis=1
    )


def _touching(labels: Integers) -> Integers:
    """Pairs of labels of neighbouring planes; -1 is no label."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for axis in range(labels.ndim - 2):
        moved = labels.swapaxes(axis, 0)
        both = (moved[:-1] >= 0) & (moved[1:] >= 0)
        pairs.append(np.stack([moved[:-1][both], moved[1:][both]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def _joined(count: int, pairs: Integers) -> Integers:
    """For each of `count` numbers the smallest one that pairs connect it with."""
    roots = np.arange(count)
    while True:
        first, second = roots[pairs[:, 0]], roots[pairs[:, 1]]
        low = np.minimum(first, second)
        joined = roots.copy()
        np.minimum.at(joined, first, low)
        np.minimum.at(joined, second, low)
        joined = joined[joined]
        if np.array_equal(joined, roots):
            return roots
        roots = joined
