"""Which samples are in each batch of an epoch, for each rank; arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.orders.weighted import DRAWING, WeightedDraws
from videoloader.sampling.states import whole_number

__all__ = ["EpochOrder", "OrderOptions", "Remainder", "chosen_remainder"]

Remainder = Literal["keep", "drop", "repeat"]


class OrderOptions(TypedDict, total=False):
    """The order of the samples, and which of them this process takes.

    Attributes:
        shuffle: permute the samples, differently in each epoch.
        seed: of all randomness.
        rank: which part of each step this process takes. By default that of torch.distributed,
            if it is initialised, or of RANK and WORLD_SIZE in the environment, if both are set.
        num_ranks: number of parts; 1, with rank=0, for the whole data set on every rank.
        remainder: the last step where it is not full. `keep`: divide the rest; a rank may get a
            smaller batch, or none. `drop`: omit it. `repeat`: fill it with the first samples of
            the epoch, so that all ranks have equally many. None is `keep` for one rank, and
            `repeat` for several, which then have equally many steps.
    """

    shuffle: bool
    seed: int
    rank: int | None
    num_ranks: int | None
    remainder: Remainder | None


@dataclass(frozen=True, slots=True)
class EpochOrder:
    """The order in which ranks read a data set.

    The samples of an epoch are one sequence, permuted before it is divided among ranks. Each step
    takes the next `num_ranks * batch_size` samples; rank r gets every `num_ranks`-th of them,
    starting with the r-th. So for the same total batch size, a step has the same samples for any
    number of ranks. An interrupted epoch can be resumed with any number of ranks, without losing
    or repeating a sample.

    Args:
        size: samples in the data set.
        batch_size: samples in a batch of one rank.
        rank, num_ranks: of this process, and how many share the data set.
        shuffle, seed, remainder: see `OrderOptions`.
        draws: weighted draws; None if each sample comes once.

    >>> order = EpochOrder(size=5, batch_size=2, shuffle=False)
    >>> [order.batch(0, step).tolist() for step in range(order.num_steps())]
    [[0, 1], [2, 3], [4]]
    """

    size: int
    batch_size: int
    shuffle: bool = True
    seed: int = 0
    rank: int = 0
    num_ranks: int = 1
    remainder: Remainder | None = "keep"
    draws: WeightedDraws | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ArgumentError(f"batch_size must be at least 1, got {self.batch_size}")
        if self.size < 1:
            raise ArgumentError("there is no sample to take batches from")
        if not 0 <= self.rank < self.num_ranks:
            raise ArgumentError(
                f"rank must be at least 0 and below num_ranks={self.num_ranks}, got {self.rank}"
            )
        object.__setattr__(self, "remainder", chosen_remainder(self.remainder, self.num_ranks))

    @property
    def samples_per_step(self) -> int:
        """Samples that all ranks take together in a full step."""
        return self.batch_size * self.num_ranks

    @property
    def unfit(self) -> NDArray[np.int64]:
        """Numbers of the videos that are in no batch: none."""
        return np.empty(0, dtype=np.int64)

    @property
    def state(self) -> dict[str, int]:
        """Values that must be equal when a run is resumed."""
        return {"seed": self.seed, "size": self.size}

    def end(self, epoch: int = 0) -> int:  # noqa: ARG002  (all are alike)
        """The position at the end of an epoch."""
        return self.size

    def is_over(self, position: int, epoch: int = 0) -> bool:
        """Whether no rank gets another batch of an epoch from a position on."""
        return not replace(self, rank=0).num_steps(position, epoch)

    def position(self, steps: int, start: int = 0, epoch: int = 0) -> int:  # noqa: ARG002
        """Samples of the epoch that all ranks have done after `steps` steps from `start` on."""
        return min(start + steps * self.samples_per_step, self.size)

    def num_steps(self, start: int = 0, epoch: int = 0) -> int:  # noqa: ARG002  (all are alike)
        """Batches that this rank gets in an epoch of which `start` samples are done.

        Raises:
            ArgumentError: an epoch does not have so many samples, or it is no such number.
        """
        left = self.size - whole_number("start of an epoch", start, most=self.size)
        full, rest = divmod(left, self.samples_per_step)
        if self.remainder == "drop" or not rest:
            return full
        return full + (self.remainder == "repeat" or self.rank < rest)

    def batch(self, epoch: int, step: int, start: int = 0) -> NDArray[np.int64]:
        """Numbers of the samples in a batch of this rank.

        Args:
            epoch: number of the pass over the data set.
            step: number of the batch, counted from `start`.
            start: samples of the epoch that all ranks had done before.
        """
        if not 0 <= step < self.num_steps(start):
            raise IndexError(f"step {step} of an epoch of {self.num_steps(start)} steps")
        first = start + step * self.samples_per_step
        end = min(first + self.samples_per_step, self.size)
        if self.remainder == "repeat":
            end = first + -(-(end - first) // self.num_ranks) * self.num_ranks
        places = np.arange(first + self.rank, end, self.num_ranks) % self.size
        if self.shuffle:
            places = Permutation(self.size, seed=self.seed, epoch=epoch)[places]
        if self.draws is None:
            return places
        return self.draws.numbers(places, seed=self.seed, stage=DRAWING, epoch=epoch)


def chosen_remainder(remainder: Remainder | None, num_ranks: int) -> Remainder:
    """Check a remainder; None gives the default for `num_ranks`.

    >>> chosen_remainder(None, 1), chosen_remainder(None, 2), chosen_remainder("drop", 2)
    ('keep', 'repeat', 'drop')
    """
    if remainder is None:
        return "keep" if num_ranks == 1 else "repeat"
    if remainder not in get_args(Remainder):
        raise ArgumentError(
            f"remainder must be one of {', '.join(get_args(Remainder))}, got {remainder!r}"
        )
    return remainder
