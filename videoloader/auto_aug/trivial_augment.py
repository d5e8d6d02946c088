"""TrivialAugment (https://arxiv.org/abs/2103.10158): one augmentation of a random strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from videoloader.auto_aug.core import Augmentation
from videoloader.auto_aug.core.decorated import check_keywords
from videoloader.auto_aug.core.selection import Draws
from videoloader.auto_aug.suites import (
    Limit,
    Shape,
    keywords_of,
    one_of,
    suite_of,
    translations,
    without,
)
from videoloader.errors import ArgumentError
from videoloader.pipeline.graph.nodes import DataNode

__all__ = ["apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide"]


def trivial_augment_wide(
    data: DataNode,
    num_magnitude_bins: int = 31,
    shape: Shape = None,
    fill_value: int | None = 128,
    interp_type: Any = None,
    max_translate_abs: Limit = None,
    max_translate_rel: Limit = None,
    seed: int | None = None,
    excluded: Sequence[str] | None = None,
) -> DataNode:
    """Augment each sample once, by an augmentation and a magnitude bin drawn at random.

    Args:
        data: images HWC or clips FHWC, uint8. The frames of a clip are augmented alike.
        num_magnitude_bins: number of parts of the ranges of magnitudes.
        shape: (height, width) of the pictures, or a data node with that; shifts are then parts of
            it, else numbers of pixels.
        fill_value: of places behind the border after a shift, shear or rotation; None repeats the
            border.
        interp_type: of the same operators: INTERP_LINEAR, the default, or INTERP_NN.
        max_translate_abs: greatest shift in pixels, or (vertical, horizontal); 32 by default.
            Only without `shape`.
        max_translate_rel: greatest shift as a part of the size, or (vertical, horizontal); 1 by
            default. Only with `shape`.
        seed: of the draws.
        excluded: names of augmentations that the suite goes without.
    """
    suite = get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel)
    keywords = keywords_of(fill_value, interp_type, shape)
    draws = Draws(3, seed)
    return one_of(without(suite, excluded), draws, data, None, num_magnitude_bins, keywords)


def apply_trivial_augment(
    augmentations: Sequence[Augmentation],
    data: DataNode,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    **kwargs: Any,
) -> DataNode:
    """Augment each sample once, by an augmentation of a list and a bin drawn at random.

    Args:
        augmentations: to draw from.
        data: images or clips.
        num_magnitude_bins: number of parts of the ranges of magnitudes.
        seed: of the draws.
        **kwargs: further arguments, for the augmentations that take them.
    """
    check_keywords(augmentations, kwargs)
    if not augmentations:
        raise ArgumentError("there are no augmentations to choose from")
    return one_of(augmentations, Draws(3, seed), data, None, num_magnitude_bins, kwargs)


def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> list[Augmentation]:
    """The 14 augmentations of the wide space of TrivialAugment.

    Args:
        use_shape: whether shifts are parts of the size of a picture, else numbers of pixels.
        max_translate_abs: greatest shift in pixels, or (vertical, horizontal); 32 by default.
        max_translate_rel: greatest shift as a part of the size; 1 by default.
    """
    shifts = translations(use_shape, max_translate_abs, max_translate_rel, most=(32, 1.0))
    return suite_of(shifts, shear=0.99, rotate=135, enhance=(0.01, 0.99), posterize=2)
