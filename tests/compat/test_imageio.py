"""The plugin for ImageIO, in ImageIO where it is installed, and by itself."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from peer_frames import decoded, decoded_times, stand_in

import videoloader as vl
from videoloader.compat import imageio as hook


class InitializationError(Exception):
    """As ImageIO's."""


@pytest.fixture
def opened(monkeypatch):
    """Makes the plugin as ImageIO does, with modules of the same shape."""
    stand_in(
        monkeypatch,
        "imageio.core.request",
        IOMode=SimpleNamespace(read="r", write="w"),
        InitializationError=InitializationError,
    )
    stand_in(
        monkeypatch,
        "imageio.core.v3_plugin_api",
        ImageProperties=lambda shape, dtype, n_images=None, is_batch=False: SimpleNamespace(
            shape=shape, dtype=dtype, n_images=n_images, is_batch=is_batch
        ),
    )
    finished = []

    def make(source, mode="r"):
        request = SimpleNamespace(
            mode=SimpleNamespace(io_mode=mode),
            raw_uri=source,
            get_file=lambda: io.BytesIO(source.path.read_bytes()),
            finish=lambda: finished.append(source),
        )
        return hook.VideoPlugin(request)

    make.finished = finished
    return make


def test_frames_are_read_by_number_or_all_at_once(opened, clip):
    with opened(str(clip)) as plugin:
        assert np.array_equal(plugin.read(), decoded(clip))
        for number in (0, 31, -1):
            frame = plugin.read(index=number)
            assert np.array_equal(frame, decoded(clip)[number])
        assert np.array_equal(plugin.read(index=7, format="bgr24"), decoded(clip)[7][..., ::-1])
        assert np.array_equal(list(plugin.iter()), decoded(clip))
        with pytest.raises(IndexError, match="50 frames"):
            plugin.read(index=50)
        with pytest.raises(ValueError, match="yuv420p"):
            plugin.read(format="yuv420p")
    assert opened.finished == [str(clip)]


def test_sources_are_bytes_files_and_kinds_of_imageio(opened, clip):
    for source in (clip.read_bytes(), io.BytesIO(clip.read_bytes()), SimpleNamespace(path=clip)):
        with opened(source) as plugin:
            assert np.array_equal(plugin.read(index=3), decoded(clip)[3])


def test_what_is_known_needs_no_decoding(opened, uneven):
    with opened(str(uneven)) as plugin:
        assert plugin.properties().shape == decoded(uneven).shape
        assert (plugin.properties().n_images, plugin.properties().is_batch) == (20, True)
        assert plugin.properties(index=2).shape == (48, 64, 3)
        assert plugin.properties(index=2).dtype == np.uint8
        found = plugin.metadata()
        assert (found["codec"], found["n_frames"], found["size"]) == ("h264", 20, (64, 48))
        pts, tick = decoded_times(uneven)
        assert plugin.metadata(index=-1)["time"] == pytest.approx(float(pts[-1] * tick))
        assert plugin.metadata(index=0)["key_frame"]
        assert not plugin.metadata(index=1)["key_frame"]


def test_what_is_no_video_is_left_to_other_plugins(opened, clip):
    with pytest.raises(InitializationError, match="no video"):
        opened(b"no video at all" * 9)
    with pytest.raises(InitializationError, match="writes none"):
        opened(str(clip), mode="w")
    with opened(str(clip)) as plugin, pytest.raises(vl.errors.UnsupportedError, match="writes no"):
        plugin.write(decoded(clip))


def test_imageio_itself_reads_with_it(clip):
    iio = pytest.importorskip("imageio.v3")
    hook.register()
    for source in (clip, clip.read_bytes()):
        assert np.array_equal(iio.imread(source, index=9, plugin="videoloader"), decoded(clip)[9])
        assert np.array_equal(iio.imread(source, plugin="videoloader"), decoded(clip))
        assert len(list(iio.imiter(source, plugin="videoloader"))) == 50
        assert iio.improps(source, plugin="videoloader").shape == decoded(clip).shape
        assert iio.immeta(source, plugin="videoloader")["fps"] == 25
    with pytest.raises(OSError, match="can not handle"):
        iio.imread(b"no video at all" * 9, plugin="videoloader")
