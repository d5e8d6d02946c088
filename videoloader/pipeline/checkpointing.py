"""Checkpoints of a pipeline: taking them, and going on from them."""

from __future__ import annotations

from pathlib import Path

from videoloader.errors import ArgumentError
from videoloader.pipeline.checkpoint import Checkpoint
from videoloader.pipeline.running import Running

__all__ = ["Checkpointing"]


class Checkpointing(Running):
    """The methods of a pipeline for its state."""

    seed: int
    _has_seed: bool
    _has_checkpoints: bool
    _is_closed: bool

    def checkpoint(self, filename: str | Path | None = None) -> bytes:
        """The state of the pipeline after the last batch that was taken.

        A pipeline of the same definition and arguments that gets it as `checkpoint` goes on with
        the same batches. An external source must be a function of `SampleInfo`, `BatchInfo` or
        the number of the batch, or be fed with `feed_input`; others are refused.

        Args:
            filename: a file to write it to as well.
        """
        if not self._has_checkpoints:
            raise ArgumentError("checkpoint() needs a pipeline with enable_checkpointing=True")
        self._built().sources.check_has_no_state()
        state = Checkpoint(
            self.seed, self.batch_size, self.next_batch, self._epoch, self._epoch_start
        ).write()
        if filename is not None:
            Path(filename).write_bytes(state)
        return state

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
        state.check(self.batch_size)
        seed = state.checked_seed(self.seed if self._has_seed else None)
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
        if program is not None:
            self.build()

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline goes on from a checkpoint."""
        return self._state is not None
