"""What sources have in common that `Pipeline.feed_input` may give their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videoloader.readers.external.parallel import ParallelSource

__all__ = ["FedSource"]


class FedSource:
    """A source whose data is fed, or comes from Python code and may end."""

    is_fed = True
    """Whether its data comes from `Pipeline.feed_input`."""
    repeats_last = False
    """Whether the last batch comes again when no other was fed."""
    is_blocking = False
    """Whether a run waits for a batch to be fed."""
    num_fed = 0
    """Batches that can be made of what was fed so far."""
    has_state = False
    """Whether it has a place of its own to go on from, which nobody but itself knows."""
    parallel: ParallelSource | None = None
    """Its part in worker processes, if it has one."""

    def feed(self, batch: Any, layout: str | None = None, cuda_stream: Any = None) -> None:
        """Queue data. It is copied before this returns, unless `no_copy` was given."""
        raise NotImplementedError

    def resume(self, epoch: int, first: int) -> None:
        """Go on in an epoch that began with batch `first`."""

    def reset(self) -> None:
        """Begin the next epoch."""

    def meta(self) -> None:
        """Nothing is known of its epochs."""
