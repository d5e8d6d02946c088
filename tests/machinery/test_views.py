"""What notebooks show of our values."""

import base64
import re

import cv2
import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali.tensors.tensor_list import TensorList
from videoloader.demo.videos import encode_video
from videoloader.machinery.views import facts_table, frames_view, rows_table, timeline_svg, wave_svg


def picture_of(html):
    (data,) = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', html)
    stored = np.frombuffer(base64.b64decode(data), np.uint8)
    return cv2.imdecode(stored, cv2.IMREAD_COLOR)[:, :, ::-1]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    options = {"x264-params": "keyint=10:scenecut=0"}
    return encode_video(
        tmp_path_factory.mktemp("views") / "<b>a.mp4", frames=40, size=(64, 48), options=options
    )


def test_text_is_escaped():
    for html in (facts_table([("<i>", "<b>&")]), rows_table(["<i>"], [{"<i>": "<b>&"}], "<u>")):
        assert "<b>" not in html
        assert "<i>" not in html
        assert "&lt;b&gt;&amp;" in html
    assert "none" not in facts_table([("a", None), ("b", "")])


def test_bars_of_a_timeline_are_the_largest_frames_and_red_with_a_keyframe():
    sizes = np.ones(6000, np.int64)
    sizes[[3005, 5000]] = 100, 64
    svg = timeline_svg(sizes, np.array([0, 5000]))
    blue, red = re.findall(r'd="([^"]*)"', svg)
    heights = {
        float(at): float(up)
        for path in (blue, red)
        for at, up in re.findall(r"M([\d.]+) 90v-([\d.]+)", path)
    }
    assert len(heights) == 600
    assert heights[300] == 88
    assert heights[500] == 70  # the square root
    assert [float(at) for at in re.findall(r"M([\d.]+) ", red)] == [0, 500]
    assert "<path" not in timeline_svg(np.zeros(0, np.int64), np.zeros(0, np.int64))


def test_bars_of_a_wave_are_as_tall_as_its_peaks_around_the_middle():
    path = re.search(r'd="([^"]*)"', wave_svg(np.array([0, 0.25, 1])))[1]
    found = re.findall(r"M([\d.]+) ([\d.]+)v([\d.]+)h200", path)
    bars = [tuple(map(float, bar)) for bar in found]
    assert bars == [(0, 19.5, 1), (200, 15, 10), (400, 0, 40)]


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW", "HWC"])
@pytest.mark.parametrize("kind", ["uint8", "float32", "float16"])
def test_frames_are_seen_in_any_layout(layout, kind):
    frames = np.zeros((5, 30, 40, 3), np.uint8)
    frames[..., 0] = 200
    frames[:, :, 20:, 1] = 255
    if layout == "HWC":
        frames = frames[:1]
    axis = layout.index("C")
    clip = frames[0] if layout == "HWC" else np.moveaxis(frames, 3, axis)
    seen = picture_of(frames_view([clip.astype(kind)]))
    first = seen[18 + 40, 4 + 20], seen[18 + 40, 4 + 100]
    assert np.abs(first[0].astype(int) - (200, 0, 0)).max() < 12
    assert np.abs(first[1].astype(int) - (200, 255, 0)).max() < 12


@pytest.mark.parametrize("shape", [(0, 4, 4, 3), (7,), (3, 20), (9, 9, 9, 9)])
def test_what_is_no_picture_is_left_out(shape):
    assert frames_view([np.zeros(shape, np.float32)]) == ""


def test_values_have_views(path):
    with vl.Video(path) as video:
        html = video._repr_html_()
        assert "<b>a" not in html
        assert picture_of(html).shape[0] > 96
        clip = video.get_frames(start=0, stop=20)
        assert picture_of(clip._repr_html_()).shape[1] > 8 * 96
        assert "<svg" in video.index._repr_html_()
        assert "planes" not in video.get_frames([1], output="yuv")._repr_html_()
    batch = vl.decode_batch([(path, [0, 1]), (path.with_name("gone.mp4"), [0])], on_error="mask")
    html = batch._repr_html_()
    assert picture_of(html).shape[0] > 2 * 96
    assert "gone.mp4" in html
    frames = TensorList(torch.zeros(9, 4, 32, 48, 3, dtype=torch.uint8), layout="FHWC")
    assert "and 1 more" in frames._repr_html_()
    assert "<img" not in TensorList(torch.zeros(2, 5))._repr_html_()


def test_a_data_set_shows_its_first_rows(path, tmp_path):
    with vl.index_dataset([path], tmp_path / "set.parquet", 0) as dataset:
        html = dataset._repr_html_()
        assert "h264" in html
        assert "&lt;b&gt;a.mp4" in html


def test_a_notebook_shows_them(path, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook()
    source = f"import videoloader as vl\nvideo = vl.Video({str(path)!r})\n"
    notebook.cells = [
        nbformat.v4.new_code_cell(source + "video"),
        nbformat.v4.new_code_cell("video.index"),
        nbformat.v4.new_code_cell("video.get_frames([0, 5])"),
    ]
    client.NotebookClient(notebook, timeout=120).execute()
    for cell in notebook.cells:
        (output,) = cell.outputs
        assert "<img" in output.data["text/html"] or "<svg" in output.data["text/html"]
