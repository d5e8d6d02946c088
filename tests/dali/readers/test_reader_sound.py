"""`enable_audio` of `fn.readers.video`: the sound that `Video` gives with the frames."""

import numpy as np
import pytest
from audio_files import make_signal, write_sound

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video

RATE = 16000
STEP = RATE // 25  # samples while one frame is shown


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    signals = [make_signal(1.2, RATE), make_signal(1.0, RATE, 1)]
    paths = [
        write_sound(folder / f"{at}.mp4", signal, RATE, "aac", with_video=True)
        for at, signal in enumerate(signals)
    ]
    paths.append(encode_video(folder / "silent.mp4", size=(64, 48), frames=30))
    return [str(path) for path in paths]


def run(batches=1, batch_size=3, **arguments):
    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None)
    def pipeline():
        made = fn.readers.video(**{"enable_audio": True, **arguments})
        return tuple(made) if isinstance(made, list | tuple) else made

    with pipeline() as made:
        return [[[*map(np.asarray, output)] for output in made.run()] for _ in range(batches)]


def test_the_last_outputs_are_sound_and_its_rate(paths):
    ((frames, labels, numbers, sounds, rates),) = run(
        filenames=paths,
        labels=[5, 6, 7],
        sequence_length=8,
        stride=2,
        step=1000,
        enable_frame_num="sequence",
        name="reader",
    )
    assert [each.shape for each in sounds] == [(15 * STEP, 2), (15 * STEP, 1), (0, 1)]
    assert [each.dtype for each in (*sounds, *rates)] == [np.float32] * 6
    assert [float(rate) for rate in rates] == [RATE, RATE, 0]
    assert [label.item() for label in labels] == [5, 6, 7]
    assert [len(each) for each in frames] == [8, 8, 8]
    for path, chosen, sound in zip(paths[:2], numbers, sounds, strict=False):
        with vl.Video(path) as video:
            assert np.array_equal(sound, video.get_frames(chosen, audio=True).audio)


def test_sound_is_padded_in_the_range_of_a_file_list(paths, tmp_path):
    listing = tmp_path / "list.txt"
    listing.write_text(f"{paths[0]} 0 5 15\n")
    inside = vl.decode_batch([(paths[0], range(5, 15))], audio=True).audio[0].numpy()
    for mode, wanted in {
        "edge": np.zeros_like(inside),
        "constant": np.zeros_like(inside),
        "reflect_1001": inside[::-1],
        "wrap": inside,
    }.items():
        ((*_, sounds, _),) = run(
            batch_size=1,
            file_list=str(listing),
            file_list_format="frames",
            sequence_length=20,
            pad_mode=mode,
        )
        assert np.array_equal(sounds[0], np.concatenate([inside, wanted]))


def test_clips_that_are_decoded_together_have_their_own_sounds(paths):
    arguments = {
        "filenames": paths[:1],
        "sequence_length": 5,
        "audio_sample_rate": 8000,
        "audio_channels": 1,
        "batch_size": 2,
        "batches": 3,
    }
    alone, together = run(**arguments), run(clips_per_decode=3, **arguments)
    for one, other in zip(alone, together, strict=True):
        assert [sound.shape for sound in one[1]] == [(1600, 1)] * 2
        assert all(map(np.array_equal, one[1], other[1]))


def test_a_rate_without_sound_is_an_error(paths):
    with pytest.raises(vl.errors.ArgumentError, match="audio_sample_rate=8000 goes with"):
        run(filenames=paths, sequence_length=4, enable_audio=False, audio_sample_rate=8000)
