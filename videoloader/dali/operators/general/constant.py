"""`fn.constant`: the same tensor for every sample."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import DTYPE, INTS, TEXT, Argument, Kind
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _numbers(dtype: torch.dtype) -> Any:
    def convert(value: Any) -> torch.Tensor:
        tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))
        # Copied: the caller may change an array later.
        return tensor.to("cpu", dtype, copy=True).reshape(-1)

    return convert


def _shape(numbers: torch.Tensor, shape: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(numbers.shape) if shape is None else shape


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if ("fdata" in given) == ("idata" in given):
        raise ArgumentError("fn.constant needs either fdata or idata")
    numbers = arguments["idata" if "idata" in given else "fdata"]
    shape = _shape(numbers, arguments["shape"])
    if len(numbers) not in (1, math.prod(shape)):
        raise ArgumentError(f"fn.constant: {len(numbers)} values do not fit shape {list(shape)}")
    if arguments["layout"] and len(arguments["layout"]) != len(shape):
        raise ArgumentError(
            f"fn.constant: layout={arguments['layout']!r} does not fit shape {list(shape)}"
        )


def _infer(
    context: Context,
    *,
    fdata: torch.Tensor | None,
    idata: torch.Tensor | None,
    shape: tuple[int, ...] | None,
    dtype: torch.dtype | None,
    layout: str,
) -> Spec:
    numbers = fdata if idata is None else idata
    assert numbers is not None
    kind = dtype or (torch.float32 if idata is None else torch.int32)
    return Spec((_shape(numbers, shape),) * context.count, kind, layout, context.device)


@declare(
    "constant",
    arguments=(
        Argument("fdata", Kind("float or list of float", _numbers(torch.float64)), doc="values"),
        Argument("idata", Kind("int or list of int", _numbers(torch.int64)), doc="values"),
        Argument("shape", INTS, doc="of a sample; one value fills it; by default a list"),
        Argument("dtype", DTYPE, doc="by default FLOAT for `fdata` and INT32 for `idata`"),
        Argument("layout", TEXT, "", 'such as "HWC"'),
    ),
    check=_check,
    infer=_infer,
)
def constant(
    context: Context,
    *,
    fdata: torch.Tensor | None,
    idata: torch.Tensor | None,
    shape: tuple[int, ...] | None,
    dtype: torch.dtype | None,
    layout: str,
) -> Batch:
    """Give the same tensor for every sample.

    Values that `dtype` cannot hold are saturated, fractions rounded half away from zero.
    """
    numbers = fdata if idata is None else idata
    assert numbers is not None
    spec, out = context.outputs[0], context.empty()
    value = saturate(numbers, spec.dtype)
    if len(spec):
        value = value.reshape(spec.shapes[0]) if len(value) != 1 else value
    for sample in out if out.block is None else (out.block,):
        sample.copy_(value)
    return out


CONSTANT = OPERATORS["constant"]
