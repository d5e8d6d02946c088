"""`EpochSampler`: an order of samples in which each says of which epoch and which draw it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from videoloader.errors import ArgumentError
from videoloader.sampling import generator

__all__ = ["Draw", "EpochSampler"]

_ORDER_STAGE = 2  # of the randomness of orders; those of `ClipDataset` come before


class Draw(NamedTuple):
    """One drawing of a sample: `ClipDataset` makes the same clip of it, whoever asks for it.

    Attributes:
        sample: number of the sample.
        epoch: pass over the data.
        draw: how many times the sample was drawn before in that epoch.
    """

    sample: int
    epoch: int
    draw: int = 0


class EpochSampler(Sampler[Draw]):
    """A sampler for `ClipDataset` whose epochs differ, repeat by seed, and can be resumed.

    It gives `Draw`s, so a clip depends on `seed`s, epoch, number and draw alone: not on workers,
    their number or how long they live, on ranks, or on where a run was interrupted. Samplers that
    shard it, such as the one that Lightning puts around it, and batch samplers pass them on.

    Each pass is the next epoch, from 0 on. `set_epoch` says which one is next; Lightning and
    accelerate call it. A run that was interrupted goes on by `load_state_dict`, which
    torchdata's `StatefulDataLoader` calls, or by `set_epoch(epoch, skip=...)`. With a plain
    `DataLoader` count the samples of the batches that were trained on: `state_dict` is ahead by
    those that wait in workers. Of an epoch that was at its end, nothing is left to go on with: the
    next pass is empty, and the one after it is the next epoch.

    Args:
        samples: a data set or how many samples there are; or numbers of those to take; or another
            sampler (weighted, balanced, sharding, ...), which may draw a number several times. Its
            order comes from torch's random numbers, which are seeded for each epoch, unless it has
            a generator of its own; its `set_epoch` is called if it has one.
        shuffle: take another permutation in each epoch. Another sampler has its own order.
        seed: of the order.

    >>> sampler = EpochSampler(3, shuffle=False)
    >>> list(sampler), next(iter(sampler))
    ([Draw(sample=0, epoch=0, draw=0), Draw(sample=1, epoch=0, draw=0), \
Draw(sample=2, epoch=0, draw=0)], Draw(sample=0, epoch=1, draw=0))
    """

    def __init__(
        self,
        samples: int | Dataset[Any] | Iterable[int],
        *,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        self._inner: Sampler[int] | None = None
        if isinstance(samples, Sampler):
            self._inner = samples
        elif isinstance(samples, Dataset):
            self._numbers = np.arange(len(cast(Any, samples)))
        elif isinstance(samples, int):
            self._numbers = np.arange(samples)
        else:
            self._numbers = np.fromiter(samples, dtype=np.int64)
        if self._inner is None and not len(self._numbers):
            raise ArgumentError("there are no samples to draw from")
        self._shuffle = shuffle
        self._seed = seed
        self._next = (0, 0)  # epoch, and how many of its samples to leave out
        self._now = (0, 0)  # the same of the pass under way: how many it has given

    def set_epoch(self, epoch: int, skip: int | None = None) -> None:
        """Say which epoch is next.

        Args:
            epoch: counted from 0.
            skip: how many of its samples to leave out, as an interrupted run has had them; by
                default none, or those of the state that was loaded, if it is of this epoch.
        """
        if skip is not None or epoch != self._next[0]:
            self._next = (epoch, skip or 0)

    def __len__(self) -> int:
        return len(self._numbers) if self._inner is None else len(cast(Any, self._inner))

    def __iter__(self) -> Iterator[Draw]:
        epoch, skip = self._next
        numbers = self._order(epoch)
        draws = _occurrences(numbers)
        self._next = (epoch + 1, 0)
        self._now = (epoch, skip)
        for place in range(skip, len(numbers)):
            self._now = (epoch, place + 1)
            yield Draw(int(numbers[place]), epoch, int(draws[place]))

    def state_dict(self) -> dict[str, int]:
        """Where the pass under way is: its epoch, and how many samples it has given."""
        epoch, given = self._now
        return {"epoch": epoch, "given": given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Let the next pass go on from there."""
        self._now = self._next = (state["epoch"], state["given"])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Numbers of an epoch."""
        rng = generator(self._seed, stage=_ORDER_STAGE, epoch=epoch)
        if self._inner is None:
            return rng.permutation(self._numbers) if self._shuffle else self._numbers
        set_epoch = getattr(self._inner, "set_epoch", None)
        if callable(set_epoch):
            set_epoch(epoch)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
            return np.fromiter(self._inner, dtype=np.int64)


def _occurrences(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many times each number stands before in the list.

    >>> _occurrences(np.array([4, 2, 4, 4, 2]))
    array([0, 0, 1, 2, 1])
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(numbers)]
    places = np.arange(len(numbers))
    draws = np.empty_like(numbers)
    draws[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return draws
