"""The batches of one rank: each epoch is divided among ranks place by place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import one_of, whole_number

Remainder = Literal["keep", "drop", "repeat"]


class OrderOptions(TypedDict, total=False):
    """The order of the samples, and the part of them that this process takes.

    Attributes:
        shuffle: permute the samples, differently in each epoch.
        together: samples of a video that come in one batch, where it is opened once and what
            several of them need is decoded once. True: all of its `clips_per_video`, each still
            drawn by itself: repeated augmentation. A number, of which `clips_per_video` is a
            multiple: so many of them. With `clips_per_video="all"` so many neighbouring clips.
            Batches, ranks and resumed epochs take whole groups, and groups are what is permuted:
            a batch has clips of fewer videos than without.
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
    together: bool | int
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
    def group(self) -> int:
        """Places in a row that no batch divides: samples that come together."""

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
    takes the next `num_ranks * batch_size` places; rank r gets every `num_ranks`-th of them, or of
    their groups, starting with the r-th. So for the same total batch size, a step has the same
    samples for any number of ranks. A position is the number of places that all ranks together have
    done: an interrupted epoch can be resumed from it with any number of ranks, without losing or
    repeating a sample.

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
        if self.batch_size is not None:
            whole_number("batch_size", self.batch_size, least=1)
        if self.batch_size is not None and self.batch_size % self.plan.group:
            raise ArgumentError(
                f"batch_size={self.batch_size} is no multiple of together={self.plan.group}; a "
                "batch holds whole groups"
            )
        if self.size < 1:
            raise ArgumentError("there is no sample to take batches from")
        whole_number("seed", self.seed, least=None)
        whole_number("num_ranks", self.num_ranks, least=1)
        whole_number("rank", self.rank, most=self.num_ranks - 1)
        if self.remainder is None:
            object.__setattr__(self, "remainder", "keep" if self.num_ranks == 1 else "repeat")
        else:
            one_of("remainder", self.remainder, get_args(Remainder))

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

    def num_places(self, start: int = 0, epoch: int = 0) -> int:
        """Places that this rank gets in an epoch from a position on.

        Raises:
            ArgumentError: an epoch has no such position.
        """
        group = self.plan.group
        rounds, rest = divmod(self._stop(start, epoch) - start, self.num_ranks * group)
        return rounds * group + min(max(rest - self.rank * group, 0), group)

    def num_steps(self, start: int = 0, epoch: int = 0) -> int:
        """Batches that this rank gets in an epoch from a position on.

        Raises:
            ArgumentError: an epoch has no such position.
        """
        return -(-self.num_places(start, epoch) // (self.batch_size or 1))

    def batch(self, epoch: int, step: int, start: int = 0) -> NDArray[np.int64]:
        """Numbers of the samples in a batch of this rank.

        Args:
            epoch: number of the pass over the data set.
            step: number of the batch, counted from `start`.
            start: position before the first batch.
        """
        size = self.batch_size or 1
        steps = self.num_steps(start, epoch)
        if not 0 <= step < steps:
            raise IndexError(f"step {step} of an epoch of {steps} steps")
        return self.numbers(epoch, step * size, size, start)

    def numbers(self, epoch: int, first: int, count: int, start: int = 0) -> NDArray[np.int64]:
        """Numbers of the samples at `count` places of this rank, or as many as are left.

        Args:
            epoch: number of the pass over the data set.
            first: of the places of this rank, counted from `start`.
            count: number of places.
            start: position before the first place of all ranks.
        """
        stop, group = min(first + count, self.num_places(start, epoch)), self.plan.group
        rounds, members = np.divmod(np.arange(first, stop), group)
        places = start + (rounds * self.num_ranks + self.rank) * group + members
        return self.plan.at(places % self.end(epoch), epoch)  # past the end: the first ones

    @property
    def _step(self) -> int:
        """Places that all ranks take together in a full step."""
        return self.num_ranks * (self.batch_size or 1)

    def _stop(self, start: int, epoch: int) -> int:
        """The end of the places that ranks take from a position on."""
        end, group = self.end(epoch), self.plan.group
        left = end - whole_number("start of an epoch", start, most=end)
        if left and start % group:
            raise ArgumentError(f"position {start} is inside a group of together={group}")
        match self.remainder:
            case "drop":
                return end - left % (self.num_ranks * (self.batch_size or group))
            case "repeat":
                return end + -left % (self.num_ranks * group)
        return end


def state_number(state: Mapping[str, Any], name: str, *, most: int | None = None) -> int:
    """Read an integer from 0 to `most` from a state.

    Args:
        state: the state that a user passed.
        name: key of the integer.
        most: the maximum; none by default.

    Raises:
        ArgumentTypeError: the state is not a mapping, or the value not an integer.
        ArgumentError: the key is missing, or the integer is below 0 or above `most`.
    """
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(f"a state is what state_dict() gives, got {state!r:.200}")
    if name not in state:
        found = ", ".join(map(str, state)) or "nothing"
        raise ArgumentError(
            f"the state has no {name!r}, only {found:.200}; pass what state_dict() of the "
            "same kind of loader or sampler gave"
        )
    return whole_number(f"{name} of a state", state[name], most=most)
