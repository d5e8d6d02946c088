"""`ClipDataset`: the same samples whatever loads them, and nothing opened too early."""

import pickle
import random
import tarfile
from collections import Counter

import numpy as np
import pytest
import torch
from noise import add_noise
from torch.utils.data import DataLoader

import videoloader as vl
import videoloader.training.clip_dataset
from videoloader.decoding.cpu import frame_decoder
from videoloader.decoding.framing import Framing
from videoloader.decoding.opening import index_cache
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing.dataset import find_items, find_videos
from videoloader.sampling import generator
from videoloader.training.sources import IndexedVideos

SAMPLER = vl.RandomClip(count=4, stride=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for number in range(6):
        encode_video(folder / f"{number}.mp4", frames=20 + number, size=(64, 64))
    (folder / "notes.txt").write_text("no video")
    return folder


def samples(dataset, **options):
    options.setdefault("batch_size", 2)
    loader = DataLoader(dataset, **options)
    return [(b["sample"].tolist(), b["frame_numbers"].tolist(), b["frames"]) for b in loader]


def same(one, other):
    return all(a[:2] == b[:2] and torch.equal(a[2], b[2]) for a, b in zip(one, other, strict=True))


def test_a_sample_is_the_clip_that_its_numbers_say(folder):
    dataset = vl.ClipDataset(folder, SAMPLER, labels=range(6))
    assert len(dataset) == 6
    for number in range(6):
        sample = dataset[number]
        assert sample["frames"].shape == (4, 3, 64, 64)
        assert sample["mask"].tolist() == [True] * 4
        assert sample["labels"] == sample["sample"] == number
        frames = sample["frames"].permute(0, 2, 3, 1)
        found = [read_frame_number(frame.numpy()) for frame in frames]
        assert found == sample["frame_numbers"].tolist()
        assert (np.diff(found) == 2).all()
        assert sample["times"].tolist() == pytest.approx([f / 30 for f in found])


@pytest.mark.parametrize("context", [None, "fork", "spawn", "forkserver"])
def test_every_way_of_loading_gives_the_same_samples(folder, context):
    dataset = vl.ClipDataset(folder, SAMPLER, add_noise, seed=3)
    dataset.set_epoch(0)
    expected = samples(dataset)
    if context is None:
        others = [samples(dataset), samples(pickle.loads(pickle.dumps(dataset)))]
    else:
        others = [samples(dataset, num_workers=2, multiprocessing_context=context)]
    assert all(same(expected, other) for other in others)


def test_epochs_and_seeds_differ_and_repeat(folder):
    dataset = vl.ClipDataset(folder, SAMPLER, seed=1)
    dataset.set_epoch(0)
    first = samples(dataset)
    dataset.set_epoch(1)
    second = samples(dataset)
    dataset.set_epoch(0)
    assert [s[1] for s in first] != [s[1] for s in second]
    assert same(first, samples(dataset))
    assert [s[1] for s in samples(vl.ClipDataset(folder, SAMPLER, seed=2))] != [s[1] for s in first]


def test_living_workers_see_a_new_epoch(folder):
    dataset = vl.ClipDataset(folder, SAMPLER)
    loader = DataLoader(dataset, batch_size=3, num_workers=1, persistent_workers=True)
    seen = []
    for epoch in (0, 1, 0):
        dataset.set_epoch(epoch)
        seen.append([batch["frame_numbers"].tolist() for batch in loader])
    assert seen[0] == seen[2] != seen[1]


def test_random_numbers_of_the_caller_are_left_alone(folder):
    dataset = vl.ClipDataset(folder, SAMPLER, add_noise)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    dataset[0]
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.gpu
def test_random_numbers_of_the_gpu_are_left_alone(folder):
    dataset = vl.ClipDataset(folder, SAMPLER, add_noise)
    drawn = []
    for _ in range(3):
        dataset[0]
        drawn.append(torch.rand(8, device="cuda"))
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[1], drawn[2])


def test_indexes_are_kept_up_to_a_number_of_bytes(folder, monkeypatch):
    """What a worker keeps does not grow with the videos that it meets."""
    asked = []
    make = index_cache.index_video
    monkeypatch.setattr(index_cache, "index_video", lambda *a: asked.append(a) or make(*a))
    dataset = vl.ClipDataset(folder, SAMPLER)
    for _ in range(3):
        [dataset[number] for number in range(6)]
    assert len(asked) == 6
    kept = index_cache.KeptIndexes(0, 1 << 20)
    for number in range(2):
        kept.add(number, vl.index_video(folder / "5.mp4"))
    monkeypatch.setattr(videoloader.training.clip_dataset, "_KEPT_BYTES", kept.packed_bytes + 50)
    monkeypatch.setattr(videoloader.training.clip_dataset, "_READY_BYTES", 0)
    dataset = vl.ClipDataset(folder, SAMPLER)
    for _ in range(3):
        [dataset[number] for number in range(6)]
    assert len(asked) == 6 + 18
    dataset[4], dataset[5]
    assert len(asked) == 6 + 18
    grown = len(pickle.dumps(dataset)) - len(pickle.dumps(vl.ClipDataset(folder, SAMPLER)))
    assert abs(grown) < 10  # torch pickles an address of shared memory in decimal digits
    assert kept.packed_bytes > 100, "which an index in the pickle would add"


def test_kept_indexes_are_small_the_same_and_those_used_last(folder):
    index = vl.index_video(folder / "0.mp4")
    kept = index_cache.KeptIndexes(0, 1 << 20)
    kept.add(0, index)
    assert kept.packed_bytes < 2000
    assert (kept.get(0).packets == index.packets).all()
    kept.packed = 3 * kept.packed_bytes
    for number in range(1, 50):
        kept.add(number, index)
        assert kept.packed_bytes <= kept.packed
        assert kept.get(0) is not None
    assert [number for number in range(50) if kept.get(number)] == [0, 48, 49]
    kept.add(0, index)
    assert kept.packed_bytes == kept.packed


def test_samplers_of_several_clips_add_a_dimension(folder):
    dataset = vl.ClipDataset(folder, vl.DenseClips(count=4, step=8), size=32)
    sample = dataset[0]
    assert sample["frames"].shape == (3, 4, 3, 32, 32)
    assert sample["frame_numbers"][:, 0].tolist() == [0, 8, 16]


def test_short_videos_are_padded(folder):
    dataset = vl.ClipDataset(folder, vl.RandomClip(count=30), pad_mode="constant")
    sample = dataset[0]
    assert sample["frame_numbers"].tolist() == [*range(20), *[-1] * 10]
    assert sample["mask"].tolist() == [True] * 20 + [False] * 10


def test_nothing_is_opened_before_a_sample_is_asked_for():
    dataset = vl.ClipDataset(["/none/a.mp4", "/none/b.mp4"], SAMPLER)
    assert len(dataset) == 2
    with pytest.raises(vl.errors.SourceError, match=r"/none/b\.mp4"):
        dataset[1]


def test_indexes_made_beforehand_are_used(folder):
    path = str(folder / "0.mp4")
    other = vl.index_video(folder / "1.mp4")
    with pytest.raises(vl.errors.StaleIndexError):
        vl.ClipDataset([path], SAMPLER, indexes={path: other})[0]
    dataset = vl.ClipDataset([path], SAMPLER, indexes={path: vl.index_video(path)})
    assert dataset[0]["frames"].shape[0] == 4


def test_a_damaged_file_is_an_error_or_replaced_and_told(folder, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes((folder / "0.mp4").read_bytes()[:3000])
    paths = [folder / "0.mp4", bad, folder / "2.mp4"]
    with pytest.raises(vl.VideoError, match=r"bad\.mp4"):
        vl.ClipDataset(paths, SAMPLER)[1]
    dataset = vl.ClipDataset(paths, SAMPLER, on_error="replace")
    dataset.set_epoch(0)
    sample = dataset[1]
    assert (sample["sample"], sample["requested"]) == (2, 1)
    assert "bad.mp4" in sample["error"]
    assert torch.equal(sample["frames"], dataset[2]["frames"])
    assert (dataset[2]["error"], dataset[2]["sample"], dataset[2]["requested"]) == ("", 2, 2)
    with pytest.raises(vl.VideoError, match="none of the 1 videos"):
        vl.ClipDataset([bad], SAMPLER, on_error="replace")[0]


def test_wrong_arguments_are_refused(folder):
    with pytest.raises(vl.errors.ArgumentError, match="6 videos, but 2 labels"):
        vl.ClipDataset(folder, SAMPLER, labels=[0, 1])
    with pytest.raises(vl.errors.ArgumentError, match="pad_mode"):
        vl.ClipDataset(folder, SAMPLER, pad_mode="mirror")
    with pytest.raises(vl.errors.ArgumentError, match="on_error"):
        vl.ClipDataset(folder, SAMPLER, on_error="ignore")
    with pytest.raises(IndexError):
        vl.ClipDataset(folder, SAMPLER)[6]
    for none in (folder / "none", str(folder / "none.mp4")):
        with pytest.raises(vl.errors.SourceError, match="no such folder"):
            vl.ClipDataset(none, SAMPLER)
    with pytest.raises(vl.errors.SourceError, match="'': no such folder"):
        vl.ClipDataset("", SAMPLER)
    with pytest.raises(vl.errors.ArgumentError, match="no videos; the list of them is empty"):
        vl.ClipDataset([], SAMPLER)
    with pytest.raises(vl.errors.SourceError, match="nothing matches"):
        vl.ClipDataset(f"{folder}/*.webm", SAMPLER)
    (folder / "empty").mkdir(exist_ok=True)
    with pytest.raises(vl.errors.SourceError, match="no video files"):
        find_videos(folder / "empty")


# --- What it takes


def counts(dataset):
    """Frames of the video of each sample, which tell the videos of `folder` apart."""
    everything = [dataset[number]["frame_numbers"] for number in range(len(dataset))]
    return [int(numbers[-1]) + 1 for numbers in everything]


EVERY_FRAME = vl.UniformClip(count=2)  # the first and the last


def test_videos_may_be_whatever_a_data_set_job_takes(folder, tmp_path):
    out = tmp_path / "set.parquet"
    vl.index_dataset(folder, out, 0).close()
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        for number in (3, 1):
            tar.add(folder / f"{number}.mp4", f"{number}.mp4")
    listed = tmp_path / "list.txt"
    listed.write_text(f"{folder}/4.mp4\n{folder}/0.mp4\n")
    paths = [str(folder / f"{number}.mp4") for number in range(6)]
    given = {
        "folder": (folder, [0, 1, 2, 3, 4, 5]),
        "text": (str(folder), [0, 1, 2, 3, 4, 5]),
        "glob": (f"{folder}/[2-4].mp4", [2, 3, 4]),
        "video": (paths[2], [2]),
        "archive": (archive, [3, 1]),
        "list": (listed, [4, 0]),
        "mixed": ([archive, f"{folder}/?.mp4", paths[5]], [3, 1, 0, 1, 2, 3, 4, 5, 5]),
        "repeated": ([paths[1], paths[1]], [1, 1]),
        "url": ((folder / "1.mp4").as_uri(), [1]),
        "item": (find_items(archive)[1], [1]),
        "items": (find_items(archive), [3, 1]),
        "index": (out, [0, 1, 2, 3, 4, 5]),
        "index by text": (str(out), [0, 1, 2, 3, 4, 5]),
        "opened": (vl.open_dataset(out), [0, 1, 2, 3, 4, 5]),
        "view": (vl.open_dataset(out).videos, [0, 1, 2, 3, 4, 5]),
    }
    for name, (videos, expected) in given.items():
        dataset = vl.ClipDataset(videos, EVERY_FRAME)
        for _ in range(2):  # with and without the indexes that are kept
            assert counts(dataset) == [20 + number for number in expected], name
        assert counts(pickle.loads(pickle.dumps(dataset))) == counts(dataset)


@pytest.fixture
def holey(folder, tmp_path):
    """A data set index in which rows 0 and 3 of 5 are failures."""
    copies = tmp_path / "copies"
    copies.mkdir()
    for row, number in enumerate([None, 1, 2, None, 4]):
        data = b"no" if number is None else (folder / f"{number}.mp4").read_bytes()
        (copies / f"{row}.mp4").write_bytes(data)
    return vl.index_dataset(copies, tmp_path / "set.parquet", 0, root=copies)


def test_a_sample_has_the_row_of_its_video(holey):
    dataset = vl.ClipDataset(holey, EVERY_FRAME)
    assert len(dataset) == 3
    assert [dataset[number]["sample"] for number in range(3)] == [1, 2, 4]
    assert counts(dataset) == [21, 22, 24] == [index.num_frames for index in holey.videos]
    assert dataset[-1]["sample"] == 4


@pytest.mark.parametrize(
    "labels",
    [[10, 20, 40], [-1, 10, 20, -1, 40], {"1.mp4": 10, "2.mp4": 20, "4.mp4": 40, "9.mp4": 90}],
)
def test_labels_are_given_by_video_by_row_or_by_key(holey, labels):
    dataset = vl.ClipDataset(holey, EVERY_FRAME, labels=labels)
    assert [dataset[number]["labels"] for number in range(3)] == [10, 20, 40]


def test_labels_that_do_not_fit_are_refused(holey, folder):
    with pytest.raises(vl.errors.ArgumentError, match="3 videos in 5 rows, but 4 labels"):
        vl.ClipDataset(holey, EVERY_FRAME, labels=[0, 1, 2, 3])
    with pytest.raises(vl.errors.ArgumentError, match=r"1 of 3 videos have no label.*/4\.mp4"):
        vl.ClipDataset(holey, EVERY_FRAME, labels={"1.mp4": 10, "2.mp4": 20})
    paths = {str(folder / f"{number}.mp4"): number for number in range(6)}
    dataset = vl.ClipDataset(folder, EVERY_FRAME, labels=paths)
    assert [dataset[number]["labels"] for number in (0, 5)] == [0, 5]


def test_a_replaced_sample_has_the_rows_of_both(holey):
    (holey.path.parent / "copies" / "2.mp4").unlink()
    dataset = vl.ClipDataset(holey, EVERY_FRAME, on_error="replace", labels=[10, 20, 40])
    sample = dataset[1]
    assert (sample["requested"], sample["sample"], sample["labels"]) == (2, 4, 40)


def test_a_data_set_of_failures_alone_is_refused(tmp_path):
    (tmp_path / "bad.mp4").write_text("no")
    vl.index_dataset(tmp_path / "bad.mp4", tmp_path / "set.parquet", 0).close()
    with pytest.raises(
        vl.errors.ArgumentError, match=r"set\.parquet: no videos; all 1 rows are failures"
    ):
        vl.ClipDataset(tmp_path / "set.parquet", SAMPLER)


def test_folders_in_a_folder_are_classes(folder, tmp_path):
    for name in ("zebra/0.mp4", "ape/deep/1.mp4", "ape/2.mp4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(folder / name[-5:])
    dataset = vl.ClipDataset(tmp_path, EVERY_FRAME)
    assert dataset.classes == ["ape", "zebra"]
    found = [(dataset[number]["labels"], counts(dataset)[number] - 20) for number in range(3)]
    assert found == [(0, 2), (0, 1), (1, 0)]
    assert vl.ClipDataset(tmp_path, EVERY_FRAME, labels=[5, 6, 7])[0]["labels"] == 5
    (tmp_path / "outside.mp4").symlink_to(folder / "3.mp4")
    loose = r"^1 of 4 videos is in no subfolder \(outside\.mp4\), so folders are no classes"
    with pytest.warns(UserWarning, match=loose):
        dataset = vl.ClipDataset(tmp_path, EVERY_FRAME)
    assert dataset.classes == []
    assert "labels" not in dataset[0]


# --- A batch of samples


@pytest.fixture
def fed(monkeypatch):
    """Packets that decoders are given, and decoders that are opened."""
    counts = Counter()
    make, begin = frame_decoder.make_packet, frame_decoder.open_decoder

    def make_packet(*arguments):
        counts["packets"] += 1
        return make(*arguments)

    def open_decoder(*arguments, **options):
        counts["decoders"] += 1
        return begin(*arguments, **options)

    monkeypatch.setattr(frame_decoder, "make_packet", make_packet)
    monkeypatch.setattr(frame_decoder, "open_decoder", open_decoder)
    return counts


def counted(counts, work):
    counts.clear()
    result = work()
    return result, dict(counts)


def equal(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, other[name]), name
        else:
            assert value == other[name], name


def test_overlapping_clips_of_one_file_cost_what_a_batch_costs(tmp_path, fed):
    path = encode_video(tmp_path / "a.mp4", frames=120, size=(64, 64), options={"g": "60"})
    dataset = vl.ClipDataset([path], vl.RandomClip(count=8, stride=3))
    keys = [vl.sampling.Draw(0, 0, draw) for draw in range(8)]
    samples, together = counted(fed, lambda: dataset.__getitems__(keys))
    alone, apart = counted(fed, lambda: [dataset[key] for key in keys])
    for one, other in zip(samples, alone, strict=True):
        equal(one, other)
    requests = [(path, sample["frame_numbers"].numpy()) for sample in samples]
    batch, wanted = counted(fed, lambda: vl.decode_batch(requests, workers=0, layout="FCHW"))
    assert together == wanted
    assert together["decoders"] == 1
    assert together["packets"] <= 120 < apart["packets"]
    assert torch.equal(torch.stack([sample["frames"] for sample in samples]), batch.frames)


def test_samples_of_a_batch_are_those_asked_for_one_by_one(folder, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes((folder / "0.mp4").read_bytes()[:3000])
    paths = [folder / "0.mp4", bad, bad, folder / "3.mp4", folder / "0.mp4"]
    dataset = vl.ClipDataset(paths, SAMPLER, add_noise, on_error="replace", labels=range(5))
    keys = [vl.sampling.Draw(number % 5, number // 5) for number in (4, 1, 2, 0, 6, 3, 1)]
    samples = dataset.__getitems__(keys)
    for sample, key in zip(samples, keys, strict=True):
        equal(sample, dataset[key])
    assert [sample["sample"] for sample in samples] == [4, 3, 3, 0, 3, 3, 3]
    assert [sample["requested"] for sample in samples] == [4, 1, 2, 0, 1, 3, 1]
    assert [sample["requested"] for sample in samples if sample["error"]] == [1, 2, 1, 1]
    with pytest.raises(vl.VideoError, match="none of the 2 videos"):
        vl.ClipDataset([bad, bad], SAMPLER, on_error="replace").__getitems__([0, 1])
    with pytest.raises(vl.VideoError, match=r"bad\.mp4"):
        vl.ClipDataset(paths, SAMPLER).__getitems__([0, 1])


def test_a_file_that_changes_is_read_as_it_is_now(folder, tmp_path):
    path = tmp_path / "a.mp4"
    dataset = vl.ClipDataset([path], EVERY_FRAME)
    for number in (1, 4):
        path.write_bytes((folder / f"{number}.mp4").read_bytes())
        assert counts(dataset) == [20 + number]


# --- What is done to the pictures


NORMAL = {"dtype": "float32", "mean": (120.0, 110.0, 100.0), "std": (60.0, 50.0, 40.0)}


@pytest.mark.parametrize(
    "options",
    [
        {"resize_shorter": 40, "crop_size": 32},
        {"size": (48, 40), "crop_size": (32, 24), "random_flip": 1.0},
        {"size": 32, "random_resized_crop": ((0.2, 1.0), (0.5, 2.0)), "random_flip": 0.5, **NORMAL},
        {"crop_size": 48, "layout": "CFHW"},
    ],
)
def test_pictures_are_framed_while_they_are_decoded(folder, options):
    """As `Video.get_frames` decodes the same view, with the draws that `Framing` makes."""
    dataset = vl.ClipDataset(folder, SAMPLER, seed=9, **options)
    names = ("size", "resize_shorter", "crop_size", "random_resized_crop", "random_flip")
    framing = Framing(**{name: options[name] for name in names if name in options})
    form = {name: value for name, value in options.items() if name not in names}
    for number in range(4):
        sample = dataset[vl.sampling.Draw(number, 5)]
        view = framing.view((64, 64), generator(9, stage=2, sample=number, epoch=5))
        with vl.Video(folder / f"{number}.mp4") as video:
            frames = video.get_frames(
                sample["frame_numbers"],
                size=view.size if framing.resizes else None,
                crop=view.crop,
                **{"layout": "FCHW"} | form,
            ).frames
        if view.window is not None:
            top, left, height, width = view.window
            frames = frames[..., top : top + height, left : left + width]
        if view.flip:
            frames = frames.flip(-1)
        assert sample["frames"].is_contiguous()
        assert torch.equal(sample["frames"], frames)


def test_a_data_set_gives_the_pixels_of_a_loader(folder):
    options = {
        "size": 32,
        "random_resized_crop": ((0.2, 1.0), (0.5, 2.0)),
        "random_flip": 0.5,
        "seed": 4,
    }
    dataset = vl.ClipDataset(folder, SAMPLER, **options)
    loader = vl.Loader(folder, SAMPLER, batch_size=4, shuffle=True, workers=0, **options)
    with loader:
        for epoch in range(2):
            for batch in loader:
                for at, number in enumerate(batch["sample"].tolist()):
                    sample = dataset[vl.sampling.Draw(number, epoch)]
                    assert torch.equal(sample["frames"], batch["frames"][at])


def test_options_without_a_meaning_are_refused_before_anything_is_read(tmp_path):
    nothing = tmp_path / "none"
    for options, words in (
        ({"size": 8, "resize_shorter": 8}, "not both"),
        ({"random_flip": 2}, "random_flip"),
        ({"dtype": "int8"}, "dtype"),
        ({"mean": 3.0}, "float dtype"),
        ({"crop_size": (1, 2, 3)}, "crop_size must be"),
        ({"random_resized_crop": ((0, 1), (1, 1))}, "goes with size"),
    ):
        with pytest.raises(vl.errors.ArgumentError, match=words):
            vl.ClipDataset(nothing, SAMPLER, **options)


def draw_of_all(sample):
    numpy = float(np.random.random())  # noqa: NPY002
    drawn = (float(torch.rand(())), numpy, random.random(), float(vl.dali.fn.random.uniform()))
    return sample | {"drawn": torch.tensor(drawn, dtype=torch.float64)}


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_a_transform_may_see_the_whole_sample_and_draw_from_any_generator(folder, context):
    dataset = vl.ClipDataset(folder, SAMPLER, sample_transform=draw_of_all, labels=range(6))
    dataset.set_epoch(3)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    expected = [dataset[number]["drawn"] for number in range(6)]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    assert all(len({value.item() for value in drawn}) == 6 for drawn in zip(*expected, strict=True))
    workers = {} if context is None else {"num_workers": 2, "multiprocessing_context": context}
    loader = DataLoader(dataset, batch_size=3, **workers)
    found = torch.cat([batch["drawn"] for batch in loader])
    assert torch.equal(found, torch.stack(expected))


def test_what_a_sample_transform_returns_is_the_sample(folder):
    dataset = vl.ClipDataset(
        folder,
        SAMPLER,
        lambda frames: frames[:1],
        sample_transform=lambda sample: (sample["frames"].shape, sample["sample"]),
    )
    assert dataset[3] == ((1, 3, 64, 64), 3)


def test_indexes_of_a_data_set_index_stay_in_memory_but_in_no_pickle(folder, tmp_path):
    found = vl.index_dataset(folder, tmp_path / "set.parquet")
    videos = IndexedVideos(found.videos)
    some = videos.take(np.array([4, 2]))
    for place, row in enumerate([4, 2]):
        assert some.index(place) is some.index(place)
        assert some.index(place) == videos.index(row) == found[row]
    again = pickle.loads(pickle.dumps(some))
    assert [again.index(place) for place in range(2)] == [found[4], found[2]]
