import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling import BatchOrder
from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.orders.sample_order import SampleOrder


@given(st.integers(1, 3000), st.integers(0, 1 << 64), st.integers(0, 9))
def test_a_permutation_holds_every_number_once(size, seed, epoch):
    order = Permutation(size, seed=seed, epoch=epoch)
    assert np.sort(order[np.arange(size)]).tolist() == list(range(size))


@given(st.integers(1, 10**12), st.data())
def test_any_part_of_a_permutation_is_that_part_of_the_whole(size, data):
    places = data.draw(st.lists(st.integers(0, size - 1), max_size=20))
    order = Permutation(size, seed=3)
    single = [int(order[place]) for place in places]
    assert order[places].tolist() == single
    assert len(set(single)) == len(set(places))
    assert all(0 <= value < size for value in single)


@pytest.mark.parametrize("size", [3, 16, 17])
def test_every_sample_is_as_likely_at_every_position(size):
    epochs = 3000
    orders = [Permutation(size, seed=1, epoch=epoch)[np.arange(size)] for epoch in range(epochs)]
    counts = np.stack([np.bincount(column, minlength=size) for column in np.transpose(orders)])
    expected = epochs / size
    # Of size**2 normal deviates none lies 5.5 deviations from the mean (one in 27 million does).
    assert np.abs(counts - expected).max() < 5.5 * np.sqrt(expected)


def test_neighbours_are_not_kept_together():
    order = Permutation(10_000, seed=5)[np.arange(10_000)]
    assert (np.abs(np.diff(order)) == 1).mean() < 0.001
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05


def test_epochs_stages_and_seeds_give_other_permutations():
    orders = [
        tuple(Permutation(50, seed=seed, stage=stage, epoch=epoch)[np.arange(50)].tolist())
        for seed, stage, epoch in itertools.product(range(3), range(3), range(3))
    ]
    assert len(set(orders)) == 27


def all_batches(orders, epoch, start=0):
    """The batches of every rank in turn."""
    steps = max(order.num_steps(start) for order in orders)
    return [
        order.batch(epoch, step, start).tolist()
        for step in range(steps)
        for order in orders
        if step < order.num_steps(start)
    ]


def order_of(size, batch_size, shuffle=True, seed=0, **ranks):
    return BatchOrder(SampleOrder(size, seed, shuffle), seed, batch_size=batch_size, **ranks)


def ranks(count, **arguments):
    return [order_of(rank=rank, num_ranks=count, **arguments) for rank in range(count)]


@given(st.integers(1, 60), st.integers(1, 7), st.integers(1, 7), st.booleans(), st.integers(0, 2))
def test_the_ranks_share_the_samples_and_lose_none(size, batch_size, count, shuffle, epoch):
    orders = ranks(count, size=size, batch_size=batch_size, shuffle=shuffle)
    batches = all_batches(orders, epoch)
    assert sorted(itertools.chain(*batches)) == list(range(size))
    assert all(0 < len(batch) <= batch_size for batch in batches)


@given(st.integers(1, 60), st.integers(1, 7), st.integers(1, 7))
def test_ranks_that_repeat_or_drop_have_equal_batches(size, batch_size, count):
    for remainder in ("repeat", "drop"):
        orders = ranks(count, size=size, batch_size=batch_size, remainder=remainder)
        lengths = {
            tuple(len(order.batch(0, step)) for step in range(order.num_steps()))
            for order in orders
        }
        assert len(lengths) == 1
        seen = list(itertools.chain(*all_batches(orders, 0)))
        if remainder == "repeat":
            assert set(seen) == set(range(size))
            assert len(seen) - size < count
        else:
            assert len(seen) == len(set(seen)) == size - size % (batch_size * count)


@given(
    st.integers(1, 60),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(1, 7),
    st.data(),
)
def test_an_epoch_goes_on_with_other_ranks_and_batches(size, batch, count, others, other, data):
    before = ranks(count, size=size, batch_size=batch, seed=4)
    done = data.draw(st.integers(0, size // (batch * count)))
    seen = [order.batch(2, step).tolist() for step in range(done) for order in before]
    after = ranks(others, size=size, batch_size=other, seed=4)
    rest = all_batches(after, 2, start=done * batch * count)
    assert sorted(itertools.chain(*seen, *rest)) == list(range(size))


def test_classes_in_a_row_reach_every_rank():
    labels = np.repeat(np.arange(4), 10)
    for order in ranks(4, size=40, batch_size=10):
        assert len(set(labels[order.batch(0, 0)])) > 1


@pytest.mark.parametrize(("count", "steps"), [(1, [5]), (2, [3, 3]), (4, [2, 2, 2, 2])])
def test_several_ranks_run_in_step_unless_they_say_otherwise(count, steps):
    chosen = ranks(count, size=9, batch_size=2, remainder=None)
    assert [order.num_steps() for order in chosen] == steps
    assert sorted(set(itertools.chain(*all_batches(chosen, 0)))) == list(range(9))


def test_wrong_orders_are_refused():
    for wrong in ({"batch_size": 0}, {"size": 0}, {"rank": 1}, {"remainder": "wrap"}):
        with pytest.raises(ArgumentError):
            order_of(**{"size": 4, "batch_size": 2, **wrong})
    with pytest.raises(IndexError, match="step 2 of an epoch of 2 steps"):
        order_of(4, 2).batch(0, 2)
