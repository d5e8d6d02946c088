"""`cache` of `fn.readers.video`: the same outputs, without decoding, as of `Loader`."""

import numpy as np
import pytest
from audio_files import make_signal, write_sound
from damaged_videos import make_videos

import videoloader as vl
from videoloader.dali import Pipeline, fn

COUNT = 4


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    sound = write_sound(folder / "sound.mp4", make_signal(1, 16000), 16000, "aac", with_video=True)
    return [*map(str, make_videos(folder / "plain", count=COUNT - 1)), str(sound)]


def run(paths, *, batches=2, resized=False, **options):
    """Values of all outputs, and hits and misses of the cache."""
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        made = fn.readers.video(
            filenames=paths, sequence_length=3, enable_frame_num="sequence", **options
        )
        if resized:
            made = [fn.resize(made[0], size=(24, 32)), *made[1:]]
        pipe.set_outputs(*made)
    with pipe:
        outputs = [[[*map(np.asarray, out)] for out in pipe.run()] for _ in range(batches)]
        work = pipe.stats().work
    return outputs, (work.cache_hits, work.cache_misses)


def same(one, other):
    return all(
        np.array_equal(a, b)
        for outs, others in zip(one, other, strict=True)
        for out, values in zip(outs, others, strict=True)
        for a, b in zip(out, values, strict=True)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"resized": True},
        {"enable_audio": True, "audio_sample_rate": 8000},
        {"clips_per_decode": 2},
        {"random_shuffle": True, "seed": 3, "uniform_sample": True, "normalized": True},
        {"pad_mode": "constant", "stride": 9, "fill_value": 7},
    ],
    ids=str,
)
def test_outputs_from_the_cache_are_those_that_decoding_gives(paths, tmp_path, options):
    expected, counts = run(paths, **options)
    assert counts == (0, 0)
    cold, counts = run(paths, cache=str(tmp_path), **options)
    assert same(cold, expected)
    assert counts[1]
    warm, counts = run(paths, cache=str(tmp_path), **options)
    assert same(warm, expected)
    assert counts[0]
    assert counts[1] == 0


def test_another_size_or_part_is_another_clip(paths, tmp_path):
    run(paths, cache=str(tmp_path))
    for options in ({"resized": True}, {"stride": 2}, {"normalized": True}):
        assert same(run(paths, cache=str(tmp_path), **options)[0], run(paths, **options)[0])


def test_a_reader_and_a_loader_keep_their_clips_in_one_folder(paths, tmp_path):
    """Under keys of their own, with one limit."""
    options = {"cache": str(tmp_path), "cache_size": "1GB"}
    list(vl.Loader(paths, vl.UniformClip(3), batch_size=2, workers=0, **options))
    expected, _ = run(paths)
    for _ in range(2):
        assert same(run(paths, **options)[0], expected)
    limit = 2 * 3 * 96 * 128 * 3
    run(paths[:3], cache=str(tmp_path), cache_size=limit, stride=2)
    assert sum(file.stat().st_size for file in tmp_path.glob("*/*.clip")) <= limit


@pytest.mark.parametrize("options", [{"cache": __file__}, {"cache_size": "much"}], ids=str)
def test_wrong_options_are_refused_in_the_definition(paths, options):
    with pytest.raises(vl.errors.ArgumentError, match=next(iter(options))):
        run(paths, **options)


def test_a_graph_that_writes_clips_has_to_be_trusted(paths, tmp_path):
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(fn.readers.video(filenames=paths, sequence_length=1, cache=str(tmp_path)))
    with pytest.raises(vl.errors.UnsupportedError, match="with cache="):
        Pipeline.deserialize(pipe.serialize())
    Pipeline.deserialize(pipe.serialize(), trusted=True)
