"""Truncated sound says so, and headers that claim anything cost no memory."""

import logging
import re
import struct

import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound
from sound_cases import make_wav

import videoloader as vl
from videoloader.dali import fn
from videoloader.errors import OperatorError, UnsupportedError

RATE = 16000
CODECS = {
    "a.wav": "pcm_s16le",
    "alaw.wav": "pcm_alaw",
    "a.flac": "flac",
    "a.mp3": "libmp3lame",
    "a.aac": "aac",
    "a.m4a": "aac",
    "a.aiff": "pcm_s16be",
    "a.ogg": "libopus",
    "a.mkv": "aac",
}
UNSTATED = {"a.ogg", "a.mkv"}  # nothing states how long they are, or should be


@pytest.fixture(scope="module", params=CODECS)
def path(request, tmp_path_factory):
    rate = 48000 if request.param == "a.ogg" else RATE
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / request.param
    return write_sound(path, make_signal(2.0, rate), rate, CODECS[request.param])


def test_a_whole_file_has_no_warnings(path, caplog):
    with vl.Audio(path) as audio:
        assert audio.get_samples().shape[1] == len(audio)
        assert audio.warnings == ()
    assert not caplog.records


@pytest.mark.parametrize("kept", [0.3, 0.8])
def test_a_truncated_file_is_told(path, tmp_path, caplog, kept):
    if path.name in UNSTATED:
        pytest.skip("nothing states how long it is")
    data = path.read_bytes()
    if path.name == "a.m4a":  # its tables lie behind the samples; a cut one opens nowhere
        pytest.skip("does not open")
    cut = tmp_path / path.name
    cut.write_bytes(data[: int(len(data) * kept) | 1])
    with caplog.at_level(logging.WARNING), vl.Audio(cut) as audio:
        found = audio.get_samples()
        (warning,) = audio.warnings
        audio.get_samples()  # once is enough
        assert audio.warnings == (warning,)
    assert 0 < found.shape[1] < 2 * RATE
    assert "truncated" in warning
    assert str(cut) in warning
    assert [record.getMessage() for record in caplog.records] == [warning]
    whole = decode_all(path)[0]
    assert found.shape[1] < whole.shape[1]


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000])
def test_a_size_that_was_not_known_is_no_warning(size):
    samples = np.arange(2000, dtype=np.int16).reshape(-1, 2)
    data = bytearray(make_wav(samples, RATE))
    data[40:44] = struct.pack("<I", size)
    with vl.Audio(bytes(data)) as audio:
        assert audio.warnings == ()
        assert len(audio) == 1000


@pytest.mark.parametrize(("rate", "wanted"), [(1, 16000), (2_000_000_000, 16000), (62, 16000)])
def test_rates_of_damaged_headers_are_not_resampled(rate, wanted):
    data = make_wav(np.ones((1000, 1), np.int16), rate)
    with pytest.raises(UnsupportedError, match=f"{re.escape(f'{rate:g}')} to {wanted} Hz.*256"):
        vl.Audio(data, sample_rate=wanted)
    encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    with pytest.raises((UnsupportedError, OperatorError), match="256"):
        fn.decoders.audio(encoded, sample_rate=float(wanted))
    with vl.Audio(data) as audio:
        assert len(audio) == 1000


def test_rates_that_occur_are_resampled():
    for rate, wanted in ((1000, 192000), (384000, 8000)):
        with vl.Audio(make_wav(np.ones((500, 1), np.int16), rate), sample_rate=wanted) as audio:
            assert len(audio) == -(-500 * wanted // rate)


def test_padding_is_bounded():
    with (
        vl.Audio(make_wav(np.ones((1000, 1), np.int16), RATE)) as audio,
        pytest.raises(vl.errors.ArgumentError, match="read it in parts"),
    ):
        audio.get_samples(0.0, 1e9, pad=True)
