"""Suites of augmentations with their ranges of magnitudes, shared by the policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from videoloader.dali.auto_aug import augmentations as a
from videoloader.dali.auto_aug.core import Augmentation, select, signed_bin
from videoloader.dali.auto_aug.core.selection import Draws
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.errors import ArgumentError

Limit = float | Sequence[float] | None
"""A limit of a shift: one for both directions, or (height, width)."""

Shape = DataNode | Sequence[int] | None
"""Height and width of the frames: the same for all samples, or a data node."""


def translations(
    use_shape: bool, limit_abs: Limit, limit_rel: Limit, *, most: tuple[float, float]
) -> tuple[Augmentation, Augmentation]:
    """The shifts along x and y, each up to a limit.

    Args:
        use_shape: shifts relative to the size of a frame, else in pixels.
        limit_abs: largest shift in pixels.
        limit_rel: largest shift relative to the size.
        most: the default limits, absolute and relative.
    """
    unused, name = (
        (limit_abs, "max_translate_abs") if use_shape else (limit_rel, "max_translate_rel")
    )
    if unused is not None:
        told = "parts of the shape" if use_shape else "numbers of pixels, as there is no shape"
        raise ArgumentError(f"{name} is given, but shifts are {told}")
    given = limit_rel if use_shape else limit_abs
    limit = most[use_shape] if given is None else given
    limits = list(limit) if isinstance(limit, Sequence) else [limit, limit]
    if len(limits) != 2:
        raise ArgumentError(f"the limit of a shift is a number or (height, width), got {given!r}")
    height, width = limits
    along_x, along_y = (
        (a.translate_x, a.translate_y)
        if use_shape
        else (a.translate_x_no_shape, a.translate_y_no_shape)
    )
    return along_x.augmentation((0, width)), along_y.augmentation((0, height))


def keywords_of(fill_value: int | None, interp_type: Any, shape: Shape) -> dict[str, Any]:
    """The keywords for augmentations."""
    keywords = {"fill_value": fill_value, "interp_type": interp_type}
    return keywords if shape is None else {**keywords, "shape": shape}


def suite_of(
    shifts: Sequence[Augmentation],
    *,
    shear: float,
    rotate: float,
    enhance: tuple[float, float],
    posterize: int,
) -> list[Augmentation]:
    """The 14 augmentations of RandAugment and TrivialAugment; higher bins are stronger.

    Args:
        shifts: along x and y.
        shear: largest shear, relative to the distance.
        rotate: largest angle in degrees.
        enhance: smallest and largest change of the factors of colours and sharpness.
        posterize: fewest bits kept.
    """
    return [
        *shifts,
        a.shear_x.augmentation((0, shear)),
        a.shear_y.augmentation((0, shear)),
        a.rotate.augmentation((0, rotate)),
        *(each.augmentation(enhance) for each in (a.brightness, a.contrast, a.color, a.sharpness)),
        a.posterize.augmentation((8, posterize)),
        a.solarize.augmentation((256, 0)),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]


def one_of(
    augmentations: Sequence[Augmentation],
    draws: Draws,
    data: DataNode,
    magnitude_bin: int | None,
    num_magnitude_bins: int,
    keywords: dict[str, Any],
) -> DataNode:
    """Augment each sample by a random augmentation; a `magnitude_bin` of None is drawn too."""
    chosen = draws.choice(len(augmentations))
    number = draws.choice(num_magnitude_bins) if magnitude_bin is None else magnitude_bin
    return select(
        augmentations,
        chosen,
        data,
        magnitude_bin=signed_bin(number, random_sign=draws.sign()),
        num_magnitude_bins=num_magnitude_bins,
        **keywords,
    )


def wide_enhancements() -> dict[str, Augmentation]:
    """Colour augmentations with factors from 0.1 in the first bin to 1.9 in the last, by name."""
    plain = {
        each.name: each.augmentation((0.1, 1.9), randomly_negate=False, mag_to_param=None)
        for each in (a.brightness, a.contrast, a.color)
    }
    sharpness = a.sharpness.augmentation(
        (0.1, 1.9), randomly_negate=False, mag_to_param=a.sharpness_kernel_shifted
    )
    return {**plain, "sharpness": sharpness}


def without(suite: Sequence[Augmentation], excluded: Sequence[str] | None) -> list[Augmentation]:
    """The augmentations of a suite whose names are not excluded."""
    names = {each.name for each in suite}
    unknown = sorted(set(excluded or ()) - names)
    if unknown:
        raise ArgumentError(
            f"excluded names no augmentation of the suite: {', '.join(unknown)}; it has "
            f"{', '.join(sorted(names))}"
        )
    left = [each for each in suite if each.name not in (excluded or ())]
    if not left:
        raise ArgumentError("all augmentations of the suite are excluded")
    return left
