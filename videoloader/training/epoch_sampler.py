"""`EpochSampler`: yields (sample, epoch, draw) for `ClipDataset`."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, Unpack, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.options import from_options, takes_options
from videoloader.sampling import BatchOrder, generator
from videoloader.sampling.orders.batch_order import OrderOptions, state_number
from videoloader.sampling.orders.sample_order import SampleOrder, check_together
from videoloader.sampling.random import Draw

_ORDER_STAGE = 2  # of the randomness of other samplers; those of `ClipDataset` come before
_TOGETHER = 1024  # numbers of an order that are computed at a time


@takes_options(OrderOptions, SampleOrder, BatchOrder, together=False, remainder=None)
class EpochSampler(Sampler[Draw]):
    """A sampler for `ClipDataset` whose epochs differ, repeat by seed, and can be resumed.

    It gives `Draw` values: a clip depends on `seed`, epoch, number and draw alone, not on workers,
    their number or how long they live, on ranks, or on where a run was interrupted. Samplers that
    shard it, such as the one that Lightning puts around it, and batch samplers pass them on.

    With `rank` and `num_ranks` it gives the part of one process, as `Loader` divides an epoch: of
    each `num_ranks` samples in a row the `rank`-th. Leave them out under a trainer that divides by
    a sampler of its own, as Lightning and accelerate do: the part would be divided again.

    Each pass is the next epoch, from 0 on. `set_epoch` says which one is next; Lightning and
    accelerate call it. A run that was interrupted goes on by `load_state_dict`, which
    torchdata's `StatefulDataLoader` calls, or by `set_epoch(epoch, skip=...)`. With a plain
    `DataLoader` count the samples of the batches that were trained on: `state_dict` is ahead by
    those that wait in workers. A state counts the samples of all ranks, so an epoch goes on with
    any number of workers and of ranks, and none is lost or repeated; all ranks load the state of
    one of them. After the state of a finished epoch the next pass is empty,
    and the one after it is the next epoch.

    A sampler is for one thread, and one pass at a time.

    Args:
        samples: a data set or how many samples there are; or numbers of those to take; or another
            sampler (weighted, balanced, sharding, ...), which may draw a number several times. Its
            order comes from torch's random numbers, which are seeded for each epoch, unless it has
            a generator of its own; its `set_epoch` is called if it has one.
        shuffle: take another permutation in each epoch, that of a `Loader` with this seed. Another
            sampler has its own order.
        together: samples of a video that come one behind the other, of a `ClipDataset` with
            `clips_per_video`: all (True), or a number that divides them. With a batch size that is
            a multiple of it, batches hold whole groups, which a worker decodes together. Leave it
            out under a trainer that divides by a sampler of its own: groups would be divided, too.
        rank: which part of the epoch this process takes.
        remainder: what becomes of samples that `num_ranks` does not divide: `repeat` the first of
            the epoch until all ranks have as many, the default with several ranks; `drop` them; or
            `keep` them, so that some ranks have one more.
        **options: of the order.

    >>> sampler = EpochSampler(3, shuffle=False)
    >>> list(sampler), next(iter(sampler))
    ([Draw(sample=0, epoch=0, draw=0), Draw(sample=1, epoch=0, draw=0), \
Draw(sample=2, epoch=0, draw=0)], Draw(sample=0, epoch=1, draw=0))
    """

    def __init__(
        self, samples: int | Dataset[Any] | Iterable[int], **options: Unpack[OrderOptions]
    ) -> None:
        self._inner: Sampler[int] | None = None
        self._numbers: NDArray[np.int64] | None = None  # None: all of them, in order
        self._size = 0
        if isinstance(samples, Sampler):
            self._inner = samples
        elif isinstance(samples, Dataset):
            self._size = len(cast(Any, samples))
        elif isinstance(samples, int | np.integer):
            self._size = whole_number("samples", samples)
        else:
            try:
                self._numbers = np.fromiter(map(operator.index, samples), dtype=np.int64)
            except TypeError as error:
                raise ArgumentTypeError(
                    "samples must be a data set, a sampler, how many samples there are, or their "
                    f"numbers, got {samples!r:.80}"
                ) from error
            self._size = len(self._numbers)
        if self._inner is None and not self._size:
            raise ArgumentError("there are no samples to draw from")
        if options["together"] and not hasattr(samples, "clips_per_video"):
            raise ArgumentError(
                "together takes a ClipDataset, which has clips_per_video of each video; got "
                f"{samples!r:.80}"
            )
        self._clips: int = getattr(samples, "clips_per_video", 1)
        self._group = check_together(options["together"], self._clips)
        self._options = options
        self._shuffle, self._seed = options["shuffle"], options["seed"]
        self._order(self._clips)  # checks the arguments
        self._next = (0, 0)  # epoch, and how many of its samples to leave out
        self._now = (0, 0)  # the same of the pass under way: how many it has given

    def set_epoch(self, epoch: int, skip: int | None = None) -> None:
        """Say which epoch is next.

        Args:
            epoch: counted from 0.
            skip: how many of its samples to leave out, of all ranks, as an interrupted run has had
                them; by default none, or those of the state that was loaded, if it is of this
                epoch.

        Raises:
            ArgumentError: a number is below 0 or no whole number, or more than there are samples.
        """
        epoch = whole_number("epoch", epoch)
        if skip is not None or epoch != self._next[0]:
            done = whole_number("skip", skip or 0, most=self._most())
            self._check_whole_groups(done)
            self._next = (epoch, done)

    def __len__(self) -> int:
        size = self._size if self._inner is None else len(cast(Any, self._inner))
        return self._order(size).num_steps() if size else 0

    def __iter__(self) -> Iterator[Draw]:
        epoch, done = self._next
        listed = self._listed(epoch)
        size = self._size if listed is None else len(listed)
        self._next = (epoch + 1, 0)
        self._now = (epoch, done)
        if not size:
            return
        order = self._order(size, shuffle=self._shuffle and listed is None)
        for place in self._numbers_from(epoch, done, order):
            done = min(done + order.num_ranks, size)
            self._now = (epoch, done)
            yield Draw(place, epoch) if listed is None else listed[place]

    def __repr__(self) -> str:
        epoch, done = self._next
        skipped = f" from sample {done}" if done else ""
        order = self._order(self._size or self._clips)
        ranks = f", rank {order.rank} of {order.num_ranks}" if order.num_ranks > 1 else ""
        of = f"{self._size} samples" if self._inner is None else f"{self._inner!r:.80}"
        return f"EpochSampler({of}{ranks}, seed {self._seed}, next epoch {epoch}{skipped})"

    def state_dict(self) -> dict[str, int]:
        """Where the pass under way is: its epoch, and how many samples all ranks were given."""
        epoch, given = self._now
        together = {} if self._group == 1 else {"together": self._group}
        return {"epoch": epoch, "given": given, **together}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Let the next pass go on from there.

        Raises:
            ArgumentError: the state lacks a number, or has one that no pass can have; or it is of
                another `together`. The sampler stays as it is.
        """
        epoch, given = state_number(state, "epoch"), state_number(state, "given", most=self._most())
        if (group := state.get("together", 1)) != self._group:
            raise ArgumentError(
                f"the state is of a sampler with together={group}, this one has "
                f"together={self._group}"
            )
        self._check_whole_groups(given)
        self._now = self._next = (epoch, given)

    def _most(self) -> int | None:
        """Samples of a pass; None with another sampler, whose number is known when it draws."""
        return self._size if self._inner is None else None

    def _check_whole_groups(self, done: int) -> None:
        """Raise if a pass cannot go on behind so many samples, because that divides a group."""
        if self._group > 1:
            self._order(self._size).num_places(done)

    def _order(self, size: int, *, shuffle: bool = False) -> BatchOrder:
        """The places of this rank in an epoch of `size` samples, one at a time."""
        clips = self._clips if self._group > 1 else 1
        plan = SampleOrder(
            size // clips, self._seed, shuffle, clips_per_video=clips, group=self._group
        )
        return from_options(BatchOrder, self._options, plan=plan)

    def _numbers_from(self, epoch: int, done: int, order: BatchOrder) -> Iterator[int]:
        """The numbers that an order gives in an epoch, behind the first `done` of them."""
        for first in range(0, order.num_places(done), _TOGETHER):
            yield from order.numbers(epoch, first, _TOGETHER, done).tolist()

    def _listed(self, epoch: int) -> list[Draw] | None:
        """The draws of an epoch in order, of a sampler or a list of numbers."""
        if self._inner is not None:
            numbers = self._drawn(self._inner, epoch)
        elif self._numbers is None:
            return None
        elif self._shuffle:
            numbers = self._numbers[SampleOrder(self._size, self._seed).numbers(epoch)]
        else:
            numbers = self._numbers
        draws = _occurrences(numbers).tolist()
        return [Draw(n, epoch, draw) for n, draw in zip(numbers.tolist(), draws, strict=True)]

    def _drawn(self, inner: Sampler[int], epoch: int) -> NDArray[np.int64]:
        """The numbers that another sampler draws in an epoch."""
        set_epoch = getattr(inner, "set_epoch", None)
        if callable(set_epoch):
            set_epoch(epoch)
        rng = generator(self._seed, stage=_ORDER_STAGE, epoch=epoch)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
            return np.fromiter(inner, dtype=np.int64)


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
