"""Calls of operators on sound; `references/audio.npz` has what DALI gives for them."""

import numpy as np

__all__ = ["CASES", "inputs"]


def inputs():
    """(array, layout) by name."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=90).astype(np.float32)
    quiet = signal * np.where(np.abs(np.arange(90) - 40) < 17, 1, 1e-3).astype(np.float32)
    spectrum = rng.uniform(0, 9, (33, 4)).astype(np.float32)
    return {
        "signal": (signal, ""),
        "short": (signal[:5], ""),
        "one": (signal[:1], ""),
        "column": (signal[:, None], ""),
        "row": (signal[None], ""),
        "quiet": (quiet, ""),
        "silent": (np.zeros(20, np.float32), ""),
        "pulse": ((np.abs(np.arange(60) - 30) < 9).astype(np.float32) * 0.5, ""),
        "int16": ((quiet * 9000).astype(np.int16), ""),
        "uint8": (np.arange(40, dtype=np.uint8).repeat(2), ""),
        "stereo": (np.stack([signal, signal[::-1] * 0.3], axis=1) / 4, ""),
        "tone": (0.9 * np.sin(np.arange(300) * 0.4).astype(np.float32), ""),
        "halves": (np.arange(-9, 10, dtype=np.float32) / 8, ""),
        "uint16": (np.arange(90, dtype=np.uint16) * 728, ""),
        "int32": ((signal * 4e8).astype(np.int32), ""),
        "int8": (np.arange(-128, 128, 3).astype(np.int8), ""),
        "spectrum": (spectrum, "ft"),
        "turned": (np.ascontiguousarray(spectrum.T), "tf"),
        "unnamed": (np.stack([spectrum, spectrum[::-1]]), ""),
        "bins": (spectrum[:, 0].copy(), ""),
        "zeros": (np.zeros((2, 3), np.float32), ""),
    }


def _cases():
    """(operator, names of the inputs, arguments); element types by name."""
    for border in ("zero", "clamp", "reflect"):
        for kind in ("signal", "one", "int16", "column"):
            yield "preemphasis_filter", (kind,), {"border": border}
        yield "preemphasis_filter", ("uint8",), {"border": border, "preemph_coeff": 0.3}
    for dtype in ("uint8", "int16"):
        for kind in ("signal", "int16"):
            yield "preemphasis_filter", (kind,), {"dtype": dtype, "preemph_coeff": 0.6}

    for kind in ("signal", "short", "one", "column", "row"):
        for mirrored in (True, False):
            sizes = {"window_length": 16, "window_step": 7, "reflect_padding": mirrored}
            yield "spectrogram", (kind,), sizes
    yield "spectrogram", ("signal",), {"nfft": 64, "window_length": 15, "window_step": 20}
    yield "spectrogram", ("signal",), {"window_length": 15, "nfft": 33, "power": 1}
    yield "spectrogram", ("signal",), {"window_length": 30, "center_windows": False}
    odd = {"window_length": 7, "window_step": 5, "center_windows": False, "nfft": 12}
    yield "spectrogram", ("signal",), odd
    triangle = [1.0, 2.0, 3.0, 2.0, 0.5]
    yield "spectrogram", ("signal",), {"window_fn": triangle, "window_length": 5, "window_step": 9}

    for kind in ("spectrum", "turned", "unnamed", "bins"):
        for formula in ("slaney", "htk"):
            arguments = {"mel_formula": formula, "nfilter": 6, "sample_rate": 16000.0}
            yield "mel_filter_bank", (kind,), arguments
    band = {"nfilter": 9, "freq_low": 300.0, "freq_high": 9000.0, "normalize": False}
    yield "mel_filter_bank", ("spectrum",), band

    for kind in ("spectrum", "unnamed", "zeros"):
        yield "to_decibels", (kind,), {}
    yield "to_decibels", ("spectrum",), {"multiplier": 20.0, "reference": 3.0, "cutoff_db": -6.0}
    yield "to_decibels", ("zeros",), {"reference": 1.0, "cutoff_db": -80.0}
    yield "to_decibels", ("spectrum",), {"reference": -1.0, "cutoff_db": -80.0}

    for kind in (1, 2, 3, 4):
        for normalize in (False, True)[: 1 if kind == 1 else 2]:
            arguments = {"dct_type": kind, "normalize": normalize}
            yield "mfcc", ("spectrum",), arguments
            yield "mfcc", ("turned",), {**arguments, "axis": 1, "n_mfcc": 5, "lifter": 7.0}
            yield "mfcc", ("spectrum",), {**arguments, "n_mfcc": 50, "lifter": -3.0}

    for power in (1, 2):
        yield "power_spectrum", ("signal",), {"power": power}
    for nfft in (16, 33, 100):
        yield "power_spectrum", ("signal",), {"nfft": nfft}
    yield "power_spectrum", ("spectrum",), {"axis": 0}
    yield "power_spectrum", ("unnamed",), {"axis": 1, "nfft": 40}

    for kind in ("quiet", "int16", "pulse", "uint8", "short"):
        for window in (1, 4, 16, 2048):
            for cutoff in (-3.0, -20.0, -60.0):
                sizes = {"window_length": window, "cutoff_db": cutoff, "reset_interval": 2048}
                yield "nonsilent_region", (kind,), sizes
    yield "nonsilent_region", ("silent",), {}
    yield "nonsilent_region", ("silent",), {"reference_power": 1.0}
    yield "nonsilent_region", ("pulse",), {"reference_power": 900.0, "window_length": 4}

    for rates in ((44100.0, 16000.0), (16000.0, 22050.0), (1.0, 2.0), (3.0, 1.0), (8.0, 7.9)):
        for kind in ("tone", "stereo", "short"):
            arguments = {"in_rate": rates[0], "out_rate": rates[1]}
            yield "audio_resample", (kind,), arguments
    for quality in (0.0, 30.0, 70.0, 100.0):
        yield "audio_resample", ("tone",), {"scale": 1.37, "quality": quality}
    for length in (3, 133, 300, 600):
        yield "audio_resample", ("tone",), {"out_length": length}
    for kind in ("halves", "int16", "uint8", "uint16", "int32", "int8"):
        for dtype in ("float32", "int16", "uint8", "int8", "int32", "uint16"):
            yield "audio_resample", (kind,), {"scale": 1.0, "dtype": dtype}
        yield "audio_resample", (kind,), {"scale": 0.7}


CASES = list(_cases())
