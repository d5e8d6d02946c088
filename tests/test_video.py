"""`Video`: indexing, selection, padding, times, layouts, colour and orientation."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number

COUNT = 45


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    encode_video(path, frames=COUNT, size=(128, 96), fps=30, options={"g": "12"})
    return path


@pytest.fixture(scope="module")
def video(path):
    with vl.Video(path) as video:
        yield video


def numbers(frames):
    return [read_frame_number(frame.numpy()) for frame in frames]


def test_every_picture_is_the_one_of_its_number(video):
    assert len(video) == COUNT
    assert numbers(video[:]) == list(range(COUNT))


def test_python_indexing_keeps_pythons_meaning(video):
    assert numbers(video[10:40:4]) == list(range(COUNT))[10:40:4]
    assert numbers(video[::-1]) == list(range(COUNT))[::-1]
    assert numbers(video[::2]) == list(range(COUNT))[::2]
    assert numbers(video[-3:100]) == list(range(COUNT))[-3:100]
    assert numbers([video[-1], video[np.uint8(3)], video[torch.tensor(3)]]) == [COUNT - 1, 3, 3]
    assert video[20:10].shape == (0, 96, 128, 3)
    for wrong in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError, match=rf"frame {wrong} .*{COUNT} frames"):
            video[wrong]


@pytest.mark.parametrize(
    "kind", [list, np.array, torch.tensor, lambda frames: np.array(frames, "uint8"), iter]
)
def test_a_list_of_numbers_gives_its_frames(video, kind):
    assert numbers(video[kind([7, 3, 7])]) == [7, 3, 7]
    assert video[kind([7])].shape == (1, 96, 128, 3)
    assert video[[]].shape == (0, 96, 128, 3)
    assert numbers(video[range(40, 45)]) == [40, 41, 42, 43, 44]
    assert torch.equal(video[[7, 3]], video.get_frames([7, 3]).frames)


def test_numbers_in_a_list_are_those_of_an_array(video):
    frames = np.arange(COUNT)
    for key in ([-1, 0, -COUNT], np.array([3, -3]), frames % 7 == 3, [True] * COUNT, frames < 0):
        assert numbers(video[key]) == frames[key].tolist()
    assert numbers(video[torch.arange(COUNT) == 5]) == [5]
    for wrong in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError, match=rf"frame {wrong} .*{COUNT} frames"):
            video[[0, wrong]]
    for wrong in (COUNT - 1, COUNT + 1):
        with pytest.raises(ValueError, match=rf"each of the {COUNT} frames, got {wrong}$"):
            video[np.ones(wrong, bool)]


@pytest.mark.parametrize(
    "wrong",
    [
        (1, 2),
        [1.0],
        [[1, 2]],
        ["1"],
        "1",
        [[1], [1, 2]],
        None,
        ...,
        1.5,
        {1, 2},
        [None],
        np.ones(2),
    ],
    ids=repr,
)
def test_other_keys_are_answered_with_those_there_are(video, wrong):
    with pytest.raises(vl.errors.ArgumentTypeError, match=r"such as video\[\[1, 2\]\]; got"):
        video[wrong]


def test_frame_numbers_and_times_may_come_from_an_iterator(video, path):
    assert numbers(video.get_frames(n * n for n in range(4)).frames) == [0, 1, 4, 9]
    assert numbers(video.get_frames(map(int, "31"), pad_mode="edge").frames) == [3, 1]
    assert video.get_frames(iter([])).frames.shape == (0, 96, 128, 3)
    assert video.get_frames_at_times(n / 30 for n in (2, 1)).indices.tolist() == [2, 1]
    assert [number for number, _ in video.decode(iter([5, 2, 5]))] == [2, 5]
    batch = vl.decode_batch([(path, (n for n in (4, 2)))], workers=0)
    assert numbers(batch.frames[0]) == [4, 2]


def test_a_video_has_the_facts_that_arrays_and_other_readers_have(video, path, tmp_path):
    assert video.num_frames == len(video) == COUNT
    assert video.shape == tuple(video[:].shape) == (COUNT, 96, 128, 3)
    facts, index = video.metadata, video.index
    assert (facts.num_frames, facts.height, facts.width) == video.shape[:3]
    assert (facts.fps, facts.duration) == (video.fps, video.duration) == (30, COUNT / 30)
    for name in ("codec", "pixel_format", "bit_depth", "rotation", "color", "container"):
        assert getattr(facts, name) == getattr(index, name)
    with pytest.raises(AttributeError):
        facts.fps = 25
    turned = tmp_path / "turned.mp4"
    encode_video(turned, frames=2, size=(128, 96), rotation=90)
    with vl.Video(turned) as upright, vl.Video(turned, rotate=False) as coded:
        assert upright.shape == tuple(upright[:].shape) == (2, 128, 96, 3)
        assert (upright.metadata.height, upright.metadata.width) == (128, 96)
        assert coded.shape == tuple(coded[:].shape) == (2, 96, 128, 3)


def test_iteration_gives_all_frames(video):
    assert numbers(video) == list(range(COUNT))


def test_iteration_may_begin_anywhere_at_any_size(video):
    assert numbers(video.iterate(17)) == list(range(17, COUNT))
    assert list(video.iterate(COUNT)) == []
    small = next(video.iterate(30, size=(48, 64), interpolation="bicubic"))
    assert torch.equal(
        small, video.get_frames([30], size=(48, 64), interpolation="bicubic").frames[0]
    )
    with pytest.raises(vl.errors.FrameRangeError, match=f"frame {COUNT + 1} .*{COUNT}"):
        next(video.iterate(COUNT + 1))


def test_frames_of_an_iteration_are_the_callers_own(path):
    with vl.Video(path, matrix="swscale") as video:
        wanted = video.get_frames(start=0, stop=6).frames
        for number, frame in zip(range(6), video.iterate(), strict=False):
            assert torch.equal(frame, wanted[number])
            assert frame.is_contiguous()
            frame.zero_()  # a reference picture of the decoder is another


def test_iteration_with_threads_gives_the_same_frames(path, video):
    with vl.Video(path, threads=2) as threaded:
        frames = list(threaded)
    assert torch.equal(torch.stack(frames), video[:])


@settings(max_examples=30)
@given(st.lists(st.integers(0, COUNT - 1), max_size=8))
def test_any_list_is_answered_exactly(video, frames):
    clip = video.get_frames(frames)
    assert numbers(clip.frames) == frames == clip.indices.tolist()
    assert clip.mask.all()
    assert clip.times.tolist() == pytest.approx([f / 30 for f in frames])


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_memory_is_used_again_once_nobody_holds_a_frame_of_it(path, dtype):
    with vl.Video(path) as video:
        first = video.get_frames([3, 4], size=480, dtype=dtype).frames
        address, held, kept = first.data_ptr(), first[1], first[1].clone()
        del first
        others = [video.get_frames([9, 9], size=480, dtype=dtype).frames for _ in range(3)]
        assert torch.equal(held, kept)
        assert all(other.data_ptr() != address for other in others)
        del held
        assert video.get_frames([4, 3], size=480, dtype=dtype).frames.data_ptr() == address


def test_frames_that_are_kept_while_a_video_is_read_stay_as_they_are(demo_folder):
    with vl.Video(demo_folder / "rotated.mp4") as video:
        clip = video.get_frames(range(6), size=640).frames
        pictures = [video.get_frames([n], size=640).frames[0] for n in range(6)]
    assert torch.equal(torch.stack(pictures), clip)


def test_a_clip_can_be_padded(video):
    clip = video.get_frames(frames=[0, 5, 5, 900], pad_mode="edge")
    assert numbers(clip.frames) == [0, 5, 5, COUNT - 1]
    clip = video.get_frames(start=40, count=8, pad_mode="reflect_101")
    assert numbers(clip.frames) == [40, 41, 42, 43, 44, 43, 42, 41]
    clip = video.get_frames([-1, 3, 99], pad_mode="constant", fill_value=(1, 2, 3))
    assert clip.indices.tolist() == [-1, 3, -1]
    assert clip.mask.tolist() == [False, True, False]
    assert clip.times.tolist() == pytest.approx([-1, 0.1, -1])
    assert (clip.frames[0] == torch.tensor([1, 2, 3], dtype=torch.uint8)).all()
    with pytest.raises(vl.errors.FrameRangeError, match=r"clip\.mp4: frame 99"):
        video.get_frames([3, 99])


def test_ranges_run_both_ways(video):
    assert video.get_frames(start=4, stop=20, stride=5).indices.tolist() == [4, 9, 14, 19]
    assert video.get_frames(start=9, stride=-4).indices.tolist() == [9, 5, 1]
    with pytest.raises(vl.errors.ArgumentError, match="stride"):
        video.get_frames(stride=0)
    with pytest.raises(vl.errors.ArgumentError, match="not both"):
        video.get_frames([1], start=2)


def test_frames_outside_a_part_of_the_video_are_padded(video):
    clip = video.get_frames(range(8, 15), within=(10, 13), pad_mode="edge")
    assert clip.indices.tolist() == [10, 10, 10, 11, 12, 12, 12]
    assert clip.mask.tolist() == [False, False, True, True, True, False, False]
    assert [read_frame_number(frame) for frame in clip.frames.numpy()] == clip.indices.tolist()
    clip = video.get_frames(start=9, stop=12, within=(10, 13), pad_mode="constant")
    assert clip.indices.tolist() == [-1, 10, 11]
    with pytest.raises(vl.errors.FrameRangeError, match=r"the range has frames \(10-12\)"):
        video.get_frames([13], within=(10, 13))
    with pytest.raises(vl.errors.ArgumentError, match="stop"):
        video.get_frames([13], within=(10, 9))
    with pytest.raises(vl.errors.ArgumentError, match="outside the 45 frames"):
        video.get_frames([13], within=(10, 46))
    for within in (5, (5,), (5, 6, 7), slice(5, 9)):
        with pytest.raises(vl.errors.ArgumentTypeError, match=r"within is \(first frame, end\)"):
            video.get_frames([5], within=within)


def test_times_find_the_frame_on_screen(video):
    frame = 1 / 30
    clip = video.get_frames_at_times([0, 0.99 * frame, frame, 0.5, 1.25, COUNT / 30 - 1e-6])
    assert clip.indices.tolist() == [0, 0, 1, 15, 37, COUNT - 1]
    everything = video.get_frames()
    again = video.get_frames_at_times(everything.times)
    assert again.indices.tolist() == list(range(COUNT))
    for wrong in (-0.1, COUNT / 30 + 0.01):
        with pytest.raises(vl.errors.FrameRangeError, match=r"runs from 0 to 1\.5 s"):
            video.get_frames_at_times([wrong])
        padded = video.get_frames_at_times([wrong], pad_mode="edge")
        assert padded.indices.tolist() == [0 if wrong < 0 else COUNT - 1]
    with pytest.raises(vl.errors.ArgumentError, match="finite"):
        video.get_frames_at_times([float("nan")])


def test_times_in_float32_or_of_4_digits_find_their_frame(video, demo_folder):
    with vl.Video(demo_folder / "variable_rate.mp4") as variable:
        for opened in (video, variable):
            times, every = opened.get_frames().times, list(range(len(opened)))
            for rounded in (times.astype(np.float32), times.round(4), torch.from_numpy(times)):
                clip = opened.get_frames_at_times(rounded, size=(96, 128))
                assert clip.indices.tolist() == every
                assert clip.times.tolist() == times.tolist()
        assert numbers(variable.get_frames_at_times(np.float32(times)).frames) == every


def test_the_nearest_frame_to_a_time_can_be_had(video):
    times = [0.0, 0.45 / 30, 0.55 / 30, 9.6 / 30]
    assert numbers(video.get_frames_at_times(times, nearest=True).frames) == [0, 0, 1, 10]
    assert numbers(video.get_frames_at_times(times).frames) == [0, 0, 0, 9]


def test_a_time_far_from_its_frame_is_an_error_with_a_tolerance(video):
    assert numbers(video.get_frames_at_times([0.1001], tolerance=1e-3).frames) == [3]
    found = r"clip\.mp4: time 0\.11 s .* frame is 3 at 0\.1 s, 0\.01 s away"
    with pytest.raises(vl.errors.FrameRangeError, match=found):
        video.get_frames_at_times([0.1, 0.11], nearest=True, tolerance=1e-3)


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW"])
def test_layouts_hold_the_same_pixels(video, layout):
    plain = video.get_frames([3, 1, 7]).frames
    other = video.get_frames([3, 1, 7], layout=layout).frames
    assert other.is_contiguous()
    assert torch.equal(other, plain.permute(["FHWC".index(axis) for axis in layout]))


@pytest.mark.parametrize("dtype", ["uint16", "float16", "bfloat16", "float32"])
def test_element_types_hold_the_same_colours(video, dtype):
    # At another size than the picture's, chroma is interpolated for all types.
    wanted = video.get_frames([2, 9], size=(60, 80)).frames.double()
    frames = video.get_frames([2, 9], size=(60, 80), dtype=dtype).frames
    assert frames.dtype == getattr(torch, dtype)
    scaled = frames.double() / 257 if dtype == "uint16" else frames.double()
    assert (scaled - wanted).abs().max() <= 0.51 + (0.5 if dtype == "bfloat16" else 0.07)


def test_normalised_frames_are_those_of_the_formula(video):
    mean, std = (120.0, 110.0, 100.0), (60.0, 50.0, 40.0)
    plain = video.get_frames([3, -1], pad_mode="constant", fill_value=7, dtype="float32").frames
    clip = video.get_frames(
        [3, -1], pad_mode="constant", fill_value=7, dtype="float32", mean=mean, std=std
    )
    wanted = (plain - torch.tensor(mean)) / torch.tensor(std)
    assert (clip.frames - wanted).abs().max() < 1e-4
    assert (plain[1] == 7).all()


def test_crop_and_flip_are_those_of_the_whole_picture(video):
    whole = video[5]
    part = video.get_frames([5], crop=(11, 7, 40, 61), flip=True).frames[0]
    assert torch.equal(part, whole[11:51, 7:68].flip(1))
    with pytest.raises(vl.VideoError, match=r"clip.mp4: crop .* outside"):
        video.get_frames([5], crop=(60, 0, 40, 61))


def test_a_size_is_reached_while_decoding(video):
    small = video.get_frames([2], size=(30, 40), layout="FCHW").frames.float()
    full = video.get_frames([2], layout="FCHW", dtype="float32").frames
    # Filtering planes and then converting is not the same as the other way round, but near.
    expected = torch.nn.functional.interpolate(full, (30, 40), mode="bilinear", antialias=True)
    assert small.shape == (1, 3, 30, 40)
    assert (small - expected).abs().mean() < 2
    with pytest.raises(vl.errors.ArgumentError, match="size"):
        video.get_frames([2], size=(0, 5))


def test_decode_gives_each_frame_once_as_the_decoder_left_it(video):
    decoded = list(video.decode([7, 3, 7]))
    assert sorted(number for number, _ in decoded) == [3, 7]
    for _, surface in decoded:
        assert surface.pixel_format == "yuv420p"
        assert [plane.shape for plane in surface.planes] == [(96, 128), (48, 64), (48, 64)]


def test_a_video_may_be_used_while_it_is_decoded(video):
    for number, _ in video.decode([5, 30]):
        assert numbers([video[number]]) == [number]


def test_bytes_and_files_are_videos_too(path):
    with open(path, "rb") as opened:
        for source in (path.read_bytes(), opened, str(path)):
            with vl.Video(source) as video:
                assert numbers(video[4:10:5]) == [4, 9]
        assert not opened.closed


def test_threads_may_share_a_video(path):
    with vl.Video(path) as video:
        found = {}

        def look(frame):
            found[frame] = numbers([video[frame]])

        threads = [threading.Thread(target=look, args=(f,)) for f in range(0, COUNT, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {f: [f] for f in range(0, COUNT, 6)}


@pytest.mark.parametrize("threads", [1, 2])
def test_codec_threads_change_nothing(path, threads):
    with vl.Video(path, threads=threads) as video:
        assert numbers(video[5:30]) == list(range(5, 30))


def test_no_threads_are_refused(path):
    with pytest.raises(
        vl.errors.ArgumentError, match="threads must be a whole number of at least 1"
    ):
        vl.Video(path, threads=0)


def test_wrong_devices_are_refused(path):
    with pytest.raises(vl.errors.ArgumentError, match="device"):
        vl.Video(path, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(vl.errors.UnsupportedError, match="no GPU"):
            vl.Video(path, device="cuda")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"frames": [0.5]}, "integers"),
        ({"frames": [[1], [2, 3]]}, "integers"),
        ({"frames": [2**63]}, "63 bits"),
        ({"start": 1.5}, "start must be a whole number"),
        ({"frames": [-1], "pad_mode": "constant", "fill_value": 300}, "fill_value"),
        ({"frames": [-1], "pad_mode": "constant", "fill_value": (1, 2)}, "fill_value"),
        ({"size": (1, 2, 3)}, "size"),
        ({"size": (64.0, 64)}, "size"),
        ({"layout": "WHFC"}, "layout"),
        ({"pad_mode": "mirror"}, "pad_mode"),
    ],
)
def test_arguments_without_a_meaning_are_refused_by_name(video, arguments, words):
    with pytest.raises(vl.errors.ArgumentError, match=words):
        video.get_frames(**arguments)


def test_a_fractional_index_is_no_index(video):
    with pytest.raises(TypeError):
        video[1.5]


def test_closing_a_video_closes_its_files(corpus):
    import os

    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with vl.Video(corpus / "video" / "shaka-packager__bear-640x360.ts") as video:
            video[70]
    assert len(os.listdir("/proc/self/fd")) == before


def test_every_demo_clip_is_exact(demo_folder):
    for file in sorted(demo_folder.iterdir()):
        with vl.Video(file, rotate=False) as video:
            count = len(video)
            order = [count - 1, 0, count // 2, count // 3, count // 2]
            assert numbers(video.get_frames(order).frames) == order, file.name


def test_rotation_is_applied_unless_refused(demo_folder):
    file = next(f for f in demo_folder.iterdir() if "rot" in f.name)
    with vl.Video(file) as turned, vl.Video(file, rotate=False) as coded:
        assert turned.index.rotation == -90
        expected = np.rot90(coded[0].numpy(), k=-1)  # numpy turns anti-clockwise
        assert (turned[0].numpy() == expected).all()
        assert turned.size == coded.size[::-1]
        small = turned.get_frames([0], size=(80, 48)).frames[0]
        assert small.shape == (80, 48, 3)


def test_a_change_of_resolution_is_an_error_or_scaled(corpus):
    file = corpus / "video" / "wpt-2021__400x300-red-resize-200x150-green.mp4"
    with vl.Video(file) as video:
        last = len(video) - 1
        assert {p.shape for _, s in video.decode([last]) for p in s.planes[:1]} == {(150, 200)}
        with pytest.raises(
            vl.errors.DecodeError, match=rf"frame {last} is 200x150.*resolution_change"
        ):
            video.get_frames([last])
        assert video.get_frames([0, last], size=(30, 40)).frames.shape == (2, 30, 40, 3)
    with vl.Video(file, resolution_change="scale") as video:
        red, green = video.get_frames([0, last]).frames[:, 150, 200].tolist()
        assert red[0] > 200 > 60 > red[1]
        assert green[1] > 100 > 60 > green[0]


@pytest.mark.gpu
def test_frames_can_be_given_on_the_gpu(path):
    with vl.Video(path, device="cuda") as there, vl.Video(path) as here:
        frames = there[3:20:4]
        assert frames.device.type == "cuda"
        difference = (frames.cpu().int() - here[3:20:4].int()).abs()
    assert difference.max() <= 2
