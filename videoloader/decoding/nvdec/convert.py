"""Surfaces of NVDEC into the slots of a batch: one kernel for crop, resize, colour and layout."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE
from videoloader.decoding.nvdec.launching import launch_kernel
from videoloader.decoding.output import OutputFormat

__all__ = ["Converter", "compile_options", "grid", "kernel_source", "pinned_table"]

_ELEMENTS = {"uint8": 0, "uint16": 1, "float16": 2, "bfloat16": 3, "float32": 4}
_TONE_MAPS = {"none": 0, "reinhard": 1, "hable": 2}
_THREADS = 256
_BLOCKS = 1024  # per launch; about what a large GPU keeps resident


class Converter:
    """The kernel for one form of a batch; see docs/decoding.md for its arithmetic.

    Values are clamped to 0-255 before they are normalised, also where the output is a float, so
    they are those of uint8 without its rounding. Integers are rounded to nearest, ties to even, as
    are float16 and bfloat16; uint16 spreads 0-255 over 0-65535.

    Threads may share it, and GPUs: it works on the current one. Compiling takes some seconds; the
    result is kept on disk by CuPy.
    """

    def __init__(self, output: OutputFormat) -> None:
        import cupy

        self._kernel = cupy.RawKernel(kernel_source(), "convert", compile_options(output))
        self._kernel.compile()

    def launch(self, table: NDArray[Any], stream: Any, tiles: int | None = None) -> None:
        """Queue the conversion of the surfaces of a table; returns at once.

        The table (`pinned_table`), the surfaces and the slots must stay as they are until the
        stream has done it.

        Args:
            table: descriptors, in memory that the GPU reads.
            stream: CuPy's, to queue it on.
            tiles: at least as many as any of the descriptors has, where that is known.
        """
        if len(table):
            kernel = self._kernel.kernel.ptr
            launch_kernel(kernel, grid(table, tiles), _THREADS, stream.ptr, table.ctypes.data)


def pinned_table(capacity: int) -> NDArray[Any]:
    """A table of descriptors in page-locked memory, which the GPU reads directly."""
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(capacity * SURFACE_DTYPE.itemsize)
    return np.frombuffer(memory, dtype=SURFACE_DTYPE, count=capacity)


def kernel_source() -> str:
    """The kernel in CUDA C++, without includes."""
    return files("videoloader.decoding.nvdec").joinpath("convert.cu").read_text(encoding="utf-8")


def compile_options(output: OutputFormat) -> tuple[str, ...]:
    """Macros that specialise the kernel for this output form."""
    return (
        "-std=c++17",
        f"-DELEMENT={_ELEMENTS[output.element]}",
        f"-DTONE_MAP={_TONE_MAPS[output.tone_map]}",
        f"-DSWSCALE={int(output.matrix == 'swscale')}",
        f"-DSURFACE_BYTES={SURFACE_DTYPE.itemsize}",
    )


def grid(table: NDArray[Any], tiles: int | None = None) -> tuple[int, int]:
    """Grid of a launch: (blocks per surface, surfaces); a block may convert many tiles."""
    most = int(table["tiles"].max()) if tiles is None else tiles
    return min(most, max(1, _BLOCKS // len(table))), len(table)
