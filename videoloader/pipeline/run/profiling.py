"""Named ranges for profilers of NVIDIA (NVTX)."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

__all__ = ["Mark", "nvtx_ranges"]

Mark = Callable[[str], AbstractContextManager[Any]]

_PROFILERS = ("NSYS_PROFILING_SESSION_ID", "NVTX_INJECTION64_PATH")
"""Environment variables of programs that Nsight profiles."""


def nvtx_ranges(*, uses_gpu: bool) -> Mark | None:
    """A range of NVTX for a name, under a profiler; None where nobody looks.

    VIDEOLOADER_NVTX=1 asks for ranges without a profiler that is known, 0 leaves them out.

    Args:
        uses_gpu: whether the pipeline does.
    """
    wanted = os.environ.get("VIDEOLOADER_NVTX", "")
    is_profiled = any(name in os.environ for name in _PROFILERS)
    if not uses_gpu or wanted == "0" or not (wanted or is_profiled):
        return None
    ranges: Mark = torch.cuda.nvtx.range
    return ranges
