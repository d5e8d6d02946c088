"""`fn.decoders.audio` and `fn.audio_resample`, against results of DALI and FFmpeg's decode."""

import numpy as np
import pytest
import sound_cases
import torch
from audio_files import decode_all, make_signal, write_sound
from references_of import stored

import videoloader as vl
from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList

RATE = 44100


def as_bytes(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def decode(*files, **arguments):
    return fn.decoders.audio(TensorList([as_bytes(each) for each in files], ""), **arguments)


@pytest.mark.parametrize("number", range(len(sound_cases.CASES)))
def test_results_are_those_of_dali(number):
    name, arguments = sound_cases.CASES[number]
    given = arguments | (
        {"dtype": getattr(torch, arguments["dtype"])} if "dtype" in arguments else {}
    )
    samples, rates = (each[0].numpy() for each in decode(sound_cases.files()[name], **given))
    wanted, rate = stored("sound")[2 * number : 2 * number + 2]
    assert (samples.shape, samples.dtype) == (wanted.shape, wanted.dtype)
    assert (rates.shape, rates.dtype, rates) == (rate.shape, rate.dtype, rate)
    if samples.dtype == np.float32:
        np.testing.assert_allclose(samples, wanted, atol=2e-6)
        return
    is_exact = not {"downmix", "sample_rate"} & set(arguments)
    steps = 0 if is_exact else {2: 1, 4: 1024}[samples.itemsize]  # float32 has 24 bits
    assert np.abs(samples.astype(np.int64) - wanted).max() <= steps


def test_floating_point_files_become_integers_by_their_range():
    data = np.array([[-1.0], [-0.5], [0.0], [0.25], [1.0]], np.float32)
    samples, _ = decode(sound_cases.make_wav(data, 8000), dtype=types.INT16)
    assert samples[0].flatten().tolist() == [-32767, -16384, 0, 8192, 32767]


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.flac", "flac"), ("a.mp3", "libmp3lame"), ("a.ogg", "libopus"), ("a.mp4", "aac")],
)
def test_coded_sound_is_that_of_ffmpeg(tmp_path, name, codec):
    rate = 48000 if codec == "libopus" else RATE
    path = write_sound(
        tmp_path / name, make_signal(0.4, rate), rate, codec, with_video=name == "a.mp4"
    )
    wanted = decode_all(path)[0]
    wanted = wanted / 32768 if wanted.dtype == np.int16 else wanted
    samples, rates = decode(path.read_bytes(), path.read_bytes(), downmix=False)
    np.testing.assert_allclose(samples[1].numpy(), wanted.T, atol=1e-7)
    assert rates[0] == rate
    mono, _ = decode(path.read_bytes(), downmix=True)
    np.testing.assert_allclose(mono[0].numpy(), wanted.mean(axis=0), atol=1e-6)


def test_each_sound_of_a_batch_may_have_its_own_rate():
    files = [sound_cases.files()[name] for name in ("int16", "mono")]
    samples, rates = decode(*files, downmix=True, sample_rate=[0.0, 8000.0])
    assert [len(each) for each in samples] == [80, 40]
    assert [float(each) for each in rates] == [22050, 8000]


def test_a_pipeline_decodes_files_and_resamples(tmp_path):
    paths = []
    for number, rate in enumerate((8000, 16000, 11025)):
        signal = make_signal(0.3, rate, channels=1 + number % 2)
        paths.append(str(write_sound(tmp_path / f"{number}.wav", signal, rate, "pcm_s16le")))

    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline():
        data, _ = fn.readers.file(files=paths)
        sound, rate = fn.decoders.audio(data, downmix=True)
        return sound, rate, fn.audio_resample(sound, in_rate=rate, out_rate=16000.0)

    running = pipeline()
    running.build()
    sound, rates, resampled = running.run()
    assert [len(each.numpy()) for each in sound] == [2400, 4800, 3308]
    assert [float(each) for each in rates] == [8000, 16000, 11025]
    assert [len(each.numpy()) for each in resampled] == [4800, 4800, 4801]


def test_a_file_that_is_no_sound_is_named(tmp_path):
    (tmp_path / "bad.wav").write_bytes(b"RIFF" + bytes(60))

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        data, _ = fn.readers.file(files=[str(tmp_path / "bad.wav")])
        return fn.decoders.audio(data)[0]

    running = pipeline()
    running.build()
    with pytest.raises(vl.errors.OperatorError, match=r"bad\.wav"):
        running.run()


@pytest.mark.parametrize(
    "arguments", [{"dtype": types.UINT8}, {"quality": 101.0}, {"quality": -1.0}]
)
def test_what_decoders_do_not_give_is_refused(arguments):
    with pytest.raises(ValueError, match=r"decoders\.audio"):
        decode(sound_cases.files()["mono"], **arguments)


SIGNAL = torch.from_numpy(make_signal(0.05, 16000)[0])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"in_rate": 8000.0},
        {"out_rate": 8000.0},
        {"scale": 0.5, "out_length": 9},
        {"scale": 0.5, "in_rate": 1.0, "out_rate": 2.0},
        {"scale": -1.0},
        {"out_length": -1},
        {"in_rate": 0.0, "out_rate": 8000.0},
        {"scale": 1.0, "quality": 101.0},
    ],
)
def test_rates_without_a_meaning_are_refused(arguments):
    with pytest.raises(ValueError, match="audio_resample"):
        fn.audio_resample(TensorList([SIGNAL], ""), **arguments)


@pytest.mark.parametrize("shape", [(2, 3, 4), ()])
def test_what_is_no_signal_is_refused(shape):
    with pytest.raises(ValueError, match="audio_resample"):
        fn.audio_resample(TensorList([torch.zeros(shape)], ""), scale=2.0)


def test_half_precision_is_refused_by_name():
    with pytest.raises(vl.errors.UnsupportedError, match=r"float16.*fn\.cast"):
        fn.audio_resample(TensorList([SIGNAL.half()], ""), scale=2.0)


@pytest.mark.parametrize("shape", [(0,), (5, 0), (0, 2)])
def test_empty_signals_stay_empty_or_silent(shape):
    made = fn.audio_resample(TensorList([torch.zeros(shape)], ""), out_length=6)[0]
    assert made.shape == (6, *shape[1:])
    assert not made.any()


def test_one_rate_for_each_signal():
    batch = TensorList([SIGNAL, SIGNAL, SIGNAL[:100]], "")
    made = fn.audio_resample(batch, scale=[0.5, 1.0, 2.0])
    assert [len(each) for each in made] == [400, 800, 200]
    torch.testing.assert_close(made[1], SIGNAL, atol=1e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:.* is deprecated; use fn:DeprecationWarning")
def test_old_names_are_the_same_operators():
    data = TensorList([as_bytes(sound_cases.files()["mono"])], "")
    wanted, rate = fn.decoders.audio(data)
    got, same = fn.audio_decoder(data)
    assert torch.equal(got[0], wanted[0])
    assert torch.equal(same[0], rate[0])
    resampled = [
        each(wanted, in_rate=16000.0, out_rate=8000.0)[0]
        for each in (fn.audio_resample, fn.experimental.audio_resample)
    ]
    assert torch.equal(*resampled)
