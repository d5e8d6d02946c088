"""Launches of an operator, kept from batch to batch: only addresses differ between batches alike.

What an operator launches on a GPU follows from its arguments, from the shapes, strides, element
type and layout of the input, and from the GPU. Where all of that is as it was the last time, its
launches are repeated with the addresses of the new input and output.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.cuda.launching import launch_with_table
from videoloader.cuda.recorder import Launch
from videoloader.cuda.streams import current_stream
from videoloader.operators.batch import Batch, Context
from videoloader.operators.kernels import THREADS

__all__ = ["Recording"]

_ALIGNMENT = 16
"""Bytes. A kernel may be chosen by the alignment of its data, up to this; see `Recording`."""


class Recording:
    """The launches of an operator on one input and one output, each a dense block.

    They are repeated on blocks of the same strides, whose addresses differ from those before by a
    multiple of `_ALIGNMENT`. Threads may share it.
    """

    def __init__(
        self, launches: Sequence[Launch], kept: Sequence[Any], blocks: Sequence[torch.Tensor]
    ) -> None:
        self._gpu, self._stream = launches[0].gpu, launches[0].stream
        self._kept = kept
        self._strides = [block.stride() for block in blocks]
        self._addresses = [block.data_ptr() for block in blocks]
        self._launches = [
            (launch.function, launch.grid, bytearray(launch.table), launch.start)
            for launch in launches
        ]
        tables = [
            np.frombuffer(table, launch.rows.dtype, len(launch.rows))
            for launch, (_, _, table, _) in zip(launches, self._launches, strict=True)
        ]
        self._columns = [
            [table[name]["address"] for table in tables] for name in ("source", "target")
        ]
        self._lock = threading.Lock()

    @classmethod
    def of(
        cls, launches: Sequence[Launch], kept: Sequence[Any], frames: Batch, result: Any
    ) -> Recording | None:
        """The launches that gave a result; None where they cannot be repeated."""
        source, target = frames.block, result.block if isinstance(result, Batch) else None
        if source is None or target is None or not launches:
            return None
        for launch in launches:
            are_inside = _are_inside(launch.rows["source"]["address"], source)
            if not are_inside or not _are_inside(launch.rows["target"]["address"], target):
                return None  # it is about other memory, which the next batch may not have
            if not launch.table:
                return None  # it was uploaded
        return cls(launches, kept, (source, target))

    def replay(self, context: Context, frames: Batch) -> Any:
        """The output, of launches on the current stream; NotImplemented if they do not fit.

        Args:
            context: of a call with the arguments, the spec of the input and the outputs of the one
                whose launches these are.
            frames: the input.
        """
        source = frames.block
        if source is None or source.stride() != self._strides[0]:
            return NotImplemented
        if torch.cuda.current_device() != self._gpu:
            return NotImplemented
        stream = current_stream(self._gpu)
        if self._kept and stream != self._stream:
            return NotImplemented  # what is kept was made on another stream
        out = context.empty()
        target = out.block
        if target is None or target.stride() != self._strides[1]:
            return NotImplemented
        addresses = [source.data_ptr(), target.data_ptr()]
        with self._lock:
            if addresses != self._addresses and not self._move(addresses):
                return NotImplemented
            for function, grid, table, start in self._launches:
                launch_with_table(function, grid, THREADS, stream, table, start)
        return out

    def _move(self, addresses: list[int]) -> bool:
        """Change the tables for blocks at other addresses, unless these are aligned otherwise."""
        (source, target), (old_source, old_target) = addresses, self._addresses
        moves = source - old_source, target - old_target
        if (moves[0] | moves[1]) % _ALIGNMENT:
            return False
        for columns, move in zip(self._columns, moves, strict=True):
            for column in columns if move else ():
                column += np.uint64(move % (1 << 64))
        self._addresses = addresses
        return True


def _are_inside(addresses: NDArray[np.uint64], block: torch.Tensor) -> bool:
    first = block.data_ptr()
    steps = zip(block.shape, block.stride(), strict=True)
    length = block.element_size() * (1 + sum((size - 1) * step for size, step in steps))
    return bool(first <= int(addresses.min()) and int(addresses.max()) < first + length)
