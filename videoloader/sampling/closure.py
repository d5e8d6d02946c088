"""The transitive closure of references between pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["needed_pictures"]


def needed_pictures(
    references: Sequence[Iterable[int]], wanted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mask of the wanted pictures and all pictures that they depend on, directly or indirectly.

    Args:
        references: for each picture, in decode order, the numbers of those it refers to.
        wanted: mask of the wanted pictures.

    >>> needed_pictures([(), (0,), (1,), (0,)], np.array([False, False, False, True]))
    array([ True, False, False,  True])
    """
    needed = wanted.tolist()
    for number in range(len(needed) - 1, -1, -1):
        if needed[number]:
            for reference in references[number]:
                needed[reference] = True
    return np.array(needed, dtype=np.bool_)
