import io
from fractions import Fraction

import numpy as np
import pytest
from peer_frames import decoded, decoded_times, stand_in

from videoloader.compat import pytorchvideo as hook
from videoloader.compat.pytorchvideo import EncodedVideo


def frames_between(path, start, end):
    """By exact arithmetic: frames that begin in [start, end), from 0 at the first one."""
    pts, tick = decoded_times(path)
    times = [(ticks - pts[0]) * tick for ticks in pts]
    numbers = [number for number, time in enumerate(times) if start <= time < end]
    return decoded(path)[numbers].transpose(3, 0, 1, 2)


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 2), (0, 0.5), (Fraction(1, 10), Fraction(1, 2)), (0.3, 1.7), (1.9, 99), (0.04, 0.08)],
)
def test_a_clip_has_the_frames_that_begin_in_its_time(clip, start, end):
    video = EncodedVideo.from_path(clip)
    exact = (Fraction(str(start)), Fraction(str(end)))
    got = video.get_clip(start, end)
    assert np.array_equal(got["video"], frames_between(clip, *exact).astype(np.float32))
    assert got["audio"] is None
    video.close()


def test_times_in_float_give_the_frames_that_they_mean(clip):
    video = EncodedVideo(io.BytesIO(clip.read_bytes()), "clip.mp4")
    for number in range(50):
        got = video.get_clip(number / 25, number / 25 + 1 / 25)["video"]
        assert np.array_equal(got[:, 0], decoded(clip)[number].transpose(2, 0, 1))
        assert got.shape[1] == 1
    video.close()


def test_the_clock_begins_at_the_first_frame(uneven):
    video = EncodedVideo.from_path(str(uneven))
    got = video.get_clip(0, Fraction(1, 5))["video"]
    assert np.array_equal(got, frames_between(uneven, 0, Fraction(1, 5)))
    assert got.shape[1] == 4  # at 0, 0.04, 0.12 and 0.16 s
    video.close()


def test_a_time_without_frames_gives_none(clip):
    video = EncodedVideo.from_path(clip)
    assert video.get_clip(2, 3) == {"video": None, "audio": None}
    assert video.get_clip(1, 1) == {"video": None, "audio": None}
    assert (video.name, video.duration) == ("clip.mp4", 2)
    video.close()


def test_its_data_sets_open_videos_with_it(monkeypatch, clip):
    module = stand_in(monkeypatch, "pytorchvideo.data.encoded_video", EncodedVideo=None)
    hook.install()
    video = module.EncodedVideo.from_path(str(clip), decode_audio=False, decoder="pyav")
    assert np.array_equal(
        video.get_clip(0, 0.04)["video"][:, 0], decoded(clip)[0].transpose(2, 0, 1)
    )
    assert module.select_video_class("decord") is EncodedVideo
    video.close()


def test_the_data_set_of_pytorchvideo_itself_decodes_with_it(monkeypatch, clip):
    data = pytest.importorskip("pytorchvideo.data")
    module = pytest.importorskip("pytorchvideo.data.encoded_video")
    for name in ("EncodedVideo", "select_video_class"):
        monkeypatch.setattr(module, name, getattr(module, name))
    hook.install()
    dataset = data.LabeledVideoDataset(
        [(str(clip), {"label": 3})], data.make_clip_sampler("uniform", 0.5), decode_audio=False
    )
    clips = [sample["video"].numpy() for sample in dataset]
    assert len(clips) == 4
    assert np.array_equal(np.concatenate(clips, axis=1), frames_between(clip, 0, 2))
