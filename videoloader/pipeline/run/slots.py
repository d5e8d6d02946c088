"""The outputs of a batch: memory handed out in parts, so that it is written only once."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

import numpy as np
import torch

from videoloader.decoding.memory import Recycler
from videoloader.errors import ArgumentError
from videoloader.operators.batch import Batch, Spec
from videoloader.tensors import TensorList

__all__ = ["Slots"]


class Slots:
    """One output of a batch: a block of memory for `count` samples, of the shape that comes first.

    Samples that fit live in the block; a sample of another shape or type has memory of its own,
    and the batch is ragged. Threads may share it.

    Args:
        count: samples in the batch.
        recycler: where the block comes from.
    """

    def __init__(self, count: int, recycler: Recycler) -> None:
        self._count = count
        self._recycler = recycler
        self._block: torch.Tensor | None = None
        self._made_for: Spec | None = None
        """The samples that the block was made for; those of a dense batch all fit."""
        self._parts: dict[int, Batch] = {}
        self._lock = threading.Lock()

    def empty(self, start: int, spec: Spec) -> Batch:
        """Uninitialised memory for samples from `start` on."""
        shapes = spec.shapes
        if shapes and shapes.count(shapes[0]) == len(shapes):
            whole = self._make(shapes[0], spec)
            if self._made_for is not spec and not self._fits(whole, shapes[0], spec):
                return Batch.empty(spec)
            part = whole if len(shapes) == self._count else whole[start : start + len(shapes)]
            return Batch(part, spec.layout)
        samples: list[torch.Tensor] = []
        for shape in dict.fromkeys(shapes):
            self._make(shape, spec)
        block = self._block
        for position, shape in enumerate(shapes, start):
            if block is not None and self._fits(block, shape, spec):
                samples.append(block[position])
            else:
                samples.append(torch.empty(shape, dtype=spec.dtype, device=spec.device))
        return Batch(samples, spec.layout)

    def place(
        self,
        start: int,
        batch: Batch,
        taken: Sequence[Slots] = (),
        kept: Collection[int] = (),
        *,
        is_own: bool = False,
    ) -> None:
        """Take samples from `start` on: as they are if they are in this memory, else copied.

        The whole batch in one block is taken over, unless it may be memory of others.

        Args:
            start: number of the first sample.
            batch: of tensors.
            taken: the other outputs of the batch, which may share memory with this one.
            kept: addresses of memory that stays with others.
            is_own: whether nobody else uses the memory of the samples, so that those of different
                shapes need no copy if they are contiguous.
        """
        for sample in batch.samples if batch.block is None else ():
            if not isinstance(sample, torch.Tensor):
                raise ArgumentError(
                    f"an output of a pipeline is a tensor, not a {type(sample).__name__}"
                )
        if self._block is None and batch.block is not None and len(batch) == self._count:
            others = [*kept, *[slots._address() for slots in taken if slots is not self]]
            if batch.block.is_contiguous() and not (others and _storage(batch.block) in others):
                self._block = batch.block
        is_whole = len(batch) == self._count and batch.block is None
        may_stay = is_own and is_whole and batch.spec.is_ragged
        if may_stay and all(sample.is_contiguous() for sample in batch):
            pass
        elif self._block is None or not _is_inside(batch, self._block):
            copy = self.empty(start, batch.spec)
            if copy.block is not None and batch.block is not None:
                copy.block.copy_(batch.block)
            else:
                for mine, theirs in zip(copy, batch, strict=True):
                    _copy(theirs, mine)
            copy.source_info = batch.source_info
            batch = copy
        with self._lock:
            self._parts[start] = batch

    def keep(self, start: int, batch: Batch) -> None:
        """Take a copy of some of the samples from `start` on: those of a branch."""
        with self._lock:
            self._parts[start] = batch.each(lambda sample: sample.clone())

    def kept(self, positions: Sequence[int], recycler: Recycler) -> Slots:
        """The same output for some of the samples; what is there of it is copied."""
        kept = Slots(len(positions), recycler)
        if self._parts:
            joined = Batch.joined([self._parts[start] for start in sorted(self._parts)])
            info = [joined.source_info[at] for at in positions] if joined.source_info else ()
            samples = [joined.samples[at] for at in positions]
            kept.place(0, Batch(samples, joined.layout, info))
        return kept

    def collect(self) -> TensorList:
        """The whole output: one block if all samples live in it."""
        if len(self._parts) == 1:
            (joined,) = self._parts.values()
        else:
            parts = [self._parts[start] for start in sorted(self._parts)]
            joined = Batch.joined(parts or [Batch([])])
        if self._block is not None and _is_inside(joined, self._block):
            joined = Batch(self._block, joined.layout, joined.source_info)
        return TensorList(joined)

    def _make(self, shape: tuple[int, ...], spec: Spec) -> torch.Tensor:
        """The block, which is made if there is none yet."""
        with self._lock:
            if self._block is None:
                self._block = self._recycler.empty(
                    (self._count, *shape), dtype=spec.dtype, device=spec.device
                )
                self._made_for = spec
            return self._block

    def _address(self) -> int:
        return 0 if self._block is None else _storage(self._block)

    @staticmethod
    def _fits(block: torch.Tensor, shape: tuple[int, ...], spec: Spec) -> bool:
        same = block.shape[1:] == shape and block.dtype == spec.dtype
        return same and block.device.type == spec.device.partition(":")[0]


def _copy(sample: torch.Tensor, target: torch.Tensor) -> None:
    """Copy in this thread: for so little work torch's threads cost more than they gain."""
    if sample.is_cpu and target.is_cpu and sample.dtype is torch.uint8:
        np.copyto(target.numpy(), sample.numpy())
    else:
        target.copy_(sample)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_inside(batch: Batch, block: torch.Tensor) -> bool:
    """Whether all samples of a batch live in a block."""
    return batch.block is block or all(_is_part(each, block) for each in batch.tensors())


def _is_part(sample: torch.Tensor, block: torch.Tensor) -> bool:
    """Whether a sample, or several, live in a block."""
    return (
        sample.ndim in (block.ndim - 1, block.ndim)
        and sample.shape[sample.ndim - block.ndim + 1 :] == block.shape[1:]
        and sample.dtype == block.dtype
        and _storage(sample) == _storage(block)
    )
