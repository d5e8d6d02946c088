"""Common base of the sources that `Pipeline.feed_input` feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    from videoloader.dali.readers.external.parallel import ParallelSource


class FedSource:
    """A source whose data is fed, or comes from Python code and may end."""

    is_fed = True
    """Whether its data comes from `Pipeline.feed_input`."""
    gives_what_is_fed = False
    """Whether a batch that is fed comes out as one batch, of as many samples."""
    repeats_last = False
    """Whether the last batch comes again when no other was fed."""
    is_blocking = False
    """Whether a run waits for a batch to be fed."""
    num_fed = 0
    """Batches that can be made of what was fed so far."""
    calls_user = False
    """Whether it calls Python code of the user's in this process."""
    has_state = False
    """Whether its position cannot be saved, as that of an iterable."""
    parallel: ParallelSource | None = None
    """Its part in worker processes, if it has one."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self._name = name
        self.device = device

    def feed(self, data: Any, layout: str | None = None, cuda_stream: Any = None) -> None:
        """Queue data. It is copied before this returns, unless `no_copy` was given."""
        self.queue(self.prepared(data, layout, cuda_stream))

    def prepared(self, data: Any, layout: str | None = None, cuda_stream: Any = None) -> Any:
        """Convert a user's data for `queue`; an error leaves the source as it is."""
        raise NotImplementedError

    def queue(self, prepared: Any) -> None:
        """Queue the result of `prepared`."""
        raise NotImplementedError

    def resume(self, epoch: int, first: int) -> None:
        """Go on in an epoch that began with batch `first`."""

    def reset(self) -> None:
        """Begin the next epoch."""

    def meta(self) -> None:
        """None: a fed source has no epochs."""

    def _nothing_fed(self) -> ArgumentError:
        return ArgumentError(f"no data: call feed_input({self._name!r}, ...) before run()")
