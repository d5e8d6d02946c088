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
    """As vLLM's first loaders: a method that does it all."""

    @classmethod
    def load_bytes(cls, data, num_frames=-1, fps=-1, **kwargs):
        raise AssertionError("OpenCV is not to be asked")


class RuledLoader(Loader):
    """As vLLM's loaders since: a rule of sampling, and the form of metadata."""

    @classmethod
    def compute_frames_index_to_sample(cls, source, target, **kwargs):
        count = min(int(source.duration * target.fps), kwargs.get("max_frames", 768))
        return np.linspace(0, source.total_frames_num - 1, count).round().astype(int).tolist()

    @classmethod
    def create_hf_metadata(cls, source, valid_frame_indices, video_backend):
        return {"ours": (source.original_fps, len(valid_frame_indices), video_backend)}

    @classmethod
    def load_bytes(cls, data, num_frames=-1, fps=2, max_duration=300, *, backend="opencv"):
        raise AssertionError("OpenCV is not to be asked")


@pytest.fixture
def registry(monkeypatch):
    registry = Registry()
    registry.register("opencv")(Loader)
    registry.register("qwen3_vl")(RuledLoader)
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


def test_a_loader_that_vllm_lacks_is_an_error_that_names_those_it_has(registry):
    with pytest.raises(ValueError, match=r"'molmo'.*opencv, qwen3_vl"):
        hook.register(like="molmo")


def test_bytes_that_are_no_video_are_an_error(registry):
    with pytest.raises(vl.FormatError):
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
