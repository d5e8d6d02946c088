"""Operators that give properties of samples: shape, layout, origin."""

from __future__ import annotations

import torch

from videoloader.dali.operators.arguments import DTYPE, REQUIRED, TEXT, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec


def _infer_shapes(context: Context, values: Spec, *, dtype: torch.dtype) -> Spec:
    ndims = tuple((len(shape),) for shape in values.shapes)
    return Spec(ndims, dtype, device=context.device)


@declare(
    "shapes",
    inputs=("input",),
    arguments=(Argument("dtype", DTYPE, torch.int64, "element type of the output"),),
    infer=_infer_shapes,
    deprecated=(Deprecated("type", renamed_to="dtype"),),
)
def shapes(context: Context, values: Batch, *, dtype: torch.dtype) -> Batch:
    """Give the sizes of every sample, as a 1-D tensor; `DataNode.shape()` is the same."""
    sizes = [torch.tensor(shape, dtype=dtype) for shape in values.spec.shapes]
    return Batch([each.to(context.device, non_blocking=True) for each in sizes])


@declare(
    "get_property",
    inputs=("input",),
    arguments=(
        Argument(
            "key",
            TEXT,
            REQUIRED,
            "where samples come from, such as their files; or their layout",
            choices=("source_info", "layout"),
        ),
    ),
    infer=None,  # how long texts are follows from more than specs
)
def get_property(context: Context, values: Batch, *, key: str) -> tuple[Batch]:
    """Give a property of every sample, as the bytes of a text (1-D uint8)."""
    given = [values.layout] * len(values) if key == "layout" else values.source_info
    texts = [
        torch.tensor(list(text.encode()), dtype=torch.uint8) for text in given or [""] * len(values)
    ]
    return (Batch([text.to(context.device, non_blocking=True) for text in texts]),)
