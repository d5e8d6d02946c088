"""`fn.inputs.video` and `fn.readers.video_resize`; lengths and fills are those of DALI 2.4."""

import numpy as np
import pytest
import torch

from videoloader import Video
from videoloader.dali import fn, ops, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError, VideoError
from videoloader.sources.items import Item

pytestmark = pytest.mark.usefixtures("no_threads_left")


def fed(length, policy="partial", batch_size=3, **arguments):
    @pipeline_def(batch_size=batch_size, prefetch_queue_depth=1)
    def definition():
        return fn.inputs.video(
            name="I", sequence_length=length, last_sequence_policy=policy, **arguments
        )

    return definition()


def batches(pipe, count):
    return [[clip[:, 0, 0, 0].tolist() for clip in pipe.run()[0]] for _ in range(count)]


@pytest.mark.parametrize(
    ("length", "lengths", "padded"),  # of DALI, for a video of 40 frames and batches of 3
    [
        (6, [[6, 6, 6], [6, 6, 6], [4]], [[6, 6, 6], [6, 6, 6], [6]]),
        (10, [[10, 10, 10], [10]], [[10, 10, 10], [10]]),
        (15, [[15, 15, 10]], [[15, 15, 15]]),
        (40, [[40]], [[40]]),
        (50, [[40]], [[50]]),
    ],
)
def test_sequences_follow_one_another_to_the_end_of_the_video(videos, length, lengths, padded):
    for policy, expected in (("partial", lengths), ("pad", padded)):
        with fed(length, policy) as pipe:
            pipe.feed_input("I", "a.mp4")
            found = batches(pipe, len(expected))
            assert [[len(clip) for clip in batch] for batch in found] == expected
            frames = [frame for batch in found for clip in batch for frame in clip]
            assert frames[:40] == list(range(40))
            assert not any(frames[40:])
            with pytest.raises(OperatorError, match="feed_input"):
                pipe.run()


def test_the_next_video_begins_a_batch(videos):
    videos.lengths = {"a.mp4": 7, "b.mp4": 5}
    with fed(2) as pipe:
        pipe.feed_input("I", "a.mp4")
        pipe.feed_input("I", ["b.mp4", "a.mp4"])
        found = batches(pipe, 5)
        assert found == [
            [[0, 1], [2, 3], [4, 5]],
            [[6]],
            [[0, 1], [2, 3], [4]],
            [[0, 1], [2, 3], [4, 5]],
            [[6]],
        ]
        pipe.feed_input("I", "b.mp4")
        assert batches(pipe, 1) == [[[0, 1], [2, 3], [4]]]


def test_numbers_and_times_and_a_colour_for_what_is_missing(videos):
    videos.length = 3
    options = {"enable_frame_num": "sequence", "enable_timestamps": True, "fill_value": 9}
    with fed(4, "pad", **options) as pipe:
        pipe.feed_input("I", "a.mp4")
        clips, numbers, times = pipe.run()
    assert clips[0][:, 0, 0, 0].tolist() == [0, 1, 2, 9]
    assert numbers[0].tolist() == [0, 1, 2, -1]
    np.testing.assert_allclose(times[0], [0, 0.04, 0.08, -1])


@pytest.fixture
def film(demo_folder):
    return sorted(demo_folder.glob("*.mp4"))[0]


@pytest.mark.parametrize(
    "given",
    [
        lambda path: path,
        str,
        lambda path: [Item(str(path))],
        lambda path: path.read_bytes(),
        lambda path: np.fromfile(path, np.uint8)[None],
        lambda path: [torch.from_numpy(np.fromfile(path, np.uint8))],
        lambda path: np.fromfile(path, np.uint8),
    ],
)
def test_videos_are_fed_as_paths_items_and_bytes(film, given):
    with Video(film, chroma="centered") as video:
        expected = video[:24]
    with fed(8, batch_size=3) as pipe:
        pipe.feed_input("I", given(film))
        (clips,) = pipe.run()
        found = torch.cat([torch.as_tensor(clip) for clip in clips])
        assert clips.layout() == "FHWC"
    assert torch.equal(found, expected[: len(found)])


def test_what_is_no_video_fails_where_it_is_fed(film):
    with fed(4) as pipe:
        with pytest.raises(ArgumentTypeError, match=r"got ndarray .*float"):
            pipe.feed_input("I", np.zeros(3))
        with pytest.raises(VideoError, match="11 bytes"):
            pipe.feed_input("I", b"not a video")
        with pytest.raises(VideoError, match=r"nowhere\.mp4"):
            pipe.feed_input("I", "/nowhere.mp4")
        pipe.feed_input("I", film)
        pipe.run()


@pytest.mark.filterwarnings("ignore:fn.video_reader_resize is deprecated:DeprecationWarning")
def test_old_and_experimental_names_and_classes(videos):
    @pipeline_def(batch_size=1)
    def definition():
        return (
            fn.experimental.readers.video(filenames=["a"], sequence_length=3),
            ops.readers.VideoResize(filenames=["a"], sequence_length=3, size=[2, 4])(),
            fn.video_reader_resize(filenames=["a"], sequence_length=3, resize_x=4, resize_y=2),
            fn.experimental.inputs.video(name="I", sequence_length=3),
        )

    with definition() as pipe:
        pipe.feed_input("I", "b.mp4")
        plain, resized, again, sequence = pipe.run()
    assert plain[0].shape == sequence[0].shape == (3, 4, 6, 3)
    assert resized[0].shape == again[0].shape == (3, 2, 4, 3)


READING = {"filenames": ["a.mp4", "b.mp4"], "labels": [], "sequence_length": 4, "name": "Reader"}


@pytest.mark.parametrize(
    "resizing",
    [
        {"size": (8, 10)},
        {"resize_x": 9, "resize_y": 5, "interp_type": types.INTERP_NN},
        {"resize_shorter": 3, "subpixel_scale": False},
        {"resize_longer": 7.5, "interp_type": types.INTERP_CUBIC, "dtype": types.FLOAT},
    ],
)
def test_reading_and_resizing_is_one_after_the_other(demo_folder, resizing):
    files = sorted(demo_folder.glob("*.mp4"))[:2]
    reading = READING | {"filenames": files, "enable_frame_num": "scalar"}

    @pipeline_def(batch_size=2)
    def at_once():
        return fn.readers.video_resize(**reading, **resizing)

    @pipeline_def(batch_size=2)
    def apart():
        clips, *others = fn.readers.video(**reading)
        return fn.resize(clips, **resizing), *others

    with at_once() as one, apart() as other:
        assert one.epoch_size("Reader") == other.epoch_size("Reader")
        for _ in range(2):
            for mine, expected in zip(one.run(), other.run(), strict=True):
                for a, b in zip(mine, expected, strict=True):
                    assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))


def test_a_size_for_each_sample(videos):
    @pipeline_def(batch_size=2)
    def definition():
        width = fn.random.uniform(range=(2, 9), seed=4)
        clips, _ = fn.readers.video_resize(**READING, resize_x=width, resize_y=3)
        return clips, width

    with definition() as pipe:
        clips, widths = pipe.run()
        for clip, width in zip(clips, widths, strict=True):
            assert clip.shape[1:3] == (3, round(float(width)))


def test_what_decoding_can_do_of_resizing_it_does(videos):
    @pipeline_def(batch_size=2)
    def definition():
        return fn.readers.video_resize(**READING, size=(8, 10))

    with definition() as pipe:
        pipe.build()
        assert "readers.video 'Reader' + resize" in pipe.describe()


def test_wrong_arguments_name_the_operator():
    with pytest.raises(ArgumentError, match="video_resize has no argument 'sise'"):
        fn.readers.video_resize(filenames=["a"], sequence_length=3, sise=4)
    with pytest.raises(ArgumentError, match="size and resize_shorter exclude each"):
        fn.readers.video_resize(filenames=["a"], sequence_length=3, size=4, resize_shorter=3)
