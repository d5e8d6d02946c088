import functools
import math

import numpy as np
import pytest
from peer_frames import decoded, stand_in

from videoloader.compat import qwen_vl_utils as hook

FACTOR = 2


def smart_nframes(ele, total_frames, video_fps):
    """The published rule: even numbers of frames, between limits unless `nframes` says how many."""
    if "nframes" in ele:
        count = round(ele["nframes"] / FACTOR) * FACTOR
    else:
        least = math.ceil(ele.get("min_frames", 4) / FACTOR) * FACTOR
        most = math.floor(ele.get("max_frames", min(768, total_frames)) / FACTOR) * FACTOR
        count = total_frames / video_fps * ele.get("fps", 2.0)
        count = math.floor(min(max(count, least), most, total_frames) / FACTOR) * FACTOR
    if not FACTOR <= count <= total_frames:
        raise ValueError(f"nframes should in interval [{FACTOR}, {total_frames}]")
    return count


def frame_range(ele, total_frames, video_fps):
    """The frames between two times: first, last, and how many."""
    end = total_frames / video_fps
    first = math.ceil(min(ele.get("video_start", 0), end) * video_fps)
    last = min(math.floor(min(ele.get("video_end", end), end) * video_fps), total_frames - 1)
    return first, last, last - first + 1


@pytest.fixture
def package(monkeypatch):
    @functools.lru_cache
    def get_video_reader_backend():
        return module.FORCE_QWENVL_VIDEO_READER or "torchvision"

    module = stand_in(
        monkeypatch,
        "qwen_vl_utils.vision_process",
        VIDEO_READER_BACKENDS={},
        FORCE_QWENVL_VIDEO_READER=None,
        smart_nframes=smart_nframes,
        calculate_video_frame_range=frame_range,
        get_video_reader_backend=get_video_reader_backend,
    )
    monkeypatch.delenv("FORCE_QWENVL_VIDEO_READER", raising=False)
    return module


CASES = [
    # what is asked for, the frames that it means (of 50 at 25 a second), frames a second of them
    ({}, np.linspace(0, 49, 4).round(), 2),
    ({"fps": 4}, np.linspace(0, 49, 8).round(), 4),
    ({"nframes": 10}, np.linspace(0, 49, 10).round(), 5),
    ({"fps": 25, "max_frames": 13}, np.linspace(0, 49, 12).round(), 6),
    ({"fps": 1, "min_frames": 5}, np.linspace(0, 49, 6).round(), 3),
    ({"fps": 5, "video_start": 1, "video_end": 1.8}, np.linspace(25, 45, 4).round(), 100 / 21),
    ({"fps": 25, "video_start": 1.7, "video_end": 9}, [*range(43, 49)], None),
]


def check(ele, numbers, rate, clip):
    frames, metadata, sample_fps = hook.read_video({"video": str(clip), **ele})
    numbers = np.asarray(numbers).astype(int)
    first, last, total = frame_range(ele, 50, 25)
    if rate is None:  # as many as the rule makes of it
        numbers = np.linspace(first, last, len(numbers)).round().astype(int)
        rate = len(numbers) / total * 25
    assert metadata["frames_indices"] == numbers.tolist()
    assert np.array_equal(frames, decoded(clip)[numbers].transpose(0, 3, 1, 2))
    assert sample_fps == pytest.approx(rate)
    assert (metadata["fps"], metadata["total_num_frames"]) == (25, total)
    assert metadata["video_backend"] == "videoloader"


@pytest.mark.parametrize(("ele", "numbers", "rate"), CASES)
def test_the_rules_of_the_package_say_which_frames_are_taken(package, clip, ele, numbers, rate):
    check(ele, numbers, rate, clip)


def test_paths_may_be_file_urls(package, clip):
    frames, _, _ = hook.read_video({"video": f"file://{clip}", "nframes": 2})
    assert np.array_equal(frames, decoded(clip)[[0, 49]].transpose(0, 3, 1, 2))


def test_it_is_used_from_its_registration_on(package, monkeypatch):
    assert package.get_video_reader_backend() == "torchvision"
    hook.register(default=False)
    assert package.get_video_reader_backend() == "torchvision"
    hook.register()
    assert package.get_video_reader_backend() == "videoloader"
    assert package.VIDEO_READER_BACKENDS["videoloader"] is hook.read_video


def test_another_reader_that_the_environment_forces_stays(package, monkeypatch):
    monkeypatch.setenv("FORCE_QWENVL_VIDEO_READER", "decord")
    package.FORCE_QWENVL_VIDEO_READER = "decord"
    hook.register()
    assert package.get_video_reader_backend() == "decord"


@pytest.mark.parametrize(("ele", "numbers", "rate"), CASES)
def test_qwen_vl_utils_itself_reads_with_it(clip, monkeypatch, ele, numbers, rate):
    module = pytest.importorskip("qwen_vl_utils.vision_process")
    monkeypatch.setattr(module, "VIDEO_READER_BACKENDS", {})
    monkeypatch.setattr(module, "FORCE_QWENVL_VIDEO_READER", None)
    check(ele, numbers, rate, clip)
    hook.register()
    video, fps = module.fetch_video({"video": str(clip), **ele}, return_video_sample_fps=True)
    assert (len(video), fps) == (
        len(numbers),
        pytest.approx(hook.read_video({"video": str(clip), **ele})[2]),
    )
    module.get_video_reader_backend.cache_clear()
