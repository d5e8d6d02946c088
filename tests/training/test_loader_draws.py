"""Several clips of a video, and weighted epochs, in `Loader` and `ClipDataset`."""

from collections import Counter
from pathlib import Path

import pytest
import torch

import videoloader as vl
from videoloader.errors import ArgumentError


@pytest.fixture
def paths(demo_folder):
    return sorted(demo_folder.glob("*.mp4"))[:4]


def loader(paths, **options):
    return vl.Loader(paths, vl.RandomClip(2), **{"batch_size": 3, "size": 8, "seed": 1} | options)


def drawn(batches):
    """(video, frame numbers) of every sample."""
    return [
        (int(video), tuple(numbers.tolist()))
        for batch in batches
        if batch["frames"].shape[-2:] == (8, 8)
        for video, numbers in zip(batch["sample"], batch["frame_numbers"], strict=True)
    ]


def test_every_video_gives_as_many_clips_as_asked_for(paths):
    with loader(paths, clips_per_video=5, shuffle=True) as batches:
        first, second = drawn(batches), drawn(batches)
    assert Counter(video for video, _ in first) == dict.fromkeys(range(4), 5)
    assert len(set(first)) > 12  # clips of one video differ
    assert first != second


def test_the_first_clips_are_those_of_a_loader_of_one(paths):
    with loader(paths, clips_per_video=2) as several, loader(paths) as one:
        assert drawn(several)[:4] == drawn(one)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_weighted_epochs_are_the_same_on_any_number_of_ranks(paths, ranks):
    options = {"weights": [1, 0, 2, 5], "clips_per_video": 4}
    with loader(paths, **options) as whole:
        expected = sorted(drawn(whole))
    assert Counter(video for video, _ in expected) == {0: 2, 2: 4, 3: 10}
    found = []
    for rank in range(ranks):
        with loader(paths, **options, rank=rank, num_ranks=ranks, remainder="keep") as part:
            found += drawn(part)
    assert sorted(found) == expected


@pytest.mark.parametrize("name", ["weights", "labels"])
def test_keys_of_weights_and_labels_may_be_paths(paths, name):
    texts, given = ({kind(path): n for n, path in enumerate(paths)} for kind in (str, Path))
    with loader(paths, **{name: given}) as one, loader(paths, **{name: texts}) as other:
        assert drawn(one) == drawn(other)
        assert all(batch.get("labels", batch["sample"]).equal(batch["sample"]) for batch in one)


def test_a_weighted_run_goes_on_where_it_stood(paths):
    options = {"weights": lambda key: 1 + len(key) % 3, "clips_per_video": 3}
    with loader(paths, **options) as batches:
        state = None
        whole = []
        for number, batch in enumerate(batches):
            whole.append(batch["frames"])
            if number == 1:
                state = batches.state_dict()
    with loader(paths, **options) as resumed:
        resumed.load_state_dict(state)
        rest = [batch["frames"] for batch in resumed]
    assert len(rest) == len(whole) - 2
    assert all(torch.equal(a, b) for a, b in zip(rest, whole[2:], strict=True))


def test_classes_come_alike_and_keep_their_labels(paths):
    labels = [7, 7, 7, 2]
    with loader(paths, labels=labels, balanced=True, clips_per_video=3) as batches:
        found = list(batches)
    seen = Counter(label for batch in found for label in batch["labels"].tolist())
    assert seen == {7: 6, 2: 6}
    for batch in found:
        assert [labels[video] for video in batch["sample"].tolist()] == batch["labels"].tolist()


def test_a_data_set_has_the_clips_of_its_videos_one_round_after_another(paths):
    dataset = vl.ClipDataset(
        paths, vl.RandomClip(2), size=8, labels=[4, 3, 2, 1], clips_per_video=3
    )
    dataset.set_epoch(0)
    assert len(dataset) == 12
    found = [dataset[number] for number in range(12)]
    assert [sample["sample"] for sample in found] == [0, 1, 2, 3] * 3
    assert [sample["labels"] for sample in found] == [4, 3, 2, 1] * 3
    clips = {(s["sample"], tuple(s["frame_numbers"].tolist())) for s in found}
    assert len(clips) > 8
    with pytest.raises(IndexError):
        dataset[12]


def test_bad_files_are_named_whichever_clip_of_them_is_drawn(paths, tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video at all")
    videos = [*paths[:2], tmp_path / "bad.mp4"]
    with loader(videos, clips_per_video=3, on_error="skip") as batches:
        found = drawn(batches)
        failures = batches.failures
    assert Counter(video for video, _ in found) == {0: 3, 1: 3}
    assert [failure.sample for failure in failures] == [2, 2, 2]
    assert all("bad.mp4" in failure.video for failure in failures)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clips_per_video": 0}, "clips_per_video must be a whole number of at least 1"),
        ({"weights": [1, 2]}, "4 videos, but 2 weights"),
        ({"weights": {}}, "no weight for"),
        ({"weights": {1: 2}}, "weights have keys or paths of videos as keys"),
        ({"weights": {"\udcff": 2}}, "weights have keys or paths of videos as keys"),
        ({"labels": {1: 2}}, "labels have keys or paths of videos as keys, which are text, got 1"),
        ({"balanced": True}, "balanced needs labels"),
        ({"balanced": True, "weights": [1] * 4, "labels": [1] * 4}, "weights or balanced"),
    ],
)
def test_wrong_arguments_are_named(paths, options, message):
    with pytest.raises(ArgumentError, match=message):
        loader(paths, **options)
    with pytest.raises(ArgumentError, match="give a sampler that draws"):
        vl.ClipDataset(paths, vl.DenseClips(2), clips_per_video=2)
