"""`vl.Audio` against FFmpeg's decode of the whole file, cut by numpy."""

import copy
import gc
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound
from object_server import serve
from pyav_versions import IS_BEFORE_17
from sound_cases import make_wav

import videoloader as vl
from videoloader.audio.elements import to_float32
from videoloader.audio.mixing import Mixer

RATE = 44100
FILES = {
    "pcm16.wav": ("pcm_s16le", {}),
    "pcm24.wav": ("pcm_s24le", {}),
    "pcm8.wav": ("pcm_u8", {}),
    "float.wav": ("pcm_f32le", {}),
    "sound.flac": ("flac", {}),
    "sound.mp3": ("libmp3lame", {}),
    "vorbis.ogg": ("vorbis", {"options": {"strict": "-2"}}),
    "opus.ogg": ("libopus", {}),
    "opus.webm": ("libopus", {}),
    "sound.m4a": ("aac", {}),
    "alac.m4a": ("alac", {}),
    "clip.mp4": ("aac", {"with_video": True}),
    "late.mp4": ("aac", {"with_video": True, "late": 0.5}),
    "clip.mkv": ("ac3", {"with_video": True}),
    "clip.ts": ("aac", {"with_video": True}),
    "clip.mov": ("pcm_s16be", {"with_video": True}),
    "planar.nut": ("pcm_s16le_planar", {}),
}


def rate_of(name):
    return 48000 if FILES[name][0] == "libopus" else RATE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    for name, (codec, options) in FILES.items():
        write_sound(folder / name, make_signal(rate=rate_of(name)), rate_of(name), codec, **options)
    return folder


@pytest.fixture(scope="module", params=FILES)
def whole(request, folder):
    """(path, float32 samples of FFmpeg, begin in seconds)."""
    samples, begin = decode_all(folder / request.param)
    return folder / request.param, to_float32(samples), begin


def ranges(count, seed, *, many=12):
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, count, many)
    return [(int(a), int(min(a + rng.choice([1, 700, 9000, count]), count))) for a in starts]


def test_the_whole_sound_is_that_of_ffmpeg(whole):
    path, samples, begin = whole
    with vl.Audio(path) as audio:
        assert np.array_equal(audio.get_samples().numpy(), samples)
        assert audio.begin_seconds == pytest.approx(begin, abs=1e-9)
        assert (audio.num_channels, len(audio)) == samples.shape
        assert audio.sample_rate == rate_of(path.name)
        assert audio.duration == pytest.approx(samples.shape[1] / audio.sample_rate, abs=0.1)


@pytest.mark.parametrize("seed", range(2))
def test_any_range_by_number_is_cut_from_the_whole(whole, seed):
    path, samples, _ = whole
    with vl.Audio(path) as audio:
        for start, stop in ranges(samples.shape[1], seed):
            assert np.array_equal(audio[start:stop].numpy(), samples[:, start:stop])


def test_any_range_by_time_is_cut_from_the_whole(whole):
    path, samples, begin = whole
    with vl.Audio(path) as audio:
        for start, stop in ranges(samples.shape[1], 7):
            times = [np.float64(begin + each / audio.sample_rate) for each in (start, stop)]
            assert np.array_equal(audio.get_samples(*times).numpy(), samples[:, start:stop])
            between = [time + 0.4 / audio.sample_rate for time in times]
            got = audio.get_samples(*between).numpy()
            assert np.array_equal(got, samples[:, start + 1 : stop + 1])


def test_reading_forward_gives_adjoining_parts(whole):
    path, samples, _ = whole
    with vl.Audio(path) as audio:
        parts = [audio[at : at + 999].numpy() for at in range(0, samples.shape[1], 999)]
    assert np.array_equal(np.concatenate(parts, axis=1), samples)


@pytest.mark.parametrize("name", ["sound.m4a", "sound.mp3", "opus.ogg", "clip.mp4", "vorbis.ogg"])
def test_the_delay_of_encoders_is_removed(folder, name):
    """The decoded sound lies on the signal that was encoded."""
    signal = make_signal(rate=rate_of(name))[0]
    with vl.Audio(folder / name) as audio:
        got = audio.get_samples()[0].numpy()
    middle = signal[20000:40000]
    scores = [np.dot(got[20000 + shift : 40000 + shift], middle) for shift in range(-1200, 1201)]
    assert np.argmax(scores) - 1200 == 0


@pytest.mark.parametrize("name", ["pcm16.wav", "sound.flac", "alac.m4a", "clip.mov", "planar.nut"])
def test_lossless_sound_is_what_was_written(folder, name):
    wanted = np.rint(make_signal() * 32768).clip(-32768, 32767)
    with vl.Audio(folder / name, dtype="int16") as audio:
        got = audio.get_samples().numpy()
    assert got.dtype == np.int16
    assert np.abs(got - wanted).max() <= 1


@pytest.mark.parametrize("name", ["pcm8.wav", "pcm24.wav", "float.wav", "sound.mp3"])
@pytest.mark.parametrize("dtype", ["float32", "int16", "int32"])
def test_element_types_are_those_of_swresample(folder, name, dtype):
    form = {"float32": "fltp", "int16": "s16p", "int32": "s32p"}[dtype]
    with av.open(str(folder / name)) as container:
        frames = list(container.decode(audio=0))[:20]
        resampler = av.AudioResampler(form, frames[0].layout, frames[0].sample_rate)
        made = [each.to_ndarray() for frame in frames for each in resampler.resample(frame)]
    wanted = np.concatenate(made, axis=1)
    with vl.Audio(folder / name, dtype=dtype) as audio:
        assert np.array_equal(audio[: wanted.shape[1]].numpy(), wanted)


@pytest.mark.parametrize("name", ["clip.mp4", "pcm16.wav"])
def test_mono_is_the_mean_of_stereo(folder, name):
    with vl.Audio(folder / name, num_channels=1) as audio, vl.Audio(folder / name) as both:
        mono = audio[3000:9000]
        wanted = both[3000:9000].mean(dim=0, keepdim=True)
    assert mono.shape == (1, 6000)
    np.testing.assert_allclose(mono.numpy(), wanted.numpy(), atol=1e-6)
    with vl.Audio(folder / name, num_channels=1, mix="plain") as audio:
        plain = audio[3000:9000].numpy()
    np.testing.assert_allclose(plain, wanted.numpy() * 2**0.5, atol=1e-6)


def test_surround_sound_is_mixed_to_stereo_without_leaving_its_range(tmp_path):
    loud = np.ones((6, 5000), np.float32)
    path = write_sound(tmp_path / "six.flac", loud, RATE, "flac")
    with vl.Audio(path, num_channels=2) as audio:
        np.testing.assert_allclose(audio[100:900].numpy(), 1, atol=1e-3)


@pytest.mark.parametrize("rate", [16000, 48000, 12347, RATE])
def test_a_range_of_resampled_sound_is_cut_from_the_whole(folder, rate):
    with vl.Audio(folder / "clip.mp4", sample_rate=rate) as audio:
        whole = audio.get_samples().numpy()
        count = decode_all(folder / "clip.mp4")[0].shape[1]
        assert whole.shape[1] == len(audio) == -(-count * rate // RATE)
        for start, stop in ranges(whole.shape[1], 3):
            np.testing.assert_allclose(audio[start:stop].numpy(), whole[:, start:stop], atol=1e-6)
            got = audio.get_samples(start / rate, stop / rate)
            np.testing.assert_allclose(got.numpy(), whole[:, start:stop], atol=1e-6)


@pytest.mark.parametrize("rate", [16000, 22050, 48000, 96000])
def test_a_resampled_tone_is_that_tone(tmp_path, rate):
    times = np.arange(RATE) / RATE
    tone = np.sin(2 * np.pi * 440 * times)[None].astype(np.float32)
    path = write_sound(tmp_path / "tone.wav", tone, RATE, "pcm_f32le")
    with vl.Audio(path, sample_rate=rate) as audio:
        got = audio.get_samples()[0].numpy()
    wanted = np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    inside = slice(rate // 50, -(rate // 50))
    np.testing.assert_allclose(got[inside], wanted[inside], atol=1e-3)


@pytest.mark.parametrize("rate", [16000, 22050, 48000])
def test_resampled_sound_is_that_of_ffmpeg_up_to_its_ends(tmp_path, rate):
    times = np.arange(RATE) / RATE
    tones = np.stack([0.5 * np.cos(2 * np.pi * (300 + 900 * times) * times), np.sin(700 * times)])
    path = write_sound(tmp_path / "tone.wav", tones.astype(np.float32), RATE, "pcm_f32le")
    with av.open(str(path)) as container:
        resampler = av.AudioResampler("fltp", "stereo", rate)
        made = [each for frame in container.decode(audio=0) for each in resampler.resample(frame)]
        made += resampler.resample(None)
    wanted = np.concatenate([each.to_ndarray() for each in made], axis=1)
    with vl.Audio(path, sample_rate=rate) as audio:
        got = audio.get_samples().numpy()
    assert abs(got.shape[1] - wanted.shape[1]) <= 1
    count = min(got.shape[1], wanted.shape[1])
    np.testing.assert_allclose(got[:, :count], wanted[:, :count], atol=2e-3)


def test_frequencies_that_the_new_rate_cannot_hold_are_removed(tmp_path):
    tone = 0.8 * np.sin(2 * np.pi * 15000 * np.arange(RATE) / RATE)[None].astype(np.float32)
    path = write_sound(tmp_path / "tone.wav", tone, RATE, "pcm_f32le")
    with vl.Audio(path, sample_rate=16000) as audio:
        assert audio[500:15000].abs().max() < 1e-2


def test_sound_that_begins_late_is_found_by_the_clock_of_the_pictures(folder):
    with vl.Audio(folder / "late.mp4") as audio:
        begin = audio.begin_seconds
        assert 0.4 < begin < 0.6
        assert audio.get_samples(0.0, begin - 0.1).shape == (2, 0)
        padded = audio.get_samples(begin - 0.1, begin + 0.1, pad=True)
        assert padded.shape == (2, 8820)
        assert (padded[:, :4409] == 0).all()
        assert np.array_equal(padded[:, 4410:], audio[:4410])


def test_padding_fills_up_behind_the_end(folder):
    with vl.Audio(folder / "pcm16.wav", sample_rate=16000) as audio:
        padded = audio.get_samples(1.25, 2.0, pad=True)
        assert padded.shape == (2, 12000)
        assert np.array_equal(padded[:, :4000], audio.get_samples(1.25))
        assert (padded[:, 4000:] == 0).all()
        assert (audio.get_samples(5.0, 5.5, pad=True) == 0).all()
        with pytest.raises(vl.errors.ArgumentError, match="pad=True"):
            audio.get_samples(1.0, pad=True)


def test_a_gap_in_the_times_is_left_out_and_what_follows_keeps_its_time(tmp_path):
    path = write_sound(tmp_path / "gap.mkv", make_signal(), RATE, "pcm_s16le", gap=(20, 30))
    whole = decode_all(path)[0]
    with vl.Audio(path, dtype="int16") as audio:
        assert np.array_equal(audio.get_samples().numpy(), whole)
        before, after = audio.get_samples(0.1, 0.2), audio.get_samples(1.0, 1.1)
    first = round(0.1 * RATE)
    assert np.array_equal(before.numpy(), whole[:, first : first + 4410])
    first = round(1.0 * RATE) - 10 * 1024
    # Matroska rounds times to milliseconds.
    shifts = range(-60, 60)
    assert any(
        np.array_equal(after, whole[:, first + n : first + n + after.shape[1]]) for n in shifts
    )


def test_more_planes_than_pyav_reads_are_no_danger(tmp_path):
    signal = make_signal(0.1, channels=16)
    path = write_sound(
        tmp_path / "many.nut", signal, RATE, "pcm_s16le_planar", layout="hexadecagonal"
    )
    with vl.Audio(path) as audio:
        assert audio.num_channels == 16
        np.testing.assert_allclose(audio.get_samples().numpy(), signal, atol=1e-4)


@pytest.mark.parametrize("name", ["clip.mp4", "sound.flac", "sound.mp3"])
def test_bytes_files_and_urls_are_sources(folder, name):
    data = (folder / name).read_bytes()
    with vl.Audio(folder / name) as audio:
        wanted = audio[1000:5000]
    with serve(objects={f"/{name}": data}) as server, open(folder / name, "rb") as file:
        for source in (data, file, f"{server.url}/{name}", str(folder / name)):
            with vl.Audio(source) as audio:
                assert np.array_equal(audio[1000:5000], wanted)
        assert not file.closed


def test_threads_share_a_sound(folder):
    audio = vl.Audio(folder / "clip.mp4")
    whole = audio.get_samples()
    wrong = []

    def read(seed):
        for start, stop in ranges(whole.shape[1], seed):
            if not np.array_equal(audio[start:stop], whole[:, start:stop]):
                wrong.append((start, stop))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audio.close()
    assert not wrong


def test_a_sound_travels_to_other_processes(folder):
    form = {"sample_rate": 16000, "num_channels": 1, "dtype": "int16"}
    with vl.Audio(folder / "clip.mp4", **form) as audio:
        wanted = audio[500:900]
        for other in (pickle.loads(pickle.dumps(audio)), copy.copy(audio)):
            with other:
                assert np.array_equal(other[500:900], wanted)


def test_samples_belong_to_the_caller(folder):
    with vl.Audio(folder / "float.wav") as audio:
        first = audio[:100]
        kept = first.clone()
        first.zero_()
        assert np.array_equal(audio[:100], kept)


def test_slices_keep_pythons_meaning(folder):
    with vl.Audio(folder / "sound.flac") as audio:
        whole = audio.get_samples()
        assert np.array_equal(audio[-500:-100], whole[:, -500:-100])
        assert np.array_equal(audio[66000:90000], whole[:, 66000:])
        assert audio[900:100].shape == (2, 0)
        assert audio[90000:90100].shape == (2, 0)
        with pytest.raises(TypeError, match="slices"):
            audio[5]
        with pytest.raises(TypeError, match="step"):
            audio[::2]


def test_exactly_the_samples_or_an_error(folder):
    with vl.Audio(folder / "pcm16.wav") as audio:
        assert audio.get_range(66000, 66150).shape == (2, 150)
        for start, stop in [(66000, 66151), (-1, 5), (9, 3)]:
            with pytest.raises(IndexError, match=r"pcm16\.wav"):
                audio.get_range(start, stop)


def damaged(path, out, share):
    """A copy with a packet of zeros."""
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        packets = [(each.pos, each.size) for each in container.demux(audio=0) if each.size]
    at, size = packets[int(len(packets) * share)]
    data[at : at + size] = bytes(size)
    out.write_bytes(data)
    return out


def test_damage_between_samples_is_an_error_that_says_where(folder, tmp_path):
    path = damaged(folder / "sound.m4a", tmp_path / "damaged.m4a", 0.5)
    with vl.Audio(path) as audio:
        assert audio[:1000].shape == (2, 1000)
        for read in (audio.get_samples, lambda: len(audio), lambda: audio[-5:], audio.get_samples):
            with pytest.raises(vl.errors.DecodeError, match=r"damaged\.m4a: a packet at 0\.7\d+ s"):
                read()
        assert audio[:1000].shape == (2, 1000)


def test_a_file_whose_end_is_damaged_is_an_error(folder, tmp_path):
    data = bytearray((folder / "sound.m4a").read_bytes())
    with av.open(str(folder / "sound.m4a")) as container:
        packets = [(each.pos, each.size) for each in container.demux(audio=0) if each.size]
    for at, size in packets[40:]:
        data[at : at + size] = bytes(size)
    with vl.Audio(bytes(data)) as audio:
        assert audio[:30000].shape == (2, 30000)
        with pytest.raises(vl.errors.DecodeError, match="does not decode"):
            audio.get_samples()


def test_many_planes_are_mixed(tmp_path):
    signal = np.full((16, 4000), 0.5, np.float32)
    name, layout = tmp_path / "a.nut", "hexadecagonal"
    path = write_sound(name, signal, RATE, "pcm_s16le_planar", layout=layout)
    with vl.Audio(path, num_channels=1) as audio:
        mixed = audio.get_samples()
    assert mixed.shape == (1, 4000)
    assert 0 < mixed.max() <= 0.5001


def test_channels_without_a_layout_are_not_mixed():
    data = make_wav(np.zeros((90, 20), np.int16), 8000)
    with pytest.raises(vl.errors.UnsupportedError, match="FFmpeg does not mix 20 channels to mono"):
        vl.Audio(data, num_channels=1)


def test_a_cut_file_has_what_is_left(folder, tmp_path):
    path = tmp_path / "cut.flac"
    path.write_bytes((folder / "sound.flac").read_bytes()[:-5000])
    with vl.Audio(path) as audio, vl.Audio(folder / "sound.flac") as whole:
        got = audio.get_samples()
        assert 0 < got.shape[1] < len(whole)
        inside = got.shape[1] - 5000
        assert np.array_equal(got[:, :inside], whole[:inside])


def silent_video(path):
    from videoloader.demo.videos import encode_video

    return encode_video(path, frames=3, size=(64, 48), fps=25)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda path: path, vl.errors.SourceError, "sound.bin"),
        (lambda path: path.write_bytes(b"") and path, vl.errors.FormatError, "empty"),
        (lambda path: path.write_text("no sound " * 99), vl.errors.FormatError, "text"),
        (
            lambda path: path.write_bytes(np.random.default_rng(0).bytes(5000)),
            vl.errors.FormatError,
            "FFmpeg opens",
        ),
        (
            lambda path: path.write_text("#EXTM3U\nhttp://x/y.ts"),
            vl.errors.UnsupportedError,
            "playlist",
        ),
        (
            lambda path: silent_video(path.with_suffix(".mp4")).rename(path),
            vl.errors.FormatError,
            "no sound in it",
        ),
    ],
)
def test_what_has_no_sound_is_an_error_that_names_it(tmp_path, make, kind, words):
    path = tmp_path / "sound.bin"
    make(path)
    with pytest.raises(kind, match=words) as caught:
        vl.Audio(path)
    assert "sound.bin" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dtype": "int8"}, "dtype"),
        ({"sample_rate": 0}, "sample_rate"),
        ({"num_channels": 0}, "num_channels"),
        ({"num_channels": 23}, "num_channels"),
        ({"stream": 7}, "stream 7"),
    ],
)
def test_arguments_without_a_meaning_are_refused(folder, arguments, words):
    with pytest.raises(vl.VideoError, match=words):
        vl.Audio(folder / "pcm16.wav", **arguments)


def test_times_without_a_meaning_are_refused(folder):
    with vl.Audio(folder / "pcm16.wav") as audio:
        for times in [(1.0, 0.5), (float("nan"),), ("one",), (float("inf"),)]:
            with pytest.raises(vl.errors.ArgumentError):
                audio.get_samples(*times)


def corpus_sounds():
    folder = os.environ.get("VIDEOLOADER_CORPUS")
    if not folder:
        skip = pytest.mark.skip(reason="needs VIDEOLOADER_CORPUS, the folder of reference media")
        return [pytest.param(None, marks=skip, id="corpus")]
    return [
        pytest.param(path, id=path.name)
        for path in sorted(Path(folder, "audio").glob("*"))
        if path.suffix in (".mp3", ".opus", ".ogg", ".flac", ".wav")
    ]


@pytest.mark.parametrize("path", corpus_sounds())
def test_real_files_are_those_of_ffmpeg(path):
    if "garbage" in path.name and IS_BEFORE_17:
        pytest.skip("FFmpeg passes it over")
    if "garbage" in path.name:
        with pytest.raises(vl.errors.FormatError, match="garbage"):
            vl.Audio(path)
        return
    with vl.Audio(path) as audio:
        if audio.num_channels == 9:  # PyAV crashes on its frames
            assert audio.get_samples().shape == (9, 4800)
            return
        wanted = to_float32(decode_all(path)[0])
        assert np.array_equal(audio.get_samples(), wanted)
        for start, stop in ranges(wanted.shape[1], 5):
            assert np.array_equal(audio[start:stop], wanted[:, start:stop])


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.flac", "flac"),
        ("a.aiff", "pcm_s16be"),
        ("a.au", "pcm_s16be"),
        ("a.caf", "pcm_s16be"),
        ("a.w64", "pcm_s24le"),
        ("a.wav", "pcm_s16le"),
    ],
)
def test_places_far_apart_are_gone_to(tmp_path, name, codec):
    """Forward and backward, near and far, also from behind the end."""
    path = write_sound(tmp_path / name, make_signal(12.0, 22050), 22050, codec)
    samples = to_float32(decode_all(path)[0])
    count, rng = samples.shape[1], np.random.default_rng(0)
    with vl.Audio(path) as audio:
        assert np.array_equal(audio[-100:], samples[:, -100:])
        for start in [count - 50, 0, *rng.integers(0, count, 20).tolist(), count - 1]:
            stop = start + int(rng.choice([1, 5000]))
            assert np.array_equal(audio[start:stop], samples[:, start:stop])


def test_little_of_a_long_file_is_decoded(tmp_path, monkeypatch):
    path = write_sound(tmp_path / "a.flac", make_signal(20.0, 22050), 22050, "flac")
    with vl.Audio(path) as audio:
        decoded = []
        monkeypatch.setattr(
            "videoloader.audio.mixing.Mixer.samples",
            lambda mixer, frame, exact=Mixer.samples: (
                decoded.append(frame.samples) or exact(mixer, frame)
            ),
        )
        for start in (400_000, 20_000, 300_000):
            audio[start : start + 100]
    assert sum(decoded) <= 3 * 3 * 4608


def test_a_fork_does_not_wait_for_the_threads_of_a_closed_mixer(tmp_path):
    path = write_sound(tmp_path / "a.flac", make_signal(1.0), 44100, "flac")
    gc.disable()
    try:
        with vl.Audio(path, num_channels=1) as audio:
            audio.get_samples(0, 0.2)
        del audio
        child = os.fork()
        if child == 0:
            gc.collect()
            os._exit(0)
        for _ in range(200):
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the fork hangs")
    finally:
        gc.enable()


def test_gaps_are_filled_where_that_is_asked_for(tmp_path):
    path = tmp_path / "a.mkv"
    write_sound(path, make_signal(2.0, 48000), 48000, "flac", gap=(5, 10))
    with vl.Audio(path) as plain, vl.Audio(path, fill_gaps=True) as filled:
        whole, gap = filled.get_samples(), len(filled) - len(plain)
        begin = int((~whole.any(dim=0)).float().argmax())
        kept = torch.cat([whole[:, :begin], whole[:, begin + gap :]], dim=1)
        assert gap > 0.04 * 48000
        assert not whole[:, begin : begin + gap].any()
        assert torch.equal(kept, plain.get_samples())
        late = len(filled) - 4800
        seconds = filled.begin_seconds + late / 48000
        assert torch.equal(filled[late:], plain.get_samples(seconds))
        assert filled.number_at(seconds) == late
