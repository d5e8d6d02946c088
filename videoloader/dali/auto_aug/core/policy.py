"""Policies of AutoAugment: sequences of augmentations with probabilities and magnitudes."""

from __future__ import annotations

from collections.abc import Sequence

from videoloader.dali.auto_aug.core.decorated import Augmentation
from videoloader.dali.auto_aug.core.magnitudes import check_bin
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import real_number, whole_number

Step = tuple[Augmentation, float, int | None]
"""An augmentation, the probability that it is applied, its magnitude bin."""


class Policy:
    """Sequences of augmentations; each sample gets a random one.

    Args:
        name: for `repr` and errors.
        num_magnitude_bins: number of magnitude bins.
        sub_policies: the sequences. A step is an augmentation, the probability that it is applied,
            and its magnitude bin: None for augmentations without magnitudes.
    """

    def __init__(
        self, name: str, num_magnitude_bins: int, sub_policies: Sequence[Sequence[Step]]
    ) -> None:
        self.name = name
        self.num_magnitude_bins = num_magnitude_bins
        whole_number("num_magnitude_bins", num_magnitude_bins, least=1)
        self.sub_policies: tuple[tuple[Step, ...], ...] = tuple(
            tuple(map(self._checked, steps)) for steps in sub_policies
        )

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """All augmentations by name, sorted; equal names get a numeric suffix."""
        distinct = {id(step[0]): step[0] for steps in self.sub_policies for step in steps}
        by_name: dict[str, list[Augmentation]] = {}
        for each in distinct.values():
            by_name.setdefault(each.name, []).append(each)
        named = {
            name if len(alike) == 1 else f"{name}__{number}": each
            for name, alike in by_name.items()
            for number, each in enumerate(alike)
        }
        return dict(sorted(named.items()))

    def _checked(self, step: Step) -> Step:
        if not isinstance(step, tuple | list) or len(step) != 3:
            raise ArgumentTypeError(
                f"a step of a policy is (augmentation, probability, magnitude bin), got {step!r}"
            )
        each, probability, magnitude_bin = step
        if not isinstance(each, Augmentation):
            raise ArgumentTypeError(
                f"policy {self.name} is made of augmentations (see the decorator `augmentation`), "
                f"got {each!r}"
            )
        real_number(f"policy {self.name}, {each.name}: a probability", probability, most=1)
        if magnitude_bin is None:
            if each.mag_range is not None:
                raise ArgumentError(f"policy {self.name}, {each.name}: needs a magnitude bin")
        else:
            check_bin(magnitude_bin, self.num_magnitude_bins, f"policy {self.name}, {each.name}")
        return each, probability, magnitude_bin

    def __repr__(self) -> str:
        names = {id(each): name for name, each in self.augmentations.items()}
        sequences = [
            [(names[id(each)], *rest) for each, *rest in steps] for steps in self.sub_policies
        ]
        lines = ",\n".join(f"    {sequence}" for sequence in sequences)
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins}, "
            f"sub_policies=[\n{lines}])"
        )
