"""The batches of one rank: each epoch is divided among ranks place by place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.states import whole_number

__all__ = ["BatchOrder", "OrderOptions", "Places", "Remainder"]

Remainder = Literal["keep", "drop", "repeat"]


class OrderOptions(TypedDict, total=False):
    """The order of the samples, and the part of them that this process takes.

    Attributes:
        shuffle: permute the samples, differently in each epoch.
        seed: of all randomness.
        rank: number of the part of each step that this process takes. By default that of
            torch.distributed if it is initialised, else RANK in the environment if WORLD_SIZE is
            set too.
        num_ranks: number of parts; 1, with rank=0, for the whole data set on every rank.
        remainder: what to do with a last step that is not full. `keep`: divide it; a rank may get
            a smaller batch, or none. `drop`: omit it. `repeat`: fill it with the first samples of
            the epoch, so that all ranks have equally many. None is `keep` for one rank, and
            `repeat` for several, which then have equally many steps.
    """

    shuffle: bool
    seed: int
    rank: int | None
    num_ranks: int | None
    remainder: Remainder | None


class Places(Protocol):
    """The sequence that ranks divide: samples of an epoch, or its batches (`BatchPlan`)."""

    @property
    def num_samples(self) -> int:
        """Samples in an epoch."""

    @property
    def state(self) -> dict[str, int]:
        """Further values, besides seed and size, that must be equal when a run is resumed."""

    @property
    def unfit(self) -> NDArray[np.int64]:
        """Numbers of the videos that are in no batch."""

    def end(self, epoch: int) -> int:
        """Places of an epoch."""

    def at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Numbers of the samples at some places."""


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """The batches of one rank.

    The places of an epoch are one sequence, permuted before it is divided among ranks. Each step
    takes the next `num_ranks * batch_size` places; rank r gets every `num_ranks`-th of them,
    starting with the r-th. So for the same total batch size, a step has the same samples for any
    number of ranks. A position is the number of places that all ranks together have done: an
    interrupted epoch can be resumed from it with any number of ranks, without losing or repeating
    a sample.

    Args:
        plan: what is divided: batches that are planned, or an order of samples.
        rank, num_ranks: of this process, and how many share an epoch.
        seed, remainder: see `OrderOptions`.
        batch_size: samples in a batch of one rank; None where each place is a whole batch.

    >>> from videoloader.sampling.orders.sample_order import SampleOrder
    >>> order = BatchOrder(SampleOrder(5, shuffle=False), batch_size=2)
    >>> [order.batch(0, step).tolist() for step in range(order.num_steps())]
    [[0, 1], [2, 3], [4]]
    """

    plan: Places
    seed: int = 0
    rank: int = 0
    num_ranks: int = 1
    remainder: Remainder | None = "keep"
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise ArgumentError(f"batch_size must be at least 1, got {self.batch_size}")
        if self.size < 1:
            raise ArgumentError("there is no sample to take batches from")
        if not 0 <= self.rank < self.num_ranks:
            raise ArgumentError(
                f"rank must be at least 0 and below num_ranks={self.num_ranks}, got {self.rank}"
            )
        if self.remainder is None:
            object.__setattr__(self, "remainder", "keep" if self.num_ranks == 1 else "repeat")
        elif self.remainder not in get_args(Remainder):
            raise ArgumentError(
                f"remainder must be one of {', '.join(get_args(Remainder))}, got {self.remainder!r}"
            )

    @property
    def size(self) -> int:
        """Samples in an epoch."""
        return self.plan.num_samples

    @property
    def unfit(self) -> NDArray[np.int64]:
        """Numbers of the videos that are in no batch."""
        return self.plan.unfit

    @property
    def state(self) -> dict[str, int]:
        """Values that must be equal when a run is resumed."""
        return {"seed": self.seed, "size": self.size, **self.plan.state}

    def end(self, epoch: int = 0) -> int:
        """The position at the end of an epoch."""
        return self.plan.end(epoch)

    def is_over(self, position: int, epoch: int = 0) -> bool:
        """Whether no rank gets another batch of an epoch from a position on."""
        return self._stop(position, epoch) <= position

    def position(self, steps: int, start: int = 0, epoch: int = 0) -> int:
        """The position after some steps from `start` on."""
        return min(start + steps * self._step, self.end(epoch))

    def places(self, start: int = 0, epoch: int = 0) -> range:
        """The places of this rank from a position on; places past the end mean the first ones.

        Raises:
            ArgumentError: an epoch has no such position.
        """
        stop = self._stop(start, epoch)
        return range(start + self.rank, stop, self.num_ranks)

    def num_steps(self, start: int = 0, epoch: int = 0) -> int:
        """Batches that this rank gets in an epoch from a position on.

        Raises:
            ArgumentError: an epoch has no such position.
        """
        return -(-len(self.places(start, epoch)) // (self.batch_size or 1))

    def batch(self, epoch: int, step: int, start: int = 0) -> NDArray[np.int64]:
        """Numbers of the samples in a batch of this rank.

        Args:
            epoch: number of the pass over the data set.
            step: number of the batch, counted from `start`.
            start: position before the first batch.
        """
        size = self.batch_size or 1
        places = self.places(start, epoch)[step * size : (step + 1) * size] if step >= 0 else ()
        if not places:
            steps = self.num_steps(start, epoch)
            raise IndexError(f"step {step} of an epoch of {steps} steps")
        return self.at(places, epoch)

    def at(self, places: range, epoch: int) -> NDArray[np.int64]:
        """Numbers of the samples at places of this rank."""
        found = np.arange(places.start, places.stop, places.step) % self.end(epoch)
        return self.plan.at(found, epoch)

    @property
    def _step(self) -> int:
        """Places that all ranks take together in a full step."""
        return self.num_ranks * (self.batch_size or 1)

    def _stop(self, start: int, epoch: int) -> int:
        """The end of the places that ranks take from a position on."""
        end = self.end(epoch)
        left = end - whole_number("start of an epoch", start, most=end)
        match self.remainder:
            case "drop":
                return end - left % self._step
            case "repeat":
                return end + -left % self.num_ranks
        return end
