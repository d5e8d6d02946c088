"""`fn.io.file.read`: the bytes of files that other operators name."""

from __future__ import annotations

from typing import Any

import torch

from videoloader.errors import ArgumentError
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.operator import declare
from videoloader.sources.opening import open_source

__all__ = ["read_contents"]


def _infer(context: Context, filepaths: Spec) -> Spec:  # noqa: ARG001
    return Spec((), torch.uint8)  # the sizes are those of the files


@declare(
    "io.file.read",
    inputs=("filepaths",),
    devices=("cpu",),
    infer=_infer,
    unused=("dont_use_mmap", "use_o_direct"),
)
def read_contents(context: Context, filepaths: Batch) -> Batch:  # noqa: ARG001
    """Read whole files; a path is a vector of its bytes in UTF-8, and may be a URL."""
    return Batch([_contents(path) for path in filepaths])


def _contents(path: Any) -> torch.Tensor:
    if isinstance(path, torch.Tensor):
        if path.ndim != 1 or path.dtype not in (torch.uint8, torch.int8):
            raise ArgumentError(
                "fn.io.file.read takes paths as vectors of bytes (1-D uint8 or int8), got "
                f"{path.dtype} of shape {tuple(path.shape)}"
            )
        path = path.numpy().tobytes().rstrip(b"\0").decode(errors="surrogateescape")
    with open_source(path) as source:
        return torch.from_numpy(source.array(0, source.size))
