"""CUDA kernels of operators: a whole ragged batch in one launch.

A kernel gets a table with a row for each sample, or for each frame of samples whose frames have
values of their own. A row says where pixels come from and go to (`VIEW`), and what to do with them.
Kernels lie in `.cu` files beside the operators, without includes, behind `kernels.cu`, which they
share. They are compiled for the element types and numbers of channels at hand; CuPy keeps the
result on disk. Without CuPy operators run in plain torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.nvdec.launching import launch_kernel
from videoloader.operators.batch import Batch

__all__ = [
    "ELEMENTS",
    "VIEW",
    "Kernel",
    "are_frames",
    "has_cupy",
    "planes_of",
    "queue",
    "row_type",
    "rows_of",
]

ELEMENTS = {torch.uint8: 0, torch.uint16: 1, torch.float16: 2, torch.float32: 3}
"""Element types of kernels that compute, and their numbers in kernels.cu."""

VIEW = np.dtype([("address", "u8"), ("strides", "i8", 4), ("sizes", "i4", 4)], align=True)
"""Pixels of a row, `View` in kernels.cu: frames, rows, columns, channels; strides in elements."""

_LETTERS = "FHWC"
_MOST_CHANNELS = 4
_MOST_VALUES = 2**31 - 2**12  # of a sample; kernels count them in 32 bits
_MOST_ROWS = 65535  # of a launch: blocks along y
_THREADS = 256
_BLOCKS = 1 << 13  # of a launch; several times what a large GPU keeps resident
_ALIGNMENT = 16  # bytes


@dataclass(frozen=True)
class Kernel:
    """A kernel `name(const Row* rows, const u8* values)` of a file of this package.

    Args:
        file: its path below this package.
        name: of the function.
        row: element type of its table, as `row_type` makes it: `Row` in the file.
    """

    file: str
    name: str
    row: np.dtype[Any]

    @property
    def source(self) -> str:
        """CUDA C++, without includes."""
        return _text("kernels.cu") + _text(self.file)

    def options(self, macros: Mapping[str, int]) -> tuple[str, ...]:
        """Compiler options; products are rounded before they are summed unless `fmaf` is called."""
        sizes = {"VIEW_BYTES": VIEW.itemsize, "ROW_BYTES": self.row.itemsize}
        named = (f"-D{name}={value}" for name, value in {**sizes, **macros}.items())
        return ("-std=c++17", "--fmad=false", *named)

    def launch(
        self,
        rows: NDArray[Any],
        tiles: NDArray[Any],
        macros: Mapping[str, int],
        device: str,
        values: NDArray[Any] | None = None,
    ) -> None:
        """Queue it on the current stream of a GPU; returns at once.

        The memory that rows point to is used in the order of the stream, as torch's own kernels
        use it.

        Args:
            rows: the table.
            tiles: pieces of work of each row, one for each block.
            macros: what the kernel is compiled for.
            device: torch device of the data.
            values: what rows refer to beside pixels; any numbers.
        """
        for at in range(0, len(rows), _MOST_ROWS):
            part = rows[at : at + _MOST_ROWS]
            most = int(tiles[at : at + _MOST_ROWS].max())
            if most:
                grid = (min(most, max(1, _BLOCKS // len(part))), len(part))
                queue(self, self.options(macros), part, values, grid, device)


def queue(
    kernel: Kernel,
    options: tuple[str, ...],
    rows: NDArray[Any],
    values: NDArray[Any] | None,
    grid: tuple[int, int],
    device: str,
) -> None:
    """Compile a kernel if that was not done yet, upload its table, and launch it."""
    size = -(-rows.nbytes // _ALIGNMENT) * _ALIGNMENT
    more = 0 if values is None else values.nbytes
    # Torch uses pinned memory again once the copy from it is done, and memory of the GPU for what
    # is queued later on the same stream: nothing here waits.
    staged = torch.empty(size + more, dtype=torch.uint8, pin_memory=True)
    memory = staged.numpy()
    memory[: rows.nbytes] = _bytes(rows)
    if values is not None:
        memory[size:] = _bytes(values)
    with torch.cuda.device(device):
        table = staged.to("cuda", non_blocking=True)
        handle = _compiled(kernel, options).kernel.ptr
        stream = torch.cuda.current_stream().cuda_stream
        launch_kernel(handle, grid, _THREADS, stream, table.data_ptr(), table.data_ptr() + size)


@cache
def has_cupy() -> bool:
    """Whether CuPy is installed, which compiles kernels."""
    try:
        import cupy  # noqa: F401
    except ImportError:
        return False
    return True


def are_frames(*batches: Batch, dtypes: Mapping[torch.dtype, int] = ELEMENTS) -> bool:
    """Whether kernels take batches: images or clips of few channels, of these element types.

    Layouts have H and W, and F and C in any places or not at all. No sample is empty.
    """
    for batch in batches:
        spec, layout = batch.spec, batch.layout
        if not len(spec) or spec.dtype not in dtypes:
            return False
        if not {*"HW"} <= {*layout} <= {*_LETTERS} or len({*layout}) < len(layout):
            return False
        shapes = set(spec.shapes)
        if any(len(shape) != len(layout) for shape in shapes):
            return False
        if any(not 0 < math.prod(shape) <= _MOST_VALUES for shape in shapes):
            return False
        if "C" in layout:
            counts = {shape[layout.index("C")] for shape in shapes}
            if len(counts) > 1 or not 1 <= counts.pop() <= _MOST_CHANNELS:
                return False
    return has_cupy()


def row_type(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """The type of a table's rows: what is read, what is written, and more fields."""
    return np.dtype([("source", VIEW), ("target", VIEW), *fields], align=True)


def rows_of(
    row: np.dtype[Any], source: Batch, target: Batch, by_frame: Sequence[bool] = ()
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A table with a row for each sample, or for each frame of those that `by_frame` says.

    Returns:
        The table, with nothing but the views, and the number of the sample of each row.
    """
    table = np.zeros(len(source), row)
    for name, batch in (("source", source), ("target", target)):
        table[name] = _views(batch)
    if not any(by_frame):
        return table, np.arange(len(table))
    frames = table["source"]["sizes"][:, 0]
    counts = np.where(by_frame, frames, 1)
    samples = np.repeat(np.arange(len(table)), counts)
    number = np.arange(len(samples)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = table[samples]
    alone = np.asarray(by_frame)[samples]
    for name, batch in (("source", source), ("target", target)):
        step = table[name]["strides"][:, 0] * batch[0].element_size()
        table[name]["address"] += (number * step).astype(np.uint64)
        table[name]["sizes"][alone, 0] = 1
    return table, samples


def planes_of(rows: NDArray[Any], source: Batch, target: Batch) -> NDArray[Any]:
    """The table with a row for each channel: their values are not side by side."""
    count = int(rows["source"]["sizes"][0, 3])
    channels = np.tile(np.arange(count), len(rows))
    table = rows.repeat(count)
    for name, batch in (("source", source), ("target", target)):
        step = table[name]["strides"][:, 3] * batch[0].element_size()
        table[name]["address"] += (channels * step).astype(np.uint64)
        table[name]["sizes"][:, 3] = 1
    return table


def _views(batch: Batch) -> NDArray[Any]:
    """Where the pixels of each sample are."""
    axes = [batch.layout.find(letter) for letter in _LETTERS]
    views = np.zeros(len(batch), VIEW)
    if batch.block is not None:
        block = batch.block
        step = block.stride(0) * block.element_size()
        views["address"] = block.data_ptr() + step * np.arange(len(batch))
        shapes, strides = [tuple(block.shape[1:])], [block.stride()[1:]]
    else:
        views["address"] = [each.data_ptr() for each in batch]
        shapes = [tuple(each.shape) for each in batch]
        strides = [each.stride() for each in batch]
    views["sizes"] = [[shape[axis] if axis >= 0 else 1 for axis in axes] for shape in shapes]
    views["strides"] = [[own[axis] if axis >= 0 else 0 for axis in axes] for own in strides]
    return views


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@cache
def _text(file: str) -> str:
    return files("videoloader.operators").joinpath(file).read_text(encoding="utf-8")


@cache
def _compiled(kernel: Kernel, options: tuple[str, ...]) -> Any:
    import cupy

    return cupy.RawKernel(kernel.source, kernel.name, options)
