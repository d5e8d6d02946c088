"""Sounds are decoded in worker processes: a crash or a hang of a decoder costs its sound only."""

import json
import signal

import numpy as np
import pytest
import torch
from audio_files import make_signal, write_sound
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.audio import request as requests
from videoloader.audio.request import SoundRequest
from videoloader.dali import fn, pipeline_def
from videoloader.dali.readers.files import nemo_asr

pytestmark = pytest.mark.usefixtures("forked_workers")

RATE = 16000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    return str(write_sound(folder / "a.mp3", make_signal(1.0, RATE), RATE, "libmp3lame"))


@pytest.mark.parametrize(
    ("what", "value", "words"),
    [("die", signal.SIGSEGV, "SIGSEGV"), ("sleep", 1000, "longer than")],
)
def test_a_crash_or_hang_costs_its_sound(path, what, value, words):
    items = [path, Misbehaving(path, what, value), path]
    wanted = SoundRequest(path, path).decode()
    with vl.BatchDecoder(workers=2, time_limit=2.0) as decoder:
        found = decoder.decode_sounds([SoundRequest(item, str(path)) for item in items])
    for sound in found[::2]:
        assert np.array_equal(sound.samples, wanted.samples)
        assert sound.sample_rate == RATE
    assert isinstance(found[1], vl.errors.DecodeError)
    assert words in str(found[1])


def test_without_workers_sounds_are_the_same(path):
    asked = [
        SoundRequest(path, "b", "stored", offset=0.3, length=0.2),
        SoundRequest(path, "c", offset=9.0),
        SoundRequest(b"nothing", "d"),
    ]
    with vl.BatchDecoder(workers=1) as there, vl.BatchDecoder(workers=0) as here:
        for one, other in zip(there.decode_sounds(asked), here.decode_sounds(asked), strict=True):
            if isinstance(one, Exception):
                assert (type(one), str(one)) == (type(other), str(other))
            else:
                assert np.array_equal(one.samples, other.samples)
                assert one.sample_rate == other.sample_rate


def test_a_reader_replaces_the_sound_of_a_crash(path, tmp_path, monkeypatch):
    manifest = tmp_path / "m.json"
    lines = [{"audio_filepath": path, "text": str(number)} for number in range(3)]
    manifest.write_text("\n".join(map(json.dumps, lines)))

    def request(source, name, dtype, **options):
        made.append(source)
        source = Misbehaving(path, "die", signal.SIGSEGV) if len(made) == 2 else source
        return SoundRequest(source, name, dtype, **options)

    made = []
    monkeypatch.setattr(nemo_asr, "SoundRequest", request)

    @pipeline_def(batch_size=3, num_threads=2)
    def graph():
        return fn.readers.nemo_asr(manifest_filepaths=[str(manifest)], on_error="replace")

    with graph() as pipe:
        sound, _, text = pipe.run()
        texts = [bytes(each.numpy()).decode() for each in text]
    assert texts == ["0", "2", "2"]
    assert all(torch.equal(each, sound[0]) for each in sound)


def test_workers_decode_what_the_operator_gets(path, monkeypatch):
    with open(path, "rb") as file:
        data = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    monkeypatch.setattr(requests.SoundRequest, "decode", lambda self: pytest.fail("here"))
    samples, rate = fn.decoders.audio(data)
    assert rate.item() == RATE
    assert samples.shape[1] == 2
