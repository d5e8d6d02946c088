"""Readers that go on where another run stood, which may have had other shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from videoloader.errors import ArgumentError
from videoloader.pipeline.run.checkpoint import Checkpoint
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.sampling.orders.reader_order import Order

__all__ = ["Reader", "epochs_after", "readers"]


@runtime_checkable
class Reader(Protocol):
    """A source with an order of its samples."""

    order: Order

    def go_on(self, epochs: Epochs) -> None:
        """Read what these epochs say from now on."""
        ...


def readers(sources: Mapping[str, object]) -> dict[str, Reader]:
    """Those of the sources of a pipeline that are readers."""
    return {name: source for name, source in sources.items() if isinstance(source, Reader)}


def epochs_after(
    own: Mapping[str, Reader], state: Checkpoint, *, beside_sources: bool
) -> dict[str, Epochs]:
    """The epochs of readers that go on where a pipeline stood.

    Args:
        own: the readers.
        state: of that pipeline.
        beside_sources: there are external sources, which go on with the same batches only.

    Raises:
        ArgumentError: the state is of other readers, or of shards that cannot be divided anew.
    """
    epochs = {name: reader.order.epochs for name, reader in own.items()}
    if not state.readers:
        return epochs
    if len(state.readers) != len(own):
        raise ArgumentError(
            f"the checkpoint is of a pipeline with {len(state.readers)} readers, "
            f"this one has {len(own)}"
        )
    for (name, reader), before in zip(own.items(), state.readers, strict=True):
        if epochs[name].divides_anew(before):
            _check_division(name, reader.order, before.num_shards, state, beside_sources)
        epochs[name] = epochs[name].resumed(before, state.batches)
    return epochs


def _check_division(
    name: str, order: Order, num_shards: int, state: Checkpoint, beside_sources: bool
) -> None:
    told = f"the checkpoint is of reader {name!r} with {num_shards} shards"
    if beside_sources:
        raise ArgumentError(
            f"{told}, this one has {order.epochs.num_shards}; beside an external source the "
            "number of shards must be the same"
        )
    if not state.has_seed and num_shards > 1 and order.depends_on_seed:
        raise ArgumentError(
            f"{told}, each of which drew a seed of its own, so what the others have read is not "
            "known; give the pipelines of all shards the same seed"
        )
