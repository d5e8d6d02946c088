"""Results of DALI that are stored in `references/`, in the order of their cases."""

from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["stored"]


@cache
def stored(name):
    """The arrays of a file that holds them packed."""
    arrays, at = [], 0
    with np.load(Path(__file__).parent / "references" / f"{name}.npz") as file:
        packed = file["packed"]
        for shape, dtype in zip(file["shapes"].tolist(), file["dtypes"].tolist(), strict=True):
            sides = [side for side in shape if side]
            size = int(np.prod(sides)) * np.dtype(dtype).itemsize
            arrays.append(packed[at : at + size].view(dtype).reshape(sides))
            at += size
    assert at == len(packed)
    return arrays
