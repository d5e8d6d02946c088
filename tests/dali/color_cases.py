"""Calls of colour operators; `references/color.npz` has what DALI gives for them."""

import itertools

import numpy as np

__all__ = ["CASES", "inputs"]

_SPACES = ("RGB", "BGR", "GRAY", "YCbCr")

NUMBERS = [
    ("brightness", {"brightness": 1.3, "brightness_shift": 0.1}),
    ("contrast", {"contrast": 0.7}),
    ("contrast", {"contrast": 1.4, "contrast_center": 0.3}),
    ("brightness_contrast", {"brightness": 0.8, "contrast": 1.3, "brightness_shift": -0.05}),
    ("hue", {"hue": 35.0}),
    ("saturation", {"saturation": 1.7}),
    ("hsv", {"hue": -50.0, "saturation": 0.6, "value": 1.2}),
    ("color_twist", {"hue": 20.0, "saturation": 1.3, "brightness": 0.9, "contrast": 1.2}),
]


def inputs():
    """(array, layout) by name."""
    rng = np.random.default_rng(0)
    small = rng.integers(0, 200, (6, 8, 3), dtype=np.uint8)
    small[:3] //= 3
    pattern = rng.integers(0, 256, (6, 8), dtype=np.uint8)
    return {
        "uint8": (small, "HWC"),
        "int16": (small.astype(np.int16) * 150 - 9000, "HWC"),
        "float32": (small.astype(np.float32) / 255, "HWC"),
        "grey": (small[..., :1].copy(), "HWC"),
        "clip": (np.stack([small, small // 2]), "FHWC"),
        "planar": (np.ascontiguousarray(np.moveaxis(small, -1, 0)), "CHW"),
        "pattern": (pattern, "HW"),
        "pattern16": (pattern.astype(np.uint16) * 200, "HW"),
    }


def _cases():
    """(operator, names of the inputs, arguments); element types and colour spaces by name."""
    for (name, numbers), kind in itertools.product(NUMBERS, ("uint8", "int16", "float32", "clip")):
        yield name, (kind,), numbers
        for dtype in ("float32", "uint8", "int16"):
            if kind != "clip":
                yield name, (kind,), {**numbers, "dtype": dtype}
    for first, second in itertools.permutations(_SPACES, 2):  # DALI: uint8, and not to the same
        spaces = {"image_type": first, "output_type": second}
        yield "color_space_conversion", ("grey" if first == "GRAY" else "uint8",), spaces
    for quality in (1, 50, 100, 130, -3):
        yield "jpeg_compression_distortion", ("uint8",), {"quality": quality}
    for kind in ("uint8", "planar", "clip", "grey"):
        yield "equalize", (kind,), {}
    for row, column in itertools.product((0, 1), (0, 1)):
        for algorithm in ("bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv"):
            for kind in ("pattern", "pattern16"):
                if (algorithm, kind) != ("vng_ocv", "pattern16"):
                    yield (
                        "debayer",
                        (kind,),
                        {"blue_position": [row, column], "algorithm": algorithm},
                    )


CASES = list(_cases())
