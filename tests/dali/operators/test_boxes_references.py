"""Boxes, masks and erased regions beside stored values of DALI 2.4; see `references/boxes.py`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.tensors import TensorList

_PATH = Path(__file__).parents[1] / "references" / "boxes.py"
_SPEC = importlib.util.spec_from_file_location("boxes_references", _PATH)
references = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = references
_SPEC.loader.exec_module(references)


@pytest.fixture(scope="module")
def values():
    with np.load(references.VALUES) as file:
        return references.unpack(file)


def call(case):
    operator = fn
    for part in case.operator.split("."):
        operator = getattr(operator, part)
    batches = [
        TensorList([torch.from_numpy(array.copy()) for array in arrays], layout)
        for arrays, layout in case.inputs
    ]
    given = {
        key: getattr(types, v, v) if key == "dtype" else v for key, v in case.arguments.items()
    }
    for key, arrays in case.varying.items():
        given[key] = TensorList([torch.from_numpy(np.array(array)) for array in arrays])
    outputs = operator(*batches, **given)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return [sample.numpy() for output in outputs for sample in output]


@pytest.mark.parametrize(
    ("number", "case"),
    list(enumerate(references.CASES)),
    ids=lambda each: getattr(each, "name", ""),
)
def test_an_operator_gives_what_dali_gives(number, case, values):
    expected = values[number]
    results = call(case)
    assert [each.shape for each in results] == [each.shape for each in expected]
    assert [each.dtype for each in results] == [each.dtype for each in expected]
    exact = case.operator in ("erase", "grid_mask", "multi_paste")
    for result, wanted in zip(results, expected, strict=True):
        if exact:
            np.testing.assert_array_equal(result, wanted)
        else:
            np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-6)


def test_every_case_has_its_values(values):
    assert len(values) == len(references.CASES)
