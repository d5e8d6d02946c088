import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.grouping import GroupedOrder


def parts(size, count):
    return [range(size * n // count, size * (n + 1) // count) for n in range(count)]


def all_numbers(order, part, epoch=0):
    return order.numbers(np.arange(len(part)), part, epoch=epoch).tolist()


@given(st.integers(1, 200), st.integers(1, 7), st.integers(0, 30), st.integers(1, 4), st.booleans())
def test_every_sample_comes_once_in_one_of_the_parts(size, group, extra, count, is_random):
    for epoch in (0, 5):
        seen = []
        for seed, part in enumerate(parts(size, count)):  # parts with seeds of their own
            order = GroupedOrder(size, group, group + extra, 8, seed, is_random=is_random)
            seen += all_numbers(order, part, epoch)
        assert sorted(seen) == list(range(size))


@given(st.integers(1, 120), st.integers(1, 6), st.integers(0, 20), st.integers(1, 3))
def test_mates_are_the_later_positions_of_the_group_in_the_window(size, group, extra, count):
    order = GroupedOrder(size, group, group + extra, seed=2)
    for part in parts(size, count):
        numbers = all_numbers(order, part)
        for position, number in enumerate(numbers):
            window = (part.start + position) // order.window
            expected = [
                other
                for other in range(position + 1, len(numbers))
                if numbers[other] // group == number // group
                and (part.start + other) // order.window == window
            ]
            assert order.mates(position, part, epoch=0) == expected


def test_groups_stay_together_and_their_members_part():
    order = GroupedOrder(4000, group=4, window=64, seed=1)
    places = np.empty(4000, dtype=int)
    places[all_numbers(order, range(4000))] = np.arange(4000)
    spread = np.ptp(places.reshape(-1, 4), axis=1)
    assert spread.max() < 64
    assert np.median(spread) > 24
    followers = np.diff(all_numbers(order, range(4000)))
    assert np.mean(np.abs(followers) <= 3) < 0.1  # neighbours are seldom one behind the other


def test_without_shuffling_the_order_is_that_of_the_data_set():
    order = GroupedOrder(11, group=4, window=8, is_random=False)
    assert all_numbers(order, range(3, 11)) == list(range(3, 11))
    assert order.mates(1, range(3, 11), epoch=0) == [2, 3, 4]


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = [
        tuple(all_numbers(GroupedOrder(40, 4, 16, seed=seed), range(40), epoch))
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4


def test_a_window_smaller_than_a_group_is_an_error():
    with pytest.raises(ArgumentError, match="at least one group"):
        GroupedOrder(10, 4, 3)


@pytest.mark.parametrize(
    ("epoch", "numbers", "mates"),
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
def test_the_order_is_that_of_runs_that_were_stored(epoch, numbers, mates):
    order = GroupedOrder(23, 4, 8, common_seed=7, seed=3, stage=2)
    part = range(3, 21)
    assert all_numbers(order, part, epoch) == numbers
    backwards = order.numbers(np.arange(18)[::-1], part, epoch=epoch)
    assert backwards.tolist() == numbers[::-1]
    assert {n: order.mates(n, part, epoch=epoch) for n in mates} == mates
