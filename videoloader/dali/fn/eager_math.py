"""Mathematical functions of tensors and batches, computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from videoloader.dali.fn.eager import run_eagerly
from videoloader.dali.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.dali.operators.arithmetic.expression import Expression
from videoloader.dali.operators.arithmetic.functions import FUNCTIONS
from videoloader.dali.tensors import Tensor, TensorList, to_tensor
from videoloader.dali.types import ScalarConstant
from videoloader.errors import ArgumentTypeError


def compute_now(function: str, *operands: Any) -> Any:
    """A function of tensors, batches and numbers.

    Args:
        function: name in `operators.arithmetic.functions`, such as "sqrt".
        *operands: beside a batch, a tensor or an array is the same for every sample.

    Returns:
        A `TensorList` if an operand is one, else a tensor.
    """
    values = [_operand(function, each) for each in operands]
    batches = [each for each in values if isinstance(each, TensorList)]
    inputs: list[Any] = []
    described: list[int | ScalarConstant] = []
    for value in values:
        if isinstance(value, ScalarConstant):
            described.append(value)
            continue
        described.append(len(inputs))
        repeat = batches and not isinstance(value, TensorList)
        inputs.append(TensorList([value] * len(batches[0])) if repeat else value)
    if not inputs:  # numbers only
        first = values[0]
        inputs, described[0] = [torch.tensor(first.value, dtype=first.dtype.torch)], 0
    operator = ARITHMETIC[len(inputs)]
    bound = operator.bind({"expression": Expression(FUNCTIONS[function], tuple(described))})
    on_gpu = any(each.device.type == "cuda" for each in inputs)
    return run_eagerly(operator, tuple(inputs), bound, "gpu" if on_gpu else "cpu")


def _operand(function: str, value: Any) -> Any:
    if isinstance(value, TensorList | ScalarConstant):
        return value
    if isinstance(value, bool | int | float):
        return ScalarConstant(value)
    if isinstance(value, Tensor):
        return value.tensor
    if isinstance(value, torch.Tensor | np.ndarray | np.generic | list | tuple):
        return to_tensor(value)
    raise ArgumentTypeError(
        f"{function} takes data nodes, tensors, batches and numbers, got {type(value).__name__}"
    )


TensorList._expression = staticmethod(compute_now)
Tensor._expression = staticmethod(compute_now)
