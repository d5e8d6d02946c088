"""The plugin for ImageIO, in ImageIO where it is installed, and by itself."""

import io
import sys
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import av
import numpy as np
import pytest
from av.filter import Graph
from av.video.frame import PictureType
from peer_frames import decoded, decoded_times, stand_in

import videoloader as vl
from videoloader.compat import imageio as hook
from videoloader.demo.videos import encode_video


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

    def make(source, mode="r", **options):
        request = SimpleNamespace(
            mode=SimpleNamespace(io_mode=mode),
            raw_uri=source,
            get_file=lambda: io.BytesIO(source.path.read_bytes()),
            finish=lambda: finished.append(source),
        )
        return hook.VideoPlugin(request, **options)

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


def by_pyav(path, kind):
    with av.open(str(path)) as container:
        return [frame.reformat(format=kind) for frame in container.decode(video=0)]


@pytest.mark.parametrize("pixels", ["gray", "rgba", "rgb48le", "gray16le", "argb", "bgr24"])
def test_packed_formats_have_the_bytes_of_pyav(opened, clip, pixels):
    wanted = [frame.to_ndarray() for frame in by_pyav(clip, pixels)]
    with opened(str(clip)) as plugin:
        for frames in (plugin.read(format=pixels), [*plugin.iter(format=pixels)]):
            assert np.array_equal(frames, wanted)
        assert np.array_equal(plugin.read(index=7, format=pixels), wanted[7])
        assert np.array_equal(plugin.read(index=-1, format=pixels), wanted[-1])
        props = plugin.properties(format=pixels)
        assert (props.shape, props.dtype) == (np.shape(wanted), wanted[0].dtype)


@pytest.mark.parametrize("pixels", ["yuv444p", "gbrp", "gbrpf32le", "yuva444p"])
def test_planar_formats_have_planes_first(opened, clip, pixels):
    frame = by_pyav(clip, pixels)[7]
    element = np.float32 if "f32" in pixels else np.uint8
    rows = [np.frombuffer(memoryview(plane), element).reshape(720, -1) for plane in frame.planes]
    with opened(str(clip)) as plugin:
        found = plugin.read(index=7, format=pixels)
        assert np.array_equal(found, [row[:, :96] for row in rows])
        assert plugin.properties(index=7, format=pixels).shape == found.shape


@pytest.mark.parametrize(
    ("pixels", "size"),
    [
        ("yuv444p", (3, 61, 75)),
        ("gray", (61, 75)),
        ("yuv420p", None),
        ("yuv444p10le", None),
    ],
)
def test_without_a_format_frames_are_as_coded(opened, tmp_path, pixels, size):
    path = encode_video(
        tmp_path / "a.mkv", codec="ffv1", frames=3, size=(75, 61), pixel_format=pixels
    )
    with opened(str(path)) as plugin:
        if size is None:
            for call in (plugin.read, plugin.properties):
                with pytest.raises(OSError, match=f"{pixels} does not fit into one array"):
                    call(index=1, format=None)
            return
        found = plugin.read(index=1, format=None)
        assert found.shape == plugin.properties(index=1, format=None).shape == size
        with vl.Video(path) as video:
            ((_, surface),) = video.decode([1])
        assert np.array_equal(found.reshape(-1, 61, 75), surface.planes)


def test_formats_of_other_shapes_are_an_oserror_and_others_are_named(opened, clip):
    with opened(str(clip)) as plugin:
        for pixels in ("yuv420p", "nv12", "pal8", "bgr0", "yuv420p10le"):
            with pytest.raises(OSError, match="one array"):
                plugin.properties(format=pixels)
            with pytest.raises(OSError, match="one array"):
                plugin.read(index=0, format=pixels)
        with pytest.raises(vl.errors.ArgumentError, match="pixel format of FFmpeg, got 'rainbow'"):
            plugin.properties(format="rainbow")


def filtered_by_pyav(path, *steps):
    with av.open(str(path)) as container:
        graph = Graph()
        buffer = graph.add_buffer(template=container.streams.video[0])
        graph.link_nodes(buffer, *(graph.add(*step) for step in steps), graph.add("buffersink"))
        graph.configure()
        found = []
        for frame in [*container.decode(video=0), None]:
            with suppress(EOFError):  # takes no more
                graph.vpush(frame)
            with suppress(BlockingIOError, EOFError):
                while True:
                    found.append(graph.vpull().to_ndarray(format="rgb24"))
        return found


@pytest.mark.parametrize(
    "steps",
    [
        [("framestep", "5"), ("scale", "size=qvga:flags=lanczos")],
        [("tpad", "start=3")],
        [("fps", "50")],
        [("trim", "start=0.2:end=0.6"), ("hflip", "")],
    ],
)
def test_filters_give_what_pyavs_give(opened, clip, steps):
    wanted = filtered_by_pyav(clip, *steps)
    with opened(str(clip)) as plugin:
        assert np.array_equal(plugin.read(filter_sequence=steps), wanted)
        assert np.array_equal([*plugin.iter(filter_sequence=steps)], wanted)
        edges = zip(["video_in", *"abc"], [*"abc"[: len(steps)], "video_out"], strict=False)
        graph = dict(zip("abc", steps, strict=False)), [(*edge, 0, 0) for edge in edges]
        assert np.array_equal(plugin.read(filter_graph=graph), wanted)


def test_a_single_frame_is_filtered_by_itself(opened, clip):
    with opened(str(clip)) as plugin:
        step = ("crop", {"w": "32", "h": "16", "x": "4", "y": "8"})
        found = plugin.read(index=9, filter_sequence=[step], constant_framerate=False)
        assert np.array_equal(found, decoded(clip)[9, 8:24, 4:36])
        with pytest.raises(vl.errors.ArgumentError, match="give no frame 9 alone"):
            plugin.read(index=9, filter_sequence=[("trim", "start=1")])
        with pytest.raises(ValueError, match="no frame"):
            plugin.read(filter_sequence=[("trim", "start=100")])
        for step in (("rainbow", ""), ("scale", "size=of_a_house")):
            with pytest.raises(
                vl.errors.ArgumentError, match=f"does not take the filters .*{step[0]}"
            ):
                plugin.read(filter_sequence=[step])


def test_turned_videos_are_upright_in_all_formats(opened, tmp_path):
    path = encode_video(tmp_path / "a.mp4", frames=3, size=(64, 48), rotation=90)
    with opened(str(path)) as plugin:
        upright = plugin.read(index=1)
        assert upright.shape == (64, 48, 3)
        assert np.array_equal(plugin.read(index=1, format="rgba")[..., :3], upright)
        assert np.array_equal(
            plugin.read(index=1, format="gbrp"), upright.transpose(2, 0, 1)[[1, 2, 0]]
        )
        assert np.array_equal(plugin.read(index=1, filter_sequence=[("null", "")]), upright)
        assert plugin.properties(index=1, format="gbrp").shape == (3, 64, 48)


def test_metadata_have_imageios_names(opened, clip):
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        wanted = {
            "video_format": "yuv420p",
            "codec": stream.codec.name,
            "long_codec": stream.codec.long_name,
            "profile": stream.profile,
            "fps": float(stream.guessed_rate),
            "duration": float(stream.duration * stream.time_base),
            **container.metadata,
            **stream.metadata,
        }
        frames = [*container.decode(video=0)]
    with opened(str(clip)) as plugin:
        assert plugin.metadata().items() >= wanted.items()
        for number in (0, 5, 12):
            frame = frames[number]
            found = plugin.metadata(index=number, constant_framerate=False)
            assert found["time"] == pytest.approx(frame.time)
            assert found["key_frame"] == frame.key_frame
            assert found["interlaced_frame"] == bool(frame.interlaced_frame)
            assert found["frame_type"] == PictureType(frame.pict_type).name
        for call in (plugin.metadata, partial(plugin.read, format="gray")):
            for index in (50, -51):
                with pytest.raises(IndexError, match=f"frame {index} requested, .* has 50 frames"):
                    call(index=index)


def test_writing_is_that_of_imageios_plugin(opened, monkeypatch, tmp_path):
    made = []
    writer = SimpleNamespace(PyAVPlugin=lambda request, **options: made.append(options) or "writer")
    stand_in(monkeypatch, "imageio.plugins.pyav", **vars(writer))
    assert opened(str(tmp_path / "a.mp4"), mode="w", container="mp4") == "writer"
    assert made == [{"container": "mp4"}]


def test_the_plugin_can_take_the_name_of_imageios_own(monkeypatch):
    known = {}
    stand_in(
        monkeypatch, "imageio.config.plugins", known_plugins=known, PluginConfig=SimpleNamespace
    )
    hook.register()
    hook.register("pyav")
    for name in ("videoloader", "pyav"):
        config = known[name]
        assert config.name == name
        module = sys.modules[config.module_name]
        assert getattr(module, config.class_name) is hook.VideoPlugin


def test_imageio_itself_reads_and_writes_with_it(clip, tmp_path):
    iio = pytest.importorskip("imageio.v3")
    hook.register()
    for source in (clip, clip.read_bytes()):
        assert np.array_equal(iio.imread(source, index=9, plugin="videoloader"), decoded(clip)[9])
        assert np.array_equal(iio.imread(source, plugin="videoloader"), decoded(clip))
        assert len(list(iio.imiter(source, plugin="videoloader"))) == 50
        assert iio.improps(source, plugin="videoloader").shape == decoded(clip).shape
        assert iio.immeta(source, plugin="videoloader")["fps"] == 25
    video = tmp_path / "new.mp4"
    iio.imwrite(video, decoded(clip), plugin="videoloader", codec="libx264", fps=25)
    assert iio.imread(video, plugin="videoloader").shape == decoded(clip).shape
    with pytest.raises(OSError, match="can not handle"):
        iio.imread(b"no video at all" * 9, plugin="videoloader")
