"""Magnitude bins with a random sign, and tables of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali import fn
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import whole_number

Parameters = NDArray[Any]


@dataclass(frozen=True, slots=True)
class SignedBin:
    """A magnitude bin, with a flag per sample that negates the magnitude.

    Attributes:
        bin: an int, or a data node with an int per sample.
        sign: a data node: 1 where the magnitude is negated, 0 elsewhere.
    """

    bin: int | DataNode
    sign: DataNode

    def __getitem__(self, index: Any) -> SignedBin:
        """Index the signs, and the bin if it is a data node."""
        chosen = self.bin[index] if isinstance(self.bin, DataNode) else self.bin
        return SignedBin(chosen, self.sign[index])


def signed_bin(
    magnitude_bin: int | DataNode,
    random_sign: DataNode | None = None,
    seed: int | None = None,
    shape: Sequence[int] | None = None,
) -> SignedBin:
    """Combine a magnitude bin with a random sign that several augmentations share.

    Args:
        magnitude_bin: an int, or a data node with an int per sample.
        random_sign: 1 for each sample whose magnitude is negated, 0 for others; drawn by default.
        seed: of the draw.
        shape: of the drawn signs, for several per sample.
    """
    if not isinstance(magnitude_bin, DataNode):
        whole_number("magnitude_bin, unless a data node,", magnitude_bin, least=None)
    if random_sign is not None:
        if seed is not None or shape is not None:
            raise ArgumentError("signed_bin draws with a seed and a shape only without random_sign")
        return SignedBin(magnitude_bin, random_sign)
    return SignedBin(magnitude_bin, fn.random.coin_flip(seed=seed, shape=shape))


def check_bin(magnitude_bin: Any, count: int, what: str) -> None:
    """Raise unless a bin is a data node or an int from 0 to `count - 1`."""
    if not isinstance(magnitude_bin, DataNode):
        name = f"{what}: a magnitude bin, unless a data node,"
        whole_number(name, magnitude_bin, most=count - 1)


def parameter_table(
    magnitudes: Sequence[float], to_parameter: Callable[[float], Any], what: str
) -> Parameters:
    """The parameter of each magnitude, along the first dimension of an array.

    Args:
        magnitudes: arguments of `to_parameter`.
        to_parameter: returns numbers, or arrays of one type and shape.
        what: name of the augmentation, for errors.
    """
    parameters = [np.asarray(to_parameter(magnitude)) for magnitude in magnitudes]
    kinds = {(each.dtype, each.shape) for each in parameters}
    if len(kinds) != 1:
        found = sorted(f"{dtype} {shape}" for dtype, shape in kinds)
        raise ArgumentError(
            f"{what}: mag_to_param gives arrays of different types or shapes: {', '.join(found)}"
        )
    table = np.stack(parameters)
    if table.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"{what}: mag_to_param gives {table.dtype}, not numbers")
    return table.astype(np.float32) if table.dtype == np.float64 else table
