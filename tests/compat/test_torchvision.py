import pickle
from fractions import Fraction

import av
import numpy as np
import pytest
import torch
from peer_frames import decoded, decoded_times, stand_in

import videoloader as vl
from videoloader.compat import torchvision as hook
from videoloader.compat.torchvision import VideoClips, read_video, read_video_timestamps


def rate_by_ffmpeg(path):
    """What torchvision gives as the rate."""
    with av.open(str(path)) as container:
        return float(container.streams.video[0].average_rate)


def frames_between(path, start, end):
    """Numbers by exact seconds: from the frame on screen at the start to the end, included."""
    pts, tick = decoded_times(path)
    times = [ticks * tick for ticks in pts]
    numbers = [number for number, time in enumerate(times) if start <= time <= end]
    before = [number for number, time in enumerate(times) if time < start]
    if start > 0 and start not in times and before:
        numbers.insert(0, before[-1])
    return numbers


@pytest.mark.parametrize("name", ["clip", "uneven"])
@pytest.mark.parametrize(
    ("start", "end"), [("0", "9"), ("0.4", "0.8"), ("0.41", "0.83"), ("1.2", "1.2"), ("1.69", "2")]
)
def test_frames_between_two_times_have_both_ends(request, name, start, end):
    path = request.getfixturevalue(name)
    numbers = frames_between(path, Fraction(start), Fraction(end))
    assert numbers
    frames, audio, info = read_video(str(path), float(start), float(end), pts_unit="sec")
    assert np.array_equal(frames, decoded(path)[numbers])
    assert audio.shape == (1, 0)
    assert info["video_fps"] == pytest.approx(rate_by_ffmpeg(path))
    tick = decoded_times(path)[1]
    limits = (int(Fraction(start) / tick), int(Fraction(end) / tick))
    assert np.array_equal(read_video(path, *limits)[0], decoded(path)[numbers])


def test_a_whole_video_may_be_given_channels_first(clip):
    frames, _, info = read_video(clip.read_bytes(), output_format="tchw")
    assert np.array_equal(frames, decoded(clip).transpose(0, 3, 1, 2))
    assert info == {"video_fps": 25}


def test_a_time_without_frames_gives_none(clip):
    frames, _, _ = read_video(clip, 0.401, 0.402, pts_unit="sec")
    assert np.array_equal(frames, decoded(clip)[[10]])  # on screen then
    assert read_video(clip, 5, 6, pts_unit="sec")[0].shape == (1, 720, 96, 3)


@pytest.mark.parametrize(
    "wrong", [{"pts_unit": "ms"}, {"output_format": "CTHW"}, {"start_pts": 2, "end_pts": 1}]
)
def test_arguments_without_a_meaning_are_refused(clip, wrong):
    with pytest.raises(vl.errors.ArgumentError):
        read_video(clip, **wrong)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(OSError, match=r"gone\.mp4"):
        read_video(tmp_path / "gone.mp4")


@pytest.mark.parametrize("name", ["clip", "uneven"])
def test_timestamps_are_those_of_the_container(request, name):
    path = request.getfixturevalue(name)
    pts, tick = decoded_times(path)
    assert read_video_timestamps(path)[0] == pts
    seconds, rate = read_video_timestamps(str(path), pts_unit="sec")
    assert seconds == [ticks * Fraction(tick.numerator, tick.denominator) for ticks in pts]
    assert rate == pytest.approx(rate_by_ffmpeg(path))


@pytest.mark.parametrize("threads", [0, 3])
def test_clips_of_all_videos_are_numbered_through(clip, uneven, threads):
    clips = VideoClips([str(clip), str(uneven)], 8, 6, num_workers=threads)
    starts = [(0, first) for first in range(0, 43, 6)] + [(1, first) for first in range(0, 13, 6)]
    assert len(clips) == clips.num_clips() == len(starts)
    assert clips.num_videos() == 2
    everything = decoded(clip), decoded(uneven)
    for number, (video, first) in enumerate(starts):
        frames, audio, _, place = clips.get_clip(number)
        assert place == video
        assert np.array_equal(frames, everything[video][first : first + 8])
        assert audio.shape == (1, 0)
    assert clips.get_clip(0)[2] == {"video_fps": 25}
    with pytest.raises(IndexError, match="11"):
        clips.get_clip(11)


@pytest.mark.parametrize(
    ("rate", "numbers"),
    [
        (12.5, range(0, 50, 2)),
        (10, [int(number * 2.5) for number in range(20)]),
        (50, [number // 2 for number in range(100)]),
    ],
)
def test_a_frame_rate_leaves_frames_out_or_repeats_them(clip, rate, numbers):
    clips = VideoClips([clip], 5, 5, rate, output_format="TCHW")
    assert clips.num_clips() == len(numbers) // 5
    for number in range(clips.num_clips()):
        frames, _, info, _ = clips.get_clip(number)
        wanted = [*numbers][number * 5 : number * 5 + 5]
        assert np.array_equal(frames, decoded(clip)[wanted].transpose(0, 3, 1, 2))
        assert info == {"video_fps": rate}


def test_metadata_make_another_one_without_reading_files(clip, uneven, tmp_path):
    clips = VideoClips([str(clip), str(uneven)], 4, 4)
    pts, _ = decoded_times(clip)
    assert clips.metadata["video_pts"][0].tolist() == pts
    other = VideoClips(["nowhere"], 10, 10, _precomputed_metadata=clips.metadata, _video_width=0)
    assert (other.num_clips(), other.video_paths[0]) == (7, str(clip))
    part = pickle.loads(pickle.dumps(clips.subset([1])))
    assert (part.num_videos(), part.num_clips()) == (1, 5)
    assert np.array_equal(part.get_clip(2)[0], decoded(uneven)[8:12])


def test_metadata_of_another_state_of_a_file_are_refused(clip):
    metadata = VideoClips([clip], 4, 4).metadata
    metadata["video_pts"] = [torch.arange(50)]  # as torchvision 0.26 and later have them
    with pytest.raises(vl.errors.ArgumentError, match=r"clip\.mp4.*again"):
        VideoClips([clip], 4, 4, _precomputed_metadata=metadata).get_clip(1)


def test_a_file_that_is_no_video_is_warned_of_and_has_no_clips(clip, tmp_path):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"this is no video" * 20)
    with pytest.warns(UserWarning, match=r"bad\.mp4.*no clips|gives no clip"):
        clips = VideoClips([bad, clip], 25, 25)
    assert clips.num_clips() == 2
    assert clips.get_clip(0)[3] == 1


def test_it_takes_the_place_of_what_torchvision_had(monkeypatch):
    io = stand_in(monkeypatch, "torchvision.io")
    names = ("video_utils", "kinetics", "ucf101", "hmdb51", "samplers.clip_sampler")
    modules = [stand_in(monkeypatch, f"torchvision.datasets.{name}") for name in names]
    hook.install()
    assert io.read_video is read_video
    assert io.read_video_timestamps is read_video_timestamps
    assert all(module.VideoClips is VideoClips for module in modules)


def test_a_data_set_of_torchvision_itself_decodes_with_it(monkeypatch, clip, tmp_path):
    datasets = pytest.importorskip("torchvision.datasets")
    io = pytest.importorskip("torchvision.io")
    for name in ("read_video", "read_video_timestamps"):
        monkeypatch.setattr(io, name, None, raising=False)
    for name in hook._DATASETS:
        module = pytest.importorskip(f"torchvision.datasets.{name}")
        monkeypatch.setattr(module, "VideoClips", module.VideoClips)
    hook.install()
    place = tmp_path / "val" / "jumping"
    place.mkdir(parents=True)
    (place / "clip.mp4").symlink_to(clip)
    dataset = datasets.Kinetics(str(tmp_path), 8, split="val", step_between_clips=8)
    video, _, label = dataset[2]
    assert np.array_equal(video, decoded(clip)[16:24].transpose(0, 3, 1, 2))
    assert (len(dataset), label) == (6, 0)
    theirs = datasets.video_utils.VideoClips
    assert theirs is VideoClips


@pytest.mark.parametrize("rate", [None, 5, 7, 8, 12.5, 24, 29.97, 60])
def test_clips_are_divided_as_torchvision_divides_them(clip, rate):
    utils = pytest.importorskip("torchvision.datasets.video_utils")
    ours = VideoClips([clip], 5, 3, rate)
    _, known = ours.clips[0], ours.metadata["video_pts"][0]
    theirs, _ = utils.VideoClips.compute_clips_for_video(known, 5, 3, 25.0, rate)
    assert torch.equal(ours.clips[0], theirs)
