"""Operators of geometry beside stored values of DALI 2.4; see `references/geometry.py`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types

_PATH = Path(__file__).parents[1] / "references" / "geometry.py"
_SPEC = importlib.util.spec_from_file_location("geometry_references", _PATH)
references = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = references
_SPEC.loader.exec_module(references)

INTERPOLATING = ("resize", "resize_crop_mirror", "rotate", "warp_affine")


@pytest.fixture(scope="module")
def values():
    with np.load(references.VALUES) as file:
        return dict(file)


def call(case, values):
    operator = fn
    for part in case.operator.split("."):
        operator = getattr(operator, part)
    inputs = [torch.from_numpy(values)] if case.shape else []
    layout = {"layout": case.layout} if case.layout else {}
    return operator(*inputs, **layout, **case.given(types))


@pytest.mark.parametrize(
    ("number", "case"),
    list(enumerate(references.CASES)),
    ids=lambda each: getattr(each, "name", ""),
)
@pytest.mark.usefixtures("eager")
def test_an_operator_gives_what_dali_gives(number, case, values):
    expected = values[f"case_{number}"]
    result = call(case, case.values()).numpy()
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    difference = np.abs(result.astype(np.float64) - expected.astype(np.float64))
    if case.operator == "warp_affine" and case.arguments.get("interp_type") == "INTERP_NN":
        ties = between_pixels(case, result.shape)
        assert ties.mean() < 0.05
        difference[np.broadcast_to(ties[..., None], difference.shape)] = 0
    if case.operator not in INTERPOLATING:
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    elif result.dtype == np.uint8:
        assert difference.max() <= 2  # DALI tabulates filters; bytes on the CPU are rounded twice
        assert difference.mean() <= 0.5
    else:
        scale = max(1.0, np.abs(expected).max())
        assert difference.max() <= max(1e-3 * scale, 1.0 if result.dtype.kind in "iu" else 0)


def between_pixels(case, shape):
    """Which outputs (rows, columns) have the border of two pixels as their place, or nearly so.

    Either pixel is the nearest one then, as the processor rounds sums.
    """
    rows, columns = shape[-3:-1]
    matrix = np.reshape(case.arguments["matrix"], (2, 3))
    if case.arguments.get("inverse_map", True) is False:
        matrix = np.linalg.inv([*matrix, [0, 0, 1]])[:2]
    targets = np.stack([*np.mgrid[0:rows, 0:columns][::-1] + 0.5, np.ones((rows, columns))])
    places = np.tensordot(matrix, targets, 1)
    return (np.abs(places - np.rint(places)) < 1e-5).any(axis=0)


def test_every_case_has_its_values(values):
    assert len(values) == len(references.CASES)
