"""Launches kernels without releasing the interpreter lock."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

TABLE_BYTES = 4000
"""Bytes of a table that is passed by value: every GPU accepts 4 KB of parameters."""

TABLE_SIZES = (TABLE_BYTES, 16000, 32000)
"""Bytes of tables that are passed by value; the larger sizes need CUDA 12.1 and Volta."""

_MOST_POINTERS = 8


class _Arguments(threading.local):
    """Per-thread memory for the arguments of launches; the driver copies them during the call."""

    def __init__(self) -> None:
        self.numbers = (ctypes.c_uint64 * _MOST_POINTERS)()
        first = ctypes.addressof(self.numbers)
        places = range(first, first + 8 * _MOST_POINTERS, 8)
        self.places = (ctypes.c_void_p * _MOST_POINTERS)(*places)
        buffer = ctypes.create_string_buffer(TABLE_SIZES[-1])
        self.table = memoryview(buffer).cast("B")
        self.places_with_table = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), first)


_arguments = _Arguments()


def launch_kernel(
    kernel: int, grid: tuple[int, int], threads: int, stream: int, *pointers: int
) -> None:
    """Queue a kernel on a stream of the current GPU; returns immediately.

    Args:
        kernel: handle of the function.
        grid: blocks along x and y.
        threads: of a block.
        stream: handle.
        *pointers: the arguments, all of them addresses.
    """
    own = _arguments
    own.numbers[: len(pointers)] = [*pointers]
    _launch(kernel, grid, threads, stream, own.places)


def launch_with_table(
    kernel: int,
    grid: tuple[int, int],
    threads: int,
    stream: int,
    table: bytes | bytearray,
    start: int,
) -> None:
    """Queue a kernel whose parameters are a structure of one of `TABLE_SIZES` and a number.

    Args:
        kernel: handle of the function.
        grid: blocks along x and y.
        threads: of a block.
        stream: handle.
        table: the first bytes of the structure; the rest is undefined.
        start: the number, of 32 bits.
    """
    own = _arguments
    own.table[: len(table)] = table
    own.numbers[0] = start
    _launch(kernel, grid, threads, stream, own.places_with_table)


def _launch(kernel: int, grid: tuple[int, int], threads: int, stream: int, places: Any) -> None:
    status = _launch_kernel()(kernel, *grid, 1, threads, 1, 1, 0, stream, places, None)
    if status:
        raise RuntimeError(f"a kernel with a grid of {grid} was not launched: CUDA error {status}")


@cache
def driver_version() -> int:
    """The newest CUDA that the driver supports, such as 12010 for 12.1; 0 if it does not say."""
    version = ctypes.c_int()
    status = ctypes.PyDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return 0 if status else version.value


@cache
def _launch_kernel() -> Any:
    """The driver's cuLaunchKernel.

    It returns immediately, so it keeps the interpreter lock. CuPy releases the lock, and with busy
    threads reacquiring it takes longer than the launch.
    """
    function = ctypes.PyDLL("libcuda.so.1").cuLaunchKernel
    handle, number = ctypes.c_void_p, ctypes.c_uint
    function.argtypes = [handle, *[number] * 7, handle, ctypes.POINTER(handle), handle]
    return function
