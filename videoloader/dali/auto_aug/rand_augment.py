"""RandAugment (https://arxiv.org/abs/1909.13719): several augmentations of equal magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from videoloader.dali.auto_aug import augmentations as a
from videoloader.dali.auto_aug.core import Augmentation
from videoloader.dali.auto_aug.core.decorated import check_keywords
from videoloader.dali.auto_aug.core.selection import Draws
from videoloader.dali.auto_aug.suites import (
    Limit,
    Shape,
    keywords_of,
    one_of,
    suite_of,
    translations,
    wide_enhancements,
    without,
)
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.errors import ArgumentError

__all__ = [
    "apply_rand_augment",
    "get_rand_augment_non_monotonic_suite",
    "get_rand_augment_suite",
    "rand_augment",
]


def rand_augment(
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    shape: Shape = None,
    fill_value: int | None = 128,
    interp_type: Any = None,
    max_translate_abs: Limit = None,
    max_translate_rel: Limit = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: Sequence[str] | None = None,
) -> DataNode:
    """Augment each sample `n` times in a row, by random augmentations of a suite.

    Args:
        data: images HWC or clips FHWC, uint8. The frames of a clip get the same augmentation.
        n: augmentations in a row.
        m: magnitude bin of all of them, from 0 to `num_magnitude_bins - 1`.
        num_magnitude_bins: magnitude bins of each augmentation.
        shape: (height, width) of the frames, or a data node with it; shifts are then relative to
            it, else in pixels.
        fill_value: outside the frame after a shift, shear or rotation; None repeats the border.
        interp_type: of the same operators: INTERP_LINEAR, the default, or INTERP_NN.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 100 by default.
            Only without `shape`.
        max_translate_rel: largest shift relative to the size, or (vertical, horizontal);
            100/224 by default. Only with `shape`.
        seed: of the draws.
        monotonic_mag: use a suite in which higher bins are stronger, else
            `get_rand_augment_non_monotonic_suite`.
        excluded: names of augmentations to leave out of the suite.
    """
    make = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    suite = without(make(shape is not None, max_translate_abs, max_translate_rel), excluded)
    keywords = keywords_of(fill_value, interp_type, shape)
    return _apply(suite, data, n, m, num_magnitude_bins, seed, keywords)


def apply_rand_augment(
    augmentations: Sequence[Augmentation],
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Augment each sample `n` times in a row, by random augmentations of a list.

    Args:
        augmentations: to draw from.
        data: images or clips.
        n: augmentations in a row.
        m: magnitude bin of all of them.
        num_magnitude_bins: magnitude bins of each augmentation.
        seed: of the draws.
        **kwargs: passed to the augmentations that take them.
    """
    check_keywords(augmentations, kwargs)
    return _apply(augmentations, data, n, m, num_magnitude_bins, seed, kwargs)


def get_rand_augment_suite(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> list[Augmentation]:
    """The 14 augmentations of RandAugment.

    Args:
        use_shape: shifts relative to the size of a frame, else in pixels.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 100 by default.
        max_translate_rel: largest shift relative to the size; 100/224 by default.
    """
    shifts = translations(use_shape, max_translate_abs, max_translate_rel, most=(100, 100 / 224))
    return suite_of(shifts, shear=0.3, rotate=30, enhance=(0, 0.9), posterize=4)


def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> list[Augmentation]:
    """The augmentations of RandAugment with the ranges of AutoAugment.

    Colour factors range from 0.1 to 1.9, so the middle bin is the weakest. Higher bins of posterize
    and solarize are weaker. Arguments as for `get_rand_augment_suite`.
    """
    others = {
        **wide_enhancements(),
        "posterize": a.posterize.augmentation((0, 4)),
        "solarize": a.solarize.augmentation((0, 256)),
    }
    suite = get_rand_augment_suite(use_shape, max_translate_abs, max_translate_rel)
    return [others.get(each.name, each) for each in suite]


def _apply(
    augmentations: Sequence[Augmentation],
    data: DataNode,
    n: int,
    m: int,
    num_magnitude_bins: int,
    seed: int | None,
    keywords: dict[str, Any],
) -> DataNode:
    if not augmentations:
        raise ArgumentError("there are no augmentations to choose from")
    if n < 0:
        raise ArgumentError(f"n must not be negative, got {n}")
    if n == 0:
        return data
    draws = Draws(2 * n, seed)
    for _ in range(n):
        data = one_of(augmentations, draws, data, m, num_magnitude_bins, keywords)
    return data
