"""Shards of a data set: their sizes, their order from epoch to epoch, and how they are padded."""

from fractions import Fraction
from math import floor

import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy

BATCH = 3
SIZES = [(7, 2), (21, 4), (12, 3), (10, 3), (5, 5)]


def shard_bounds(dataset_size, shard_id, num_shards, epoch=0):
    """Where a shard begins and ends, by the formula for readers that go from shard to shard."""
    shard = (shard_id + epoch) % num_shards
    return [floor(Fraction(part * dataset_size, num_shards)) for part in (shard, shard + 1)]


def samples_of(dataset_size, shard_id, num_shards, epoch=0):
    return list(range(*shard_bounds(dataset_size, shard_id, num_shards, epoch)))


def shard_size(dataset_size, shard_id, num_shards, epoch=0):
    start, stop = shard_bounds(dataset_size, shard_id, num_shards, epoch)
    return stop - start


def readers(tmp_path, size, num_shards, **arguments):
    """A pipeline for each shard; the label of sample i is i."""
    files = [f"{number}.jpeg" for number in range(size)]
    for name in files:
        (tmp_path / name).write_bytes(b"x")

    @pipeline_def(num_threads=1, batch_size=BATCH)
    def reading(shard_id):
        _, labels = fn.readers.file(
            file_root=tmp_path,
            files=files,
            shard_id=shard_id,
            num_shards=num_shards,
            name="Reader",
            **arguments,
        )
        return labels

    return [reading(shard_id) for shard_id in range(num_shards)]


def epochs(pipelines, count, **arguments):
    """For each epoch what each pipeline gave, batch by batch."""
    with GenericIterator(pipelines, ["label"], **arguments) as iterator:
        found = []
        for _ in range(count):
            batches = [[part["label"][:, 0].tolist() for part in step] for step in iterator]
            found.append([list(shard) for shard in zip(*batches, strict=True)])
    return found


def flat(batches):
    return [number for batch in batches for number in batch]


@pytest.mark.parametrize(("size", "num_shards"), SIZES)
def test_a_reader_that_sticks_to_its_shard_reads_it_in_every_epoch(tmp_path, size, num_shards):
    pipelines = readers(tmp_path, size, num_shards, stick_to_shard=True)
    for epoch in epochs(
        pipelines, 3, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL
    ):
        # Without padding a batch goes on behind the end, so later epochs begin inside the shard.
        assert [sorted(flat(shard)) for shard in epoch] == [
            samples_of(size, shard_id, num_shards) for shard_id in range(num_shards)
        ]


@pytest.mark.parametrize(("size", "num_shards"), SIZES)
def test_a_reader_goes_on_to_the_next_shard_with_every_epoch(tmp_path, size, num_shards):
    pipelines = readers(tmp_path, size, num_shards, pad_last_batch=True)
    found = epochs(
        pipelines,
        num_shards + 1,
        reader_name="Reader",
        last_batch_policy=LastBatchPolicy.PARTIAL,
    )
    for epoch, shards in enumerate(found):
        assert [flat(shard) for shard in shards] == [
            samples_of(size, shard_id, num_shards, epoch) for shard_id in range(num_shards)
        ]
        assert sorted(flat(map(flat, shards))) == list(range(size))


@pytest.mark.parametrize(("size", "num_shards"), SIZES)
def test_padded_shards_have_as_many_whole_batches_filled_with_their_last_sample(
    tmp_path, size, num_shards
):
    pipelines = readers(tmp_path, size, num_shards, pad_last_batch=True)
    found = epochs(pipelines, num_shards, reader_name="Reader")
    largest = max(shard_size(size, shard_id, num_shards) for shard_id in range(num_shards))
    padded = -(-largest // BATCH) * BATCH
    for epoch, shards in enumerate(found):
        for shard_id, batches in enumerate(shards):
            own = samples_of(size, shard_id, num_shards, epoch)
            assert [len(batch) for batch in batches] == [BATCH] * (padded // BATCH)
            assert flat(batches) == own + own[-1:] * (padded - len(own))


@pytest.mark.parametrize(("size", "num_shards"), SIZES)
def test_the_size_of_a_shard_by_the_formula_makes_an_epoch(tmp_path, size, num_shards):
    for shard_id in range(num_shards):
        pipeline = readers(tmp_path, size, num_shards, stick_to_shard=True, pad_last_batch=True)[
            shard_id
        ]
        own = samples_of(size, shard_id, num_shards)
        found = epochs(
            pipeline,
            1,
            size=shard_size(size, shard_id, num_shards),
            last_batch_padded=True,
            last_batch_policy=LastBatchPolicy.PARTIAL,
        )
        assert flat(found[0][0]) == own


def test_the_size_of_several_shards_is_the_sum_of_theirs(tmp_path):
    pipelines = readers(tmp_path, 12, 2, stick_to_shard=True, pad_last_batch=True)
    ((first, second),) = epochs(pipelines, 1, size=12, last_batch_padded=True)
    assert flat(first) == [0, 1, 2, 3, 4, 5]
    assert flat(second) == [6, 7, 8, 9, 10, 11]


@pytest.mark.filterwarnings("ignore:fill_last_batch:DeprecationWarning")
@pytest.mark.parametrize(
    ("pad", "fill", "last", "then"),
    [
        (False, True, [6, 0, 1], [2, 3, 4]),  # filled from the next epoch, which goes on behind
        (True, True, [6, 6, 6], [0, 1, 2]),  # filled with copies
        (True, False, [6], [0, 1, 2]),  # copies are cut off
    ],
)
def test_how_the_tail_of_the_data_is_given(tmp_path, pad, fill, last, then):
    first, second = epochs(
        readers(tmp_path, 7, 1, pad_last_batch=pad),
        2,
        size=7,
        last_batch_padded=pad,
        fill_last_batch=fill,
    )
    assert first == [[[0, 1, 2], [3, 4, 5], last]]
    assert second[0][0] == then


def test_the_reader_tells_its_sizes(tmp_path):
    pipelines = readers(tmp_path, 10, 4, pad_last_batch=True)
    for shard_id, pipeline in enumerate(pipelines):
        meta = pipeline.reader_meta("Reader")
        assert meta["epoch_size"] == 10
        assert meta["epoch_size_padded"] == 12  # shards of three samples each
        assert (meta["number_of_shards"], meta["shard_id"]) == (4, shard_id)
        assert (meta["pad_last_batch"], meta["stick_to_shard"]) == (True, False)
