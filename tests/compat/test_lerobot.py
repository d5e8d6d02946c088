import inspect
import os
import threading

import av
import numpy as np
import pytest
import torch
from peer_frames import decoded, decoded_times, stand_in

import videoloader as vl
from videoloader.compat import lerobot as hook
from videoloader.compat.lerobot import (
    FrameTimestampError,
    decode_camera_frames,
    decode_video_frames,
)
from videoloader.compat.video_cache import VideoCache
from videoloader.demo.videos import encode_video


def as_lerobot(path, timestamps):
    """The nearest of all frames by brute force: (T, C, H, W) float32 from 0 to 1."""
    pts, tick = decoded_times(path)
    times = np.array([float(ticks * tick) for ticks in pts])
    numbers = [int(np.abs(times - time).argmin()) for time in timestamps]
    return torch.from_numpy(decoded(path)[numbers]).permute(0, 3, 1, 2).float() / 255


@pytest.fixture
def cache():
    cache = VideoCache(4)
    yield cache
    cache.clear()


def test_the_frames_nearest_to_times_are_given_as_lerobot_gives_them(clip, cache):
    times = [1.2, 0.0, 0.3999, 1.96, 1.2001]
    got = decode_video_frames(clip, times, 1e-3, cache=cache)
    assert got.dtype == torch.float32
    assert torch.equal(got, as_lerobot(clip, times))
    levels = decode_video_frames(str(clip), times, 1e-3, "pyav", return_uint8=True, cache=cache)
    assert levels.dtype == torch.uint8
    assert torch.equal(levels, (as_lerobot(clip, times) * 255).round().byte())


def test_times_of_uneven_frames_are_their_own(uneven, cache):
    times = [0.4, 0.53, 0.57, 1.01, 1.69, 0.39]
    got = decode_video_frames(uneven, times, 0.02, cache=cache)
    assert torch.equal(got, as_lerobot(uneven, times))


@pytest.mark.parametrize("time", [0.21, -0.5, 2.3, 100])
def test_a_frame_beyond_the_tolerance_is_an_error_that_names_both_times(clip, cache, time):
    nearest = min(max(round(time * 25) / 25, 0), 1.96)
    with pytest.raises(FrameTimestampError) as caught:
        decode_video_frames(clip, [0.2, time], 0.005, cache=cache)
    text = str(caught.value)
    assert f"queried timestamps: [{time:.6f}]" in text
    assert f"loaded timestamps: [{nearest:.6f}]" in text
    assert "clip.mp4" in text
    assert "0.005" in text
    assert isinstance(caught.value, ValueError | vl.VideoError)
    decode_video_frames(clip, [0.2, time], abs(nearest - time) + 1e-6, cache=cache)


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_that_is_no_number_is_an_error(clip, cache, time):
    with pytest.raises(vl.errors.ArgumentError, match="finite"):
        decode_video_frames(clip, [time], 1, cache=cache)
    with pytest.raises(vl.errors.ArgumentTypeError, match="timestamps must be numbers"):
        decode_video_frames(clip, ["0.2"], 1, cache=cache)


def test_several_cameras_are_decoded_at_once(clip, uneven, cache):
    paths = {"front": clip, "wrist": str(uneven), "again": clip}
    times = {"front": [0.2, 1], "wrist": [0.8], "again": [1.96]}
    got = decode_camera_frames(paths, times, 1e-2, cache=cache)
    assert list(got) == list(paths)
    for camera, frames in got.items():
        assert torch.equal(frames, as_lerobot(paths[camera], times[camera]))
    same = decode_camera_frames({"a": clip, "b": clip}, [0.4], 1e-2, cache=cache)
    assert torch.equal(same["a"], same["b"])
    with pytest.raises(FrameTimestampError, match="uneven"):
        decode_camera_frames(paths, {**times, "wrist": [0.0]}, 1e-2, cache=cache)


def depth_video(path, pixel_format, codec, options):
    """Three frames of depth, coded without loss, and their samples."""
    bits = {"gray": 8, "gray10le": 10, "gray12le": 12, "gray16le": 16}[pixel_format]
    kind = np.uint8 if bits == 8 else np.uint16
    samples = np.random.default_rng(5).integers(0, 1 << bits, (3, 48, 64)).astype(kind)
    samples[0, 0, :2] = 0, (1 << bits) - 1
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixel_format
        for picture in samples:
            frame = av.VideoFrame(64, 48, pixel_format)
            plane = frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
            octets = picture.view(np.uint8).reshape(48, -1)
            rows[:48, : octets.shape[1]] = octets
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path, samples


@pytest.mark.parametrize(
    ("pixel_format", "codec"),
    [
        *(("gray", "ffv1"), ("gray10le", "ffv1"), ("gray12le", "ffv1"), ("gray16le", "ffv1")),
        ("gray12le", "libx265"),  # what LeRobot writes
    ],
)
def test_depth_is_given_in_its_own_bits(tmp_path, cache, pixel_format, codec):
    options = {"x265-params": "lossless=1:log-level=none:pools=none"} if codec == "libx265" else {}
    path, samples = depth_video(tmp_path / "depth.mkv", pixel_format, codec, options)
    got = decode_video_frames(path, [0.2, 0, 0.2], 1e-2, is_depth=True, cache=cache)
    assert got.dtype == torch.uint16
    assert np.array_equal(got.numpy(), samples[[2, 0, 2]][:, None])
    both = decode_camera_frames({"d": path, "c": path}, [0.1], 1e-2, depth=["d"], cache=cache)
    assert np.array_equal(both["d"].numpy(), samples[[1]][:, None])
    assert both["c"].shape == (1, 3, 48, 64)
    assert decode_video_frames(path, [], 1e-2, is_depth=True, cache=cache).shape == (0, 1, 48, 64)


def test_videos_stay_open_between_calls_and_the_oldest_are_closed(clip, uneven, tmp_path):
    cache = VideoCache(2)
    with cache.lend(clip) as first:
        pass
    with cache.lend(str(clip)) as again:
        assert again is first
    decode_video_frames(uneven, [0.4], 1e-2, cache=cache)
    decode_video_frames(clip, [0], 1e-2, cache=cache)  # used last
    third = tmp_path / "third.mp4"
    third.write_bytes(clip.read_bytes())
    decode_video_frames(third, [0], 1e-2, cache=cache)
    assert len(cache) == 2
    assert str(uneven) not in cache
    assert clip in cache
    cache.clear()
    with pytest.raises(ValueError, match="closed"):
        first[0]


def test_a_video_in_use_is_closed_when_it_no_longer_is(clip, uneven):
    cache = VideoCache(1)
    with cache.lend(clip) as video:
        decode_video_frames(uneven, [0.4], 1e-2, cache=cache)
        assert clip not in cache
        assert np.array_equal(video[7].shape, (720, 96, 3))
    with pytest.raises(ValueError, match="closed"):
        video[7]
    cache.clear()


def test_a_file_that_has_changed_is_opened_again(clip, tmp_path, cache):
    path = tmp_path / "clip.mp4"
    path.write_bytes(clip.read_bytes())
    before = decode_video_frames(path, [0.4], 1e-2, cache=cache)
    other = tmp_path / "other.mp4"
    encode_video(other, frames=20, size=(64, 48), fps=25)
    os.replace(other, path)
    after = decode_video_frames(path, [0.4], 1e-2, cache=cache)
    assert before.shape != after.shape == (1, 3, 48, 64)
    assert len(cache) == 1


def test_threads_share_a_cache_smaller_than_their_files(clip, uneven):
    cache = VideoCache(1)
    failures = []

    def work(path, time):
        try:
            expected = as_lerobot(path, [time])
            for _ in range(5):
                got = decode_video_frames(path, [time], 1e-2, cache=cache)
                assert torch.equal(got, expected)
        except BaseException as error:  # noqa: BLE001  (shown by the test)
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=pair)
        for pair in [(clip, 0.4), (uneven, 0.52), (clip, 1.2), (uneven, 0.44)]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert len(cache) == 1
    cache.clear()


class Episodes(torch.utils.data.Dataset):
    def __init__(self, path, cache):
        self.path, self.cache = path, cache

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return decode_video_frames(self.path, [number / 25], 1e-3, cache=self.cache)


def test_forked_workers_use_the_cache_of_their_parent(clip, cache):
    dataset = Episodes(clip, cache)
    expected = torch.cat([dataset[number] for number in range(4)])
    with cache.lend(clip):  # in use where it forks
        loader = torch.utils.data.DataLoader(
            dataset, batch_size=2, num_workers=2, multiprocessing_context="fork", timeout=60
        )
        batches = [batch[:, 0] for batch in loader]
    assert torch.equal(torch.cat(batches), expected)


@pytest.mark.parametrize(
    ("value", "size"), [(None, 100), ("7", 7), ("none", None), ("-1", None), ("", None)]
)
def test_the_size_of_the_default_cache_is_as_lerobot_has_it(monkeypatch, value, size):
    monkeypatch.setattr(hook, "_cache", None)
    monkeypatch.delenv("LEROBOT_VIDEO_DECODER_CACHE_SIZE", raising=False)
    if value is not None:
        monkeypatch.setenv("LEROBOT_VIDEO_DECODER_CACHE_SIZE", value)
    assert hook.default_cache().max_size == size
    assert hook.default_cache() is hook.default_cache()


def test_it_takes_the_place_of_that_of_lerobot_wherever_it_was_imported(monkeypatch):
    def theirs(video_path, timestamps, tolerance_s, backend=None):
        raise AssertionError

    module = stand_in(monkeypatch, "lerobot.datasets.video_utils", decode_video_frames=theirs)
    reader = stand_in(monkeypatch, "lerobot.datasets.dataset_reader", decode_video_frames=theirs)
    other = stand_in(monkeypatch, "lerobot.datasets.other", decode_video_frames=len)
    hook.install()
    assert module.decode_video_frames is decode_video_frames
    assert reader.decode_video_frames is decode_video_frames
    assert other.decode_video_frames is len


def test_lerobot_itself_has_it_with_its_own_arguments(monkeypatch, clip):
    module = pytest.importorskip("lerobot.datasets.video_utils")
    theirs = module.decode_video_frames
    monkeypatch.setattr(module, "decode_video_frames", theirs)
    hook.install()
    assert module.decode_video_frames is decode_video_frames
    names = [*inspect.signature(theirs).parameters]
    assert [*inspect.signature(decode_video_frames).parameters][: len(names)] == names
    got = module.decode_video_frames(video_path=clip, timestamps=[0.4], tolerance_s=1e-4)
    assert torch.equal(got, as_lerobot(clip, [0.4]))
