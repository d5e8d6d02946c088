"""Samples of several clips keep their axis, also where videos have different numbers of them."""

import pytest
import torch
from damaged_videos import make_videos
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number

LENGTHS = [12, 5, 8]  # frames: 3, 1 and 2 clips of 4
CLIPS = [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [[0, 1, 2, 3]], [[0, 1, 2, 3], [4, 5, 6, 7]]]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    found = []
    for length in LENGTHS:
        found.append(folder / f"{length}.mp4")
        encode_video(found[-1], frames=length, size=(128, 96))
    return found


def shown(clips, layout):
    channels_last = clips.permute(
        *(("NFCHW" if "FCHW" in layout else "NFHWC").index(c) for c in "NFHWC")
    )
    return [[read_frame_number(frame.numpy()) for frame in clip] for clip in channels_last]


def make(paths, sampler, how, layout, **options):
    if how == "loader":
        return vl.Loader(paths, sampler, batch_size=3, workers=0, layout=layout, **options)
    data = vl.ClipDataset(paths, sampler, layout=layout, **options)
    return DataLoader(data, batch_size=3, collate_fn=vl.collate_samples)


@pytest.mark.parametrize("how", ["loader", "dataset"])
@pytest.mark.parametrize("layout", ["FCHW", "FHWC"])
def test_different_numbers_of_clips_make_lists_with_an_axis_of_clips(paths, how, layout):
    (batch,) = make(paths, vl.DenseClips(4), how, layout)
    assert [shown(clips, layout) for clips in batch["frames"]] == CLIPS
    assert [numbers.tolist() for numbers in batch["frame_numbers"]] == CLIPS
    assert [tuple(each.shape) for each in batch["mask"]] == [(3, 4), (1, 4), (2, 4)]
    assert [tuple(each.shape) for each in batch["times"]] == [(3, 4), (1, 4), (2, 4)]
    assert batch["sample"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_equal_numbers_of_clips_make_one_tensor(paths, how):
    (batch,) = make([paths[0]] * 2, vl.DenseClips(4), how, "FCHW")
    assert batch["frames"].shape == (2, 3, 4, 3, 96, 128)
    assert batch["frame_numbers"].tolist() == [CLIPS[0]] * 2


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_a_video_without_a_clip_has_none(paths, how):
    (batch,) = make(paths, vl.DenseClips(8), how, "FCHW")
    assert [tuple(each.shape[:2]) for each in batch["frames"]] == [(1, 8), (0, 8), (1, 8)]


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_even_clips_of_any_videos_are_one_tensor(paths, how):
    (batch,) = make(paths, vl.EvenClips(3, count=4), how, "FHWC")
    assert batch["frames"].shape == (3, 3, 4, 96, 128, 3)
    starts = [[0, 4, 8], [0, 1, 1], [0, 2, 4]]
    assert batch["frame_numbers"][:, :, 0].tolist() == starts
    assert [shown(clips, "FHWC") for clips in batch["frames"]] == batch["frame_numbers"].tolist()


@pytest.mark.parametrize("sampler", [vl.DenseClips(4), vl.EvenClips(2, count=4)])
@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_a_masked_sample_has_an_axis_of_clips_too(tmp_path, sampler, how):
    videos = make_videos(tmp_path / "videos", count=3, unreadable=[1])
    clips = 2 if isinstance(sampler, vl.EvenClips) else None
    for some in (videos, videos[1:2]):
        (batch,) = make(some, sampler, how, "FCHW", on_error="mask", size=(96, 128))
        for frames, mask in zip(batch["frames"], batch["mask"], strict=True):
            assert frames.ndim == 5
            assert mask.shape == frames.shape[:2]
            assert clips in (None, len(mask))
        bad = batch["mask"][list(batch["sample"]).index(1 if len(some) > 1 else 0)]
        assert not bad.any()


def test_collating_is_that_of_torch_where_shapes_are_alike(paths):
    data = vl.ClipDataset(paths, vl.RandomClip(4), on_error="skip")
    samples = [data[vl.sampling.Draw(number, 0)] for number in range(3)]
    ours = vl.collate_samples(samples)
    torchs = torch.utils.data.default_collate(samples)
    assert ours.keys() == torchs.keys()
    for name, value in torchs.items():
        same = torch.equal(ours[name], value) if torch.is_tensor(value) else ours[name] == value
        assert same, name


@pytest.mark.parametrize("layout", ["FCHW", "CFHW", "FHWC"])
@pytest.mark.parametrize("how", ["loader", "dataset"])
@pytest.mark.parametrize("sampler", [vl.EvenClips(2, count=3), vl.UniformClip(3)])
def test_crops_are_parts_of_the_resized_frames_from_end_to_end(tmp_path, how, layout, sampler):
    videos = []
    for width, height in ((128, 96), (96, 144)):
        videos.append(tmp_path / f"{width}.mp4")
        encode_video(videos[-1], frames=10, size=(width, height))
    framed = {"resize_shorter": 64}
    batch_of = [
        next(iter(make(videos, sampler, how, layout, **framed, **more)))
        for more in ({"crop_size": 48, "num_crops": 3}, {})
    ]
    cut, whole = batch_of
    clips = 2 if isinstance(sampler, vl.EvenClips) else 1
    assert isinstance(cut["frames"], torch.Tensor)
    for number, tall in enumerate((False, True)):
        frames = whole["frames"][number]
        if clips == 1:
            frames = frames[None]
        order = "N" + layout
        expected = frames.permute(*(order.index(axis) for axis in "NFCHW"))
        longer = expected.shape[3 if tall else 4]
        got = cut["frames"][number].permute(*(order.index(axis) for axis in "NFCHW"))
        assert got.shape == (clips * 3, 3, 3, 48, 48)
        for clip in range(clips):
            for at, begin in enumerate((0, (longer - 48 + 1) // 2, longer - 48)):
                top, left = (begin, 8) if tall else (8, begin)
                part = expected[clip, :, :, top : top + 48, left : left + 48]
                assert torch.equal(got[3 * clip + at], part)
        assert cut["mask"][number].shape == (clips * 3, 3)
        numbers = whole["frame_numbers"][number].reshape(clips, 3)
        assert cut["frame_numbers"][number].tolist() == numbers.repeat_interleave(3, 0).tolist()


@pytest.mark.parametrize(
    "wrong",
    [{"num_crops": 3}, {"num_crops": 0, "crop_size": 8}, {"num_crops": 1.5, "crop_size": 8}],
)
def test_crops_are_whole_and_need_a_size(paths, wrong):
    with pytest.raises(
        vl.errors.ArgumentError,
        match=r"crops(=3 needs crop_size,| must be a whole number of at least 1)",
    ):
        vl.ClipDataset(paths, vl.UniformClip(1), **wrong)


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_a_clip_that_is_too_large_keeps_its_axis_where_it_is_masked(paths, monkeypatch, how):
    monkeypatch.setattr(
        "videoloader.decoding.batch_decoder.machine_memory", lambda: 8 * 96 * 128 * 3 + 1
    )
    (batch,) = make(paths[:1] + paths[2:], vl.DenseClips(4), how, "FCHW", on_error="mask")
    assert [tuple(each.shape) for each in batch["mask"]] == [(1, 4), (2, 4)]
    assert [bool(each.any()) for each in batch["mask"]] == [False, True]
