"""Luma and keyframes from loaders, data sets, readers and decoders, as `Video` gives them."""

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video

COUNT = 30
GOP = 12


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    options = {"g": str(GOP), "bf": "0", "sc_threshold": "0", "threads": "1"}
    folder = tmp_path_factory.mktemp("outputs")
    return encode_video(folder / "a.mp4", size=(96, 64), frames=COUNT, options=options)


@pytest.fixture(scope="module")
def video(path):
    with vl.Video(path) as opened:
        yield opened


def from_loader(path, **options):
    (batch,) = vl.Loader([path], vl.UniformClip(3), batch_size=1, workers=0, **options)
    return batch["frames"][0], batch["frame_numbers"][0].tolist()


def from_dataset(path, **options):
    sample = vl.ClipDataset([path], vl.UniformClip(3), **options)[0]
    return sample["frames"], sample["frame_numbers"].tolist()


@pytest.fixture(scope="module")
def sampled(path):
    return from_loader(path)[1]


WAYS = pytest.mark.parametrize("give", [from_loader, from_dataset])


@WAYS
def test_gray_frames_are_those_of_the_video(path, video, sampled, give):
    frames, numbers = give(path, output="gray")
    assert numbers == sampled
    assert torch.equal(frames, video.get_frames(sampled, output="gray", layout="FCHW").frames)
    assert frames.shape == (3, 1, 64, 96)


@WAYS
def test_planes_lie_in_one_row(path, video, sampled, give):
    frames, _ = give(path, output="yuv")
    assert torch.equal(frames, video.get_frames(sampled, output="yuv").frames)


@WAYS
def test_frames_snap_to_keyframes(path, video, sampled, give):
    frames, numbers = give(path, snap="keyframe")
    wanted = [number // GOP * GOP for number in sampled]
    assert numbers == wanted
    assert wanted != sampled
    assert torch.equal(frames, video.get_frames(wanted, layout="FCHW").frames)


@WAYS
def test_a_wrong_choice_is_refused_when_it_is_made(path, give):
    for wrong in ({"output": "luma"}, {"snap": "nearest"}):
        with pytest.raises(vl.errors.ArgumentError, match="must be one of"):
            give(path, **wrong)


def test_a_reader_gives_keyframes_with_their_numbers_and_times(path, video):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def keyframes():
        return tuple(
            fn.readers.video(
                filenames=[str(path)],
                sequence_length=3,
                stride=10,
                snap="keyframe",
                output="gray",
                enable_frame_num="sequence",
                enable_timestamps=True,
            )
        )

    pipeline = keyframes()
    pipeline.build()
    frames, numbers, times = (np.asarray(out[0]) for out in pipeline.run())
    assert numbers.tolist() == [0, 0, 12]
    assert times == pytest.approx([0, 0, 12 / 30])
    wanted = video.get_frames([0, 0, 12], output="gray").frames
    assert np.array_equal(frames, wanted.numpy())


def test_a_decoder_gives_keyframes_and_luma(path, video):
    frames, numbers = fn.decoders.video(
        [path.read_bytes()],
        frames=[29, 5, 14],
        snap="keyframe",
        output="gray",
        enable_frame_num="sequence",
        device="cpu",
    )
    assert np.asarray(numbers[0]).tolist() == [24, 0, 12]
    wanted = video.get_frames([24, 0, 12], output="gray").frames
    assert np.array_equal(np.asarray(frames[0]), wanted.numpy())
    with pytest.raises(vl.VideoError, match="output"):
        fn.decoders.video([path.read_bytes()], output="yuv", device="cpu")


@pytest.mark.parametrize("is_fused", [True, False])
def test_luma_is_normalised_behind_a_reader(path, video, is_fused):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def normalised():
        clips = fn.readers.video(filenames=[str(path)], sequence_length=3, output="gray")
        values = fn.crop_mirror_normalize(clips, mean=[100.0], std=[2.0], crop=[32, 48])
        return values if is_fused else (values, clips)

    pipeline = normalised()
    pipeline.build()
    values = np.asarray(pipeline.run()[0][0])
    luma = video.get_frames([0, 1, 2], output="gray").frames[:, 16:48, 24:72, 0]
    assert values.shape == (3, 1, 32, 48)
    assert np.allclose(values[:, 0], (luma.numpy() - 100.0) / 2, atol=0.26)
