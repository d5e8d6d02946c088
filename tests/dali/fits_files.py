"""FITS files as the standard describes them, card by card and block by block."""

import numpy as np

__all__ = ["BITS", "EMPTY", "SCALED", "card", "flag", "header", "image", "scaled"]

BITS = {"uint8": 8, "int16": 16, "int32": 32, "int64": 64, "float32": -32, "float64": -64}

SCALED = [
    *[("uint8", *both) for both in [(2, 1), (1, 1), (1, -1), (0.5, 0), (-1, 255), (1, -128)]],
    *[("uint8", scale, 0) for scale in (300, 1e6, 1e8)],
    *[("int16", *both) for both in [(1, 1), (2, 0), (-1, 0), (-1, -1), (1e5, 0), (0.1, 0)]],
    *[("int16", 1, zero) for zero in (32768, 2147483648.0)],
    *[("int32", *both) for both in [(2, 0), (0.5, 0), (1, 1), (-1, 0), (1, 2147483648.0)]],
    *[(name, 2, 1) for name in ("int64", "float32", "float64")],
]
"""Type of the elements, BSCALE and BZERO."""


def card(keyword, value):
    text = f"'{value:8}'" if isinstance(value, str) else f"{value!r:>20}"
    return f"{keyword:8}= {text} / a comment"


def flag(keyword):
    """A card that says true."""
    return f"{keyword:8}= {'T':>20}"


def header(*cards):
    """A header: blocks of 2,880 bytes in cards of 80."""
    text = "".join(f"{each:80}" for each in (*cards, "END"))
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


def image(array, *cards, primary=False):
    """An HDU with an image, and more cards."""
    first = flag("SIMPLE") if primary else card("XTENSION", "IMAGE")
    axes = [card(f"NAXIS{axis}", size) for axis, size in enumerate(array.shape[::-1], 1)]
    own = [first, card("BITPIX", BITS[array.dtype.name]), card("NAXIS", array.ndim), *axes]
    data = array.astype(array.dtype.newbyteorder(">")).tobytes()
    return header(*own, *cards) + data + bytes(-len(data) % 2880)


EMPTY = header(flag("SIMPLE"), card("BITPIX", 8), card("NAXIS", 0), flag("EXTEND"))
"""A primary HDU without data."""


def scaled(name, scale, zero):
    """A file whose elements are scaled."""
    array = np.array([[0, 1, 2], [7, 100, 3]], name)
    return EMPTY + image(array, card("BSCALE", float(scale)), card("BZERO", float(zero)))
