import io

import numpy as np
import pytest
from peer_frames import decoded, stand_in

import videoloader as vl
from videoloader.compat import mmaction as hook
from videoloader.compat.mmaction import DecordDecode, DecordInit


def run(source, numbers, **options):
    results = DecordInit()({"filename": source})
    results["frame_inds"] = np.asarray(numbers)
    return DecordDecode(**options)(results)


def test_a_pipeline_gets_a_list_of_frames_and_their_shape(clip):
    results = DecordInit(num_threads=2).transform({"filename": str(clip)})
    assert (results["total_frames"], results["avg_fps"]) == (50, 25)
    assert len(results["video_reader"]) == 50
    results["frame_inds"] = np.array([[3, 40], [12, 3]], dtype=np.int32)
    results = DecordDecode().transform(results)
    assert isinstance(results["imgs"], list)
    assert np.array_equal(results["imgs"], decoded(clip)[[3, 40, 12, 3]])
    assert results["original_shape"] == results["img_shape"] == (720, 96)
    assert results["video_reader"] is None
    assert results["frame_inds"].tolist() == [3, 40, 12, 3]


def test_bytes_of_a_file_client_are_decoded(clip, monkeypatch):
    class FileClient:
        def __init__(self, backend, **kwargs):
            assert (backend, kwargs) == ("petrel", {"bucket": 1})

        def get(self, name):
            assert name == "s3://clip"
            return clip.read_bytes()

    stand_in(monkeypatch, "mmengine.fileio", FileClient=FileClient)
    results = DecordInit("petrel", bucket=1)({"filename": "s3://clip"})
    results["frame_inds"] = np.array([7])
    assert np.array_equal(DecordDecode()(results)["imgs"], decoded(clip)[[7]])
    assert np.array_equal(run(io.BytesIO(clip.read_bytes()), [7])["imgs"], decoded(clip)[[7]])


def test_efficient_gives_the_keyframe_before(clip):
    results = run(str(clip), [0, 11, 12, 30, 49], mode="efficient")
    assert np.array_equal(results["imgs"], decoded(clip)[[0, 0, 12, 24, 48]])


@pytest.mark.parametrize("mode", ["accurate", "efficient"])
def test_a_frame_that_the_video_lacks_is_an_error(clip, mode):
    with pytest.raises(vl.errors.FrameRangeError, match=r"clip\.mp4.*50"):
        run(str(clip), [50], mode=mode)


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="'fast'"):
        DecordDecode("fast")


def test_they_are_registered_in_place_of_those_of_mmaction(monkeypatch):
    class Registry(dict):
        def register_module(self, name, module, force):
            assert force
            self[name] = module

    registry = Registry()
    stand_in(monkeypatch, "mmaction.registry", TRANSFORMS=registry)
    hook.register()
    assert registry == {"DecordInit": DecordInit, "DecordDecode": DecordDecode}


def test_mmengine_itself_builds_them(clip, monkeypatch):
    registry = pytest.importorskip("mmengine.registry").TRANSFORMS
    monkeypatch.setattr(registry, "_module_dict", dict(registry.module_dict))
    hook.register()
    results = registry.build({"type": "DecordInit"})({"filename": str(clip)})
    results["frame_inds"] = np.array([1])
    results = registry.build({"type": "DecordDecode"})(results)
    assert np.array_equal(results["imgs"], decoded(clip)[[1]])
