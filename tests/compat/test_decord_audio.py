"""`AudioReader` and `AVReader` of decord, against FFmpeg's decode."""

import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound

import videoloader as vl
from videoloader.compat import decord
from videoloader.compat.decord import AudioReader, AVReader, DECORDError, cpu
from videoloader.demo.videos import encode_video

RATE = 16000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decord")
    write_sound(folder / "sound.wav", make_signal(0.5, RATE), RATE, "pcm_s16le")
    for name, late in (("clip.mov", 0.0), ("late.mkv", 0.5)):
        signal = make_signal(1.0, RATE)
        write_sound(folder / name, signal, RATE, "pcm_s16le", with_video=True, late=late)
    encode_video(folder / "silent.mp4", frames=3, size=(64, 48))
    return folder


def samples_of(path):
    return decode_all(path)[0].astype(np.float32) / 32768


def test_samples_shape_and_duration(folder):
    wanted = samples_of(folder / "sound.wav")
    reader = AudioReader(str(folder / "sound.wav"), ctx=cpu(0), mono=False)
    assert reader.shape == wanted.shape == (2, 8000)
    assert len(reader) == 2
    assert reader.duration() == 0.5
    assert reader.sample_rate == RATE
    assert np.array_equal(reader[:].asnumpy(), wanted)
    assert np.array_equal(reader[5:900:7].asnumpy(), wanted[:, 5:900:7])
    assert np.array_equal(reader[-3].asnumpy(), wanted[:, -3])
    assert np.array_equal(reader.get_batch([9, 0, -1]).asnumpy(), wanted[:, [9, 0, -1]])
    assert reader[:].asnumpy().dtype == np.float32


def test_mono_has_the_weights_of_ffmpegs_resampler(folder):
    wanted = samples_of(folder / "sound.wav").sum(axis=0, keepdims=True) / 2**0.5
    reader = AudioReader(str(folder / "sound.wav"))
    assert reader.shape == (1, 8000)
    np.testing.assert_allclose(reader[:].asnumpy(), wanted, atol=1e-6)


def test_samples_are_resampled(folder):
    reader = AudioReader(str(folder / "clip.mov"), sample_rate=8000)
    with vl.Audio(folder / "clip.mov", sample_rate=8000, num_channels=1, mix="plain") as audio:
        assert np.array_equal(reader[:].asnumpy(), audio.get_samples())
    assert (reader.sample_rate, reader.shape) == (8000, (1, 8000))


def test_files_and_bridges(folder):
    with open(folder / "sound.wav", "rb") as file:
        reader = AudioReader(file, mono=False)
    wanted = samples_of(folder / "sound.wav")
    with decord.bridge.use_torch():
        part = reader[10:20]
    assert isinstance(part, torch.Tensor)
    part.zero_()
    assert np.array_equal(reader[10:20].asnumpy(), wanted[:, 10:20])


def test_padding_moves_the_beginning_to_time_zero(folder):
    reader = AudioReader(str(folder / "late.mkv"), mono=False)
    assert reader.add_padding() == reader.add_padding() == 8000
    assert reader.shape == (2, 24000)
    got = reader[:].asnumpy()
    assert not got[:, :8000].any()
    assert np.array_equal(got[:, 8000:], samples_of(folder / "late.mkv"))


def test_what_is_known_is_printed(folder, capsys):
    assert AudioReader(str(folder / "sound.wav"), sample_rate=8000).get_info() is None
    printed = capsys.readouterr().out
    assert "original sample rate: 16000\ntarget sample rate: 8000" in printed


def test_samples_outside_and_files_without_sound_are_errors(folder):
    reader = AudioReader(str(folder / "sound.wav"))
    for numbers in (8000, -8001):
        with pytest.raises(IndexError, match=r"sound\.wav"):
            reader[numbers]
        with pytest.raises(IndexError, match=r"sound\.wav"):
            reader.get_batch([0, numbers])
    for name in ("silent.mp4", "none.wav"):
        with pytest.raises(DECORDError, match=name):
            AudioReader(str(folder / name))
        with pytest.raises(DECORDError, match=name):
            AVReader(str(folder / name))
    with pytest.raises(DECORDError, match=r"sound\.wav"):
        AVReader(str(folder / "sound.wav"))


@pytest.mark.parametrize(("name", "late"), [("clip.mov", 0), ("late.mkv", 8000)])
def test_each_frame_has_the_sound_that_is_played_with_it(folder, name, late):
    reader = AVReader(str(folder / name), sample_rate=-1, mono=False)
    wanted = np.pad(samples_of(folder / name), ((0, 0), (late, 0)))
    video = decord.VideoReader(str(folder / name))
    assert len(reader) == len(video)
    for number in (0, 3, 14, len(video) - 1, -2):
        sound, frame = reader[number]
        start = number % len(video) * 640  # 25 frames a second
        assert np.array_equal(sound.asnumpy(), wanted[:, start : start + 640])
        assert np.array_equal(frame.asnumpy(), video[number].asnumpy())


def test_the_sound_of_frames_that_follow_each_other_adjoins(folder):
    reader = AVReader(str(folder / "clip.mov"), sample_rate=11025)
    sounds, frames = reader[:]
    assert frames.shape == (25, 48, 64, 3)
    assert len(sounds) == 25
    with vl.Audio(folder / "clip.mov", sample_rate=11025, num_channels=1, mix="plain") as audio:
        whole = audio.get_samples().numpy()
    joined = np.concatenate([each.asnumpy() for each in sounds], axis=1)
    assert np.array_equal(joined, whole[:, : joined.shape[1]])
    assert joined.shape[1] >= 11024
    sounds, frames = reader.get_batch([7, 2, -1])
    assert [each.shape for each in sounds] == [(1, 441)] * 3
    assert frames.shape == (3, 48, 64, 3)


def test_frames_outside_are_an_error(folder):
    reader = AVReader(str(folder / "clip.mov"))
    with pytest.raises(IndexError, match=r"clip\.mov"):
        reader[25]
    with pytest.raises(IndexError, match=r"clip\.mov"):
        reader.get_batch([-26])
