"""`mask` has one meaning in every way in: the frame that was asked for stands there."""

import numpy as np
import pytest
from damaged_videos import FRAMES, LOST, make_videos

import videoloader as vl
from videoloader.demo.videos import read_frame_number

MODES = ["edge", "constant", "reflect_1001", "reflect_101", "wrap"]
LONG = vl.RandomClip(FRAMES + 6)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make_videos(tmp_path_factory.mktemp("mask") / "videos", count=1)[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_frame_outside_the_video_is_masked_whatever_stands_for_it(path, mode):
    asked = np.arange(FRAMES + 6)
    expected = (asked < FRAMES).tolist()
    with vl.Video(path) as video:
        clip = video.get_frames(asked, pad_mode=mode)
        times = video.get_frames_at_times([0.0, 1e6], pad_mode=mode)
    assert clip.mask.tolist() == expected
    assert times.mask.tolist() == [True, False]
    batch = vl.decode_batch([vl.ClipRequest(path, asked, pad_mode=mode)], workers=0)
    assert batch.masks[0].tolist() == expected
    data = vl.ClipDataset([path], LONG, pad_mode=mode)
    assert data[0]["mask"].tolist() == expected
    (batch,) = vl.Loader([path], LONG, batch_size=1, workers=0, pad_mode=mode)
    assert batch["mask"].tolist() == [expected]
    shown = batch["frames"][0].permute(0, 2, 3, 1).numpy()
    if mode != "constant":
        numbers = [read_frame_number(frame) for frame in shown]
        assert numbers == batch["frame_numbers"][0].tolist() == clip.indices.tolist()


@pytest.mark.parametrize("make", [vl.Loader, vl.ClipDataset])
def test_short_videos_repeat_their_last_frame_masked_unless_that_is_refused(path, make):
    options = {"batch_size": 1, "workers": 0} if make is vl.Loader else {}
    (sample,) = make([path], LONG, **options)
    numbers = sample["frame_numbers"].reshape(-1).tolist()
    assert numbers == [*range(FRAMES)] + [FRAMES - 1] * 6
    assert sample["mask"].sum() == FRAMES
    with pytest.raises(vl.errors.FrameRangeError, match='pad_mode="edge"'):
        next(iter(make([path], LONG, pad_mode="none", **options)))


def test_the_last_clip_of_a_partial_division_is_masked_behind_the_video(path):
    data = vl.ClipDataset([path], vl.DenseClips(8, partial=True))
    assert data[0]["mask"].tolist() == [[True] * 8, [True] * 4 + [False] * 4]


def test_a_padded_frame_that_does_not_decode_is_filled(tmp_path):
    path = make_videos(tmp_path / "videos", count=1, damaged=[0])[0]
    lost = min(LOST)
    asked = [0, lost, FRAMES, FRAMES + 1]  # the last two are shown as the last frame, which is lost
    request = vl.ClipRequest(path, asked, pad_mode="edge")
    clip = vl.decode_batch([request], workers=0, on_error="mask").clips[0]
    assert clip.mask.tolist() == [True, False, False, False]
    last = -1 if FRAMES - 1 in LOST else FRAMES - 1
    assert clip.indices.tolist() == [0, -1, last, last]
