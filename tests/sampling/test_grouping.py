from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Epochs, Place
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder


@dataclass(frozen=True)
class Part(Epochs):
    """A shard that begins and ends anywhere."""

    part: range = range(0)

    def shard(self, epoch):
        return self.part


def parts(size, count):
    return [range(size * n // count, size * (n + 1) // count) for n in range(count)]


def order_of(size, part, group, window, common_seed=0, seed=0, stage=0, *, is_random=True):
    epochs = Part(size, 1, part=part)
    samples = SampleOrder(size, common_seed, is_random, stage=stage, group=group)
    return ReaderOrder(epochs, samples, seed=seed, stage=stage, window=window)


def all_numbers(order, epoch=0):
    return order.numbers([Place(epoch, at) for at in range(len(order.epochs.shard(epoch)))])


def mates(order, position, epoch=0):
    return [mate.position for mate in order.mates(Place(epoch, position))]


@given(st.integers(1, 200), st.integers(1, 7), st.integers(0, 30), st.integers(1, 4), st.booleans())
def test_every_sample_comes_once_in_one_of_the_parts(size, group, extra, count, is_random):
    for epoch in (0, 5):
        seen = []
        for seed, part in enumerate(parts(size, count)):  # parts with seeds of their own
            order = order_of(size, part, group, group + extra, 8, seed, is_random=is_random)
            seen += all_numbers(order, epoch)
        assert sorted(seen) == list(range(size))


@given(st.integers(1, 120), st.integers(1, 6), st.integers(0, 20), st.integers(1, 3))
def test_mates_are_the_later_positions_of_the_group_in_the_window(size, group, extra, count):
    for part in parts(size, count):
        order = order_of(size, part, group, group + extra, seed=2)
        numbers = all_numbers(order)
        for position, number in enumerate(numbers):
            window = (part.start + position) // order.window
            expected = [
                other
                for other in range(position + 1, len(numbers))
                if numbers[other] // group == number // group
                and (part.start + other) // order.window == window
            ]
            assert mates(order, position) == expected


def test_groups_stay_together_and_their_members_part():
    order = order_of(4000, range(4000), group=4, window=64, seed=1)
    places = np.empty(4000, dtype=int)
    places[all_numbers(order)] = np.arange(4000)
    spread = np.ptp(places.reshape(-1, 4), axis=1)
    assert spread.max() < 64
    assert np.median(spread) > 24
    followers = np.diff(all_numbers(order))
    assert np.mean(np.abs(followers) <= 3) < 0.1  # neighbours are seldom one behind the other


def test_without_shuffling_the_order_is_that_of_the_data_set():
    order = order_of(11, range(3, 11), group=4, window=8, is_random=False)
    assert all_numbers(order) == list(range(3, 11))
    assert mates(order, 1) == [2, 3, 4]


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = [
        tuple(all_numbers(order_of(40, range(40), 4, 16, seed=seed), epoch))
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4


def test_a_window_smaller_than_a_group_is_an_error():
    with pytest.raises(ArgumentError, match="at least one group"):
        order_of(10, range(10), 4, 3)


@pytest.mark.parametrize(
    ("epoch", "numbers", "found"),
    [
        (
            0,
            [0, 1, 4, 2, 3, 16, 6, 7, 13, 14, 5, 15, 12, 8, 17, 19, 9, 18],
            {0: [1, 3, 4], 6: [7, 10], 8: [9, 11, 12], 14: [15, 17], 16: []},
        ),
        (
            3,
            [7, 6, 4, 5, 11, 19, 12, 16, 13, 17, 14, 15, 18, 20, 1, 0, 22, 21],
            {0: [1, 2, 3], 5: [7, 9, 12], 6: [8, 10, 11], 13: [16, 17], 14: [15]},
        ),
    ],
)
def test_the_order_is_that_of_runs_that_were_stored(epoch, numbers, found):
    order = order_of(23, range(3, 21), 4, 8, common_seed=7, seed=3, stage=2)
    assert all_numbers(order, epoch) == numbers
    assert order.numbers([Place(epoch, at) for at in reversed(range(18))]) == numbers[::-1]
    assert {n: mates(order, n, epoch) for n in found} == found
