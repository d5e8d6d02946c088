import gc
import os
import random
import shutil
import tarfile

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding.assembly import Assembly
from videoloader.demo.videos import encode_video, read_frame_number

NAMES = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm", "av1.mp4"]
SIZE = {"size": (90, 160)}


@pytest.fixture
def paths(demo_folder):
    return [demo_folder / name for name in NAMES]


def loader(videos, clips=None, **options):
    clips = clips or vl.RandomClip(count=4, stride=3)
    return vl.Loader(videos, clips, **{"batch_size": 2, "workers": 0, **SIZE, **options})


def samples(batches):
    """Everything that a sample holds, by its number."""
    return {
        number: (frames.numpy().tobytes(), tuple(numbers.tolist()))
        for batch in batches
        for number, frames, numbers in zip(
            batch["sample"].tolist(), batch["frames"], batch["frame_numbers"], strict=True
        )
    }


def test_a_batch_holds_the_frames_that_it_says(paths):
    with loader(paths, size=None, resize_shorter=270, layout="FHWC", batch_size=5) as batches:
        (batch,) = batches
    assert batch["sample"].tolist() == [0, 1, 2, 3, 4]
    for frames, numbers in zip(batch["frames"], batch["frame_numbers"], strict=True):
        assert [read_frame_number(frame.numpy()) for frame in frames] == numbers.tolist()
    assert batch["mask"].all()
    with vl.Video(paths[2]) as video:
        times = video.index.seconds(batch["frame_numbers"][2].numpy())
    assert np.array_equal(batch["times"][2].numpy(), times)


def test_pixels_are_those_of_decode_batch(paths):
    options = {"dtype": "float32", "mean": (120.0, 110.0, 100.0), "std": 60.0, "layout": "CFHW"}
    (batch,) = loader(paths, batch_size=5, **options)
    requests = [
        (path, numbers.tolist())
        for path, numbers in zip(paths, batch["frame_numbers"], strict=True)
    ]
    expected = vl.decode_batch(requests, workers=0, **SIZE, **options)
    assert torch.equal(batch["frames"], expected.frames)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_sample_is_the_same_on_any_rank_and_in_any_batch(paths, ranks, batch_size):
    options = {
        "shuffle": True,
        "seed": 7,
        "random_resized_crop": ((0.2, 1.0), (0.7, 1.4)),
        "random_flip": 0.5,
    }
    whole = loader(paths, batch_size=5, **options)
    parts = [
        loader(
            paths,
            batch_size=batch_size,
            rank=rank,
            num_ranks=ranks,
            remainder="keep",
            **options,
        )
        for rank in range(ranks)
    ]
    for _ in range(2):
        assert samples(whole) == samples(batch for part in parts for batch in part)


@pytest.mark.parametrize("rotate", [True, False])
def test_pictures_are_turned_as_the_container_says_or_stay_as_coded(demo_folder, rotate):
    path = demo_folder / "rotated.mp4"
    options = {"size": None, "resize_shorter": 48, "crop_size": (40, 24), "rotate": rotate}
    (batch,) = loader([path], batch_size=1, **options)
    with vl.Video(path, rotate=rotate) as video:
        height, width = video.height, video.width
        clip = video.get_frames(
            batch["frame_numbers"][0], size=framed(height, width), layout="FCHW"
        )
    top, left = (clip.frames.shape[-2] - 40) // 2, (clip.frames.shape[-1] - 24) // 2
    assert height != width
    assert torch.equal(batch["frames"][0], clip.frames[..., top : top + 40, left : left + 24])
    with vl.Video(path) as upright:
        assert ((upright.height, upright.width) == (height, width)) is rotate


def framed(height, width):
    """(height, width) of a picture whose shorter side becomes 48."""
    short = min(height, width)
    return round(48 * height / short), round(48 * width / short)


def test_epochs_differ_and_come_again(paths):
    batches = loader(paths, shuffle=True, seed=1)
    first, second = ([b["sample"].tolist() for b in batches] for _ in range(2))
    assert first != second
    assert batches.epoch == 1
    batches.set_epoch(0)
    assert [b["sample"].tolist() for b in batches] == first
    assert samples(loader(paths, seed=1)) != samples(loader(paths, seed=2))


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_a_run_goes_on_where_it_stood(paths, taken):
    def make(**options):
        return loader(paths, shuffle=True, seed=3, random_flip=0.5, **options)

    with make() as whole:
        expected = [batch for _ in range(2) for batch in whole]
    with make() as before:
        iterator = iter(before)
        seen = [next(iterator) for _ in range(taken)]
        state = before.state_dict()
    with make() as after:
        after.load_state_dict(state)
        assert after.state_dict() == state
        rest = list(after)
        if taken < 3:
            rest += list(after)
    got = seen + rest
    assert [b["sample"].tolist() for b in got] == [b["sample"].tolist() for b in expected]
    assert all(torch.equal(a["frames"], b["frames"]) for a, b in zip(got, expected, strict=True))


def test_an_epoch_goes_on_with_other_ranks(paths):
    before = [
        loader(paths, seed=3, shuffle=True, batch_size=1, rank=r, num_ranks=2) for r in (0, 1)
    ]
    seen = [next(iter(part)) for part in before]
    states = [part.state_dict() for part in before]
    assert states[0] == states[1]
    after = loader(paths, seed=3, shuffle=True)
    after.load_state_dict(states[0])
    rest = list(after)
    assert sorted(samples(seen + rest)) == [0, 1, 2, 3, 4]
    assert samples(seen + rest) == samples(loader(paths, seed=3, shuffle=True))


def test_eight_ranks_stop_inside_an_epoch_and_four_go_on(paths):
    def ranks(count):
        options = {"seed": 3, "shuffle": True, "batch_size": 1, "prefetch": 1, "size": (16, 16)}
        frame = vl.RandomClip(1)
        return [
            loader(paths[:1] * 20, frame, rank=rank, num_ranks=count, **options)
            for rank in range(count)
        ]

    before, after = ranks(8), ranks(4)
    seen = [next(iter(part)) for part in before]
    (state,) = {tuple(part.state_dict().items()) for part in before}
    for part in after:
        part.load_state_dict(dict(state))
    rest = [batch for part in after for batch in part]
    assert sorted(int(batch["sample"][0]) for batch in seen + rest) == [*range(20)]


def test_a_run_goes_on_with_another_number_of_workers(paths):
    options = {"shuffle": True, "seed": 3, "random_flip": 0.5, "batch_size": 1}
    with loader(paths, **options) as whole:
        expected = samples(whole)
    with loader(paths, workers=1, **options) as before:
        iterator = iter(before)
        seen = [next(iterator) for _ in range(2)]
        state = before.state_dict()
    with loader(paths, workers=2, **options) as after:
        after.load_state_dict(state)
        rest = list(after)
    assert len(rest) == 3
    assert samples(seen + rest) == expected


def test_a_state_of_another_data_set_is_refused(paths):
    with pytest.raises(vl.errors.ArgumentError, match="size=5, this one has size=4"):
        loader(paths[:4]).load_state_dict(loader(paths).state_dict())


def test_folders_are_classes(paths, tmp_path):
    for path, name in zip(paths, ["b", "a", "b", "a", "c"], strict=True):
        (tmp_path / name).mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / name)
    (batch,) = loader(tmp_path, batch_size=9)
    assert batch["labels"].tolist() == [0, 0, 1, 1, 2]
    (batch,) = loader(tmp_path, batch_size=9, labels=[0, 10, 20, 30, 40])
    assert batch["labels"].tolist() == [0, 10, 20, 30, 40]
    with pytest.raises(vl.errors.ArgumentError, match="5 videos, but 2 labels"):
        loader(tmp_path, labels=[1, 2])
    with pytest.raises(vl.errors.ArgumentError, match="no videos"):
        loader([])


def test_labels_may_be_a_column_or_a_function(paths, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("path,label\n" + "".join(f"{name},c{len(name)}\n" for name in NAMES))
    with loader(paths, batch_size=9, labels=vl.LabelColumn(table)) as batches:
        (batch,) = batches
        assert batches.classes == ["c17", "c7", "c8"]
    assert [batches.classes[n] for n in batch["labels"]] == [f"c{len(name)}" for name in NAMES]
    (batch,) = loader(paths, batch_size=9, labels=lambda key: len(key.rpartition("/")[2]))
    assert batch["labels"].tolist() == [len(name) for name in NAMES]


def test_colours_and_limits_are_those_of_decode_batch(paths):
    options = {"matrix": "bt2020", "color_range": "full"}
    (batch,) = loader(paths, batch_size=5, **options)
    requests = list(zip(paths, batch["frame_numbers"].tolist(), strict=True))
    expected = vl.decode_batch(requests, workers=0, layout="FCHW", **options, **SIZE)
    assert torch.equal(batch["frames"], expected.frames)
    other = vl.decode_batch(requests, workers=0, layout="FCHW", **SIZE)
    assert not torch.equal(batch["frames"], other.frames)
    with pytest.raises(vl.errors.UnsupportedError, match="max_pixels=1000"):
        list(loader(paths, max_pixels=1000))


def test_a_stream_that_changes_its_size_is_scaled_where_it_is_asked_for(tmp_path):
    parts = []
    for size in ((128, 96), (96, 64)):
        path = tmp_path / f"{size[0]}.h264"
        encode_video(path, frames=8, size=size, options={"g": "4", "bf": "0", "threads": "1"})
        parts.append(path.read_bytes())
    both = tmp_path / "both.h264"
    both.write_bytes(b"".join(parts))
    clips = vl.UniformClip(16)
    with pytest.raises(vl.errors.DecodeError, match="resolution_change"):
        list(loader([both], clips, size=None))
    (batch,) = loader([both], clips, size=None, layout="FHWC", resolution_change="scale")
    assert batch["frames"].shape == (1, 16, 96, 128, 3)
    numbers = [read_frame_number(frame.numpy()) for frame in batch["frames"][0]]
    assert numbers == [*range(8), *range(8)]


def test_data_set_indexes_are_taken(paths, tmp_path):
    dataset = vl.index_dataset(paths, tmp_path / "set.parquet", workers=0)
    expected = samples(loader(paths))
    assert samples(loader(dataset)) == expected
    assert samples(loader(tmp_path / "set.parquet")) == expected


def test_clips_of_a_sampler_of_several_have_a_dimension_of_their_own(paths):
    clips = vl.SegmentClip(3)
    (batch,) = loader(paths, clips, batch_size=5)
    assert batch["frames"].shape == (5, 3, 3, 90, 160)

    class Pairs:
        def frames(self, num_frames, *, fps=None, rng=None):
            return np.array([[0, 1, 2], [5, 6, 7]])

    (flat,) = loader(paths, vl.UniformClip(3), batch_size=5)
    for layout, shape in (("FCHW", (5, 2, 3, 3, 90, 160)), ("CFHW", (5, 2, 3, 3, 90, 160))):
        (batch,) = loader(paths, Pairs(), batch_size=5, layout=layout)
        assert batch["frames"].shape == shape
        assert batch["frame_numbers"].tolist() == [[[0, 1, 2], [5, 6, 7]]] * 5
        expected = vl.decode_batch([(paths[0], [5, 6, 7])], workers=0, layout=layout, **SIZE)
        assert torch.equal(batch["frames"][0, 1], expected.frames[0])
    assert flat["frames"].shape == (5, 3, 3, 90, 160)


def broken(paths, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video at all")
    return [paths[0], bad, paths[1], tmp_path / "missing.mp4", paths[2]]


def test_a_bad_file_is_an_error_that_names_it(paths, tmp_path):
    batches = loader(broken(paths, tmp_path))
    iterator = iter(batches)
    with pytest.raises(vl.VideoError, match=r"bad\.mp4"):
        next(iterator)
    assert 1 in [failure.sample for failure in batches.failures]


def test_a_bad_file_is_skipped(paths, tmp_path):
    batches = loader(broken(paths, tmp_path), on_error="skip")
    assert [b["sample"].tolist() for b in batches] == [[0], [2], [4]]
    assert sorted((f.sample, f.video.rpartition("/")[2]) for f in batches.failures) == [
        (1, "bad.mp4"),
        (3, "missing.mp4"),
    ]


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
def test_failures_that_are_kept_hold_no_batch(paths, tmp_path, on_error):
    gc.collect()
    others = {id(each) for each in gc.get_objects() if type(each) is Assembly}  # of other tests
    batches = loader(broken(paths, tmp_path), on_error=on_error)
    taken = len(list(batches))
    gc.collect()
    assert taken
    assert len({failure.sample for failure in batches.failures}) == 2
    kept = [each for each in gc.get_objects() if type(each) is Assembly]
    assert not [each for each in kept if id(each) not in others]


def test_a_bad_file_is_replaced_by_the_next_that_decodes(paths, tmp_path):
    batches = loader(broken(paths, tmp_path), on_error="replace", batch_size=5)
    (batch,) = batches
    assert batch["sample"].tolist() == [0, 2, 2, 4, 4]
    assert "bad.mp4" in batch["error"][1]
    assert batch["error"][0] == ""
    (good,) = loader([paths[0], paths[1], paths[2]], batch_size=3)
    assert batch["frames"].shape == (5, 4, 3, 90, 160)
    assert torch.equal(batch["frames"][0], good["frames"][0])
    bad = tmp_path / "bad.mp4"
    with pytest.raises(vl.errors.DecodeError, match="none of the 2 videos"):
        next(iter(loader([bad, bad], on_error="replace")))


def test_a_bad_file_is_masked(paths, tmp_path):
    (batch,) = loader(broken(paths, tmp_path), on_error="mask", batch_size=5)
    assert batch["mask"].tolist() == [[good] * 4 for good in (True, False, True, False, True)]
    assert batch["frames"].shape == (5, 4, 3, 90, 160)
    assert not batch["frames"][1].any()


def test_a_transform_sees_the_sample_and_its_random_numbers_come_again(paths):
    def transform(sample):
        noise = torch.rand(1).item() + np.random.rand() + random.random()  # noqa: NPY002
        noise += float(vl.dali.fn.random.uniform())
        return {"x": sample["frames"].float().mean(), "noise": noise, "sample": sample["sample"]}

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    by_two = list(loader(paths, sample_transform=transform))
    (by_five,) = loader(paths, sample_transform=transform, batch_size=5)
    assert torch.equal(torch.rand(3), expected)
    assert torch.cat([b["noise"] for b in by_two]).tolist() == by_five["noise"].tolist()
    assert len(set(by_five["noise"].tolist())) == 5


def test_leaving_a_loop_early_ends_its_threads(paths):
    import threading

    before = set(threading.enumerate())
    batches = loader(paths)
    for _ in batches:
        break
    batches.close()
    assert set(threading.enumerate()) == before
    assert batches.stats().batches == 1


def test_wrong_arguments_are_named(paths):
    for wrong, words in (
        ({"on_error": "ignore"}, "on_error must be"),
        ({"prefetch": 0}, "prefetch"),
        ({"prefetch": 1.5}, "prefetch must be a whole number"),
        ({"workers": 1.5}, "workers must be a whole number"),
        ({"batch_size": 1.5}, "batch_size must be a whole number"),
        ({"batch_size": "2"}, "batch_size must be a whole number"),
        ({"columns": [("captions.csv", "caption")]}, "columns are names, endings of files"),
        ({"rank": 1}, "come together"),
        ({"random_flip": 2}, "random_flip must be a number from 0 to 1"),
        ({"size": None, "crop_size": 9000}, r"\.mp4: crop 9000x9000 does not fit"),
        ({"size": None, "random_resized_crop": ((0.1, 1), (1, 1))}, "goes with size"),
        ({"random_resized_crop": (0.1, 1)}, "random_resized_crop is"),
        ({"batch_size": 0}, "batch_size"),
        ({"dtype": "int8"}, "dtype must be"),
        ({"matrix": "bt470"}, "matrix must be"),
        ({"color_range": "tv"}, "color_range must be"),
        ({"resolution_change": "crop"}, "resolution_change must be"),
        ({"max_pixels": 0}, "max_pixels must be"),
    ):
        with pytest.raises(vl.errors.ArgumentError, match=words):
            list(loader(paths, **wrong))
    with pytest.raises(vl.errors.ArgumentError, match="clip sampler"):
        loader(paths, [1, 2])
    for workers in (-1, 1.5):  # when it is made
        with pytest.raises(vl.errors.ArgumentError, match="workers must be a whole number"):
            loader(paths, workers=workers)


def test_keys_of_a_data_set_index_give_the_classes_that_its_folder_gives(tmp_path):
    folder = tmp_path / "set"
    for name in ("cats/a.mp4", "cats/old/b.mp4", "dogs/a.mp4"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        encode_video(folder / name, frames=4, size=(64, 48))
    dataset = vl.index_dataset(folder, tmp_path / "set.parquet", workers=0)
    options = {"batch_size": 3, "shuffle": False}
    with (
        loader(folder, **options) as one,
        loader(dataset, labels=lambda key: key.partition("/")[0], **options) as other,
    ):
        assert one.classes == other.classes == ["cats", "dogs"]
        assert [batch["labels"].tolist() for batch in one] == [[0, 0, 1]]
        assert [batch["labels"].tolist() for batch in other] == [[0, 0, 1]]
    for given in (dataset, dataset.filter(min_frames=1), folder):
        with loader(given, labels="folder", **options) as same:
            assert (same.classes, next(iter(same))["labels"].tolist()) == (one.classes, [0, 0, 1])
    encode_video(folder / "loose.mp4", frames=4, size=(64, 48))
    more = vl.index_dataset(folder, tmp_path / "more.parquet", workers=0)
    for given in (more, folder):
        with pytest.raises(
            vl.errors.ArgumentError, match=r"1 of 4 videos is in no subfolder \(loose\."
        ):
            loader(given, labels="folder", **options)
    with pytest.raises(
        vl.errors.ArgumentError, match="takes one folder, or a data set index of one"
    ):
        loader([folder / "loose.mp4"], labels="folder", **options)


def test_names_that_are_no_text_leave_videos_in_the_folder_of_their_class(paths, tmp_path):
    folder = tmp_path / "set"
    for name in (b"cats/a.mp4", b"cats/\xff.mp4", b"caf\xe9/a.mp4"):
        place = folder / os.fsdecode(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(paths[0], place)
    for given in (folder, vl.index_dataset(folder, tmp_path / "set.parquet", workers=0)):
        with loader(given, labels="folder") as batches:
            assert batches.classes == [os.fsdecode(b"caf\xe9"), "cats"]


def test_an_archive_is_no_folder_of_a_class(paths, tmp_path):
    for place in ("loose/shard.tar", "whole/cats/shard.tar"):
        (tmp_path / place).parent.mkdir(parents=True)
        with tarfile.open(tmp_path / place, "w") as archive:
            archive.add(paths[0], "dogs/a.mp4")
    loose, whole = (
        (folder, vl.index_dataset(folder, folder.with_suffix(".parquet"), workers=0))
        for folder in (tmp_path / "loose", tmp_path / "whole")
    )
    for given in loose:
        with pytest.raises(vl.errors.ArgumentError, match=r"in no subfolder \(shard\.tar\)"):
            loader(given, labels="folder")
    for given in whole:
        with loader(given, labels="folder") as batches:
            assert batches.classes == ["cats"]
