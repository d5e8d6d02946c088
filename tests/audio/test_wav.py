"""WAV files read without FFmpeg, against FFmpeg's decode of them."""

import struct

import numpy as np
import pytest
from audio_files import make_signal, write_sound
from pyav_versions import IS_BEFORE_18
from sound_cases import make_wav

import videoloader as vl
from videoloader.audio.stream import SoundStream
from videoloader.audio.wav import open_wav
from videoloader.sources.opening import open_source

SAMPLES = (make_signal(0.2, 8000).T * 2**15).astype(np.int16)
PLAIN = make_wav(SAMPLES, 8000)
GUID = bytes.fromhex("000000001000800000aa00389b71")


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def riff(*chunks, kind=b"RIFF"):
    body = b"".join(chunks)
    return kind + struct.pack("<I", (4 + len(body)) & 0xFFFFFFFF) + b"WAVE" + body


def form(tag=1, channels=2, bits=16, *, extra=b"", frame=None, rate=8000):
    frame = channels * bits // 8 if frame is None else frame
    return chunk(
        b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * frame, frame, bits) + extra
    )


def extensible(tag, bits, valid):
    return form(0xFFFE, 2, bits, extra=struct.pack("<HHIH", 22, valid, 3, tag) + GUID)


DATA = SAMPLES.tobytes()
FILES = {
    "plain": PLAIN,
    "chunks before": riff(
        chunk(b"LIST", b"INFOodd"), form(), chunk(b"fact", bytes(4)), chunk(b"data", DATA)
    ),
    "chunks behind": riff(form(), chunk(b"data", DATA), chunk(b"LIST", b"INFOodd")),
    "extensible": riff(extensible(1, 16, 16), chunk(b"data", DATA)),
    "extensible float": riff(extensible(3, 32, 32), chunk(b"data", DATA)),
    "size unknown": riff(form(), b"data\xff\xff\xff\xff" + DATA),
    "size zero": riff(form(), b"data\0\0\0\0" + DATA),
    "long": riff(
        chunk(b"ds64", struct.pack("<QQQI", 0, len(DATA), 0, 0)),
        form(),
        b"data\xff\xff\xff\xff" + DATA,
        kind=b"RF64",
    ),
    "truncated": PLAIN[:-1001],
    "part of a frame": riff(form(), chunk(b"data", DATA[:-1])),
    "24 bits": riff(form(bits=24), chunk(b"data", DATA[: len(DATA) // 6 * 6])),
    "8 bits": riff(form(bits=8), chunk(b"data", DATA)),
    "64 bits": riff(form(3, bits=64), chunk(b"data", np.linspace(-1, 1, 900).tobytes())),
    "many channels": riff(form(channels=20), chunk(b"data", DATA[: len(DATA) // 40 * 40])),
}
# What is left to FFmpeg, which may refuse it.
ODD = {
    "12 bits": riff(form(bits=12, frame=4), chunk(b"data", DATA)),
    "20 valid bits": riff(extensible(1, 32, 20), chunk(b"data", DATA)),
    "two data chunks": riff(form(), chunk(b"data", DATA[:800]), chunk(b"data", DATA[800:])),
    "ADPCM": riff(form(2, bits=4, frame=256), chunk(b"data", DATA)),
    "no channels": riff(form(channels=0), chunk(b"data", DATA)),
    "no rate": riff(form(rate=0), chunk(b"data", DATA)),
    "no data": riff(form()),
    "no samples": riff(form(), chunk(b"data", b"")),
    "data first": riff(chunk(b"data", DATA)),
    "short form": riff(chunk(b"fmt ", b"\1\0\2\0"), chunk(b"data", DATA)),
    "not WAV": b"RIFF" + bytes(500),
    "DTS": riff(form(), chunk(b"data", bytes(90) + bytes.fromhex("7ffe8001") + bytes(2000))),
}


def by_ffmpeg(data):
    """Samples, their type and rate; None where FFmpeg refuses the file."""
    with open_source(data) as source:
        try:
            stream = SoundStream(source, None, None, is_bounded=True)
        except vl.VideoError:
            return None
        parts = [stream.first.samples]
        while stream.advance():
            parts.append(stream.last.samples)
        stream.close()
        return np.concatenate(parts, axis=1), stream.sample_rate, stream.header


def by_us(data):
    with open_source(data) as source:
        stream = open_wav(source)
        if stream is None:
            return None
        parts = [stream.first.samples]
        while stream.advance():
            parts.append(stream.last.samples)
        return np.concatenate(parts, axis=1), stream.sample_rate, stream.header


def is_same(got, wanted):
    if IS_BEFORE_18:
        got = got[:, : wanted.shape[1]]
    return np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("name", FILES)
def test_samples_are_those_of_ffmpeg(name):
    (got, rate, header), (wanted, same_rate, other) = by_us(FILES[name]), by_ffmpeg(FILES[name])
    assert got.dtype == wanted.dtype
    assert is_same(got, wanted)
    assert rate == same_rate
    told = ("codec", "sample_format", "num_channels", "bit_rate", "stream")
    assert [getattr(header, each) for each in told] == [getattr(other, each) for each in told]


@pytest.mark.parametrize("name", ODD)
def test_what_is_unusual_is_left_to_ffmpeg(name):
    assert by_us(ODD[name]) is None


@pytest.mark.parametrize("seed", range(150))
def test_damaged_headers_give_ffmpegs_samples_or_are_left_to_it(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(FILES[sorted(FILES)[seed % len(FILES)]])
    for place in rng.integers(0, 60, rng.integers(1, 4)):
        data[place] = rng.integers(0, 256)
    got = by_us(bytes(data))
    if got is None:
        return
    wanted = by_ffmpeg(bytes(data))
    if wanted is not None:
        assert is_same(got[0], wanted[0])


@pytest.mark.parametrize("size", [0, 1, 11, 12, 19, 20, 40, 44, 45, 47, 48])
def test_cut_headers_are_errors_of_ours(size):
    if size <= 47:
        with pytest.raises(vl.errors.FormatError):
            vl.Audio(PLAIN[:size])
        return
    with vl.Audio(PLAIN[:size]) as audio:
        assert len(audio) == 1


def test_a_part_of_a_long_file_is_read_alone(tmp_path):
    signal = make_signal(4.0, 48000)
    path = write_sound(tmp_path / "long.wav", signal, 48000, "pcm_f32le")
    with open_source(path) as source:
        read, exact = [], source._read
        source._read = lambda offset, size: read.append(size) or exact(offset, size)
        audio = vl.Audio(source)
        read.clear()
        got = audio.get_samples(3.0, 3.1)
    assert np.array_equal(got.numpy(), signal[:, 144000:148800])
    assert sum(read) <= 2**16 * 8
