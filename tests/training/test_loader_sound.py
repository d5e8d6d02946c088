"""Sound of samples: the same whatever the workers, ranks and restarts, and beside any frames."""

from itertools import islice

import numpy as np
import pytest
import torch
from audio_files import make_signal, write_sound
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader import ClipDataset, EpochSampler, Loader, RandomClip, collate_samples
from videoloader.demo.videos import encode_video

RATE = 16000
STEP = RATE // 25  # samples while one frame is shown
CLIP = RandomClip(8, stride=2)
LENGTH = 15 * STEP
COUNT = 6


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    paths = []
    for number in range(COUNT):
        signal = make_signal(1.0 + 0.2 * number, RATE, 1 + number % 2)
        codec, form = [("aac", "mp4"), ("flac", "mkv")][number % 2]
        paths.append(write_sound(folder / f"{number}.{form}", signal, RATE, codec, with_video=True))
    return paths


def samples_of(batches):
    """The sound of each sample, by row."""
    return {
        int(row): sound[:length]
        for batch in batches
        for row, sound, length in zip(
            batch["sample"], batch["audio"], batch["audio_lengths"], strict=True
        )
    }


def same(one, other):
    assert one.keys() == other.keys()
    assert all(torch.equal(one[row], other[row]) for row in one)


def test_each_sample_has_the_sound_of_its_frames(paths):
    loader = Loader(paths, CLIP, batch_size=4, audio=True, audio_channels=2, workers=1)
    for batch in loader:
        count = len(batch["sample"])
        assert batch["audio"].shape == (count, LENGTH, 2)
        assert batch["audio_lengths"].tolist() == [LENGTH] * count
        assert batch["audio_sample_rates"].tolist() == [RATE] * count
        for row, numbers, sound in zip(
            batch["sample"].tolist(), batch["frame_numbers"], batch["audio"], strict=True
        ):
            with vl.Video(paths[row]) as video:
                clip = video.get_frames(numbers.numpy(), audio=True, audio_channels=2)
            assert torch.equal(sound, clip.audio)


def test_the_sound_depends_on_seed_epoch_and_number_alone(paths):
    options = {"audio": True, "audio_channels": 1, "shuffle": True, "seed": 3}
    whole = samples_of(Loader(paths, CLIP, batch_size=COUNT, workers=0, **options))
    assert len(whole) == COUNT
    same(samples_of(Loader(paths, CLIP, batch_size=2, workers=2, **options)), whole)
    for ranks in (2, 3):
        found = {}
        for rank in range(ranks):
            part = Loader(
                paths, CLIP, batch_size=1, workers=0, rank=rank, num_ranks=ranks, **options
            )
            found |= samples_of(part)
        same(found, whole)
    loader = Loader(paths, CLIP, batch_size=2, workers=0, **options)
    begun = [*islice(iter(loader), 1)]
    again = Loader(paths, CLIP, batch_size=1, workers=0, **options)
    again.load_state_dict(loader.state_dict())
    same(samples_of([*begun, *again]), whole)


def test_a_data_set_gives_the_sound_that_a_loader_gives(paths):
    options = {"audio": True, "audio_sample_rate": 11025, "audio_channels": 1, "seed": 3}
    whole = samples_of(Loader(paths, CLIP, batch_size=COUNT, workers=0, **options))
    assert {len(sound) for sound in whole.values()} <= {6615, 6614}
    data = ClipDataset(paths, CLIP, **options)
    order = EpochSampler(data, shuffle=False)
    for workers in (0, 1):
        order.set_epoch(0)
        batches = DataLoader(
            data, 4, sampler=order, num_workers=workers, collate_fn=collate_samples
        )
        same(samples_of(batches), whole)


def test_sound_that_a_transform_made_something_of_is_collated_as_it_is(paths):
    def spectrum(sample):
        return sample | {"audio": sample["audio"][: STEP * 15 // 9 * 9].view(9, -1)}

    data = ClipDataset(paths, CLIP, audio=True, audio_channels=1, sample_transform=spectrum)
    batch = collate_samples([data[0], data[1]])
    assert batch["audio"].shape == (2, 9, LENGTH // 9)


def test_short_videos_are_silent_where_their_frames_are_padded(paths):
    clip = RandomClip(40)
    for mode in ("edge", "constant"):
        (batch,) = Loader(paths[:1], clip, batch_size=1, audio=True, pad_mode=mode, workers=0)
        assert batch["audio_lengths"].tolist() == [40 * STEP]
        begin = int(batch["mask"][0].sum()) * STEP
        assert begin == 25 * STEP
        assert batch["audio"][0, begin - STEP : begin].any()
        assert not batch["audio"][0, begin:].any()
    (batch,) = Loader(paths[:1], clip, batch_size=1, audio=True, pad_mode="reflect_1001", workers=0)
    sound = batch["audio"][0]
    assert torch.equal(sound[25 * STEP :], sound[10 * STEP : 25 * STEP].flip(0))


def several(how, paths, sampler, **options):
    """The only batch of a loader or data set, with sound."""
    options = {"audio": True, "size": 16, **options}
    if how == "loader":
        (batch,) = Loader(paths, sampler, batch_size=len(paths), workers=0, **options)
        return batch
    return collate_samples(ClipDataset(paths, sampler, **options).__getitems__(range(len(paths))))


def check_clips(paths, batch, **options):
    """Each clip of each sample has the sound of its own frames."""
    for at, path in enumerate(paths):
        with vl.Video(path) as video:
            wanted = [
                video.get_frames(numbers.numpy(), audio=True, **options).audio
                for numbers in batch["frame_numbers"][at]
            ]
        sounds, lengths = batch["audio"][at], batch["audio_lengths"][at]
        assert lengths.tolist() == [len(sound) for sound in wanted]
        assert len(sounds) == len(wanted)
        for sound, length, other in zip(sounds, lengths, wanted, strict=True):
            assert torch.equal(sound[:length], other)
            assert not sound[length:].any()
        assert batch["audio_sample_rates"][at] == options.get("audio_sample_rate", RATE)


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_each_of_several_clips_has_the_sound_of_its_frames(paths, how):
    mono = {"audio_channels": 1}
    even = several(how, paths, vl.EvenClips(3, count=4), **mono)
    assert even["audio"].shape == (COUNT, 3, 4 * STEP, 1)
    assert even["audio_lengths"].shape == (COUNT, 3)
    check_clips(paths, even, **mono)
    dense = several(how, paths, vl.DenseClips(10), **mono)
    assert [tuple(sounds.shape[:2]) for sounds in dense["audio"][:3]] == [
        (2, 10 * STEP),
        (3, 10 * STEP),
        (3, 10 * STEP),
    ]
    check_clips(paths, dense, **mono)
    one = several(how, paths[:1], vl.DenseClips(20), **mono)
    assert one["audio"].shape == (1, 1, 20 * STEP, 1)
    none = several(how, paths[:1], vl.DenseClips(200), **mono)
    assert none["audio"].shape == (1, 0, 0, 1)
    assert several(how, paths[:2], vl.EvenClips(2, count=4))["audio"][1].shape == (2, 4 * STEP, 2)


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_lengths_of_clips_that_differ_by_a_sample_are_told(paths, how):
    options = {"audio_sample_rate": 11025, "audio_channels": 1}
    batch = several(how, paths, vl.EvenClips(4, count=3), **options)
    assert {*batch["audio_lengths"].flatten().tolist()} == {1323}
    odd = {"audio_sample_rate": 8001, "audio_channels": 2}
    batch = several(how, paths, vl.EvenClips(4, count=3), **odd)
    assert {*batch["audio_lengths"].flatten().tolist()} == {960, 961}
    check_clips(paths, batch, **odd)


@pytest.mark.parametrize("how", ["loader", "dataset"])
def test_crops_of_a_clip_share_its_sound(paths, how):
    options = {"audio_channels": 1, "size": 24, "crop_size": 16, "num_crops": 3}
    batch = several(how, paths, vl.EvenClips(2, count=4), **options)
    assert batch["frames"].shape[:2] == (COUNT, 6)
    plain = several(how, paths, vl.EvenClips(2, count=4), audio_channels=1)
    assert torch.equal(batch["audio"], plain["audio"])


@pytest.mark.parametrize("how", ["loader", "dataset"])
@pytest.mark.parametrize("sampler", [vl.EvenClips(2, count=4), vl.DenseClips(10)])
def test_several_clips_without_sound_or_video_have_none(paths, tmp_path, how, sampler):
    silent = encode_video(tmp_path / "silent.mp4", size=(64, 48), frames=20)
    (tmp_path / "empty.mp4").write_bytes(b"")
    videos = [paths[2], silent, tmp_path / "empty.mp4"]
    batch = several(how, videos, sampler, on_error="mask", audio_channels=1)
    for sounds, lengths, numbers in zip(
        batch["audio"], batch["audio_lengths"], batch["frame_numbers"], strict=True
    ):
        assert len(sounds) == len(lengths) == len(numbers)
    assert batch["audio_lengths"][0].all()
    assert not batch["audio_lengths"][1].any()
    assert not batch["audio_lengths"][2].any()
    assert batch["audio_sample_rates"].tolist() == [RATE, 0, 0]


def test_several_clips_of_each_kind_of_worker_and_from_the_cache_are_the_same(paths, tmp_path):
    for sampler in (vl.EvenClips(3, count=4), vl.DenseClips(10)):
        whole = samples_of_several(paths, sampler)
        same(samples_of_several(paths, sampler, batch_size=1, workers=1), whole)
        for _ in range(2):
            same(samples_of_several(paths, sampler, cache=tmp_path), whole)


def samples_of_several(paths, sampler, **options):
    """The sounds and lengths of all clips, by row."""
    options = {"batch_size": 2, "workers": 0, "shuffle": True, **options}
    return {
        int(row): torch.cat([sound.flatten(), lengths])
        for batch in Loader(paths, sampler, audio=True, size=16, **options)
        for row, sound, lengths in zip(
            batch["sample"], batch["audio"], batch["audio_lengths"], strict=True
        )
    }


def test_a_sample_of_each_of_several_clips_has_its_sound(paths):
    options = {"audio": True, "clips_per_video": "all", "audio_channels": 1, "workers": 0}
    (batch,) = Loader(paths[:2], vl.EvenClips(2, count=3), batch_size=4, **options)
    assert batch["audio"].shape == (4, 3 * STEP, 1)


def test_a_pack_has_the_sound_of_its_clips(paths, tmp_path):
    dataset = vl.index_dataset(paths, tmp_path / "set.parquet", workers=1)
    packing = vl.Packing(max_tokens=400, patch=(2, 16, 16))
    loader = Loader(dataset, vl.UniformClip(4), batches=packing, audio=True, audio_channels=1)
    batch = next(iter(loader))
    assert len(batch["audio"]) == len(batch["sample"]) == len(batch["shapes"])
    assert (batch["audio_lengths"] > 0).all()


def test_a_failing_sound_is_replaced_with_its_clip(paths, tmp_path):
    bad = tmp_path / "bad.mp4"
    data = bytearray(paths[0].read_bytes())
    import av

    with av.open(str(paths[0])) as container:
        packets = [packet for packet in container.demux(audio=0) if packet.size]
    for packet in packets[3:-3]:
        data[packet.pos : packet.pos + packet.size] = b"\xff" * packet.size
    bad.write_bytes(data)
    loader = Loader([bad, paths[2]], CLIP, batch_size=2, audio=True, on_error="replace", workers=0)
    (batch,) = loader
    assert batch["sample"].tolist() == [1, 1]
    assert "does not decode" in batch["error"][0]
    assert np.array_equal(batch["audio_lengths"], [LENGTH] * 2)
    assert len(loader.failures) == 1
