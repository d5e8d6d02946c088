"""AutoAugment (https://arxiv.org/abs/1805.09501): learned sequences of augmentations."""

from __future__ import annotations

from typing import Any

from videoloader.dali import fn
from videoloader.dali.auto_aug import augmentations as a
from videoloader.dali.auto_aug.core import Augmentation, Policy, augmentation, select, signed_bin
from videoloader.dali.auto_aug.core.decorated import check_keywords
from videoloader.dali.auto_aug.core.selection import Draws
from videoloader.dali.auto_aug.suites import (
    Limit,
    Shape,
    keywords_of,
    translations,
    wide_enhancements,
)
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of

__all__ = [
    "apply_auto_augment",
    "auto_augment",
    "auto_augment_image_net",
    "get_image_net_policy",
    "get_reduced_cifar10_policy",
    "get_reduced_image_net_policy",
    "get_svhn_policy",
]

_NUM_BINS = 11

# The policies of the paper, one sequence a line: augmentation, probability, magnitude bin.
_IMAGE_NET = """
    equalize 0.8, shear_y 0.8 4
    color 0.4 9, equalize 0.6
    color 0.4 1, rotate 0.6 8
    solarize 0.8 3, equalize 0.4
    solarize 0.4 2, solarize 0.6 2
    color 0.2 0, equalize 0.8
    equalize 0.4, solarize_add 0.8 3
    shear_x 0.2 9, rotate 0.6 8
    color 0.6 1, equalize 1.0
    invert 0.4, rotate 0.6 0
    equalize 1.0, shear_y 0.6 3
    color 0.4 7, equalize 0.6
    posterize 0.4 6, auto_contrast 0.4
    solarize 0.6 8, color 0.6 9
    solarize 0.2 4, rotate 0.8 9
    rotate 1.0 7, translate_y 0.8 9
    solarize 0.8 4
    shear_y 0.8 0, color 0.6 4
    color 1.0 0, rotate 0.6 2
    equalize 0.8
    equalize 1.0, auto_contrast 0.6
    shear_y 0.4 7, solarize_add 0.6 7
    posterize 0.8 2, solarize 0.6 10
    solarize 0.6 8, equalize 0.6
    color 0.8 6, rotate 0.4 5
"""
_REDUCED_IMAGE_NET = """
    posterize 0.4 8, rotate 0.6 9
    solarize 0.6 5, auto_contrast 0.6
    equalize 0.8, equalize 0.6
    posterize 0.6 7, posterize 0.6 6
    equalize 0.4, solarize 0.2 4
    equalize 0.4, rotate 0.8 8
    solarize 0.6 3, equalize 0.6
    posterize 0.8 5, equalize 1.0
    rotate 0.2 3, solarize 0.6 8
    equalize 0.6, posterize 0.4 6
    rotate 0.8 8, color 0.4 0
    rotate 0.4 9, equalize 0.6
    equalize 0.8
    invert 0.6, equalize 1.0
    color 0.6 4, contrast 1.0 8
    rotate 0.8 8, color 1.0 2
    color 0.8 8, solarize 0.8 7
    sharpness 0.4 7, invert 0.6
    shear_x 0.6 5, equalize 1.0
    color 0.4 0, equalize 0.6
    equalize 0.4, solarize 0.2 4
    solarize 0.6 5, auto_contrast 0.6
    invert 0.6, equalize 1.0
    color 0.6 4, contrast 1.0 8
    equalize 0.8, equalize 0.6
"""
_SVHN = """
    shear_x 0.9 4, invert 0.2
    shear_y 0.9 8, invert 0.7
    equalize 0.6, solarize 0.6 6
    invert 0.9, equalize 0.6
    equalize 0.6, rotate 0.9 3
    shear_x 0.9 4, auto_contrast 0.8
    shear_y 0.9 8, invert 0.4
    shear_y 0.9 5, solarize 0.2 6
    invert 0.9, auto_contrast 0.8
    equalize 0.6, rotate 0.9 3
    shear_x 0.9 4, solarize 0.3 3
    shear_y 0.8 8, invert 0.7
    equalize 0.9, translate_y 0.6 6
    invert 0.9, equalize 0.6
    contrast 0.3 3, rotate 0.8 4
    invert 0.8
    shear_y 0.7 6, solarize 0.4 8
    invert 0.6, rotate 0.8 4
    shear_y 0.3 7, translate_x 0.9 3
    shear_x 0.1 6, invert 0.6
    solarize 0.7 2, translate_y 0.6 7
    shear_y 0.8 4, invert 0.8
    shear_x 0.7 9, translate_y 0.8 3
    shear_y 0.8 5, auto_contrast 0.7
    shear_x 0.7 2, invert 0.1
"""
_REDUCED_CIFAR10 = """
    invert 0.1, contrast 0.2 6
    rotate 0.7 2, translate_x 0.3 9
    sharpness 0.8 1, sharpness 0.9 3
    shear_y 0.5 8, translate_y 0.7 9
    auto_contrast 0.5, equalize 0.9
    shear_y 0.2 7, posterize 0.3 7
    color 0.4 3, brightness 0.6 7
    sharpness 0.3 9, brightness 0.7 9
    equalize 0.6, equalize 0.5
    contrast 0.6 7, sharpness 0.6 5
    color 0.7 7, translate_x 0.5 8
    equalize 0.3, auto_contrast 0.4
    translate_y 0.4 3, sharpness 0.2 6
    brightness 0.9 6, color 0.2 8
    solarize 0.5 2
    equalize 0.2, auto_contrast 0.6
    equalize 0.2, equalize 0.6
    color 0.9 9, equalize 0.6
    auto_contrast 0.8, solarize 0.2 8
    brightness 0.1 3, color 0.7 0
    solarize 0.4 5, auto_contrast 0.9
    translate_y 0.9 9, translate_y 0.7 9
    auto_contrast 0.9, solarize 0.8 3
    equalize 0.8, invert 0.1
    translate_y 0.7 9, auto_contrast 0.9
"""


def auto_augment(
    data: DataNode,
    policy_name: str = "image_net",
    shape: Shape = None,
    fill_value: int | None = 128,
    interp_type: Any = None,
    max_translate_abs: Limit = None,
    max_translate_rel: Limit = None,
    seed: int | None = None,
) -> DataNode:
    """Augment each sample by a random sequence of a policy of the paper.

    Args:
        data: images HWC or clips FHWC, uint8. The frames of a clip get the same augmentation.
        policy_name: `image_net`, `reduced_image_net`, `svhn` or `reduced_cifar10`.
        shape: (height, width) of the frames, or a data node with it; shifts are then relative to
            it, else in pixels.
        fill_value: outside the frame after a shift, shear or rotation; None repeats the border.
        interp_type: of the same operators: INTERP_LINEAR, the default, or INTERP_NN.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 250 by default.
            Only without `shape`.
        max_translate_rel: largest shift relative to the size, or (vertical, horizontal); 1 by
            default. Only with `shape`.
        seed: of the draws.
    """
    one_of("policy_name", policy_name, _POLICIES)
    limits = {"max_translate_abs": max_translate_abs, "max_translate_rel": max_translate_rel}
    if policy_name == "reduced_image_net":  # has no shifts
        given = [key for key, value in limits.items() if value is not None]
        if given:
            raise ArgumentError(f"policy reduced_image_net has no shifts, got {', '.join(given)}")
        policy = get_reduced_image_net_policy()
    else:
        policy = _POLICIES[policy_name](shape is not None, **limits)
    keywords = keywords_of(fill_value, interp_type, shape)
    return _apply(policy, data, seed, keywords)


def auto_augment_image_net(
    data: DataNode,
    shape: Shape = None,
    fill_value: int | None = 128,
    interp_type: Any = None,
    max_translate_abs: Limit = None,
    max_translate_rel: Limit = None,
    seed: int | None = None,
) -> DataNode:
    """`auto_augment` with the policy `image_net`."""
    limits = max_translate_abs, max_translate_rel
    return auto_augment(data, "image_net", shape, fill_value, interp_type, *limits, seed)


def apply_auto_augment(
    policy: Policy, data: DataNode, seed: int | None = None, **kwargs: Any
) -> DataNode:
    """Augment each sample by a random sequence of a policy.

    Args:
        policy: the sequences; each is equally likely.
        data: images or clips.
        seed: of the draws.
        **kwargs: passed to the augmentations that take them.
    """
    check_keywords(policy.augmentations.values(), kwargs)
    return _apply(policy, data, seed, kwargs)


def get_image_net_policy(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> Policy:
    """The policy for ImageNet.

    Args:
        use_shape: shifts relative to the size of a frame, else in pixels.
        max_translate_abs: largest shift in pixels, or (vertical, horizontal); 250 by default.
        max_translate_rel: largest shift relative to the size; 1 by default.
    """
    return _policy("ImageNetPolicy", _IMAGE_NET, use_shape, max_translate_abs, max_translate_rel)


def get_reduced_image_net_policy() -> Policy:
    """The policy for reduced ImageNet, which has no shifts."""
    return _policy("ReducedImageNetPolicy", _REDUCED_IMAGE_NET)


def get_svhn_policy(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> Policy:
    """The policy for SVHN; arguments as in `get_image_net_policy`."""
    return _policy("SvhnPolicy", _SVHN, use_shape, max_translate_abs, max_translate_rel)


def get_reduced_cifar10_policy(
    use_shape: bool = False, max_translate_abs: Limit = None, max_translate_rel: Limit = None
) -> Policy:
    """The policy for reduced CIFAR-10; arguments as in `get_image_net_policy`."""
    return _policy(
        "ReducedCifar10Policy", _REDUCED_CIFAR10, use_shape, max_translate_abs, max_translate_rel
    )


_POLICIES: dict[str, Any] = {
    "image_net": get_image_net_policy,
    "reduced_image_net": get_reduced_image_net_policy,
    "svhn": get_svhn_policy,
    "reduced_cifar10": get_reduced_cifar10_policy,
}


def _policy(
    name: str, text: str, use_shape: bool = False, limit_abs: Limit = None, limit_rel: Limit = None
) -> Policy:
    along_x, along_y = translations(use_shape, limit_abs, limit_rel, most=(250, 1.0))
    known: dict[str, Augmentation] = {
        **wide_enhancements(),
        "translate_x": along_x,
        "translate_y": along_y,
        "shear_x": a.shear_x.augmentation((0, 0.3)),
        "shear_y": a.shear_y.augmentation((0, 0.3)),
        "rotate": a.rotate.augmentation((0, 30)),
        "posterize": a.posterize.augmentation((0, 4)),
        "solarize": a.solarize.augmentation((0, 256)),
        "solarize_add": a.solarize_add.augmentation((0, 110)),
        "invert": a.invert,
        "equalize": a.equalize,
        "auto_contrast": a.auto_contrast,
    }
    sequences = []
    for line in text.strip().splitlines():
        steps = [step.split() for step in line.split(",")]
        sequences.append(
            [
                (known[each], float(probability), int(rest[0]) if rest else None)
                for each, probability, *rest in steps
            ]
        )
    return Policy(name, _NUM_BINS, sequences)


@augmentation
def _skip(data: DataNode, _: None) -> DataNode:
    return data


def _apply(policy: Policy, data: DataNode, seed: int | None, keywords: dict[str, Any]) -> DataNode:
    sequences = policy.sub_policies
    if not sequences:
        raise ArgumentError(f"policy {policy.name} has no sequences to choose from")
    length = max(map(len, sequences))
    draws = Draws(1 + 2 * length, seed)
    chosen = draws.choice(len(sequences))
    for place in range(length):
        steps = [steps[place] if place < len(steps) else (_skip, 0.0, None) for steps in sequences]
        # Operator 0 does nothing; samples that skip the step select it.
        ops = [_skip, *{id(step[0]): step[0] for step in steps if step[0] is not _skip}.values()]
        numbers = {id(each): number for number, each in enumerate(ops)}
        is_applied = draws.number() < _of_sequence(chosen, [step[1] for step in steps])
        number = _of_sequence(chosen, [numbers[id(step[0])] for step in steps])
        magnitude_bin = _of_sequence(chosen, [step[2] or 0 for step in steps])
        data = select(
            ops,
            number * is_applied,
            data,
            magnitude_bin=signed_bin(magnitude_bin, random_sign=draws.sign()),
            num_magnitude_bins=policy.num_magnitude_bins,
            **keywords,
        )
    return data


def _of_sequence(chosen: DataNode, values: list[Any]) -> Any:
    """The value for the sequence of each sample."""
    is_real = any(isinstance(each, float) for each in values)
    return fn.lookup_table(
        chosen,
        keys=list(range(len(values))),
        values=values,
        dtype=DataType.FLOAT if is_real else DataType.INT32,
    )
