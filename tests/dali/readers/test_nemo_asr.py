"""`fn.readers.nemo_asr`: manifests of sounds and texts."""

import json

import numpy as np
import pytest
from audio_files import decode_all, make_signal, write_sound

import videoloader as vl
from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def

RATES = (8000, 16000, 11025)
TEXTS = ("one", "dzień dobry", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nemo")
    for number, rate in enumerate(RATES):
        signal = make_signal(0.5, rate, channels=1 + number % 2)
        write_sound(folder / f"{number}.wav", signal, rate, "pcm_s16le")
    write_sound(folder / "clip.mp4", make_signal(0.5), 44100, "aac", with_video=True)
    return folder


@pytest.fixture(scope="module")
def manifest(folder):
    entries = [
        {"audio_filepath": str(folder / f"{number}.wav"), "duration": 0.5, "text": text}
        for number, text in enumerate(TEXTS)
    ]
    return write_manifest(folder / "manifest.json", entries)


def write_manifest(path, entries):
    lines = [each if isinstance(each, str) else json.dumps(each) for each in entries]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def built(manifests, batch_size=3, **arguments):
    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=5)
    def pipeline():
        made = fn.readers.nemo_asr(manifest_filepaths=manifests, name="reader", **arguments)
        return tuple(made) if isinstance(made, list | tuple) else made

    running = pipeline()
    running.build()
    return running


def read(manifests, batch_size=3, **arguments):
    """The outputs of a batch, each a list of arrays."""
    outputs = built(manifests, batch_size, **arguments).run()
    return [[np.asarray(sample) for sample in output] for output in outputs]


def stored(folder, number):
    return decode_all(folder / f"{number}.wav")[0].T


def test_sounds_rates_texts_and_positions(folder, manifest):
    sounds, rates, texts, positions = read(manifest, read_idxs=True)
    for number in range(3):
        wanted = stored(folder, number).mean(axis=1) / 32768
        np.testing.assert_allclose(sounds[number], wanted, atol=1e-6)
        assert sounds[number].dtype == np.float32
        assert (rates[number].shape, rates[number].dtype) == ((), np.float32)
        assert rates[number] == RATES[number]
        assert texts[number].dtype == np.uint8
        assert texts[number].tobytes().decode() == TEXTS[number]
        assert positions[number].tolist() == [number]
        assert positions[number].dtype == np.int64


@pytest.mark.parametrize("dtype", ["INT16", "INT32"])
def test_channels_are_kept_without_downmix(folder, manifest, dtype):
    (sounds,) = read(
        manifest,
        dtype=getattr(types, dtype),
        downmix=False,
        read_text=False,
        read_sample_rate=False,
    )
    for number in range(3):
        wanted = stored(folder, number).astype(np.int64) << (16 if dtype == "INT32" else 0)
        assert np.array_equal(sounds[number], wanted)


def test_sounds_are_resampled_and_the_rate_is_the_new_one(folder, manifest):
    sounds, rates, _ = read(manifest, sample_rate=16000.0)
    assert [len(each) for each in sounds] == [8000, 8000, 8000]
    assert [float(each) for each in rates] == [16000.0] * 3
    assert np.array_equal(sounds[1], read(manifest)[0][1])


@pytest.mark.parametrize(
    ("part", "start", "stop"),
    [
        ({"offset": 0.25}, 4000, 8000),
        ({"duration": 0.25}, 0, 4000),
        ({"offset": 0.1, "duration": 0.2}, 1600, 4800),
        ({"offset": 0.49999, "duration": 5.0}, 7999, 8000),
        ({"duration": 0.123456}, 0, 1975),
        ({"duration": -1.0}, 0, 8000),
        ({"duration": 0.0}, 0, 0),
    ],
)
def test_offset_and_duration_name_a_part(folder, tmp_path, part, start, stop):
    """The numbers are those of DALI."""
    path = write_manifest(tmp_path / "m.json", [{"audio_filepath": str(folder / "1.wav"), **part}])
    sounds, _, _ = read(path, batch_size=1, dtype=types.INT16, downmix=False)
    assert np.array_equal(sounds[0], stored(folder, 1)[start:stop])


def test_sounds_are_kept_by_their_duration_in_the_manifest(folder, tmp_path):
    entries = [
        {"audio_filepath": str(folder / "0.wav"), "text": str(seconds)}
        | ({} if seconds is None else {"duration": seconds})
        for seconds in (0.1, 0.2, 0.3, 0.4, None)
    ]
    path = write_manifest(tmp_path / "m.json", entries)

    def kept(**limits):
        size = built(path, 1, **limits).reader_meta("reader")["epoch_size"]
        _, _, texts, positions = read(path, batch_size=size, read_idxs=True, **limits)
        assert [each.item() for each in positions] == list(range(size))
        return [each.tobytes().decode() for each in texts]

    # What DALI 2.4 keeps: its limits are float32, and those of 0.2 and 0.3 are a little larger.
    assert kept(min_duration=0.2, max_duration=0.3) == ["0.3"]
    assert kept(max_duration=0.2) == ["0.1", "0.2", "None"]
    assert kept(min_duration=0.3) == ["0.4"]
    assert kept(min_duration=0.25) == ["0.3", "0.4"]


def test_several_manifests_are_one_data_set(folder, manifest, tmp_path):
    other = write_manifest(tmp_path / "m.json", [{"audio_filepath": str(folder / "2.wav")}])
    sounds, _, _, positions = read([manifest, other], batch_size=4, read_idxs=True)
    assert np.array_equal(sounds[3], sounds[2])
    assert [each.item() for each in positions] == [0, 1, 2, 0]


def test_a_sound_may_be_the_soundtrack_of_a_video_and_lie_beside_the_manifest(folder):
    path = write_manifest(folder / "beside.json", [{"audio_filepath": "clip.mp4"}])
    sounds, rates, _ = read(path, batch_size=1)
    wanted = decode_all(folder / "clip.mp4")[0].mean(axis=0)
    np.testing.assert_allclose(sounds[0], wanted, atol=1e-6)
    assert rates[0] == 44100


def test_a_shuffled_epoch_has_each_sound_once(manifest):
    running = built(manifest, 3, random_shuffle=True, read_idxs=True, read_text=False)
    orders = []
    for _ in range(4):
        *_, positions = running.run()
        orders.append(tuple(int(each[0]) for each in positions))
        assert sorted(orders[-1]) == [0, 1, 2]
    assert len(set(orders)) > 1


def test_the_last_batch_is_padded_with_the_last_sound(manifest):
    running = built(manifest, 2, pad_last_batch=True, read_text=False, read_sample_rate=False)
    running.run()
    (sounds,) = running.run()
    assert np.array_equal(np.asarray(sounds[0]), np.asarray(sounds[1]))


def test_shards_share_the_sounds(manifest):
    seen = []
    for shard in range(3):
        *_, positions = read(manifest, batch_size=1, shard_id=shard, num_shards=3, read_idxs=True)
        seen.append(positions[0].item())
    assert sorted(seen) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:fn.*is deprecated:DeprecationWarning")
def test_the_old_name_is_the_same_reader(manifest):
    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def pipeline():
        return tuple(fn.nemo_asr_reader(manifest_filepaths=[manifest], normalize_text=True))

    running = pipeline()
    running.build()
    sounds, _, _ = running.run()
    for got, wanted in zip(sounds, read(manifest)[0], strict=True):
        assert np.array_equal(np.asarray(got), wanted)


def test_a_sound_that_cannot_be_read_may_be_replaced(folder, tmp_path):
    entries = [
        {"audio_filepath": str(tmp_path / "none.wav")},
        {"audio_filepath": str(folder / "1.wav")},
    ]
    path = write_manifest(tmp_path / "m.json", entries)
    with pytest.raises(vl.VideoError, match=r"none\.wav"):
        read(path, batch_size=2)
    sounds, _, _ = read(path, batch_size=2, on_error="replace")
    assert np.array_equal(sounds[0], sounds[1])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "no sounds"),
        (["hello"], "line 1"),
        (['{"audio_filepath": "a.wav"}', '{"text": "no sound"}'], "line 2.*audio_filepath"),
        (['["a.wav"]'], "line 1"),
        (['{"audio_filepath": "a.wav", "offset": -1}'], "offset"),
        (['{"audio_filepath": "a.wav", "duration": "long"}'], "line 1"),
        (['{"audio_filepath": "a.wav", "duration": Infinity}'], "line 1"),
        (["[" * 100_000], "line 1"),
    ],
)
def test_a_manifest_that_says_nothing_is_an_error_that_names_the_line(tmp_path, lines, words):
    path = write_manifest(tmp_path / "m.json", lines)
    with pytest.raises(ValueError, match=words):
        built(path)


def test_a_part_behind_the_end_is_an_error_with_the_length(folder, tmp_path):
    entry = {"audio_filepath": str(folder / "1.wav"), "offset": 2.0, "duration": 0.1}
    path = write_manifest(tmp_path / "m.json", [entry])
    with pytest.raises(vl.VideoError, match=r"1\.wav.*0\.500 s"):
        read(path, batch_size=1)


def test_a_manifest_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match=r"none\.json"):
        built(str(tmp_path / "none.json"))
    with pytest.raises(ValueError, match="manifest_filepaths"):
        built([])
