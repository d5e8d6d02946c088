"""A sample is a number in a data set and an epoch: its pixels depend on nothing else."""

import fake_videos
import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.sampling import RandomClip

pytestmark = pytest.mark.usefixtures("no_threads_left")

SIZE, EPOCHS = 11, 3
FILES = [f"clip{number}.mp4" for number in range(SIZE)]


@pytest.fixture
def pictures(videos, monkeypatch):
    """Fake videos whose pixels all differ, so that crops and flips show."""
    plain = fake_videos.decoded

    def decoded(request, index):
        frames = plain(request, index)
        pattern = torch.arange(frames[0].numel()).reshape(frames[0].shape)
        return (3 * frames + pattern).to(torch.uint8)

    monkeypatch.setattr(fake_videos, "decoded", decoded)
    return videos


@pipeline_def(seed=12, num_threads=2, fuse=False)
def graph(rank, ranks, padded):
    clips, labels = fn.readers.video(
        filenames=FILES,
        labels=[],
        sampler=RandomClip(3, stride=2),
        random_shuffle=True,
        shard_id=rank,
        num_shards=ranks,
        pad_last_batch=padded,
        name="Reader",
    )
    clips = fn.crop(
        clips,
        crop=(3, 4),
        crop_pos_x=fn.random.uniform(range=(0, 1)),
        crop_pos_y=fn.random.uniform(range=(0, 1)),
    )
    clips = fn.brightness_contrast(
        clips, brightness=fn.per_frame(fn.random.uniform(range=(0.2, 1), shape=(3,)))
    )
    clips = fn.crop_mirror_normalize(clips, mirror=fn.random.coin_flip(), mean=[9.0])
    return clips, labels


def by_run(rank, ranks, batch_size, restored):
    """(epoch, label, clip) of a rank, by `Pipeline.run`."""
    arguments = {"rank": rank, "ranks": ranks, "padded": False, "batch_size": batch_size}
    lengths = []
    for epoch in range(EPOCHS):  # the rank reads another shard in each epoch
        shard = (rank + epoch) % ranks
        lengths.append((shard + 1) * SIZE // ranks - shard * SIZE // ranks)
    epochs = [epoch for epoch, length in enumerate(lengths) for _ in range(length)]
    samples, pipe = [], graph(enable_checkpointing=True, **arguments)
    while len(samples) < len(epochs):
        clips, labels = pipe.run()
        samples += zip(labels.as_tensor()[:, 0].tolist(), clips.as_tensor(), strict=True)
        if restored:
            state = pipe.checkpoint()
            pipe.close()
            pipe = graph(checkpoint=state, **arguments)
    pipe.close()
    return [(epoch, *sample) for epoch, sample in zip(epochs, samples, strict=False)]


def by_iterator(rank, ranks, batch_size, restored):
    """(epoch, label, clip) of a rank, by `GenericIterator`."""

    def iterator(**arguments):
        return GenericIterator(
            graph(rank, ranks, padded=True, batch_size=batch_size, **arguments),
            ["clips", "labels"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )

    samples, batches = [], iterator(enable_checkpointing=True)
    for epoch in range(EPOCHS):
        for number, (batch,) in enumerate(batches):
            labels = batch["labels"][:, 0].tolist()
            samples += zip([epoch] * len(labels), labels, batch["clips"], strict=True)
            if restored and number == 0 and len(batches) > 1:
                break
        else:
            continue
        (state,) = batches.checkpoints()
        batches.close()
        batches = iterator(checkpoint=state)
        for (batch,) in batches:
            labels = batch["labels"][:, 0].tolist()
            samples += zip([epoch] * len(labels), labels, batch["clips"], strict=True)
    batches.close()
    return samples


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("way", [by_run, by_iterator])
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_pixels_depend_on_the_sample_and_the_epoch_alone(
    pictures, ranks, batch_size, way, restored
):
    expected = {(epoch, label): clip for epoch, label, clip in by_run(0, 1, 4, restored=False)}
    assert len(expected) == SIZE * EPOCHS
    assert len({clip.numpy().tobytes() for clip in expected.values()}) == len(expected)
    seen = []
    for rank in range(ranks):
        for epoch, label, clip in way(rank, ranks, batch_size, restored):
            seen.append((epoch, label))
            assert torch.equal(clip, expected[epoch, label]), (epoch, label)
    assert sorted(seen) == sorted(expected)
