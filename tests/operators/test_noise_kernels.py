"""The CUDA kernel of salt and pepper draws the numbers that the CPU draws."""

import pytest
import torch
from kernel_batches import DTYPES, LAYOUTS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.tensors import TensorList

NAME = "noise.salt_and_pepper"


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "CFHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_the_same_values_change_as_on_the_cpu(machine, layout, memory, per_channel):
    arguments = {
        "prob": [0.5, 0.05, 0.3, 1.0, 0.9],
        "salt_vs_pepper": [0.5, 0.1, 0.7, 1.0, 0.4],
        "per_channel": per_channel,
        "seed": 12345,
    }
    check(machine, NAME, [batch_of(layout, memory=memory, frames=3)], arguments, bound=0)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool, torch.int8, torch.int32, torch.float64])
def test_values_of_every_type_change(machine, dtype):
    batch = batch_of("FHWC", dtype if dtype in DTYPES else torch.uint8)
    batch = TensorList([sample.to(dtype) for sample in batch], "FHWC")
    check(machine, NAME, [batch], {"prob": 0.2, "seed": 7}, bound=0)
    arguments = {"prob": 0.2, "salt_val": 300.7, "pepper_val": [-3.2, 0.4, 1.5, 2.5, 9.0]}
    check(machine, NAME, [batch], {**arguments, "seed": 8}, bound=0, kernel="salt_and_pepper")


def test_data_without_a_layout_needs_no_kernel(machine):
    data = TensorList([torch.rand(5, 6, 3)] * 2, "")
    check(machine, NAME, [data], {"prob": 0.5, "seed": 1}, bound=0, launches=0)
