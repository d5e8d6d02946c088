"""The outputs of a batch, on their way to who takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from videoloader.pipeline.run.streams import wait_for
from videoloader.tensors import TensorList

__all__ = ["Outputs"]


class Outputs:
    """The outputs of a batch; on a GPU they may still be in the making."""

    def __init__(
        self, lists: tuple[TensorList, ...], ready: Any, places: Sequence[int] | None = None
    ) -> None:
        self._lists = lists
        self._ready = ready
        self.places = places
        """Of the samples in the batch that was planned; None where none was left out."""

    def deliver(self) -> tuple[TensorList, ...]:
        """The outputs, for what is queued on the current stream from here on."""
        if self._ready is not None:
            wait_for(self._ready, _memory(self._lists))
        return self._lists


def _memory(lists: Iterable[TensorList]) -> Iterator[torch.Tensor]:
    """The tensors that batches are made of."""
    for each in lists:
        if each.block is None:
            yield from each.tensors
        else:
            yield each.block
