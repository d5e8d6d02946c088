"""WAV files and calls of `fn.decoders.audio`; `dali/references/sound.npz` has what DALI gives."""

import struct

import numpy as np

__all__ = ["CASES", "files", "make_wav"]

_CODES = {"f": 3}


def make_wav(samples, rate):
    """The bytes of a WAV file with samples (n, channels) of 8 to 32 bits or float32."""
    width, channels = samples.dtype.itemsize, samples.shape[1]
    code = _CODES.get(samples.dtype.kind, 1)
    frame = width * channels
    form = struct.pack("<IHHIIHH", 16, code, channels, rate, rate * frame, frame, 8 * width)
    data = samples.tobytes()
    chunks = b"fmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def files():
    """The bytes of files by name."""
    rng = np.random.default_rng(0)
    times = np.arange(80)[:, None]
    tones = 0.6 * np.sin(times * np.array([0.05, 0.11])) + 0.1 * rng.normal(size=(80, 2))
    edges = np.array([[-(2**15)], [-(2**15) + 1], [-1], [0], [1], [2**14], [2**15 - 1]])
    return {
        "int16": make_wav((tones * 2**15).astype(np.int16), 22050),
        "mono": make_wav((tones[:, :1] * 2**15).astype(np.int16), 16000),
        "uint8": make_wav((tones * 100 + 128).astype(np.uint8), 8000),
        "int32": make_wav((tones * 2**31).astype(np.int32), 44100),
        "float32": make_wav(tones.astype(np.float32), 44100),
        "edges": make_wav(edges.astype(np.int16), 8000),
    }


def _cases():
    """(name of the file, arguments); element types by name."""
    for name in files():
        kinds = ("float32",) if name == "float32" else ("float32", "int16", "int32")
        for dtype in kinds:
            yield name, {"dtype": dtype}
            yield name, {"dtype": dtype, "downmix": True}
            yield name, {"dtype": dtype, "sample_rate": 16000.0}
    for quality in (0.0, 80.0):
        yield "int16", {"sample_rate": 30000.0, "quality": quality, "downmix": True}


CASES = list(_cases())
