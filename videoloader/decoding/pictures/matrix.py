"""Conversion of samples to RGB: the equations of ITU-T H.273, section 8.3, as an affine map."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError

# Kr and Kb (H.273, table 4). Constant luminance is taken as non-constant, as swscale does.
_WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
    "bt2020c": (0.2627, 0.0593),
}
# Rows R, G, B; columns the first, second and third component of the stream.
_OTHERS = {
    "gbr": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "ycgco": ((1.0, -1.0, 1.0), (1.0, 1.0, 0.0), (1.0, -1.0, -1.0)),
}

MATRICES = frozenset({*_WEIGHTS, *_OTHERS})
"""FFmpeg's names of the matrix coefficients that have a map."""


@cache
def matrix_for(
    matrix: str, range_: str, *, bit_depth: int, storage_bits: int
) -> NDArray[np.float64]:
    """The map from stored samples to RGB on the 0-255 scale.

    Args:
        matrix: FFmpeg's name of the matrix coefficients.
        range_: `tv` (limited) or `pc` (full).
        bit_depth: bits of a sample.
        storage_bits: bits in which it is stored, 8 or 16; the sample is in the high ones.

    Returns:
        (3, 4): rows R, G, B; columns the factors of the three components, and a constant.

    >>> to_rgb = matrix_for("bt709", "tv", bit_depth=10, storage_bits=16)
    >>> (to_rgb @ [940 << 6, 512 << 6, 512 << 6, 1]).round(9).tolist()
    [255.0, 255.0, 255.0]
    """
    equations = equations_of(matrix)
    unit = float(1 << (bit_depth - 8))
    if range_ == "pc":
        top = float((1 << bit_depth) - 1)
        base, extent = np.array([0.0, 128 * unit, 128 * unit]), np.array([top, top, top])
    else:
        base, extent = np.array([16.0, 128.0, 128.0]) * unit, np.array([219.0, 224, 224]) * unit
    if matrix == "gbr":
        base, extent = base[[0, 0, 0]], extent[[0, 0, 0]]
    factors = 255 * equations / extent
    stored = factors / (1 << (storage_bits - bit_depth))
    found = np.column_stack([stored, -(factors * base).sum(axis=1)])
    found.flags.writeable = False  # all callers have the same
    return found


def equations_of(matrix: str) -> NDArray[np.float64]:
    """(3, 3): R', G' and B' from Y', Pb and Pr.

    Raises:
        UnsupportedError: a matrix without equations.
    """
    if matrix in _OTHERS:
        return np.array(_OTHERS[matrix])
    if matrix not in _WEIGHTS:
        raise UnsupportedError(f"no conversion to RGB from matrix {matrix!r}; decode to surfaces")
    red, blue = _WEIGHTS[matrix]
    green = 1 - red - blue
    # E'pb = (E'b - E'y) / (2 (1 - Kb)) and E'pr = (E'r - E'y) / (2 (1 - Kr)), solved by hand:
    # libraries for matrices round in another way on each kind of processor.
    to_blue, to_red = 2 * (1 - blue), 2 * (1 - red)
    green_of = [1, -to_blue * blue / green, -to_red * red / green]
    return np.array([[1, 0, to_red], green_of, [1, to_blue, 0]])
