"""Converts NVDEC surfaces into the slots of a batch: crop, resize, colour, layout in one kernel."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE
from videoloader.decoding.output import OutputFormat
from videoloader.machinery.cuda.launching import launch_kernel

_ELEMENTS = {"uint8": 0, "uint16": 1, "float16": 2, "bfloat16": 3, "float32": 4}
_TONE_MAPS = {"none": 0, "reinhard": 1, "hable": 2}
_THREADS = 256
_BLOCKS = 1024  # per launch; about what a large GPU keeps resident


class Converter:
    """The kernel for one output format; see docs/decoding/colour.md for its arithmetic.

    Values are clamped to 0-255 before they are normalised, for float outputs too, so they equal
    the uint8 values without rounding. Integers, float16 and bfloat16 are rounded to nearest, ties
    to even; uint16 maps 0-255 to 0-65535.

    Thread-safe; works on the current GPU. Compiling takes seconds; CuPy caches the result on disk.
    """

    def __init__(self, output: OutputFormat) -> None:
        import cupy

        self._kernel = cupy.RawKernel(kernel_source(), "convert", compile_options(output))
        self._kernel.compile()

    def launch(self, table: NDArray[Any], stream: Any, tiles: int | None = None) -> None:
        """Queue the conversion of the surfaces of a table; returns immediately.

        The table (`pinned_table`), the surfaces and the slots must not change until the stream has
        finished the conversion.

        Args:
            table: descriptors, in page-locked memory.
            stream: CuPy stream to queue it on.
            tiles: upper bound of the tiles of any descriptor, if known.
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
    """Macros that specialise the kernel for this output format."""
    return (
        "-std=c++17",
        f"-DELEMENT={_ELEMENTS[output.element]}",
        f"-DCHANNELS={output.channels}",
        f"-DTONE_MAP={_TONE_MAPS[output.tone_map]}",
        f"-DSWSCALE={int(output.matrix == 'swscale')}",
        f"-DSURFACE_BYTES={SURFACE_DTYPE.itemsize}",
    )


def grid(table: NDArray[Any], tiles: int | None = None) -> tuple[int, int]:
    """Grid of a launch: (blocks per surface, surfaces); a block may convert many tiles."""
    most = int(table["tiles"].max()) if tiles is None else tiles
    return min(most, max(1, _BLOCKS // len(table))), len(table)
