"""Operators on sound, against results of DALI, numpy's transforms and brute force."""

import audio_cases
import numpy as np
import pytest
import torch
from references_of import called, stored

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import VideoError

SIGNALS = [
    np.random.default_rng(n).normal(size=size).astype(np.float32)
    for n, size in enumerate((70, 33, 50))
]
BATCHES = {
    "ragged": TensorList([torch.from_numpy(each) for each in SIGNALS], ""),
    "dense": TensorList([torch.from_numpy(each[:33].copy()) for each in SIGNALS], ""),
}


@pytest.mark.parametrize("number", range(len(audio_cases.CASES)))
def test_results_are_those_of_dali(number):
    got = called(audio_cases, *audio_cases.CASES[number])
    wanted = stored("audio")[number]
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if got.dtype == np.float32:
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
    elif audio_cases.CASES[number][0] == "audio_resample":
        steps = 1 if got.dtype.itemsize < 4 else 512  # of float32, in which it is worked out
        assert np.abs(got.astype(np.int64) - wanted.astype(np.int64)).max() <= steps
    else:
        assert (got == wanted).all()


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("preemphasis_filter", {}),
        ("audio_resample", {"scale": 0.7}),
        ("power_spectrum", {}),
        ("spectrogram", {"window_length": 16, "window_step": 5}),
        ("nonsilent_region", {"window_length": 4, "cutoff_db": -3.0}),
        ("to_decibels", {}),
        ("mfcc", {}),
        ("mel_filter_bank", {"nfilter": 5}),
    ],
)
def test_a_batch_is_its_samples_one_by_one(kind, name, arguments):
    operator = getattr(fn, name)
    made = operator(BATCHES[kind], **arguments)
    for position, signal in enumerate(BATCHES[kind]):
        alone = operator(TensorList([signal], ""), **arguments)
        pairs = zip(made, alone, strict=True) if isinstance(made, tuple) else [(made, alone)]
        for batch, single in pairs:
            torch.testing.assert_close(batch[position], single[0])


def test_a_coefficient_may_differ_between_samples():
    made = fn.preemphasis_filter(BATCHES["ragged"], preemph_coeff=[0.0, 0.5, 0.9], border="zero")
    for signal, weight, got in zip(SIGNALS, (0.0, 0.5, 0.9), made, strict=True):
        wanted = np.convolve(signal, [1, -weight])[: len(signal)]
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-6)


def test_a_spectrogram_without_overlap_keeps_the_energy_of_the_signal():
    signal = TensorList([torch.from_numpy(SIGNALS[0][:64].copy())], "")
    made = fn.spectrogram(
        signal, window_fn=[1.0] * 16, window_length=16, window_step=16, center_windows=False
    )[0]
    both = made.sum() * 2 - made[0].sum() - made[-1].sum()  # negative frequencies count, too
    assert made.shape == (9, 4)
    torch.testing.assert_close(both / 16, (signal[0] ** 2).sum())


@pytest.mark.parametrize("shape", [(64,), (1, 64), (64, 1), (1, 1, 64), (64, 1, 1)])
def test_a_spectrogram_takes_one_channel_along_any_dimension(shape):
    signal = torch.from_numpy(SIGNALS[0][:64].copy())
    sizes = {"window_length": 16, "window_step": 5}
    made, flat = (
        fn.spectrogram(TensorList([each], ""), **sizes)[0]
        for each in (signal.reshape(shape), signal)
    )
    assert torch.equal(made, flat)


def test_time_may_come_first():
    sizes = {"window_length": 16, "window_step": 5}
    made = [fn.spectrogram(BATCHES["ragged"], **sizes, layout=each) for each in ("ft", "tf")]
    assert [each.layout() for each in made] == ["ft", "tf"]
    for first, second in zip(*made, strict=True):
        assert torch.equal(first, second.T)
    mel = [fn.mel_filter_bank(each, nfilter=4) for each in made]
    for first, second in zip(*mel, strict=True):
        torch.testing.assert_close(first, second.T)


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_normalized_transforms_keep_lengths(kind):
    data = TensorList([torch.from_numpy(SIGNALS[0][:, None].copy())], "")
    made = fn.mfcc(data, n_mfcc=70, dct_type=kind, normalize=True)[0]
    torch.testing.assert_close(made.norm(), data[0].norm())


@pytest.mark.parametrize("seed", range(20))
def test_the_region_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    count, window = int(rng.integers(1, 60)), int(rng.integers(1, 20))
    signal = (rng.normal(size=count) * (rng.random(count) < 0.2)).astype(np.float32)
    cutoff = float(rng.choice([-3, -20]))
    begin, length = fn.nonsilent_region(
        TensorList([torch.from_numpy(signal)], ""), window_length=window, cutoff_db=cutoff
    )
    window = min(window, count)
    powers = [np.mean(signal[at : at + window] ** 2) for at in range(count - window + 1)]
    loud = [at for at, power in enumerate(powers) if power >= max(powers) * 10 ** (cutoff / 10)]
    assert (int(begin[0]), int(length[0])) == (loud[0], loud[-1] + window - loud[0])


def test_silence_after_noise_is_silence():
    """Differences of long sums would leave something of the noise."""
    signal = torch.zeros(30000)
    signal[:9000] = torch.sin(torch.arange(9000) * 0.7) * 1e4
    made = fn.nonsilent_region(TensorList([signal], ""), window_length=16, cutoff_db=-300.0)
    assert [int(each[0]) for each in made] == [0, 9000 + 15]


def test_an_empty_signal_is_silent():
    made = fn.nonsilent_region(TensorList([torch.zeros(0)], ""))
    assert [int(each[0]) for each in made] == [0, 0]
    assert fn.to_decibels(TensorList([torch.zeros(0)], ""))[0].shape == (0,)
    assert fn.preemphasis_filter(TensorList([torch.zeros(0)], ""))[0].shape == (0,)


def test_a_pipeline_goes_from_a_signal_to_coefficients():
    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline():
        signal = fn.external_source(source=lambda: SIGNALS, batch=True)
        begin, length = fn.nonsilent_region(signal, window_length=4)
        loud = fn.slice(signal, start=begin, shape=length, axes=[0])
        spectrum = fn.spectrogram(loud, nfft=64, window_length=32, window_step=8)
        mel = fn.mel_filter_bank(spectrum, nfilter=12, sample_rate=8000.0)
        return fn.mfcc(fn.to_decibels(mel, cutoff_db=-80.0), n_mfcc=5)

    running = pipeline()
    running.build()
    (made,) = running.run()
    assert [len(each.numpy()) for each in made] == [5, 5, 5]
    assert made.layout() == "ft"


@pytest.mark.parametrize(
    ("name", "shape", "arguments"),
    [
        ("preemphasis_filter", (9,), {"border": "mirror"}),
        ("spectrogram", (2, 900), {}),
        ("spectrogram", (0,), {}),
        ("spectrogram", (9,), {"center_windows": False}),
        ("spectrogram", (900,), {"nfft": 256}),
        ("spectrogram", (900,), {"power": 3}),
        ("spectrogram", (900,), {"window_fn": [1.0, 2.0]}),
        ("spectrogram", (900,), {"window_step": 0}),
        ("spectrogram", (900,), {"layout": "tt"}),
        ("mel_filter_bank", (33, 2), {"freq_low": 900.0, "freq_high": 800.0}),
        ("mel_filter_bank", (33, 2), {"freq_high": 50000.0}),
        ("mel_filter_bank", (33, 2), {"freq_low": -1.0}),
        ("mel_filter_bank", (33, 2), {"mel_formula": "bark"}),
        ("mel_filter_bank", (33, 2), {"nfilter": 0}),
        ("mel_filter_bank", (33, 2), {"sample_rate": 0.0}),
        ("to_decibels", (3,), {"reference": 0.0}),
        ("mfcc", (9, 2), {"dct_type": 5}),
        ("mfcc", (9, 2), {"dct_type": 1, "normalize": True}),
        ("mfcc", (1, 2), {"dct_type": 1}),
        ("mfcc", (9, 2), {"axis": -1}),
        ("mfcc", (9, 2), {"axis": 2}),
        ("power_spectrum", (9,), {"axis": 1}),
        ("power_spectrum", (9,), {"power": 3}),
        ("nonsilent_region", (9, 2), {}),
        ("nonsilent_region", (9,), {"reference_power": 0.0}),
        ("nonsilent_region", (9,), {"window_length": 0}),
    ],
)
def test_what_cannot_be_done_is_an_error_that_names_the_operator(name, shape, arguments):
    with pytest.raises(VideoError) as caught:
        getattr(fn, name)(TensorList([torch.ones(shape)], ""), **arguments)
    assert isinstance(caught.value, ValueError | IndexError)


@pytest.mark.parametrize("name", ["spectrogram", "mel_filter_bank", "mfcc", "to_decibels"])
def test_integers_are_no_spectra(name):
    with pytest.raises(TypeError, match=name):
        getattr(fn, name)(TensorList([torch.ones(600, dtype=torch.int16)], ""))


def test_a_layout_without_frequencies_is_an_error():
    with pytest.raises(ValueError, match="'HW'"):
        fn.mel_filter_bank(TensorList([torch.ones(5, 5)], "HW"))


def test_half_precision_stays_half_precision():
    signal = TensorList([torch.from_numpy(SIGNALS[0]).half()], "")
    made = fn.mel_filter_bank(fn.spectrogram(signal, window_length=32), nfilter=4)
    assert made[0].dtype == torch.float16
    assert fn.preemphasis_filter(signal, dtype=types.FLOAT16)[0].dtype == torch.float16
