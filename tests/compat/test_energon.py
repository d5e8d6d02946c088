import io
import math

import numpy as np
import pytest
from peer_frames import decoded

import videoloader as vl
from videoloader.compat.energon import AVDecoder, AVMetadata, AVWebdatasetDecoder


@pytest.fixture
def decoder(clip):
    decoder = AVDecoder(io.BytesIO(clip.read_bytes()))
    yield decoder
    decoder.close()


def same(clip, frames, numbers):
    return np.array_equal(frames, decoded(clip)[list(numbers)].transpose(0, 3, 1, 2))


def test_all_frames_are_one_clip(decoder, clip):
    data = decoder.get_video()
    assert same(clip, data.video_clips[0], range(50))
    assert data.video_timestamps == [(0, 2)]
    assert (data.audio_clips, data.audio_timestamps) == ([], [])


def test_clips_by_frames_have_both_ends(decoder, clip):
    ranges = [(0, 3), (44, 99), (7, 7), (48, math.inf)]
    clips, times = decoder.get_video_clips(ranges, video_unit="frames")
    expected = [range(4), range(44, 50), [7], [48, 49]]
    assert all(same(clip, *pair) for pair in zip(clips, expected, strict=True))
    ends = [(numbers[0] / 25, (numbers[-1] + 1) / 25) for numbers in expected]
    assert np.allclose(times, ends)


def test_clips_by_seconds_have_the_frames_on_screen_then(decoder, clip):
    clips, times = decoder.get_video_clips([(0.1, 0.2), (1.9, 5), (1, 1.03)])
    assert all(
        same(clip, *pair) for pair in zip(clips, [[2, 3, 4, 5], [47, 48, 49], [25]], strict=True)
    )
    assert np.allclose(times, [(0.08, 0.24), (1.88, 2), (1, 1.04)])


def test_times_of_uneven_frames_are_their_own(uneven):
    with open(uneven, "rb") as file:
        clips, times = AVDecoder(file).get_video_clips([(0, 0.55)])
    assert same(uneven, clips[0], [0, 1, 2])  # at 0.4, 0.44 and 0.52 s
    assert np.allclose(times, [(0.4, 0.56)], atol=1e-3)


def test_a_size_is_width_and_height(decoder):
    clips, _ = decoder.get_video_clips([(0, 0)], "frames", (20, 150))
    assert clips[0].shape == (1, 3, 150, 20)


@pytest.mark.parametrize("limits", [(50, 60), (5, 4), (-1, 3)])
def test_a_clip_outside_the_video_is_an_error(decoder, limits):
    with pytest.raises(vl.errors.FrameRangeError, match="50 frames"):
        decoder.get_video_clips([limits], video_unit="frames")
    with pytest.raises(vl.errors.FrameRangeError, match="50 frames"):
        decoder.get_video_clips([(2.0, 3.0)])


def test_the_metadata_is_that_of_the_video(decoder):
    assert decoder.get_metadata(get_audio=False) == AVMetadata(2.0, 50, 25.0, 96, 720)
    assert decoder.get_video_fps() == 25
    assert decoder.get_video_duration() == (2, None)
    assert decoder.get_video_duration(get_frame_count=True) == (2, 50)
    assert decoder.has_video_stream()


def test_sound_that_is_missing_is_an_error(decoder):
    assert not decoder.has_audio_stream()
    assert decoder.get_audio_duration() is None
    for ask in (lambda: decoder.get_clips(audio_clip_ranges=[(0, 1)]), decoder.get_audio):
        with pytest.raises(vl.errors.FormatError, match="no sound"):
            ask()


def test_samples_get_a_decoder_or_frames(clip):
    data = clip.read_bytes()
    with AVWebdatasetDecoder()("clip.mp4", data)._video as video:
        assert len(video) == 50
    assert same(clip, AVWebdatasetDecoder(av_decode="torch")("mp4", data).video_clips[0], range(50))
    assert AVWebdatasetDecoder()("clip.json", data) is None
    with pytest.raises(ValueError, match="pyav"):
        AVWebdatasetDecoder(av_decode="pyav")
