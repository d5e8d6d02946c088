"""CUDA kernels of operators: a whole ragged batch in one launch.

A kernel gets a table with a row for each sample, or for each frame of samples whose frames have
values of their own. A row says where pixels come from and go to (`VIEW`), and what to do with them.
Kernels lie in `.cu` files beside the operators, without includes, behind `kernels.cu`, which they
share. They are compiled for the element types and numbers of channels at hand; CuPy keeps the
result on disk. Without CuPy operators run in plain torch.

A table is a parameter of the launch; one that is too large is uploaded on the stream before it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.tensors.batch import Batch
from videoloader.machinery.cuda.launching import (
    TABLE_BYTES,
    TABLE_SIZES,
    driver_version,
    launch_kernel,
    launch_with_table,
)
from videoloader.machinery.cuda.streams import current_stream

ELEMENTS = {torch.uint8: 0, torch.uint16: 1, torch.float16: 2, torch.float32: 3}
"""Element types of kernels that compute, and their numbers in kernels.cu."""

THREADS = 256
"""Threads of a block."""

BORDERS = {
    "constant": 0,
    "replicate": 1,
    "edge": 1,
    "clamp": 1,
    "reflect": 2,
    "reflect_1001": 2,
    "reflect_101": 3,
    "wrap": 4,
}
"""Border modes under all their names; the numbers are those in kernels.cu."""

VIEW = np.dtype([("address", "u8"), ("strides", "i8", 4), ("sizes", "i4", 4)], align=True)
"""Pixels of a row, `View` in kernels.cu: frames, rows, columns, channels; strides in elements."""

LETTERS = "FHWC"
"""The dimensions of a `VIEW`."""

_LAYOUTS = frozenset(
    "".join(letters)
    for count in (2, 3, 4)
    for letters in itertools.permutations(LETTERS, count)
    if {*"HW"} <= {*letters}
)
"""Layouts that kernels take."""

MOST_CHANNELS = 4

MOST_VALUES = 2**31 - 2**12
"""Most elements of a sample; kernels count them in 32 bits."""

MOST_ROWS = 65535  # of a launch; the limit of CUDA for blocks along y
BLOCKS = 1 << 12  # per launch; a few times what a large GPU keeps resident
_ALIGNMENT = 16  # bytes

_functions: dict[tuple[Any, ...], Any] = {}  # compiled, by kernel, macros and GPU


@dataclass(frozen=True)
class Kernel:
    """A kernel `KERNEL(name, threads)` of a file of this package; see kernels.cu.

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

    def options(self, macros: Mapping[str, int], table_bytes: int = 0) -> tuple[str, ...]:
        """Compiler options; products are rounded before they are summed unless `fmaf` is called.

        Args:
            macros: what the kernel is compiled for.
            table_bytes: capacity of a table by value; 0 for one in memory.
        """
        sizes = {"VIEW_BYTES": VIEW.itemsize, "ROW_BYTES": self.row.itemsize}
        if table_bytes:
            sizes["TABLE_BYTES"] = table_bytes
        named = (f"-D{name}={value}" for name, value in {**sizes, **macros}.items())
        return ("-std=c++17", "--fmad=false", *named)


class Queued(NamedTuple):
    """A launch as the driver got it, with its table by value.

    Attributes:
        rows: the table.
        table: rows and the values that they refer to, as bytes.
        start: offset of the values that rows refer to.
        function: handle of the compiled kernel.
        grid: blocks along x and y.
        gpu: number of the GPU.
        stream: handle.
    """

    rows: NDArray[Any]
    table: bytes
    start: int
    function: int
    grid: tuple[int, int]
    gpu: int
    stream: int


class Launch(NamedTuple):
    """A kernel with its table, to be queued on the current stream of a GPU.

    A kernel of an operator gives one, and `apply_operator` queues it. Where the operator has one
    input, the launch is kept, and repeated with new addresses of `source` (the input) and `target`
    (`out`) for batches of the same specs, plan, strides and alignment to 16 bytes. If anything else
    may differ between such batches, the kernel queues the launch itself and returns the outputs.

    The memory that rows point to is used in the order of the stream, as torch's own kernels use it.

    Attributes:
        out: what is made.
        kernel: that makes it.
        rows: the table.
        tiles: pieces of work of each row, of which a block takes one or several.
        macros: what the kernel is compiled for.
        device: torch device of the data.
        values: numbers that rows refer to.
        kept: owners of other memory that rows point to; it is used on this stream only.
    """

    out: Batch
    kernel: Kernel
    rows: NDArray[Any]
    tiles: NDArray[Any]
    macros: Mapping[str, int]
    device: str
    values: NDArray[Any] | None = None
    kept: Any = None

    def queue(self) -> list[Queued | None]:
        """Queue it, in several launches if there are many rows; see `queue`."""
        made = []
        for at in range(0, len(self.rows), MOST_ROWS):
            part = self.rows[at : at + MOST_ROWS]
            most = int(self.tiles[at : at + MOST_ROWS].max())
            if most:
                grid = _grid(most, len(part))
                made.append(queue(self.kernel, self.macros, part, self.values, grid, self.device))
        return made


def _grid(tiles: int, rows: int) -> tuple[int, int]:
    """Blocks along x and y; the tiles of a row are spread evenly over its blocks."""
    pieces = -(-tiles * rows // BLOCKS)
    return -(-tiles // pieces), rows


def queue(
    kernel: Kernel,
    macros: Mapping[str, int],
    rows: NDArray[Any],
    values: NDArray[Any] | None,
    grid: tuple[int, int],
    device: str,
) -> Queued | None:
    """Compile a kernel if that was not done yet, and launch it with its table.

    None where the table was uploaded.
    """
    index = _index(device)
    if index != torch.cuda.current_device():
        with torch.cuda.device(index):
            return queue(kernel, macros, rows, values, grid, device)
    table, start = packed(rows, values)
    stream = current_stream(index)
    size = TABLE_BYTES if len(table) <= TABLE_BYTES else _table_size(len(table), index)
    function = _function(kernel, macros, size, index)
    if size:
        launch_with_table(function.ptr, grid, THREADS, stream, table, start)
        return Queued(rows, table, start, function.ptr, grid, index, stream)
    # Torch uses pinned memory again once the copy from it is done, and memory of the GPU for what
    # is queued later on the same stream: nothing here waits.
    staged = torch.empty(len(table), dtype=torch.uint8, pin_memory=True)
    staged.numpy()[:] = np.frombuffer(table, np.uint8)
    uploaded = staged.to("cuda", non_blocking=True)
    address = uploaded.data_ptr()
    launch_kernel(function.ptr, grid, THREADS, stream, address, address + start)
    return None


def packed(rows: NDArray[Any], values: NDArray[Any] | None) -> tuple[bytes, int]:
    """A table and the values that its rows refer to as bytes, and the offset of the values."""
    table = rows.tobytes()
    if values is None:
        return table, 0
    start = -(-len(table) // _ALIGNMENT) * _ALIGNMENT
    return table.ljust(start, b"\0") + values.tobytes(), start


def _index(device: str) -> int:
    """The number of a GPU."""
    number = device.removeprefix("cuda").removeprefix(":")
    return int(number) if number else torch.cuda.current_device()


def _table_size(size: int, index: int) -> int:
    """The smallest of `TABLE_SIZES` that a table fits in; 0 for one that has to be uploaded."""
    sizes = TABLE_SIZES if size <= TABLE_BYTES or _takes_large_tables(index) else ()
    return next((each for each in sizes if size <= each), 0)


@cache
def _takes_large_tables(index: int) -> bool:
    """Whether a GPU, its driver and the compiler take more than 4 KB of parameters."""
    from cupy.cuda import nvrtc

    is_new = nvrtc.getVersion() >= (12, 1) and driver_version() >= 12010
    return is_new and torch.cuda.get_device_capability(index) >= (7, 0)


def _function(kernel: Kernel, macros: Mapping[str, int], table_bytes: int, index: int) -> Any:
    """The compiled kernel on the current GPU."""
    key = (kernel.file, kernel.name, table_bytes, index, *macros.items())
    found = _functions.get(key)
    if found is None:
        import cupy

        options = kernel.options(macros, table_bytes)
        found = _functions[key] = cupy.RawKernel(kernel.source, kernel.name, options).kernel
    return found


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
        block, layout = batch.block, batch.layout
        if block is not None:
            if block.dtype not in dtypes or not (len(block) and _channels(layout, block.shape[1:])):
                return False
            continue
        spec = batch.spec
        counts = {_channels(layout, shape) for shape in {*spec.shapes}}
        if spec.dtype not in dtypes or len(counts) != 1 or 0 in counts:
            return False
    return has_cupy()


def _channels(layout: str, shape: tuple[int, ...]) -> int:
    """The channels of a sample that kernels take; 0 for any other."""
    if layout not in _LAYOUTS or len(shape) != len(layout):
        return 0
    if not 0 < math.prod(shape) <= MOST_VALUES:
        return 0
    count = shape[layout.index("C")] if "C" in layout else 1
    return count if count <= MOST_CHANNELS else 0


def row_type(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    """The type of a table's rows: source, target, and further fields."""
    return np.dtype([("source", VIEW), ("target", VIEW), *fields], align=True)


def rows_of(
    row: np.dtype[Any], source: Batch, target: Batch, by_frame: Sequence[bool] = ()
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A table with a row for each sample, or for each frame of samples that `by_frame` marks.

    Returns:
        The table, with nothing but the views, and the number of the sample of each row.
    """
    table = np.zeros(len(source), row)
    for name, batch in (("source", source), ("target", target)):
        _set_views(table[name], batch)
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


def groups_in(rows: NDArray[Any], pixels: int = 4) -> NDArray[np.int32]:
    """The `tiles` of a launch whose threads each make some pixels of a row of the target."""
    count, height, width, _ = rows["target"]["sizes"].T  # int32 holds `MOST_VALUES`
    groups: NDArray[np.int32] = count * height * -(width // -pixels)
    return -(groups // -THREADS)


def tiles_in(rows: NDArray[Any], side: int) -> NDArray[np.int32]:
    """The `tiles` of a launch whose blocks make squares of the target."""
    count, height, width, _ = rows["target"]["sizes"].T
    tiles: NDArray[np.int32] = count * -(height // -side) * -(width // -side)
    return tiles


def planes_of(rows: NDArray[Any], source: Batch, target: Batch) -> NDArray[Any]:
    """The table with a row for each channel, for channels that are not interleaved."""
    count = int(rows["source"]["sizes"][0, 3])
    channels = np.tile(np.arange(count), len(rows))
    table = rows.repeat(count)
    for name, batch in (("source", source), ("target", target)):
        step = table[name]["strides"][:, 3] * batch[0].element_size()
        table[name]["address"] += (channels * step).astype(np.uint64)
        table[name]["sizes"][:, 3] = 1
    return table


def _set_views(views: NDArray[Any], batch: Batch) -> None:
    """Say where the pixels of samples are."""
    taken = itemgetter(*map(batch.layout.find, LETTERS))  # -1, the last: it is not there
    block = batch.block
    if block is not None:  # one view is that of all samples but for its address
        first, step, *strides = block.data_ptr(), *block.stride(), 0
        step *= block.element_size()
        count = len(views)
        views["address"] = range(first, first + step * count, step) if step else first
        views["sizes"], views["strides"] = taken((*block.shape[1:], 1)), taken(strides)
        return
    tensors = batch.samples
    views["address"] = [each.data_ptr() for each in tensors]
    views["sizes"] = [taken((*each.shape, 1)) for each in tensors]
    views["strides"] = [taken((*each.stride(), 0)) for each in tensors]


@dataclass(frozen=True, slots=True)
class Floats:
    """The numbers of a batch as float32, contiguous for each sample.

    Attributes:
        addresses: of each sample.
        owner: the memory, to be kept until a kernel is queued.
    """

    addresses: NDArray[np.uint64]
    owner: Batch


def floats_of(batch: Batch, device: str) -> Floats:
    """The numbers of a batch as kernels read them, on a device."""

    def placed(values: torch.Tensor) -> torch.Tensor:
        return values.to(device, torch.float32, non_blocking=True).contiguous()

    owner = batch.each(placed)
    if owner.block is None:
        return Floats(np.array([each.data_ptr() for each in owner], np.uint64), owner)
    step = owner.block.stride(0) * owner.block.element_size()
    places = owner.block.data_ptr() + step * np.arange(len(owner))
    return Floats(places.astype(np.uint64), owner)


@cache
def _text(file: str) -> str:
    return files("videoloader.dali.operators").joinpath(file).read_text(encoding="utf-8")
