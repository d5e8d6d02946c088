"""Calls of filters; `references/filters.npz` has what DALI gives for them."""

import numpy as np

__all__ = ["CASES", "inputs"]

_BORDERS = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")
_BLURS = [
    {"sigma": 1.0},
    {"sigma": [0.5, 2.0]},
    {"window_size": 5},
    {"window_size": [3, 7]},
    {"sigma": 1.3, "window_size": 9},
    {"sigma": 1.0, "dtype": "float32"},
]
_LAPLACIANS = [
    {},
    {"window_size": [3, 5]},
    {"window_size": 5, "smoothing_size": 1},
    {"window_size": [5, 3], "smoothing_size": [3, 1]},
    {"window_size": 5, "normalized_kernel": True},
    {"scale": [0.1, 0.3]},
    {"window_size": 7, "normalized_kernel": True, "dtype": "float32"},
]


def inputs():
    """(array, layout) by name."""
    rng = np.random.default_rng(1)
    small = rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return {
        "uint8": (small, "HWC"),
        "float32": (small.astype(np.float32) / 255, "HWC"),
        "int16": ((small.astype(np.int16) - 100) * 100, "HWC"),
        "clip": (np.stack([small, small[::-1]]), "FHWC"),
        "planar": (np.ascontiguousarray(np.moveaxis(small, -1, 0)), "CHW"),
        "grey": (small[..., 0].copy(), "HW"),
        "tiny": (small[:2, :3].copy(), "HWC"),
        "volume": (rng.integers(0, 256, (4, 5, 6, 2), dtype=np.uint8), "DHWC"),
        "window": (rng.normal(size=(3, 5)).astype(np.float32), ""),
    }


def _cases():
    """(operator, names of the inputs, arguments); element types by name."""
    for kind in ("uint8", "float32", "int16", "clip", "planar", "grey", "tiny"):
        for arguments in _BLURS:
            yield "gaussian_blur", (kind,), arguments
        for arguments in _LAPLACIANS:
            yield "laplacian", (kind,), arguments
    for arguments in ({"sigma": 0.8}, {"window_size": [3, 1, 5]}):
        yield "gaussian_blur", ("volume",), arguments
    yield "laplacian", ("volume",), {"normalized_kernel": True}
    for kind in ("uint8", "float32", "clip", "planar", "grey"):
        for border in _BORDERS:
            yield "filter", (kind, "window"), {"border": border, "anchor": [0, 1]}
        yield "filter", (kind, "window"), {"dtype": "float32"}
        yield "filter", (kind, "window"), {"mode": "valid"}


CASES = list(_cases())
