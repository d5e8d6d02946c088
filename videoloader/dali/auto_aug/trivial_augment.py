"""TrivialAugment (https://arxiv.org/abs/2103.10158): one augmentation of a random strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    without,
)
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.errors import ArgumentError

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
    """Augment each sample once, by a random augmentation with a random magnitude bin.

    Args:
        data: images HWC or clips FHWC, uint8. The frames of a clip get the same augmentation.
        num_magnitude_bins: magnitude bins of each augmentation.
        shape: (height, width) of the frames, or a data node with it; shifts are then relative to
            it, else in pixels.
        fill_value: outside the frame after a shift, shear or rotation; None repeats the border.
        interp_type: of the same operators: INTERP_LINEAR, the default, or INTERP_NN.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 32 by default.
            Only without `shape`.
        max_translate_rel: largest shift relative to the size, or (vertical, horizontal); 1 by
            default. Only with `shape`.
        seed: of the draws.
        excluded: names of augmentations to leave out of the suite.
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
    """Augment each sample once, by a random augmentation of a list with a random bin.

    Args:
        augmentations: to draw from.
        data: images or clips.
        num_magnitude_bins: magnitude bins of each augmentation.
        seed: of the draws.
        **kwargs: passed to the augmentations that take them.
    """
    check_keywords(augmentations, kwargs)
    if not augmentations:
        raise ArgumentError("there are no augmentations to choose from")
    return one_of(augmentations, Draws(3, seed), data, None, num_magnitude_bins, kwargs)


def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> list[Augmentation]:
    """The 14 augmentations of TrivialAugment Wide.

    Args:
        use_shape: shifts relative to the size of a frame, else in pixels.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 32 by default.
        max_translate_rel: largest shift relative to the size; 1 by default.
    """
    shifts = translations(use_shape, max_translate_abs, max_translate_rel, most=(32, 1.0))
    return suite_of(shifts, shear=0.99, rotate=135, enhance=(0.01, 0.99), posterize=2)
