"""`ClipDataset`: the same samples whatever loads them, and nothing opened too early."""

import pickle

import numpy as np
import pytest
import torch
from noise import add_noise
from torch.utils.data import DataLoader

import videoloader as vl
import videoloader.video
from videoloader.demo_videos import encode_video, read_frame_number
from videoloader.indexing.dataset import find_videos

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
        assert sample["label"] == sample["sample"] == number
        frames = sample["frames"].permute(0, 2, 3, 1)
        found = [read_frame_number(frame.numpy()) for frame in frames]
        assert found == sample["frame_numbers"].tolist()
        assert (np.diff(found) == 2).all()
        assert sample["times"].tolist() == pytest.approx([f / 30 for f in found])


@pytest.mark.parametrize("context", [None, "fork", "spawn", "forkserver"])
def test_every_way_of_loading_gives_the_same_samples(folder, context):
    dataset = vl.ClipDataset(folder, SAMPLER, add_noise, seed=3)
    expected = samples(dataset)
    if context is None:
        others = [samples(dataset), samples(pickle.loads(pickle.dumps(dataset)))]
    else:
        others = [samples(dataset, num_workers=2, multiprocessing_context=context)]
    assert all(same(expected, other) for other in others)


def test_epochs_and_seeds_differ_and_repeat(folder):
    dataset = vl.ClipDataset(folder, SAMPLER, seed=1)
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
    from videoloader import dataset as module

    asked = []
    make = vl.video.index_video
    monkeypatch.setattr(vl.video, "index_video", lambda *a, **k: asked.append(a) or make(*a, **k))
    dataset = vl.ClipDataset(folder, SAMPLER)
    for _ in range(3):
        [dataset[number] for number in range(6)]
    assert len(asked) == 6
    one = vl.index_video(folder / "0.mp4").packets.nbytes
    monkeypatch.setattr(module, "_CACHED_BYTES", 2 * one)
    dataset = vl.ClipDataset(folder, SAMPLER)
    for _ in range(3):
        [dataset[number] for number in range(6)]
    assert len(asked) == 6 + 18
    assert len(dataset._made) <= 2


@pytest.mark.parametrize("sampler", [vl.RandomClip(6, fps=3), vl.UniformClip(fps=7)])
def test_a_rate_is_a_grid_of_times_where_frames_are_not_evenly_spaced(demo_folder, sampler):
    path = demo_folder / "variable_rate.mp4"
    index = vl.index_video(path)
    shown = index.seconds(np.arange(len(index)))
    for seed in range(3):
        sample = vl.ClipDataset([path], sampler, seed=seed, size=32)[0]
        times = sample["times"].numpy()
        wanted = times[0] + np.arange(len(times)) / sampler.fps
        least = np.abs(shown[:, None] - wanted).min(axis=0)
        assert np.abs(times - wanted) == pytest.approx(least)
    assert np.ptp(np.diff(shown)) > 0.05


def test_samplers_of_several_clips_add_a_dimension(folder):
    dataset = vl.ClipDataset(folder, vl.DenseClips(count=4, step=8), size=32)
    sample = dataset[0]
    assert sample["frames"].shape == (3, 4, 3, 32, 32)
    assert sample["frame_numbers"][:, 0].tolist() == [0, 8, 16]


def test_short_videos_are_padded(folder):
    dataset = vl.ClipDataset(folder, vl.RandomClip(count=30), pad_mode="constant")
    assert dataset[0]["frame_numbers"].tolist() == [*range(20), *[-1] * 10]


def test_nothing_is_opened_before_a_sample_is_asked_for():
    dataset = vl.ClipDataset(["/none/a.mp4", "/none/b.mp4"], SAMPLER)
    assert len(dataset) == 2
    with pytest.raises(vl.SourceError, match=r"/none/b\.mp4"):
        dataset[1]


def test_indexes_made_beforehand_are_used(folder):
    path = str(folder / "0.mp4")
    other = vl.index_video(folder / "1.mp4")
    with pytest.raises(vl.StaleIndexError):
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
    sample = dataset[1]
    assert sample["sample"] == 2
    assert "bad.mp4" in sample["error"]
    assert torch.equal(sample["frames"], dataset[2]["frames"])
    assert dataset[2]["error"] == ""
    with pytest.raises(vl.VideoError, match="none of the 1 videos"):
        vl.ClipDataset([bad], SAMPLER, on_error="replace")[0]


def test_wrong_arguments_are_refused(folder):
    with pytest.raises(vl.ArgumentError, match="6 videos, but 2 labels"):
        vl.ClipDataset(folder, SAMPLER, labels=[0, 1])
    with pytest.raises(vl.ArgumentError, match="pad_mode"):
        vl.ClipDataset(folder, SAMPLER, pad_mode="mirror")
    with pytest.raises(vl.ArgumentError, match="on_error"):
        vl.ClipDataset(folder, SAMPLER, on_error="ignore")
    with pytest.raises(IndexError):
        vl.ClipDataset(folder, SAMPLER)[6]
    with pytest.raises(vl.SourceError, match="no such folder"):
        vl.ClipDataset(folder / "none", SAMPLER)
    (folder / "empty").mkdir(exist_ok=True)
    with pytest.raises(vl.SourceError, match="no video files"):
        find_videos(folder / "empty")
