"""Calls of perspective warps, `sphere` and `water`; `references/warps.npz` has DALI's results."""

import itertools

import numpy as np

__all__ = ["CASES", "inputs"]

_MATRIX = [1.1037, 0.1011, -1.0173, 0.0519, 0.9041, 1.0313, 0.0031, -0.0023, 1.0]
_FAR = [0.7, -0.3, 9.0, 0.5, 1.9, -12.0, 0.01, 0.004, 0.8]


def inputs():
    """(array, layout) by name; waves, on which interpolations differ little."""
    rows, columns, channels = np.indices((13, 18, 3))
    waves = np.sin(columns / 3 + channels) + np.cos(rows / 2 - channels) + 0.2 * np.sin(rows * 9)
    image = (127 + 55 * waves).astype(np.uint8)
    return {
        "uint8": (image, "HWC"),
        "uint16": (image.astype(np.uint16) * 200, "HWC"),
        "int16": (image.astype(np.int16) * 100 - 9000, "HWC"),
        "float32": (image.astype(np.float32) / 3, "HWC"),
        "planar": (np.ascontiguousarray(np.moveaxis(image, -1, 0)), "CHW"),
        "grey": (image[..., 0].copy(), "HW"),
        "clip": (np.stack([image, image[::-1]]), "FHWC"),
        "matrix": (np.float32(_MATRIX).reshape(3, 3), ""),
    }


def _cases():
    """(operator, names of the inputs, arguments); interpolations by name."""
    warp = "experimental.warp_perspective"
    borders = ("constant", "replicate", "reflect", "reflect_101", "wrap")
    kinds = ("INTERP_NN", "INTERP_LINEAR", "INTERP_CUBIC")
    for border, kind, matrix in itertools.product(borders, kinds, (_MATRIX, _FAR)):
        arguments = {"matrix": matrix, "border_mode": border, "interp_type": kind}
        yield warp, ("uint8",), {**arguments, "pixel_origin": "center"}
        if kind != "INTERP_NN":
            yield warp, ("float32",), arguments
    for kind in ("uint16", "int16", "planar", "grey", "clip"):
        yield warp, (kind,), {"matrix": _MATRIX, "size": [9.0, 20.0]}
    yield warp, ("uint8",), {"matrix": _MATRIX, "fill_value": [9.0, 90.0, 200.0]}
    yield warp, ("uint8",), {"matrix": _FAR, "fill_value": 77.0, "size": [30.2, 30.7]}
    yield warp, ("uint8",), {"matrix": _MATRIX, "inverse_map": False}
    yield warp, ("uint8", "matrix"), {}
    for kind, interp in itertools.product(("uint8", "float32"), kinds[:2]):
        arguments = {"interp_type": interp, "fill_value": 9.0}
        yield "sphere", (kind,), arguments
        yield "water", (kind,), arguments
        waves = {"ampl_x": 2.0, "ampl_y": 3.0, "freq_x": 0.6, "freq_y": 0.3, "phase_x": 0.2}
        yield "water", (kind,), {**arguments, **waves, "phase_y": 0.5}


CASES = list(_cases())
