"""`dense`: an output of a pipeline as one tensor, which every framework can share."""

from __future__ import annotations

import torch

from videoloader.dali.tensors import TensorList, to_tensor
from videoloader.dali.tensors.printing import distinct_shapes
from videoloader.errors import UnsupportedError


def dense(name: str, output: TensorList, count: int) -> torch.Tensor:
    """The first `count` samples as one tensor (N, ...); a cut keeps no whole batch alive."""
    if not output.is_dense_tensor():
        raise UnsupportedError(
            f"output {name!r} is ragged, with shapes {distinct_shapes(output.tensors)}; give its "
            "samples one shape in the pipeline (fn.resize, fn.crop) to have it as one tensor, or "
            "take it as a list or a sparse tensor with RaggedIterator "
            "(videoloader.dali.plugin.pytorch)"
        )
    tensor = to_tensor(output.as_tensor())
    return tensor if count >= len(tensor) else tensor[:count].clone()
