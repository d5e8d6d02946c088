"""Buckets and packs of `Loader` with several clips of a video, weights, labels and filters."""

import json
import shutil
from collections import Counter

import pytest
import torch
from mixed_videos import TRAITS, caption, encode_all

import videoloader as vl

PACKING = vl.Packing(480, patchify=(2, 16, 16))
BUCKETS = vl.Buckets([(2, 96, 96), (4, 96, 96)], max_tokens=480, patch=(1, 16, 16))
BATCHES = pytest.mark.parametrize("batches", [BUCKETS, PACKING], ids=["buckets", "packs"])
LABELS = [3, 1, 3, 1, 0, 0, 0, 0]  # by row


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    for number, path in enumerate(encode_all(folder)):
        path.rename(folder / f"{number}.mp4")
        (folder / f"{number}.txt").write_text(caption(number))
    return folder


@pytest.fixture(scope="module")
def dataset(folder, tmp_path_factory):
    return vl.index_dataset(folder, tmp_path_factory.mktemp("index") / "set.parquet", workers=0)


def loader(dataset, batches, **options):
    options = {
        "workers": 0,
        "shuffle": True,
        "seed": 4,
        "columns": (".txt", "num_frames"),
        **options,
    }
    return vl.Loader(dataset, vl.RandomClip(4, stride=2), batches=batches, **options)


def clips(batches):
    """(video, frame numbers) of every sample, of which columns and labels are looked at."""
    found = []
    for batch in batches:
        rows = batch["sample"].tolist()
        assert batch[".txt"] == [caption(row) for row in rows]
        assert batch["num_frames"].tolist() == [TRAITS[row][2] for row in rows]
        if "labels" in batch:
            assert batch["labels"].tolist() == [LABELS[row] for row in rows]
        numbers = [tuple(each.tolist()) for each in batch["frame_numbers"]]
        found += zip(rows, numbers, strict=True)
    return found


@BATCHES
def test_every_video_gives_as_many_clips_as_asked_for(dataset, batches):
    found = clips(loader(dataset, batches, clips_per_video=3, labels=LABELS))
    assert Counter(video for video, _ in found) == dict.fromkeys(range(8), 3)
    assert len(set(found)) > 16  # clips of one video differ
    first = Counter(clips(loader(dataset, batches)))
    assert first <= Counter(found)  # the first clips are those of a loader of one


@BATCHES
def test_samples_have_the_pixels_of_their_own_frames(dataset, folder, batches):
    for batch in loader(dataset, batches, clips_per_video=2):
        rows = batch["sample"].tolist()
        if batches is PACKING:
            frames = vl.unpatchify(batch["patches"], batch["shapes"], (2, 16, 16))
        else:
            frames = batch["frames"]
        for row, numbers, clip in zip(rows, batch["frame_numbers"], frames, strict=True):
            with vl.Video(folder / f"{row}.mp4") as video:
                height, width = video[0].shape[:2]
                scale = max(clip.shape[2] / height, clip.shape[3] / width)
                size = round(height * scale), round(width * scale)
                whole = video.get_frames(frames=numbers.tolist(), size=size, layout="FCHW").frames
            top, left = (size[0] - clip.shape[2]) // 2, (size[1] - clip.shape[3]) // 2
            expected = whole[:, :, top:, left:][..., : clip.shape[2], : clip.shape[3]]
            assert (clip.float() - expected.float()).abs().max() <= 3


@BATCHES
@pytest.mark.parametrize("options", [{"weights": [1, 0, 2, 5, 0, 0, 0, 0]}, {"balanced": True}])
def test_drawn_epochs_go_on_with_another_number_of_ranks(dataset, batches, options):
    options |= {"clips_per_video": 3, "labels": LABELS, "shuffle": False}
    whole = clips(loader(dataset, batches, **options))
    counts = Counter(video for video, _ in whole)
    if "weights" in options:
        assert counts == {0: 3, 2: 6, 3: 15}
    else:
        classes = Counter(LABELS[video] for video in counts.elements())
        assert classes == {0: 8, 1: 8, 3: 8}
    found, states = [], []
    for rank in range(2):
        ranked = {"rank": rank, "num_ranks": 2, "remainder": "keep"}
        with loader(dataset, batches, **options, **ranked) as part:
            running = iter(part)
            taken = [next(running), next(running)]
            states.append(json.loads(json.dumps(part.state_dict())))
            found += clips(taken)
    assert states[0] == states[1]
    for rank in range(3):
        with loader(dataset, batches, **options, rank=rank, num_ranks=3, remainder="keep") as part:
            part.load_state_dict(states[0])
            found += clips(part)
    assert sorted(found) == sorted(whole)


@BATCHES
def test_states_of_other_draws_are_refused(dataset, batches):
    state = loader(dataset, batches, weights=[1, 1, 1, 1, 1, 1, 1, 2]).state_dict()
    with pytest.raises(vl.errors.ArgumentError, match="the state is of a loader with batches="):
        loader(dataset, batches, weights=[1, 1, 1, 1, 1, 1, 2, 1]).load_state_dict(state)
    with pytest.raises(vl.errors.ArgumentError, match="the state is of a loader with"):
        loader(dataset, batches, clips_per_video=2).load_state_dict(state)


@BATCHES
def test_a_filter_of_the_index_leaves_rows_columns_and_labels_as_they_are(dataset, batches):
    some = dataset.filter(min_frames=24, max_aspect=1.7)
    rows = [row for row, (w, h, n, *_) in enumerate(TRAITS) if n >= 24 and w / h <= 1.7]
    rows = sorted({*rows, 6})  # 160 x 96, shown as 96 x 160
    assert some.rows.tolist() == rows != list(range(len(rows)))
    found = clips(loader(some, batches, labels=LABELS, clips_per_video=2))
    assert Counter(row for row, _ in found) == dict.fromkeys(rows, 2)
    weights = [0] * 8
    weights[rows[1]] = 1  # by row, too
    found = clips(loader(some, batches, weights=weights))
    assert [row for row, _ in found] == [rows[1]] * len(rows)


def test_a_bad_video_is_replaced_by_the_same_clip_of_one_alike(dataset, folder, tmp_path):
    for number in range(8):
        for ending in ("mp4", "txt"):
            shutil.copy(folder / f"{number}.{ending}", tmp_path)
    copy = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    whole = Counter(clips(loader(dataset, BUCKETS, clips_per_video=3)))
    plan = loader(copy, BUCKETS).order.plan
    following = next(n for n in (4, 5, 6, 7) if plan.shape(n) == plan.shape(3))
    (tmp_path / "3.mp4").unlink()
    replacing = loader(copy, BUCKETS, clips_per_video=3, on_error="replace")
    found = Counter(clips(replacing))
    lost = {clip: count for clip, count in whole.items() if clip[0] == 3}
    again = {clip: count for clip, count in whole.items() if clip[0] == following}
    assert found == whole - Counter(lost) + Counter(again)
    assert [failure.sample for failure in replacing.failures] == [3, 3, 3]


@BATCHES
def test_a_bad_video_costs_each_of_its_clips(dataset, folder, tmp_path, batches):
    for number in range(8):
        for ending in ("mp4", "txt"):
            shutil.copy(folder / f"{number}.{ending}", tmp_path)
    copy = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    (tmp_path / "3.mp4").unlink()
    found = clips(loader(copy, batches, clips_per_video=2, on_error="skip"))
    counts = Counter(video for video, _ in found)
    assert counts.keys() == {*range(8)} - {3}
    assert min(counts.values()) == 2  # more where a clip stands for one that was alone in its pack
    masks = [
        (row, bool(torch.as_tensor(mask).any()))
        for batch in loader(copy, batches, clips_per_video=2, on_error="mask")
        for row, mask in zip(
            batch["sample"].tolist(),
            batch["frame_mask" if batches is PACKING else "mask"],
            strict=True,
        )
    ]
    assert Counter(masks) == {(n, n != 3): 2 for n in range(8)}
