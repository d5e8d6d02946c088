"""The state of a pipeline between two batches, a few integers; readers that resume from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Any, Protocol, runtime_checkable

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Division, Epochs
from videoloader.sampling.orders.reader_order import ReaderOrder

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a pipeline is.

    Attributes:
        seed: of its random draws.
        batch_size: samples in a batch.
        batches: that were taken.
        epoch: epochs of external sources that have ended and were followed by `reset`.
        epoch_start: number of the first batch of this epoch.
        readers: how each reader divides its samples.
        has_seed: whether the seed was given, and so is that of all shards.
        iterator: what an iterator over the pipeline keeps of its epoch; None without one.
    """

    seed: int
    batch_size: int
    batches: int
    epoch: int = 0
    epoch_start: int = 0
    readers: tuple[Division, ...] = ()
    has_seed: bool = True
    iterator: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, text: str | bytes) -> Checkpoint:
        """Parse the text from `write`."""
        try:
            known = json.loads(text)
            if known.pop("version") != _VERSION:
                raise ValueError("another version")
            readers = tuple(map(_division, known.pop("readers", ())))
            has_seed = bool(known.pop("has_seed", True))
            iterator = known.pop("iterator", None)
            if not isinstance(iterator, dict | None):
                raise TypeError("iterator")
            numbers = {name: index(value) for name, value in known.items()}
            state = cls(**numbers, readers=readers, has_seed=has_seed, iterator=iterator)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ArgumentError(
                f"checkpoint is not what Pipeline.checkpoint() gives: {repr(text)[:60]}"
            ) from error
        if state.seed < 0 or state.batch_size < 1:
            raise ArgumentError(
                f"checkpoint has seed={state.seed} and batch_size={state.batch_size}"
            )
        if not 0 <= state.epoch_start <= state.batches or state.epoch < 0:
            raise ArgumentError(
                f"checkpoint has {state.batches} batches, epoch {state.epoch} of which begins "
                f"with batch {state.epoch_start}"
            )
        return state

    def write(self) -> bytes:
        """As bytes, without default values."""
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return json.dumps({"version": _VERSION, **values}, separators=(",", ":")).encode()

    def checked_seed(self, seed: int | None) -> int:
        """The seed to continue with; an error if another one is asked for."""
        if seed not in (None, -1, self.seed):
            raise ArgumentError(
                f"the checkpoint is of a pipeline with seed={self.seed}, got seed={seed}"
            )
        return self.seed

    def check(self, batch_size: int) -> None:
        """Raise an error for a pipeline with another batch size."""
        if batch_size != self.batch_size:
            raise ArgumentError(
                f"the checkpoint is of a pipeline with batch_size={self.batch_size}, "
                f"got batch_size={batch_size}"
            )


def _division(values: list[Any]) -> Division:
    size, num_shards, batch_size, stick, pad, ended = values
    before = tuple((index(shards), index(each), index(stop)) for shards, each, stop in ended)
    return Division(
        index(size), index(num_shards), index(batch_size), bool(stick), bool(pad), before
    )


@runtime_checkable
class ShardedReader(Protocol):
    """A source with an order of its samples."""

    order: ReaderOrder

    def go_on(self, epochs: Epochs) -> None:
        """Continue with other epochs."""
        ...


def readers(sources: Mapping[str, object]) -> dict[str, ShardedReader]:
    """The readers among the sources of a pipeline."""
    return {name: source for name, source in sources.items() if isinstance(source, ShardedReader)}


def epochs_after(
    own: Mapping[str, ShardedReader], state: Checkpoint, *, beside_sources: bool
) -> dict[str, Epochs]:
    """The epochs of readers that resume from the state of a pipeline.

    Args:
        own: the readers.
        state: of that pipeline.
        beside_sources: whether there are external sources, which cannot be divided otherwise.

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
    name: str, order: ReaderOrder, num_shards: int, state: Checkpoint, beside_sources: bool
) -> None:
    origin = f"the checkpoint is of reader {name!r} with {num_shards} shards"
    if beside_sources:
        raise ArgumentError(
            f"{origin}, this one has {order.epochs.num_shards}; beside an external source the "
            "number of shards must be the same"
        )
    if not state.has_seed and num_shards > 1 and order.depends_on_seed:
        raise ArgumentError(
            f"{origin}, each of which drew a seed of its own, so what the others have read is not "
            "known; give the pipelines of all shards the same seed"
        )
