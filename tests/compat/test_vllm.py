import logging
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from peer_frames import decoded, stand_in

import videoloader as vl
from videoloader.compat import vllm as hook


class Registry:
    def __init__(self):
        self.name2class, self.processors = {}, {}

    def register(self, name, *, video_processor=None):
        def wrap(cls):
            self.name2class[name] = cls
            self.processors[video_processor] = name
            return cls

        return wrap

    def load(self, name):
        return self.name2class[name]()


class Loader:
    """A method that does it all."""

    @classmethod
    def load_bytes(
        cls,
        data,
        num_frames=-1,
        fps=-1,
        max_duration=300,
        frame_recovery=False,
        *,
        backend="opencv",
        **kwargs,
    ):
        raise AssertionError("OpenCV is not to be asked")


class RuledLoader(Loader):
    """A rule of sampling, defaults, and the form of metadata; the class above decodes."""

    @classmethod
    def compute_frames_index_to_sample(cls, source, target, **kwargs):
        count = min(int(source.duration * target.fps), kwargs.get("max_frames", 768))
        return np.linspace(0, source.total_frames_num - 1, count).round().astype(int).tolist()

    @classmethod
    def create_hf_metadata(cls, source, valid_frame_indices, video_backend):
        return {"ours": (source.original_fps, len(valid_frame_indices), video_backend)}

    @classmethod
    def load_bytes(
        cls, data, num_frames=-1, fps=2, max_duration=300, *, backend="opencv", **kwargs
    ):
        return super().load_bytes(
            data,
            num_frames=num_frames,
            fps=fps,
            max_duration=max_duration,
            backend=backend,
            **kwargs,
        )


class PaddingLoader(RuledLoader):
    """A loader that does something with the frames of the one above."""

    @classmethod
    def load_bytes(cls, data, num_frames=-1, fps=2, **kwargs):
        frames, metadata = super().load_bytes(data, num_frames=num_frames, fps=fps, **kwargs)
        if len(frames) % 2:
            frames = np.concatenate([frames, frames[-1:]])
        return frames, {**metadata, "original_video_bytes": data}


class LoneLoader:
    """A loader that decodes by a method of its own, with options of its own."""

    @classmethod
    def compute_frames_index_to_sample(cls, source, target, **kwargs):
        assert set(kwargs) == {"frame_sample_mode", "max_fps"}
        step = round(source.original_fps / min(target.fps, kwargs["max_fps"]))
        return list(range(0, source.total_frames_num, step))[: target.num_frames]

    @classmethod
    def load_bytes_opencv(
        cls, data, frame_sample_mode=None, num_frames=-1, max_fps=5, sampling_fps=1, **kwargs
    ):
        raise AssertionError("OpenCV is not to be asked")

    @classmethod
    def load_bytes(cls, data, num_frames=-1, **kwargs):
        return cls.load_bytes_opencv(data, num_frames=num_frames, **kwargs)


@pytest.fixture
def registry(monkeypatch):
    registry = Registry()
    registry.register("opencv")(Loader)
    registry.register("qwen3_vl")(RuledLoader)
    registry.register("glmga")(PaddingLoader)
    registry.register("molmo2")(LoneLoader)
    stand_in(monkeypatch, "vllm.multimodal.video", VIDEO_LOADER_REGISTRY=registry)
    return registry


def test_frames_are_spread_evenly_by_number_or_rate(registry, clip):
    hook.register()
    loader = registry.load("videoloader")
    everything = decoded(clip)
    for asked, numbers in (
        ({}, range(50)),
        ({"num_frames": 8}, np.linspace(0, 49, 8, dtype=int)),
        ({"num_frames": 900}, range(50)),
        ({"num_frames": 8, "fps": 2}, np.linspace(0, 49, 4, dtype=int)),
        ({"fps": 0.1}, [0]),
    ):
        frames, metadata = loader.load_bytes(clip.read_bytes(), **asked)
        assert isinstance(frames, np.ndarray)
        assert np.array_equal(frames, everything[list(numbers)])
        assert metadata == {
            "total_num_frames": 50,
            "fps": 25.0,
            "duration": 2.0,
            "video_backend": "videoloader",
            "frames_indices": list(numbers),
            "do_sample_frames": len(numbers) == 50,
        }


def test_a_loader_like_another_has_its_rule_its_defaults_and_its_metadata(registry, clip):
    hook.register("videoloader_qwen", like="qwen3_vl", video_processor="Qwen3VLVideoProcessor")
    assert registry.processors["Qwen3VLVideoProcessor"] == "videoloader_qwen"
    loader = registry.load("videoloader_qwen")
    assert isinstance(loader, RuledLoader)
    frames, metadata = loader.load_bytes(clip.read_bytes(), num_frames=32)  # at 2 frames a second
    assert np.array_equal(frames, decoded(clip)[[0, 16, 33, 49]])
    assert metadata == {"ours": (25.0, 4, "videoloader")}
    frames, _ = loader.load_bytes(clip.read_bytes(), -1, 4, max_frames=3, backend="torchcodec")
    assert np.array_equal(frames, decoded(clip)[[0, 24, 49]])


def test_what_a_loader_does_behind_decoding_is_kept(registry, clip):
    hook.register("videoloader_glmga", like="glmga")
    loader = registry.load("videoloader_glmga")
    frames, metadata = loader.load_bytes(clip.read_bytes(), fps=1.5)
    assert np.array_equal(frames, decoded(clip)[[0, 24, 49, 49]])
    assert metadata["original_video_bytes"] == clip.read_bytes()
    assert metadata["ours"] == (25.0, 3, "videoloader")


def test_a_loader_that_decodes_by_itself_has_its_own_options(registry, clip):
    loader = hook.register("videoloader_molmo", like="molmo2")
    assert np.array_equal(loader.load_bytes(clip.read_bytes(), 9)[0], decoded(clip)[[0, 25]])
    frames, _ = loader.load_bytes(clip.read_bytes(), 3, sampling_fps=9)  # at most 5 a second
    assert np.array_equal(frames, decoded(clip)[[0, 5, 10]])


def test_frames_of_more_pixels_than_vllm_takes_are_refused(registry, clip, monkeypatch):
    loader = hook.register()
    for limit in (96 * 720, 0):
        stand_in(monkeypatch, "vllm.envs", VLLM_MAX_IMAGE_PIXELS=limit)
        assert len(loader.load_bytes(clip.read_bytes(), num_frames=2)[0]) == 2
    stand_in(monkeypatch, "vllm.envs", VLLM_MAX_IMAGE_PIXELS=96 * 720 - 1)
    with pytest.raises(ValueError, match=r"96x720 \(69120 pixels\).*VLLM_MAX_IMAGE_PIXELS"):
        loader.load_bytes(clip.read_bytes(), num_frames=2)


def test_backends_and_options_that_vllm_refuses_are_refused(registry, clip, monkeypatch):
    loader = hook.register("videoloader_qwen", like="qwen3_vl")
    with pytest.raises(ValueError, match="nonsense"):
        loader.load_bytes(clip.read_bytes(), backend="nonsense")
    with pytest.raises(ValueError, match="frame_recovery"):
        loader.load_bytes(clip.read_bytes(), frame_recovery=True)

    def split(backend, options):  # as vLLM's
        if "seek_mode" in options and backend != "torchcodec":
            raise ValueError(f"seek_mode is not supported by the {backend!r} backend")
        return {name: value for name, value in options.items() if name != "seek_mode"}, {}

    stand_in(
        monkeypatch,
        "vllm.multimodal.video",
        VIDEO_LOADER_REGISTRY=registry,
        resolve_video_backend_kwargs=split,
    )
    loader = hook.register("videoloader_qwen", like="qwen3_vl")
    with pytest.raises(ValueError, match="seek_mode is not supported"):
        loader.load_bytes(clip.read_bytes(), seek_mode="exact")
    for options in ({"backend": "torchcodec", "seek_mode": "exact"}, {"backend": "videoloader"}):
        assert len(loader.load_bytes(clip.read_bytes(), **options)[0]) == 4


def test_a_loader_that_vllm_lacks_is_an_error_that_names_those_it_has(registry):
    with pytest.raises(ValueError, match=r"'nemo'.*glmga, molmo2, opencv, qwen3_vl"):
        hook.register(like="nemo")


def test_bytes_that_are_no_video_are_an_error(registry):
    with pytest.raises(vl.errors.FormatError):
        hook.register().load_bytes(b"no video at all" * 9)


def test_the_plugin_registers_and_never_ends_vllm(registry, monkeypatch, caplog):
    hook.plugin()
    assert "videoloader" in registry.name2class
    monkeypatch.setitem(sys.modules, "vllm.multimodal.video", None)
    monkeypatch.setitem(sys.modules, "vllm.frontend.processing.multimodal.video", None)
    with caplog.at_level(logging.WARNING):
        hook.plugin()
    assert "no video loader of this vLLM" in caplog.text


def test_vllm_finds_the_plugin_by_an_entry_point():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    ((name, value),) = project["entry-points"]["vllm.general_plugins"].items()
    assert EntryPoint(name, value, "vllm.general_plugins").load() is hook.plugin


@pytest.mark.parametrize("like", ["opencv", "opencv_dynamic", "qwen3_vl", "glm46v", "molmo2"])
def test_vllm_itself_gets_the_frames_and_the_metadata_of_its_own_loaders(clip, like):
    module = pytest.importorskip("vllm.multimodal.video", exc_type=ImportError)
    data = clip.read_bytes()
    theirs = module.VIDEO_LOADER_REGISTRY.load(like).load_bytes(data)
    ours = hook.register("videoloader_here", like=like).load_bytes(data)
    assert np.array_equal(ours[0], theirs[0])
    assert ours[1] == {**theirs[1], "video_backend": "videoloader"}
