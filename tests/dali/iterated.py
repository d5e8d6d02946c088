"""Pipelines for the tests of iterators: labelled clips, and sources that end."""

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def

FILES = [f"clip{number}.mp4" for number in range(7)]


@pipeline_def(num_threads=2, device_id=0, seed=3)
def labelled(files=FILES, num_shards=1, shard_id=0, pad_last_batch=False, stick_to_shard=False):
    clips, labels = fn.readers.video(
        filenames=files,
        labels=[],
        sequence_length=40,
        name="Reader",
        num_shards=num_shards,
        shard_id=shard_id,
        pad_last_batch=pad_last_batch,
        stick_to_shard=stick_to_shard,
    )
    return clips, labels


def ending(*batches):
    """A pipeline whose source ends after these batches, and begins again after a reset."""
    pipe = pipeline_def(lambda: fn.external_source(list(batches), cycle="raise"))
    return pipe(batch_size=len(batches[0]))


def values_of(iterator):
    return [[part["x"].tolist() for part in batch] for batch in iterator]


TEN = [[number, number + 1] for number in range(0, 10, 2)]
EPOCH_OF_TEN = [[batch] for batch in TEN]
