import importlib
from dataclasses import dataclass

import numpy as np
import pytest
from peer_frames import decoded, stand_in

import videoloader as vl
from videoloader.compat import transformers as hook


@dataclass
class VideoMetadata:
    total_num_frames: int
    fps: float | None = None
    width: int | None = None
    height: int | None = None
    duration: float | None = None
    video_backend: str | None = None
    frames_indices: list[int] | None = None


class VideoProcessorMixin:
    def fetch_videos(self, video_url_or_urls, sample_indices_fn=None):
        raise ImportError("no backend")


@pytest.fixture
def package(monkeypatch):
    """The parts of transformers that a decoder meets."""

    def load_video(video, num_frames=None, backend="pyav", sample_indices_fn=None):
        pick = sample_indices_fn or evenly(num_frames)
        return utils.VIDEO_DECODERS[backend](video, pick)

    class Mixin(VideoProcessorMixin):
        pass

    utils = stand_in(
        monkeypatch,
        "transformers.video_utils",
        VIDEO_DECODERS={},
        VideoMetadata=VideoMetadata,
        load_video=load_video,
    )
    stand_in(monkeypatch, "transformers.video_processing_utils", VideoProcessorMixin=Mixin)
    return utils


def evenly(count):
    return lambda metadata, **_: np.arange(count) * metadata.total_num_frames // count


def check(frames, metadata, clip, count=8):
    numbers = np.arange(count) * 50 // count
    expected = decoded(clip)[numbers].transpose(0, 3, 1, 2)
    assert np.array_equal(np.asarray(frames), expected)
    assert (metadata.total_num_frames, metadata.fps, metadata.duration) == (50, 25, 2)
    assert (metadata.height, metadata.width) == (720, 96)
    assert metadata.video_backend == "videoloader"
    assert np.asarray(metadata.frames_indices).tolist() == numbers.tolist()


def test_a_video_is_loaded_by_the_name_of_the_backend(package, clip):
    hook.register(default=False)
    check(*package.load_video(str(clip), num_frames=8, backend="videoloader"), clip)


def test_processors_take_it_for_paths_and_lists_of_them(package, clip):
    processors = importlib.import_module("transformers.video_processing_utils")
    processor = processors.VideoProcessorMixin()
    hook.register(default=False)
    with pytest.raises(ImportError, match="no backend"):
        processor.fetch_videos(str(clip))
    hook.register()
    check(*processor.fetch_videos(str(clip), evenly(8)), clip)
    videos, metadata = processor.fetch_videos([str(clip), str(clip)], sample_indices_fn=evenly(5))
    for pair in zip(videos, metadata, strict=True):
        check(*pair, clip, count=5)


def test_keywords_reach_the_function_that_picks(package, clip):
    asked = {}

    def pick(metadata, **kwargs):
        asked.update(kwargs)
        return [3, 3, 1]

    frames, _ = hook.read_video(clip.read_bytes(), pick, fps=2)
    assert asked == {"fps": 2}
    assert np.array_equal(frames, decoded(clip)[[3, 3, 1]].transpose(0, 3, 1, 2))


def test_a_frame_that_the_video_lacks_is_an_error(package, clip):
    with pytest.raises(vl.errors.FrameRangeError, match=r"clip\.mp4.*50"):
        hook.read_video(clip, lambda metadata: [metadata.total_num_frames])


def test_transformers_itself_loads_with_it(clip, monkeypatch):
    utils = pytest.importorskip("transformers.video_utils")
    processing = pytest.importorskip("transformers.video_processing_utils")
    monkeypatch.setattr(utils, "VIDEO_DECODERS", dict(utils.VIDEO_DECODERS))
    original = processing.VideoProcessorMixin.fetch_videos
    monkeypatch.setattr(processing.VideoProcessorMixin, "fetch_videos", original)
    hook.register()
    frames, metadata = utils.load_video(str(clip), num_frames=8, backend="videoloader")
    check(frames, metadata, clip)
    assert metadata.timestamps == [number / 25 for number in metadata.frames_indices]
    theirs, known = utils.load_video(str(clip), num_frames=8, backend="pyav")
    assert np.array_equal(frames.permute(0, 2, 3, 1), theirs)
    assert np.array_equal(known.frames_indices, metadata.frames_indices)
    processor = processing.VideoProcessorMixin.__new__(processing.VideoProcessorMixin)
    check(*processor.fetch_videos(str(clip), evenly(8)), clip)
