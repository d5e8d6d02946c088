"""CUDA kernels of operators beside stored values of DALI 2.4, within the bounds of the CPU's."""

import importlib.util
import sys
from pathlib import Path

import color_cases
import filter_cases
import numpy as np
import pytest
import torch
import warp_cases
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu
from references_of import stored

from videoloader.dali import types
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


def references(name):
    """A module of `references`, and its values."""
    path = Path(__file__).parents[1] / "references" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"kernels_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    with np.load(module.VALUES) as file:
        values = module.unpack(file) if hasattr(module, "unpack") else dict(file)
    return module, values


def has_kernel(name):
    return name in OPERATORS and "cuda" in OPERATORS[name].kernels


@pytest.mark.parametrize(
    ("file", "cases", "launches"),
    [("color", color_cases, 60), ("filters", filter_cases, 30), ("warps", warp_cases, 30)],
)
def test_packed_results_are_those_of_dali(machine, file, cases, launches):
    named = [(at, case) for at, case in enumerate(cases.CASES) if has_kernel(case[0])]
    for number, (name, kinds, arguments) in named:
        given = {k: getattr(types, v, v) if isinstance(v, str) else v for k, v in arguments.items()}
        given |= {"dtype": getattr(torch, given["dtype"])} if "dtype" in given else {}
        arrays = [cases.inputs()[kind] for kind in kinds]
        batches = [TensorList([torch.from_numpy(array)], layout) for array, layout in arrays]
        (made,) = machine.run(name, batches, given)
        result, expected = made[0].numpy(), stored(file)[number]
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        error = np.abs(result.astype(float) - expected.astype(float))
        scale = np.abs(expected.astype(float)).max(initial=1)
        is_whole = expected.dtype.kind in "iu"
        if given.get("interp_type") == types.INTERP_NN:  # another pixel at a tie
            assert (error > 0).mean() <= 0.005
        elif file == "warps":
            unit = np.iinfo(expected.dtype).max / 255 if is_whole else scale / 255
            assert error.max() <= 3 * unit
            assert error.mean() <= (0.2 if is_whole else 0.001) * unit
        else:
            assert error.max() <= (1 if is_whole else 1e-5 * scale), (name, kinds, arguments)
            assert not is_whole or (error > 0).mean() <= 0.03
    assert machine.launched.total() >= launches  # the others are of types that kernels do not take


@pytest.mark.parametrize("name", ["rotate", "warp_affine"])
def test_warps_are_those_of_dali(machine, name):
    module, values = references("geometry")
    cases = [(at, case) for at, case in enumerate(module.CASES) if case.operator == name]
    for number, case in cases:
        batch = TensorList([torch.from_numpy(case.values())], case.layout)
        (made,) = machine.run(name, [batch], case.given(types))
        result, expected = made[0].numpy(), values[f"case_{number}"]
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        error = np.abs(result.astype(float) - expected.astype(float))
        if result.dtype == np.uint8:
            assert error.max() <= 2
            assert error.mean() <= 0.5
        else:
            scale = max(1.0, np.abs(expected).max())
            assert error.max() <= max(1e-3 * scale, 1.0 if result.dtype.kind in "iu" else 0)
    assert machine.launched["warp"] >= 6


@pytest.mark.parametrize("name", ["erase", "grid_mask"])
def test_fills_are_those_of_dali(machine, name):
    module, values = references("boxes")
    cases = [(at, case) for at, case in enumerate(module.CASES) if case.operator == name]
    for number, case in cases:
        batches = [
            TensorList([torch.from_numpy(array.copy()) for array in arrays], layout)
            for arrays, layout in case.inputs
        ]
        given = {k: getattr(types, v, v) if k == "dtype" else v for k, v in case.arguments.items()}
        for key, arrays in case.varying.items():
            given[key] = TensorList([torch.from_numpy(np.array(array)) for array in arrays])
        (made,) = machine.run(name, batches, given)
        for result, wanted in zip(made, values[number], strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted)
    assert machine.launched[name] >= 3
