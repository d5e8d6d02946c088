"""Launches of a plan, recorded to be repeated with other addresses.

What an operator launches follows from its plan, from the strides of its input and output, and from
the GPU. Where all of that is as it was the last time, the launches are repeated with the addresses
of the new input and output.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.kernels import THREADS, Launch, Queued
from videoloader.dali.tensors.batch import Batch
from videoloader.machinery.cuda.launching import launch_with_table
from videoloader.machinery.cuda.streams import current_device, current_stream

_ALIGNMENT = 16
"""Bytes. A kernel may be chosen by the alignment of its data, up to this; see `Launches`."""


class Launches:
    """The launches of an operator on one input and one output, each a dense block.

    They are repeated on blocks of the same strides, whose addresses differ from those before by a
    multiple of `_ALIGNMENT`. Threads may share it.
    """

    def __init__(
        self, launches: Sequence[Queued], kept: Any, blocks: Sequence[torch.Tensor]
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
        self._columns = [  # signed: blocks move to lower addresses too
            [table[name]["address"].view(np.int64) for table in tables]
            for name in ("source", "target")
        ]
        self._lock = threading.Lock()

    @classmethod
    def of(cls, launch: Launch, queued: Sequence[Queued | None], frames: Batch) -> Launches | None:
        """The recorded launch for an input; None where it cannot be repeated."""
        source, target = frames.block, launch.out.block
        launches = [each for each in queued if each is not None]
        if source is None or target is None or not launches or len(launches) < len(queued):
            return None
        return cls(launches, launch.kept, (source, target))

    def repeat(self, allocate: Callable[[], Batch], frames: Batch) -> Any:
        """The output, of launches on the current stream; NotImplemented if they do not fit.

        Args:
            allocate: gives memory for the output.
            frames: the input, of a call with the same arguments, spec and outputs as the one whose
                launches these are.
        """
        source = frames.block
        if source is None or source.stride() != self._strides[0]:
            return NotImplemented
        if current_device() != self._gpu:
            return NotImplemented
        stream = current_stream(self._gpu)
        if self._kept is not None and stream != self._stream:
            return NotImplemented  # what is kept was made on another stream
        out = allocate()
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
                column += move
        self._addresses = addresses
        return True
