"""Seeking in compressed sound: the samples are those of the whole decode, or it is not done."""

import struct
from fractions import Fraction
from types import SimpleNamespace

import av
import numpy as np
import pytest
from audio_files import decode_all, make_signal, write_sound
from pyav_versions import IS_BEFORE_16

import videoloader as vl
from videoloader.audio.seeking import PacketTable, TwinDecoder
from videoloader.audio.stream import SoundStream

RATE = 32000
SECONDS = 12

# Name of the file, and the encoder with its options; the noise of the signal makes AAC use noise
# substitution where it may.
SEEKABLE = {
    "plain.mp4": ("aac", {"aac_pns": "0"}, 2),
    "mono.mov": ("aac", {"aac_pns": "0"}, 1),
    "six.mp4": ("aac", {"aac_pns": "0"}, 6),
    "reservoir.mp4": ("libmp3lame", {"b": "32000"}, 2),
    "varying.mp4": ("libmp3lame", {"q": "9"}, 1),
    "samples.mov": ("pcm_s16le", {}, 2),
}
# Without tables: packets are passed over one by one.
PASSED = {
    "plain.mkv": ("aac", {"aac_pns": "0"}, 2),
    "silent.mkv": ("aac", {"aac_pns": "0"}, 2),  # packets of 6 bytes
    "six.mkv": ("aac", {"aac_pns": "0"}, 6),
    "plain.ts": ("aac", {"aac_pns": "0"}, 2),
    "mono.ts": ("aac", {"aac_pns": "0"}, 1),
    "six.ts": ("aac", {"aac_pns": "0"}, 6),
    "reservoir.mkv": ("libmp3lame", {"b": "32000"}, 2),
    "varying.ts": ("libmp3lame", {"q": "9"}, 1),
}
OTHERS = {
    "noise.mkv": ("aac", {"aac_pns": "1", "b": "64000"}, 2),
    "noise.ts": ("aac", {"aac_pns": "1", "b": "64000"}, 2),
    "gap.mkv": ("aac", {"aac_pns": "0"}, 2),
    "gap.ts": ("aac", {"aac_pns": "0"}, 2),
    "opus.mkv": ("libopus", {}, 2),
    "feedback.mkv": ("mp2", {}, 2),
    "dither.ts": ("ac3", {}, 2),
    "noise.mp4": ("aac", {"aac_pns": "1", "b": "64000"}, 2),
    "dither.mp4": ("ac3", {}, 2),
    "gap.mp4": ("aac", {"aac_pns": "0"}, 2),
}


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes one of the files, once."""
    folder, made = tmp_path_factory.mktemp("sounds"), {}

    def write(name):
        codec, options, channels = (SEEKABLE | PASSED | OTHERS)[name]
        if name not in made:
            signal = make_signal(SECONDS, RATE, channels)
            if name.startswith("silent"):
                signal[:, RATE : -2 * RATE] = 0
            gap = (200, 230) if name.startswith("gap") else None
            rate = 48000 if codec == "libopus" else RATE
            made[name] = write_sound(
                folder / name, signal, rate, codec, options=options, gap=gap, with_video=True
            )
        return made[name]

    return write


def seeks_of(monkeypatch):
    """A list that takes whether each seek from now on succeeds."""
    seeks, seek = [], SoundStream.seek

    def noted(self, number):
        seeks.append(seek(self, number))
        return seeks[-1]

    monkeypatch.setattr(SoundStream, "seek", noted)
    return seeks


def check_places(path, count, *, seed=0, **options):
    """Read at random places, each in a new reader and after another place."""
    with vl.Audio(path, dtype="stored", **options) as audio:
        whole = audio[:].numpy()
    rng = np.random.default_rng(seed)
    for _ in range(count):
        with vl.Audio(path, dtype="stored", **options) as audio:
            for begin in rng.integers(0, whole.shape[1], 2).tolist():
                length = int(rng.choice([1, 500, RATE // 2]))
                part = audio[begin : begin + length].numpy()
                assert np.array_equal(part, whole[:, begin : begin + length])
    return whole


@pytest.mark.parametrize("name", SEEKABLE)
def test_the_samples_after_a_seek_are_those_of_the_whole_decode(write, monkeypatch, name):
    seeks = seeks_of(monkeypatch)
    whole = check_places(write(name), 30)
    assert np.array_equal(whole, decode_all(write(name))[0])
    assert sum(seeks) > 20 or IS_BEFORE_16


@pytest.mark.parametrize("name", PASSED)
def test_the_samples_behind_packets_that_are_passed_over_are_those_of_the_whole_decode(
    write, monkeypatch, name
):
    passed, pass_over = [], SoundStream._pass

    def noted(self, number):
        begin = self.last.stop
        pass_over(self, number)
        passed.append(self.last.stop - begin)

    monkeypatch.setattr(SoundStream, "_pass", noted)
    whole = check_places(write(name), 6)
    assert np.array_equal(whole, decode_all(write(name))[0])
    assert sum(count > RATE for count in passed) > 3
    with vl.Audio(write(name), dtype="stored") as audio:  # the end, and behind it
        assert np.array_equal(audio[whole.shape[1] - 1500 :], whole[:, -1500:])
        assert np.array_equal(audio[5 * RATE : 6 * RATE], whole[:, 5 * RATE : 6 * RATE])
    with vl.Audio(write(name)) as audio:
        assert audio[whole.shape[1] + 9 :].shape[1] == 0


def test_the_end_of_a_sound_is_reached_by_a_seek(write, monkeypatch):
    seeks = seeks_of(monkeypatch)
    with vl.Audio(write("plain.mp4")) as audio:
        whole = audio[:]
    for begin in (whole.shape[1] - 1, whole.shape[1] + 9):
        with vl.Audio(write("plain.mp4")) as audio:
            assert np.array_equal(audio[begin : begin + 500], whole[:, begin:])
    assert sum(seeks) == 2 or IS_BEFORE_16


@pytest.mark.parametrize("name", OTHERS)
def test_sound_that_depends_on_all_before_it_is_decoded_from_the_beginning(write, name):
    whole = check_places(write(name), 6)
    assert np.array_equal(whole, decode_all(write(name))[0])
    check_places(write(name), 3, fill_gaps=True)


def test_packets_that_an_edit_list_leaves_out_are_no_sound(tmp_path):
    """Of each edit the demuxer also gives packets before it, which decode and are not heard."""
    signal = make_signal(SECONDS, RATE, 2)
    path = write_sound(tmp_path / "a.m4a", signal, RATE, "aac", options={"aac_pns": "0"}, late=0.5)
    data = bytearray(path.read_bytes())
    edits = data.index(b"elst") + 8
    assert struct.unpack_from(">I", data, edits) == (2,)  # the first is the time before the sound
    for number, (milliseconds, begin) in enumerate([(4001, 6 * RATE + 77), (5000, 1024)]):
        struct.pack_into(">Ii", data, edits + 4 + 12 * number, milliseconds, begin)
    path.write_bytes(data)
    whole = check_places(path, 6)
    assert np.array_equal(whole, decode_all(path)[0])
    assert whole.shape[1] > 8.9 * RATE


def test_noise_is_found_by_a_decoder_with_other_random_numbers(write):
    """Of plain packets a twin gives the same, of those with noise it does not."""
    found = {}
    for name in ("plain.mp4", "noise.mp4", "six.mp4", "mono.mov"):
        with av.open(str(write(name))) as container:
            (stream,) = container.streams.audio
            context = stream.codec_context
            packets, same = list(container.demux(stream)), []
            twin = TwinDecoder(context, packets[0])
            for packet in packets:
                frames = [*zip(context.decode(packet), twin.decode(packet), strict=False)]
                same += [np.array_equal(a.to_ndarray(), b.to_ndarray()) for a, b in frames]
        found[name] = all(same[2:-2])
    assert found == {"plain.mp4": True, "noise.mp4": False, "six.mp4": True, "mono.mov": True}


@pytest.mark.parametrize("kind", ["fragments", "edit"])
def test_seeking_in_fragments_and_behind_an_edit_list(write, tmp_path, monkeypatch, kind):
    """The edit list begins in the middle of a packet."""
    path = tmp_path / "made.mp4"
    options = {"movflags": "frag_keyframe+empty_moov"} if kind == "fragments" else {}
    with (
        av.open(str(write("plain.mp4"))) as given,
        av.open(str(path), "w", options=options) as made,
    ):
        (stream,) = given.streams.audio
        target = made.add_stream_from_template(stream)
        for packet in given.demux(stream):
            if packet.dts is not None:
                packet.stream = target
                packet.pts = packet.dts = packet.pts - (0 if kind == "fragments" else 4321)
                made.mux(packet)
    seeks = seeks_of(monkeypatch)
    whole = check_places(path, 15)
    assert np.array_equal(whole, decode_all(path)[0])
    assert sum(seeks) > 8 or IS_BEFORE_16


@pytest.mark.skipif(IS_BEFORE_16, reason="all from the beginning on is decoded, the damage too")
def test_damage_behind_a_seek_is_an_error_as_ever(write, tmp_path):
    path, data = tmp_path / "damaged.mp4", bytearray(write("plain.mp4").read_bytes())
    with av.open(str(write("plain.mp4"))) as container:
        packets = [packet for packet in container.demux(audio=0) if packet.size]
    at = packets[300]
    data[at.pos : at.pos + at.size] = b"\xff" * at.size
    path.write_bytes(data)
    begin = float(at.pts * at.time_base)
    with vl.Audio(path) as audio, vl.Audio(write("plain.mp4")) as good:
        for first in (begin + 1, begin - 1):  # past the damage, which a seek does not meet
            part = audio.get_samples(first, first + 0.5)
            assert np.array_equal(part, good.get_samples(first, first + 0.5))
    for first in (begin - 0.1, begin, begin + 0.02):
        with vl.Audio(path) as audio, pytest.raises(vl.errors.DecodeError, match="does not decode"):
            audio.get_samples(first, first + 0.5)


@pytest.mark.parametrize("suffix", ["mkv", "ts"])
def test_damage_that_a_clip_does_not_need_is_not_seen(write, tmp_path, suffix):
    given = write(f"plain.{suffix}")
    with av.open(str(given)) as container:
        packets = [packet for packet in container.demux(audio=0) if packet.size]
    payload = bytes(memoryview(packets[300]))
    data = given.read_bytes()
    head = 7 if suffix == "ts" else 0  # of ADTS, which stays whole
    core = payload[head + 4 : head + 44]
    assert data.count(core) == 1
    path = tmp_path / given.name
    path.write_bytes(data.replace(core, b"\xff" * len(core)))
    at = float(packets[300].pts * packets[300].time_base)
    with vl.Audio(path) as audio, vl.Audio(given) as good:
        part = audio.get_samples(at + 1, at + 1.5)
        assert np.array_equal(part, good.get_samples(at + 1, at + 1.5))
    with vl.Audio(path) as audio, vl.Audio(given) as good:
        try:
            part = audio.get_samples(at - 0.1, at + 0.3)
        except vl.errors.DecodeError:
            return
        assert not np.array_equal(part, good.get_samples(at - 0.1, at + 0.3))


def stream_of(*, stamps=(0, 8, 16, 24, 32), flags=(1,) * 5, base=8000, profile="LC"):
    """A stream of AAC at 8000 Hz whose packets have 8 samples, the first one decoded."""
    entries = [
        SimpleNamespace(timestamp=stamp, flags=flag, size=9)
        for stamp, flag in zip(stamps, flags, strict=True)
    ]
    codec = SimpleNamespace(name="aac")
    context = SimpleNamespace(codec=codec, profile=profile, sample_rate=8000, channels=1)
    return SimpleNamespace(
        index_entries=entries, time_base=Fraction(1, base), codec_context=context
    )


@pytest.mark.parametrize(
    ("other", "count"),
    [
        ({}, 4),
        ({"stamps": [0, 8, 16, 25, 33]}, 2),
        ({"stamps": [0, 8, 16, 24, 40]}, 3),
        ({"flags": [1, 1, 1, -1, 1]}, 2),
        ({"stamps": [0, 9, 17, 25, 33]}, None),
        ({"base": 1000}, None),
        ({"profile": "HE-AAC"}, None),
    ],
    ids=str,
)
def test_only_packets_without_gaps_are_in_the_table(other, count):
    table = PacketTable.of(stream_of(**other), Fraction(0), 8)
    assert (None if table is None else len(table.timestamps)) == count
