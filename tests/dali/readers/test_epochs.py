import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Epochs


@st.composite
def epochs(draw, most_shards=5):
    num_shards = draw(st.integers(1, most_shards))
    return Epochs(
        size=draw(st.integers(num_shards, 8 * most_shards)),
        batch_size=draw(st.integers(1, 9)),
        num_shards=num_shards,
        shard_id=draw(st.integers(0, num_shards - 1)),
        stick_to_shard=draw(st.booleans()),
        pad_last_batch=draw(st.booleans()),
    )


def model(epochs):
    """The stream of samples, made by walking through it as a reader would."""
    for epoch in itertools.count():
        shard = epochs.shard_id if epochs.stick_to_shard else epochs.shard_id + epoch
        shard %= epochs.num_shards
        samples = [
            sample
            for sample in range(epochs.size)
            # sample s is in the shard whose range [floor(k n / S), floor((k + 1) n / S)) holds it
            if shard * epochs.size // epochs.num_shards
            <= sample
            < (shard + 1) * epochs.size // epochs.num_shards
        ]
        yield from samples
        if epochs.pad_last_batch:
            largest = -(-epochs.size // epochs.num_shards)
            padded = -(-largest // epochs.batch_size) * epochs.batch_size
            yield from [samples[-1]] * (padded - len(samples))


@given(epochs())
def test_the_stream_is_that_of_a_reader_that_walks(epochs):
    stream = model(epochs)
    for iteration in range(12):
        expected = list(itertools.islice(stream, epochs.batch_size))
        got = [epochs.shard(epoch)[position] for epoch, position in epochs.batch(iteration)]
        assert got == expected


@given(epochs(), st.integers(0, 10**12))
def test_far_away_places_are_found_and_consistent(epochs, place):
    epoch, position = epochs.find(place)
    start = epochs.end(epoch - 1) if epoch else 0
    assert start <= place < epochs.end(epoch)
    assert position == place - start


def walk_to(epochs, place):
    """The sample at a place, by going from epoch to epoch."""
    epoch = start = end = 0
    while place >= end:
        count = len(epochs.shard(epoch))
        length = epochs.batches(epoch) * epochs.batch_size if epochs.pad_last_batch else count
        epoch, start, end = epoch + 1, end, end + length
    return epoch - 1, place - start


@given(epochs(most_shards=60), st.integers(0, 5000))
def test_a_place_is_found_as_by_going_from_epoch_to_epoch(epochs, place):
    assert epochs.find(place) == walk_to(epochs, place)


@given(epochs=epochs(), iteration=st.integers(0, 40))
def test_a_batch_is_its_places_one_by_one(epochs, iteration):
    first = iteration * epochs.batch_size
    places = map(epochs.find, range(first, first + epochs.batch_size))
    assert epochs.batch(iteration) == [
        (epoch, min(position, len(epochs.shard(epoch)) - 1)) for epoch, position in places
    ]


@pytest.mark.timeout(20)
def test_places_are_found_at_once_however_many_shards_there_are():
    epochs = Epochs(size=10**7 + 1, batch_size=256, num_shards=10**6, shard_id=3)
    batch = epochs.batch(39_000)
    assert batch[0] == (998_400, 0)  # all shards but the last have 10 samples
    assert len(set(batch)) == 256


@given(epochs(), st.integers(0, 7))
def test_the_shards_of_an_epoch_are_the_data_set(epochs, epoch):
    shards = [
        Epochs(epochs.size, epochs.batch_size, epochs.num_shards, shard).shard(epoch)
        for shard in range(epochs.num_shards)
    ]
    assert sorted(sample for shard in shards for sample in shard) == list(range(epochs.size))


def test_more_shards_than_samples_are_an_error():
    with pytest.raises(ArgumentError, match="2 samples are too few for 3 shards"):
        Epochs(size=2, batch_size=1, num_shards=3)


@pytest.mark.parametrize("shard_id", [-1, 2])
def test_a_shard_that_is_not_there_is_an_error(shard_id):
    with pytest.raises(ArgumentError, match="below num_shards=2"):
        Epochs(size=8, batch_size=1, num_shards=2, shard_id=shard_id)


@pytest.mark.parametrize(("pads", "padded"), [(False, 10), (True, 12)])
def test_meta_is_that_of_dali(pads, padded):
    meta = Epochs(10, 4, 3, 1, pad_last_batch=pads, stick_to_shard=not pads).meta()
    assert meta == {
        "epoch_size": 10,
        "epoch_size_padded": padded,
        "number_of_shards": 3,
        "shard_id": 1,
        "pad_last_batch": int(pads),
        "stick_to_shard": int(not pads),
    }
    assert {type(value) for value in meta.values()} == {int}
