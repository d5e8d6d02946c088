"""Arguments that torchcodec refuses, with the errors and words that its users catch."""

import pytest
from audio_files import make_signal, write_sound

from videoloader.compat.torchcodec.decoders import AudioDecoder, VideoDecoder


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("refused") / "late.mp4"
    return write_sound(path, make_signal(), 44100, "aac", with_video=True, late=0.5)


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
@pytest.mark.parametrize(
    ("decoder", "number"), [(VideoDecoder, 40), (AudioDecoder, 40), (AudioDecoder, -1)]
)
def test_a_stream_that_is_missing(path, decoder, number, error):
    with pytest.raises(error, match=f"{number} is not a valid stream"):
        decoder(path, stream_index=number)


@pytest.mark.parametrize("number", [-1, -2])
def test_a_negative_number_of_a_video_stream_is_that_of_the_best(path, number):
    assert VideoDecoder(path, stream_index=number).stream_index == VideoDecoder(path).stream_index


def test_a_stream_of_another_kind(path):
    with pytest.raises(ValueError, match="not a video stream"):
        VideoDecoder(path, stream_index=AudioDecoder(path).stream_index)
    with pytest.raises(ValueError, match="not an audio stream"):
        AudioDecoder(path, stream_index=VideoDecoder(path).stream_index)


@pytest.mark.parametrize("name", ["sample_rate", "num_channels"])
@pytest.mark.parametrize("given", [0, -16000, 0.5, "many"])
def test_a_rate_or_a_number_of_channels_that_is_none(path, name, given):
    with pytest.raises(RuntimeError, match=name):
        AudioDecoder(path, **{name: given})


def test_ranges_beside_the_sound_are_errors_and_those_too_short_for_a_sample_are_empty(path):
    decoder = AudioDecoder(path)
    begin = decoder.get_all_samples().pts_seconds
    assert begin > 0.4
    for start, stop in ((0, begin / 2), (0, begin), (9, None), (9, 10)):
        with pytest.raises(RuntimeError, match="No audio frames were decoded"):
            decoder.get_samples_played_in_range(start, stop)
    for start, stop in ((0, begin + 1e-5), (1.0, 1.0), (1.000001, 1.000002)):
        got = decoder.get_samples_played_in_range(start, stop)
        assert got.data.shape == (2, 0)
        assert (got.pts_seconds, got.duration_seconds) == (max(start, begin), 0)
    slow = AudioDecoder(path, sample_rate=200).get_samples_played_in_range(1.6011, 1.6012)
    assert slow.data.shape == (2, 0)
