"""Which frames of a video are decoded: ranges, strides, lists, padding, any frame rate."""

from fractions import Fraction

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def, types
from videoloader.demo.videos import encode_video, read_frame_number

FRAMES = 20
TICKS = np.cumsum([0, *[20, 25, 10, 45] * 5])[:FRAMES]  # in 1/600 s: a variable frame rate
FILLED = -1


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "variable.mp4"
    ticks = [int(tick) for tick in TICKS]
    encode_video(path, size=(128, 96), frames=FRAMES, pts=ticks, time_base=Fraction(1, 600))
    return path


def decoded(path, device, **arguments):
    """The outputs for one video, the frames as their numbers."""

    @pipeline_def(batch_size=1, num_threads=2, device_id=0)
    def graph():
        encoded = fn.external_source(
            source=lambda: [np.fromfile(path, dtype=np.uint8)], dtype=types.UINT8
        )
        outputs = fn.decoders.video(encoded, device=device, **arguments)
        return tuple(outputs) if isinstance(outputs, list | tuple) else outputs

    with graph() as pipe:
        frames, *others = (output.as_cpu().at(0) for output in pipe.run())
    assert frames.shape[1:] == (96, 128, 3)
    return [FILLED if not frame.any() else read_frame_number(frame) for frame in frames], *others


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, list(range(FRAMES))),
        ({"start_frame": 5, "sequence_length": 4}, [5, 6, 7, 8]),
        ({"start_frame": 5, "end_frame": 9}, [5, 6, 7, 8]),
        ({"start_frame": 2, "end_frame": 20, "stride": 6}, [2, 8, 14]),
        ({"sequence_length": 3, "stride": 7}, [0, 7, 14]),
        ({"frames": [17, 3, 3, 0]}, [17, 3, 3, 0]),
    ],
)
def test_frames_are_chosen_by_range_stride_or_list(video, decoder_device, arguments, expected):
    assert decoded(video, decoder_device, **arguments) == (expected,)


@pytest.mark.parametrize(
    ("pad_mode", "tail"),
    [
        ("constant", [FILLED] * 4),
        ("edge", [19] * 4),
        ("reflect_1001", [19, 18, 17, 16]),
        ("reflect_101", [18, 17, 16, 15]),
        ("none", []),
    ],
)
def test_what_a_video_lacks_is_padded(video, decoder_device, pad_mode, tail):
    (numbers,) = decoded(
        video, decoder_device, start_frame=17, sequence_length=7, pad_mode=pad_mode
    )
    assert numbers == [17, 18, 19, *tail]


def test_the_times_of_a_variable_frame_rate_are_those_of_the_file(video, decoder_device):
    numbers, times = decoded(video, decoder_device, frames=[3, 11, 19], enable_timestamps=True)
    assert numbers == [3, 11, 19]
    np.testing.assert_allclose(times, TICKS[[3, 11, 19]] / 600, atol=1e-6)


def test_a_reader_gives_clips_of_a_variable_frame_rate(video, device):
    @pipeline_def(batch_size=3, num_threads=2, device_id=0)
    def graph():
        return fn.readers.video(
            filenames=[video], sequence_length=4, stride=2, step=6, device=device, name="Reader"
        )

    with graph() as pipe:
        (clips,) = pipe.run()
        assert pipe.epoch_size("Reader") == 3
    clips = clips.as_cpu()
    assert clips.shape() == [(4, 96, 128, 3)] * 3
    for position, first in enumerate((0, 6, 12)):
        numbers = [read_frame_number(frame) for frame in clips.at(position)]
        assert numbers == [first, first + 2, first + 4, first + 6]
