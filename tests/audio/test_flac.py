"""FLAC: what its frames say of themselves is believed, and nothing else is taken for damage."""

import av
import numpy as np
import pytest
from audio_files import decode_all, make_signal, write_sound

import videoloader as vl

RATES = (8000, 16000, 22050, 44100, 48000, 96000)
CONTAINERS = ("flac", "flac", "flac", "mkv", "mp4", "ogg")
FRAME = 4608  # samples that FFmpeg's encoder puts into a frame at 44.1 kHz
COUNT = 14 * FRAME + 100


def ordinary(folder, number):
    """One of 36 files: rates, sample formats, channels, lengths, ends and containers vary."""
    rng = np.random.default_rng(number)
    rate, container = RATES[number % 6], CONTAINERS[number // 6]
    channels = (1, 2, 2, 6)[number % 4]
    form = "s32" if number % 5 == 0 else "s16"
    signal = make_signal(float(rng.uniform(0.01, 1.2)), rate, channels)
    if number % 2:
        signal[:, -int(signal.shape[1] * rng.uniform(0.1, 0.9)) :] = 0  # ends in silence
    if number % 7 == 0:
        signal[:] = 0.25  # one value
    path = folder / f"{number}.{container}"
    return write_sound(path, signal, rate, "flac", form=form), signal.shape[1]


@pytest.mark.parametrize("number", range(36))
def test_ordinary_files_are_read_exactly_and_are_whole(tmp_path, number):
    path, count = ordinary(tmp_path, number)
    expected = decode_all(path)[0]
    assert expected.shape[1] == count
    with vl.Audio(path, dtype="stored") as audio:
        assert (audio.get_samples().numpy() == expected).all()
        assert len(audio) == count
        for start in (count // 2, 0, count - 1, count // 3):
            assert (audio[start : start + 700].numpy() == expected[:, start : start + 700]).all()
        assert audio.warnings == ()


@pytest.fixture(scope="module", params=sorted({*CONTAINERS}))
def sound(request, tmp_path_factory):
    """The bytes of a file of 15 frames, and its samples."""
    path = tmp_path_factory.mktemp("flac") / f"a.{request.param}"
    signal = make_signal(COUNT / 44100, 44100, 2)
    write_sound(path, signal, 44100, "flac", form="s16")
    return path.suffix, path.read_bytes(), decode_all(path)[0]


def damaged(suffix, data, seed):
    """A file with one flipped bit, or without some bytes, in its frames."""
    rng = np.random.default_rng(seed)
    begin = data.index(b"\xff\xf8") if suffix != ".ogg" else 200
    place = int(rng.integers(begin, len(data) - 700))
    changed = bytearray(data)
    changed[place] ^= 1 << int(rng.integers(8))
    if seed % 4 == 3:
        del changed[place : place + 300]
    return bytes(changed)


def frames_of(path):
    """The packets of a file."""
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(audio=0) if packet.size]


def is_part(samples, start, expected):
    """Whether samples are those from one on, or fewer."""
    return (samples == expected[:, start : start + samples.shape[1]]).all()


def test_damage_is_an_error_and_no_sample_is_a_wrong_one(sound):
    suffix, data, expected = sound
    errors = 0
    for seed in range(32):
        changed = damaged(suffix, data, seed)
        try:
            audio = vl.Audio(changed, dtype="int16")
        except vl.VideoError:
            errors += 1  # the first frame, or a table of the container
            continue
        with audio:
            try:
                found = audio.get_samples().numpy()
            except vl.errors.DecodeError as error:
                assert " s " in str(error)  # names the time
                errors += 1
            else:  # damage in the last packet, as in a file that is cut
                assert is_part(found, 0, expected)
                assert suffix == ".ogg" or audio.warnings  # nothing states how long it is
            for start in np.random.default_rng(seed).permutation(8) * COUNT // 8:
                try:
                    assert is_part(audio[start : start + 3000].numpy(), start, expected)
                except vl.errors.DecodeError:
                    continue
    assert errors > 20


@pytest.mark.parametrize("lost", [1, 7, 30])
def test_a_lost_frame_does_not_move_the_sound(tmp_path, lost):
    path = write_sound(tmp_path / "a.flac", make_signal(8.0), 44100, "flac", form="s16")
    data, expected = path.read_bytes(), decode_all(path)[0]
    frame = frames_of(path)[lost]
    place = data.index(frame)
    with vl.Audio(data[:place] + data[place + len(frame) :], dtype="int16") as audio:
        for _ in range(2):
            with pytest.raises(vl.errors.DecodeError, match="damaged or missing"):
                audio.get_samples()
        assert is_part(audio[: lost * FRAME].numpy(), 0, expected)
        behind = audio[60 * FRAME : 61 * FRAME].numpy()  # decoding begins behind the damage
        assert (behind == expected[:, 60 * FRAME : 61 * FRAME]).all()


def test_blocks_that_matroska_lost_are_a_gap(tmp_path):
    paths = [tmp_path / name for name in ("whole.mkv", "gap.mkv")]
    for path, gap in zip(paths, (None, (5, 7)), strict=True):
        write_sound(path, make_signal(2.0), 44100, "flac", form="s16", gap=gap)
    with vl.Audio(paths[0]) as whole, vl.Audio(paths[1], fill_gaps=True) as audio:
        assert abs(len(audio) - len(whole)) <= 45  # its times are milliseconds
        begin, end = 5 * FRAME, 7 * FRAME
        assert (audio[:begin] == whole[:begin]).all()
        assert not audio[begin : end - 45].any()
        late = len(audio) - len(whole)
        assert (audio[end + 45 + late :] == whole[end + 45 :]).all()


def test_a_file_of_a_part_of_a_stream_is_sound(tmp_path):
    """Its frames keep their numbers, and nothing lies in front of the first."""
    path = write_sound(tmp_path / "a.flac", make_signal(2.0), 44100, "flac", form="s16")
    data, expected = path.read_bytes(), decode_all(path)[0]
    packets = frames_of(path)
    head = data[: data.index(packets[0])]
    with vl.Audio(head + b"".join(packets[5:]), dtype="int16") as audio:
        assert (audio.get_samples().numpy() == expected[:, 5 * FRAME :]).all()


@pytest.mark.parametrize("tag", [b"TAG" + b"x" * 125, b"APETAGEX" + bytes(200), b"\xff" * 90])
def test_tags_behind_the_last_frame_are_no_damage(sound, tag):
    suffix, data, expected = sound
    if suffix != ".flac":
        pytest.skip("tags are in its tables")
    with vl.Audio(data + tag, dtype="int16") as audio:
        assert (audio.get_samples().numpy() == expected).all()
        assert audio.warnings == ()
    with vl.Audio(b"ID3\x04\0\0\0\0\0\x14" + bytes(20) + data, dtype="int16") as audio:
        assert (audio.get_samples().numpy() == expected).all()


def test_sound_that_looks_like_adts_is_not_called_truncated(tmp_path):
    """Samples that begin as the header of an AAC frame does."""
    samples = np.tile(np.array([0xF0FF, 0x3F50, 0xFFFF, 0x1111], np.uint16).view(np.int16), 500)
    path = tmp_path / "a.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None], "s16", "mono")
        frame.sample_rate = 8000
        container.mux([*stream.encode(frame), *stream.encode()])
    with vl.Audio(path, dtype="int16") as audio:
        assert (audio.get_samples().numpy() == samples).all()
        assert audio.warnings == ()
