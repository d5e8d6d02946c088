from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling import BatchOrder
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.orders.weighted import WeightedDraws, balanced_weights

weights = st.lists(st.floats(0, 100), min_size=1, max_size=40).filter(lambda w: sum(w) > 1e-3)


@given(weights, st.integers(1, 300), st.integers(0, 5))
def test_an_item_is_drawn_as_often_as_its_share_rounded_up_or_down(weights, size, epoch):
    draws = WeightedDraws.of(weights, size=size)
    numbers = draws.numbers(np.arange(size), seed=3, epoch=epoch)
    found = np.bincount(numbers % len(weights), minlength=len(weights))
    shares = np.array(weights) / np.sum(weights) * size
    assert (np.abs(found - shares) < 1 + 1e-4).all()
    assert found.sum() == size


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.integers(0, 30)), min_size=1, max_size=20),
    st.integers(1, 400),
)
def test_no_number_comes_twice_and_draws_of_an_item_are_counted_from_0(groups, size):
    weights, counts = zip(*groups, strict=True)
    if not sum(counts):
        return
    draws = WeightedDraws.of(weights, counts=counts, size=size)
    numbers = draws.numbers(np.arange(size), seed=1, epoch=2)
    assert len(set(numbers.tolist())) == size
    times = {}
    for number in sorted(numbers.tolist()):
        item = number % draws.num_items
        times.setdefault(item, []).append(number // draws.num_items)
    assert all(seen == list(range(len(seen))) for seen in times.values())


def test_over_many_epochs_the_mean_is_the_share():
    weights = np.array([0.3, 1.7, 0.05, 4.1, 0.85])
    draws = WeightedDraws.of(weights, size=6)
    numbers = np.concatenate([draws.numbers(np.arange(6), seed=9, epoch=e) for e in range(4000)])
    mean = np.bincount(numbers % 5, minlength=5) / 4000
    np.testing.assert_allclose(mean, weights / weights.sum() * 6, atol=0.04)


def test_the_items_of_a_group_share_its_weight():
    draws = WeightedDraws.of([1, 3], counts=[5, 5], size=4000)
    found = np.bincount(draws.numbers(np.arange(4000), seed=0) % 10)
    assert found.tolist() == pytest.approx([200] * 5 + [600] * 5, abs=1)


def test_weights_may_have_a_sum_that_is_no_number():
    draws = WeightedDraws.of([1.5e308, 0, 0.5e308], size=40)
    assert np.bincount(draws.numbers(np.arange(40), seed=0) % 3).tolist() == [30, 0, 10]


def test_balanced_classes_are_drawn_alike_and_their_items_too():
    labels = np.repeat([7, 3, 5], [1, 10, 89])[np.random.default_rng(0).permutation(100)]
    draws = WeightedDraws.of(balanced_weights(labels), size=300)
    counts = np.zeros(100)
    for epoch in range(300):
        items = draws.numbers(np.arange(300), seed=0, epoch=epoch) % 100
        counts += np.bincount(items, minlength=100)
        assert Counter(labels[items].tolist())[7] in (99, 100, 101)
    for label, count in ((7, 1), (3, 10), (5, 89)):
        np.testing.assert_allclose(counts[labels == label], 100 * 300 / count, rtol=0.15)
        assert counts[labels == label].sum() == pytest.approx(30_000, rel=0.002)


def test_positions_are_drawn_one_by_one_as_together_and_by_seed_and_epoch():
    draws = WeightedDraws.of(np.arange(1, 50.0), size=80)
    together = draws.numbers(np.arange(80), seed=4, epoch=1)
    assert [int(draws.numbers([p], seed=4, epoch=1)[0]) for p in range(80)] == together.tolist()
    others = {tuple(draws.numbers(np.arange(80), seed=s, epoch=e)) for s, e in [(4, 2), (5, 1)]}
    assert len(others | {tuple(together)}) == 3


def test_behind_an_epoch_order_ranks_share_the_draws():
    draws = WeightedDraws.of([1, 2, 3, 4, 5, 6, 7], size=41)
    expected = sorted(draws.numbers(np.arange(41), seed=0, epoch=3).tolist())
    orders = [BatchOrder(SampleOrder(41), 0, rank, 3, batch_size=4) for rank in range(3)]
    seen = [
        number
        for order in orders
        for step in range(order.num_steps())
        for number in draws.numbers(order.batch(3, step), seed=0, epoch=3).tolist()
    ]
    assert sorted(seen) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1],), "at least 0, got -1.0 at 1"),
        (([1, float("nan")],), "got nan at 1"),
        (([0, 0],), "nothing to draw"),
        (([],), "nothing to draw"),
    ],
)
def test_weights_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        WeightedDraws.of(*arguments)
    with pytest.raises(IndexError):
        WeightedDraws.of([1, 1]).numbers([2], seed=0)
