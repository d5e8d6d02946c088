"""Numbers in the memory of a device that kernels read beside frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.operators.batch import Batch

__all__ = ["Floats", "floats_of"]


@dataclass(frozen=True, slots=True)
class Floats:
    """The numbers of a batch as float32, those of a sample one behind the other.

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
