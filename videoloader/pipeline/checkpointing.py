"""Checkpoints of a pipeline: taking them, and going on from them."""

from __future__ import annotations

from pathlib import Path

from videoloader.errors import ArgumentError
from videoloader.pipeline.run.checkpoint import Checkpoint
from videoloader.pipeline.running import Running
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.system.forking import in_turn

__all__ = ["Checkpointing"]


class Checkpointing(Running):
    """The methods of a pipeline for its state."""

    seed: int
    _has_seed: bool
    _has_checkpoints: bool
    _is_closed: bool

    @in_turn
    def checkpoint(self, filename: str | Path | None = None) -> bytes:
        """The state of the pipeline after the last batch that was taken.

        A pipeline of the same definition and arguments that gets it as `checkpoint` goes on with
        the same batches. Readers may have another number of shards or another batch size: they
        divide what is left of the epoch anew, so that no sample is lost or repeated. All shards
        must have given as many batches and have the same seed. An external source must be a
        function of `SampleInfo`, `BatchInfo` or the number of the batch, or be fed with
        `feed_input`; others are refused.

        Args:
            filename: a file to write it to as well.
        """
        if not self._has_checkpoints:
            raise ArgumentError("checkpoint() needs a pipeline with enable_checkpointing=True")
        self._built().sources.check_has_no_state()
        state = Checkpoint(
            self.seed,
            self.batch_size,
            self.next_batch,
            self._epoch,
            self._epoch_start,
            tuple(epochs.division for epochs in self._built().epochs.values()),
            self._has_seed,
        ).write()
        if filename is not None:
            Path(filename).write_bytes(state)
        return state

    @in_turn
    def restore(self, checkpoint: str | bytes) -> None:
        """Go on where `checkpoint()` was called, dropping the batches made ahead.

        Readers stay open, so this takes no longer for a large data set. A pipeline without a seed
        of its own takes that of the checkpoint, and is then built again, as are those with external
        sources.
        """
        if not self._has_checkpoints:
            raise ArgumentError("restore() needs a pipeline with enable_checkpointing=True")
        if self._is_closed:
            raise ArgumentError("the pipeline is closed")
        state = Checkpoint.read(checkpoint)
        seed = state.checked_seed(self.seed if self._has_seed else None)
        if self._program is not None:
            self._program.epochs_after(state)  # before anything is changed
        if self._runner is not None:
            self._runner.close()
        program = self._program
        if program is not None and (program.sources.may_end or seed != self.seed):
            program.close()
            self._program = None  # external sources have a state, readers have none
        self.seed, self._state = seed, state
        self._epoch, self._epoch_start = state.epoch, state.epoch_start
        self._runner = self._scheduled = None
        self._monitor.begin()
        if self._program is not None:
            self._monitor.before = self.stats()
        self._setup_ended = False
        if self._program is not None:
            self._program.go_on(state)
        elif program is not None:
            self.build()

    def divides_anew(self, checkpoint: str | bytes) -> bool:
        """Whether its readers have other shards or batches than those of a checkpoint."""
        readers = Checkpoint.read(checkpoint).readers
        own = self._built().epochs.values()
        return any(mine.divides_anew(its) for mine, its in zip(own, readers, strict=False))

    def reader_epochs(self, name: str) -> Epochs:
        """How a reader divides its samples into shards and batches."""
        return self._built().epochs[name]

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline goes on from a checkpoint."""
        return self._state is not None
