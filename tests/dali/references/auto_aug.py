"""What the augmentations of DALI 2.4 give on its CPU, and what its policies are made of.

    python tests/dali/references/auto_aug.py   # nvidia-dali-cuda130==2.4.0: auto_aug.npz, .json

The tests read the cases from here and the values from the files; they need no DALI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

NUM_BINS = 11


class Case(NamedTuple):
    """A call of an augmentation; `interp_type` is a name in `types`."""

    name: str
    layout: str
    magnitude_bin: int
    sign: int
    arguments: Mapping[str, Any] = MappingProxyType({})

    def values(self) -> np.ndarray:
        """The input: waves with a sharp edge, and a little noise."""
        shape = (9, 11, 3) if self.layout == "HWC" else (2, 8, 10, 3)
        places = np.indices(shape)
        waves = np.sin(places[-2] / 3 + places[0]) + np.cos(places[-3] / 4 + 2 * places[-1])
        noise = np.random.default_rng(len(shape)).integers(0, 8, shape)
        return (110 + 40 * waves + 20 * (places[-2] > 5) + noise).clip(0, 255).astype(np.uint8)

    def run(self, module: Any, augmentations: Any, signed_bin: Any) -> np.ndarray:
        """The result of a pipeline of DALI, or of ours."""
        fn, types = module.fn, module.types
        given = {
            k: getattr(types, v) if k == "interp_type" else v for k, v in self.arguments.items()
        }

        @module.pipeline_def(batch_size=1, num_threads=1, device_id=None, enable_conditionals=True)
        def pipeline() -> Any:
            data = fn.external_source(
                source=lambda: [self.values()], batch=True, layout=self.layout
            )
            sign = fn.random.coin_flip(probability=float(self.sign))
            return getattr(augmentations, self.name)(
                data,
                magnitude_bin=signed_bin(self.magnitude_bin, sign),
                num_magnitude_bins=NUM_BINS,
                **given,
            )

        running = pipeline()
        running.build()
        return np.array(running.run()[0][0])


_NEGATED = (
    *("brightness", "contrast", "color", "sharpness", "rotate", "shear_x", "shear_y"),
    *("translate_x", "translate_y", "translate_x_no_shape", "translate_y_no_shape"),
)
_PLAIN = ("posterize", "solarize", "solarize_add")
_WITHOUT_MAGNITUDE = ("auto_contrast", "equalize", "identity", "invert")


def _cases() -> list[Case]:
    cases = []
    for name in (*_NEGATED, *_PLAIN, *_WITHOUT_MAGNITUDE):
        shape = {"shape": (9, 11)} if name in ("translate_x", "translate_y") else {}
        cases.append(Case(name, "FHWC", 6, 0, shape))
        if name not in _WITHOUT_MAGNITUDE:
            cases.append(Case(name, "HWC", 10, 0, shape))
        if name in _NEGATED:
            step = 1 if name.endswith("no_shape") else 3
            cases.append(Case(name, "HWC", step, 1, shape))
    for name in ("rotate", "shear_x", "translate_y"):
        given: dict[str, Any] = {"shape": (9, 11)} if name == "translate_y" else {}
        cases.append(Case(name, "HWC", 4, 0, {**given, "fill_value": None}))
        cases.append(Case(name, "HWC", 4, 1, {**given, "interp_type": "INTERP_NN"}))
    cases.append(Case("rotate", "HWC", 9, 0, {"rotate_keep_size": False, "fill_value": 7}))
    return cases


CASES = _cases()


def described(auto_augment: Any, rand_augment: Any, trivial_augment: Any) -> dict[str, Any]:
    """Suites and policies of DALI, or ours: ranges and signs by name, sequences of policies."""

    def settings(each: Any) -> list[Any]:
        parameter = None if each.mag_range is None else each.mag_to_param(0.5)
        magnitudes = None if each.mag_range is None else [float(end) for end in each.mag_range]
        return [each.name, magnitudes, bool(each.randomly_negate), np.ravel(parameter).tolist()]

    suites = {
        "rand": rand_augment.get_rand_augment_suite,
        "rand, not monotonic": rand_augment.get_rand_augment_non_monotonic_suite,
        "trivial": trivial_augment.get_trivial_augment_wide_suite,
    }
    policies = {
        name: getattr(auto_augment, f"get_{name}_policy")
        for name in ("image_net", "reduced_image_net", "svhn", "reduced_cifar10")
    }
    found: dict[str, Any] = {}
    for use_shape in (False, True):
        for name, suite in suites.items():
            found[f"{name}, {use_shape}"] = [settings(each) for each in suite(use_shape)]
        for name, policy in policies.items():
            made = policy() if name == "reduced_image_net" else policy(use_shape)
            ordered = [made.augmentations[each] for each in sorted(made.augmentations)]
            found[f"{name}, {use_shape}"] = [settings(each) for each in ordered]
            found[name] = [
                [[each.name, chance, number] for each, chance, number in steps]
                for steps in made.sub_policies
            ]
    return found


if __name__ == "__main__":
    import nvidia.dali
    import nvidia.dali.auto_aug.augmentations
    import nvidia.dali.auto_aug.auto_augment
    import nvidia.dali.auto_aug.rand_augment
    import nvidia.dali.auto_aug.trivial_augment
    from nvidia.dali.auto_aug.core import signed_bin as dali_signed_bin

    theirs = nvidia.dali.auto_aug.augmentations
    made = [case.run(nvidia.dali, theirs, dali_signed_bin) for case in CASES]
    np.savez_compressed(
        Path(__file__).with_suffix(".npz"),
        packed=np.concatenate([each.reshape(-1) for each in made]),
        shapes=np.array([list(each.shape) + [0] * (4 - each.ndim) for each in made], np.int16),
        dtypes=np.array([each.dtype.str for each in made]),
    )
    package = nvidia.dali.auto_aug
    policies = described(package.auto_augment, package.rand_augment, package.trivial_augment)
    Path(__file__).with_suffix(".json").write_text(json.dumps(policies) + "\n", encoding="utf-8")
