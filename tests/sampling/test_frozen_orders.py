"""Sequences of seeds that runs were started with: a later version goes on with the same ones."""

import itertools
import zlib

import numpy as np
import pytest
from size_tables import sizes

from videoloader.epoch_sampler import EpochSampler
from videoloader.sampling import BatchOrder, Buckets, EpochSamples, Packing, RandomClip

CLIP = RandomClip(8)
TABLE = sizes([(96 + 8 * (n % 3), 128 - 16 * (n % 2), 10 + n, 24) for n in range(13)])
PLANS = [
    Buckets([(4, 64, 64), (8, 96, 64), (8, 64, 128)], batch_size=2, on_unfit="skip"),
    Buckets([(8, 64, 64), (16, 96, 96)], max_pixels=200_000, remainder="repeat"),
    Packing(200, patchify=(2, 16, 16), on_unfit="skip", window=4),
]
SAMPLES = [
    EpochSamples(),
    EpochSamples(3),
    EpochSamples(2, np.arange(13.0)),
    EpochSamples(1, labels=np.arange(13) // 5),
]


def walked(order):
    """Batches of some epochs from several starts, with the positions behind them."""
    for epoch, part in itertools.product((0, 1, 5), (0, 3, 7)):
        start = order.end(epoch) * part // 7
        steps = range(order.num_steps(start, epoch))
        yield order.is_over(start, epoch), order.position(1, start, epoch)
        yield [order.batch(epoch, step, start).tolist() for step in steps]


def in_steps():
    """Batches of one size, of all ranks."""
    for samples, shuffle, seed, batch_size, ranks, remainder in itertools.product(
        SAMPLES, (False, True), (0, 1 << 40), (1, 2, 5), (1, 3), (None, "keep", "drop", "repeat")
    ):
        for rank in range(ranks):
            every = samples.order(np.ones(13, dtype=bool), seed, shuffle=shuffle)
            order = BatchOrder(every, seed, rank, ranks, remainder, batch_size)
            yield order.state, order.size, list(walked(order))


def by_plan():
    """Buckets and packs, of all ranks."""
    for batches, samples, shuffle, ranks, remainder in itertools.product(
        PLANS, SAMPLES, (False, True), (1, 3), (None, "drop")
    ):
        plan = batches.plan(TABLE, CLIP, seed=3, shuffle=shuffle, samples=samples)
        for rank in range(ranks):
            order = BatchOrder(plan, 3, rank, ranks, remainder)
            yield order.state, order.size, order.unfit.tolist(), list(walked(order))


def by_sampler():
    """Passes of `EpochSampler`."""
    for samples, shuffle, ranks, remainder in itertools.product(
        (11, [4, 4, 9, 1, 4, 7], 2500), (False, True), (1, 4), (None, "keep", "drop")
    ):
        for rank in range(ranks):
            sampler = EpochSampler(
                samples, shuffle=shuffle, seed=2, rank=rank, num_ranks=ranks, remainder=remainder
            )
            sampler.load_state_dict({"epoch": 1, "given": 5})
            passes = [[tuple(draw) for draw in sampler] for _ in range(2)]
            yield len(sampler), passes, sampler.state_dict()


@pytest.mark.parametrize(
    ("sequences", "frozen"),
    [(in_steps, 3611015999), (by_plan, 651025858), (by_sampler, 2183369890)],
)
def test_sequences_are_those_of_runs_that_were_stored(sequences, frozen):
    assert zlib.crc32(repr(list(sequences())).encode()) == frozen
