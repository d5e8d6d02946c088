"""`audio=True` of `fn.decoders.video`: the sound of the frames, as FFmpeg decodes all of it."""

import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound

from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video
from videoloader.errors import FormatError, OperatorError
from videoloader.sources.items import Item

RATE = 16000
STEP = RATE // 25  # samples while one frame is shown


@pytest.fixture(scope="module", params=["aac.mp4", "flac.mkv", "late.mp4"])
def path(request, tmp_path_factory):
    name, form = request.param.split(".")
    late = 0.5 if name == "late" else 0.0
    place = tmp_path_factory.mktemp("sound") / f"a.{form}"
    codec = "flac" if name == "flac" else "aac"
    signal = make_signal(2.0, RATE)
    return write_sound(place, signal, RATE, codec, with_video=True, late=late)


@pytest.fixture(scope="module")
def wanted(path):
    """Samples (n, channels) from the first frame on; zeros where there are none."""
    samples, begin = decode_all(path)
    samples = samples.astype(np.float32) / (2**15 if samples.dtype == np.int16 else 1)
    begin = round(begin * RATE)
    samples = np.pad(samples, [(0, 0), (max(begin, 0), 2 * RATE)])[:, max(-begin, 0) :]
    return samples.T


def decoded(source, **arguments):
    _, sound, rate = fn.decoders.video(source, audio=True, **arguments)
    assert rate.dtype == sound.dtype == torch.float32
    assert rate.item() == RATE
    return sound.numpy()


@pytest.mark.parametrize(
    ("arguments", "first", "stop"),
    [
        ({"start_frame": 10, "sequence_length": 5}, 10, 15),
        ({"start_frame": 3, "sequence_length": 4, "stride": 6}, 3, 22),
        ({"start_frame": 30, "sequence_length": 5, "stride": -2}, 22, 31),
        ({"frames": [12, 4, 12]}, 4, 13),
        ({"frames": [12, 999], "pad_mode": "constant"}, 12, 13),
        ({"times": [0.5, 0.1]}, 2, 13),
        ({"fps": 5.0, "start_frame": 1, "sequence_length": 3}, 1, 12),
    ],
)
def test_the_sound_is_that_of_the_time_span_of_the_frames(path, wanted, arguments, first, stop):
    sound = decoded(str(path), **arguments)
    assert np.array_equal(sound, wanted[first * STEP : stop * STEP])


def test_any_kind_of_source_has_sound(path, wanted):
    for source in (path, path.read_bytes(), Item(str(path))):
        assert np.array_equal(decoded(source, frames=[7]), wanted[7 * STEP : 8 * STEP])


def test_no_frames_have_no_sound(path):
    assert decoded(str(path), frames=[]).shape == (0, 2)
    assert decoded(str(path), frames=[9999], pad_mode="constant").shape == (0, 2)


def test_a_pipeline_gives_sound_behind_the_other_outputs(path, wanted):
    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def pipeline():
        files = fn.external_source(lambda: [str(path)] * 2)
        frames = fn.external_source(lambda: [np.array([4, 5]), np.array([20, 30, 25])])
        return tuple(
            fn.decoders.video(
                files,
                frames=frames,
                audio=True,
                enable_frame_num="sequence",
                enable_timestamps=True,
            )
        )

    with pipeline() as made:
        frames, numbers, times, sound, rates = made.run()
    assert [len(each) for each in frames] == [2, 3]
    assert numbers[1].tolist() == [20, 30, 25]
    assert times[0].tolist() == pytest.approx([0.16, 0.2])
    assert np.array_equal(np.asarray(sound[0]), wanted[4 * STEP : 6 * STEP])
    assert np.array_equal(np.asarray(sound[1]), wanted[20 * STEP : 31 * STEP])
    assert [np.asarray(rate).item() for rate in rates] == [RATE, RATE]


def test_a_video_without_sound_is_an_error(tmp_path):
    silent = encode_video(tmp_path / "silent.mp4", size=(32, 24), frames=5)
    with pytest.raises(FormatError, match=r"silent\.mp4: there is no sound in it"):
        fn.decoders.video(str(silent), audio=True)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return tuple(fn.decoders.video(fn.external_source(lambda: [str(silent)]), audio=True))

    with (
        pipeline() as made,
        pytest.raises(OperatorError, match=r"silent\.mp4: there is no sound in it"),
    ):
        made.run()
