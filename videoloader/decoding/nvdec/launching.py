"""Kernel launches that keep the interpreter lock."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

__all__ = ["launch_kernel"]


def launch_kernel(
    kernel: int, grid: tuple[int, int], threads: int, stream: int, *pointers: int
) -> None:
    """Queue a kernel of the driver's on a stream of the current GPU; returns at once.

    Args:
        kernel: handle of the function.
        grid: blocks along x and y.
        threads: of a block.
        stream: handle.
        *pointers: the arguments, all of them addresses.
    """
    values = (ctypes.c_uint64 * len(pointers))(*pointers)
    first = ctypes.addressof(values)
    arguments = (ctypes.c_void_p * len(pointers))(*range(first, first + 8 * len(pointers), 8))
    status = _launch_kernel()(kernel, *grid, 1, threads, 1, 1, 0, stream, arguments, None)
    if status:
        raise RuntimeError(f"a kernel with a grid of {grid} was not launched: CUDA error {status}")


@cache
def _launch_kernel() -> Any:
    """The driver's cuLaunchKernel.

    It returns at once, and so keeps the interpreter; CuPy lets go of it, and to get it back takes
    longer than the launch where other threads want it too.
    """
    function = ctypes.PyDLL("libcuda.so.1").cuLaunchKernel
    handle, number = ctypes.c_void_p, ctypes.c_uint
    function.argtypes = [handle, *[number] * 7, handle, ctypes.POINTER(handle), handle]
    return function
